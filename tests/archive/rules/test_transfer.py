"""The rules of transfers, one by one: who may become what, and who must not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ibi.archive.rules import transfer as rules
from ibi.archive.rules.transfer_messages import Commit, TransferOffer, TransferReply, Undo
from ibi.errors import DeletedError, StateError
from ibi.model.item import Item, State, Tombstone, Transfer
from ibi.model.metadata_record import MetadataRecord, Text
from tests.support.scenes.small_archive import file, forms

ID, OTHER = "1" * 32, "2" * 32
A, B = "http://a.example.org", "http://b.example.org"
RECEIPT = "receipt@service"

ORIGINAL = Item(forms=forms(1), metadata=forms(2))
COPY = replace(ORIGINAL, state=State.COPY, origin=A)
DELETED = replace(ORIGINAL, state=State.DELETED, tombstone=Tombstone(1, "me", "gone"))
METADATA = Item(
    forms=forms(2),
    kind="metadata",
    describes=forms(1),
    record=MetadataRecord(titles=(Text("A title"),)),
)
OFFERED = rules.offered(ORIGINAL, ID, B, 7)
HANDED = rules.handed(OFFERED, ID, RECEIPT, 8)
READY = rules.received(ORIGINAL, None, ID, A, RECEIPT, 9)
READY_COPY = rules.received(ORIGINAL, COPY, ID, A, RECEIPT, 9)
ACCEPTED = rules.accepted(READY, ID)
OFFER = TransferOffer(id=ID, label=str(ORIGINAL.forms.label), source=A, ticket="ticket")


def test_what_the_giver_becomes() -> None:
    assert (OFFERED.state, OFFERED.origin) == (State.ORIGINAL, "")
    assert OFFERED.transfer == Transfer(id=ID, peer=B, phase="offered", since=7)
    assert (HANDED.state, HANDED.origin) == (State.COPY, B)
    assert HANDED.transfer == Transfer(id=ID, peer=B, phase="handed", since=8, receipt=RECEIPT)
    assert rules.finished(HANDED, ID) == replace(ORIGINAL, state=State.COPY, origin=B)
    assert rules.taken_back(HANDED, ID) == rules.taken_back(OFFERED, ID) == ORIGINAL


def test_what_the_receiver_becomes() -> None:
    assert (READY.state, READY.origin) == (State.COPY, A)
    assert READY.transfer is not None
    assert (READY.transfer.phase, READY.transfer.was_here) == ("ready", False)
    assert replace(ORIGINAL, custody=(ID,)) == ACCEPTED
    assert rules.accepted(ACCEPTED, ID) is ACCEPTED
    assert rules.released(READY, ID) is None
    assert rules.released(READY_COPY, ID) == COPY


def test_custody_is_that_of_each_archive_and_grows() -> None:
    known = replace(COPY, custody=(OTHER,))
    pulled = replace(ORIGINAL, custody=("of the giver",))
    assert rules.accepted(rules.received(pulled, known, ID, A, RECEIPT, 1), ID).custody == (
        OTHER,
        ID,
    )
    assert rules.handed(rules.offered(ACCEPTED, OTHER, B, 1), OTHER, "r", 1).custody == (ID,)


@pytest.mark.parametrize(
    ("item", "sentence"),
    [
        (COPY, "is a Copy here: its Original is transferred where it is"),
        (OFFERED, f"is being transferred to {B} already"),
        (HANDED, f"is being transferred to {B} already"),
        (READY, f"is being transferred from {A} already"),
        (replace(ORIGINAL, kind="service", transferable=False), "service's own item is never"),
        (METADATA, "describes another item"),
        (replace(ORIGINAL, transferable=False), "marked as not transferable: its Original stays"),
    ],
)
def test_what_is_not_offered(item: Item, sentence: str) -> None:
    with pytest.raises(StateError) as refusal:
        rules.check_transferable(item)
    assert sentence in str(refusal.value)


def test_what_was_deleted_neither_goes_nor_comes() -> None:
    with pytest.raises(DeletedError):
        rules.check_transferable(DELETED)
    with pytest.raises(DeletedError):
        rules.check_receivable(DELETED, ID)
    rules.check_transferable(ORIGINAL)


@pytest.mark.parametrize(
    ("item", "sentence"),
    [
        (ORIGINAL, "is the Original in this archive already"),
        (OFFERED, f"is being transferred to {B} already"),
        (HANDED, f"is being transferred to {B} already"),
        (READY, f"is being transferred from {A} already"),
        (METADATA, "its kind is metadata"),
        (replace(ORIGINAL, kind="service"), "its kind is service"),
    ],
)
def test_what_is_not_received(item: Item, sentence: str) -> None:
    with pytest.raises(StateError) as refusal:
        rules.check_receivable(item, OTHER)
    assert sentence in str(refusal.value)


def test_what_is_received() -> None:
    for item in (None, COPY, READY):
        rules.check_receivable(item, ID)
    rules.check_describing(None, ID)
    rules.check_describing(replace(METADATA, state=State.COPY), ID)
    for item in (METADATA, COPY):
        with pytest.raises(StateError):
            rules.check_describing(item, ID)


def test_what_the_giver_says() -> None:
    label = OFFER.label
    assert rules.message(OFFERED, OFFER) == rules.message(OFFERED, OFFER, undo=True) == OFFER
    assert rules.message(HANDED, OFFER) == Commit(id=ID, label=label, receipt=RECEIPT)
    assert rules.message(HANDED, OFFER, undo=True) == Undo(id=ID, label=label, receipt=RECEIPT)
    for item in (None, ORIGINAL, COPY, rules.offered(ORIGINAL, OTHER, B, 1)):
        assert rules.message(item, OFFER) == Undo(id=ID, label=label)


READY_ANSWER = TransferReply(state="ready", receipt=RECEIPT)
STEPS = [
    (OFFERED, TransferReply(state="copying"), "wait", False),
    (OFFERED, READY_ANSWER, "hand over", False),
    (OFFERED, TransferReply(state="refused"), "take back", True),
    (OFFERED, TransferReply(state="undone"), "take back", True),
    (OFFERED, TransferReply(state="accepted"), "finish", True),
    (HANDED, TransferReply(state="copying"), "wait", False),
    (HANDED, READY_ANSWER, "wait", False),
    (HANDED, TransferReply(state="refused"), "wait", False),
    (HANDED, TransferReply(state="undone"), "wait", False),
    (HANDED, TransferReply(state="refused", receipt="another"), "wait", False),
    (HANDED, TransferReply(state="refused", receipt=RECEIPT), "take back", False),
    (HANDED, TransferReply(state="undone", receipt=RECEIPT), "take back", False),
    (HANDED, TransferReply(state="accepted"), "finish", True),
    (ORIGINAL, TransferReply(state="undone"), "wait", True),
    (ORIGINAL, TransferReply(state="refused", receipt=RECEIPT), "wait", False),
    (ORIGINAL, TransferReply(state="accepted"), "wait", True),
    (ORIGINAL, READY_ANSWER, "wait", False),
    (None, TransferReply(state="undone"), "wait", True),
]


@pytest.mark.parametrize(("item", "answer", "step", "is_over"), STEPS)
def test_what_the_giver_does(
    item: Item | None,
    answer: TransferReply,
    step: str,
    is_over: bool,  # noqa: FBT001  # a fact
) -> None:
    assert rules.step(item, ID, answer, True) == step  # noqa: FBT003
    assert rules.is_over(item, ID, answer) is is_over


def test_what_is_not_whole_is_taken_back_and_the_receiver_told() -> None:
    assert rules.step(OFFERED, ID, READY_ANSWER, False) == "take back"  # noqa: FBT003
    assert not rules.is_over(OFFERED, ID, READY_ANSWER)


def test_what_the_receiver_answers() -> None:
    def commit(item: Item | None, id_: str = ID, receipt: str = RECEIPT) -> str:
        return rules.answer_to_commit(item, id_, receipt).state

    assert commit(READY) == commit(ACCEPTED) == commit(ACCEPTED, receipt="another") == "accepted"
    on = rules.finished(rules.handed(rules.offered(ACCEPTED, OTHER, A, 1), OTHER, "r", 1), OTHER)
    gone = replace(ACCEPTED, state=State.DELETED)
    assert commit(on) == commit(gone) == "accepted"
    assert rules.answer_to_undo(on, ID, RECEIPT).state == "accepted"
    for item in (None, COPY, ORIGINAL, HANDED):
        assert commit(item) == "refused"
        assert rules.answer_to_undo(item, ID, RECEIPT) == TransferReply(
            state="undone", receipt=RECEIPT
        )
    assert commit(READY, receipt="another") == commit(READY, OTHER) == "refused"
    assert rules.answer_to_commit(COPY, ID, RECEIPT).receipt == RECEIPT
    assert rules.standing(READY, ID) == READY_ANSWER
    assert rules.standing(READY, OTHER) is None


def test_steps_that_nobody_may_take() -> None:
    wrongs: tuple[Callable[[], object], ...] = (
        lambda: rules.handed(HANDED, ID, RECEIPT, 1),
        lambda: rules.handed(ORIGINAL, ID, RECEIPT, 1),
        lambda: rules.finished(ORIGINAL, ID),
        lambda: rules.taken_back(READY, ID),
        lambda: rules.taken_back(OFFERED, OTHER),
        lambda: rules.accepted(HANDED, ID),
        lambda: rules.accepted(COPY, ID),
        lambda: rules.released(HANDED, ID),
        lambda: rules.released(COPY, ID),
    )
    for wrong in wrongs:
        with pytest.raises(StateError):
            wrong()


def test_what_is_not_let_go_of() -> None:
    rules.check_droppable(COPY)
    for item, sentence in (
        (READY, "undo it first"),
        (HANDED, "undo it first"),
        (replace(COPY, custody=(ID,)), "was here once"),
    ):
        with pytest.raises(StateError) as refusal:
            rules.check_droppable(item)
        assert sentence in str(refusal.value)


def test_what_an_item_tells_a_catalogue_that_was_lost() -> None:
    for item in (ORIGINAL, COPY, replace(OFFERED, kind="metadata")):
        assert rules.exchange_of(item) is None
    found = [rules.exchange_of(item) for item in (OFFERED, HANDED, READY)]
    assert [each and (each.role, each.peer, each.state) for each in found] == [
        ("giving", B, "open"),
        ("giving", B, "open"),
        ("receiving", A, "open"),
    ]
    assert [each and bool(each.fault) for each in found] == [True, True, False]


def test_a_digest_is_of_all_that_must_be_alike() -> None:
    files = [file("a.txt"), file("b.txt")]

    def digest(item: Item, *changed: object) -> str:
        return rules.digest([(item, changed or files), (METADATA, [])])  # type: ignore[list-item]

    known = digest(ORIGINAL)
    for same in (OFFERED, HANDED, READY, ACCEPTED):
        assert digest(same) == known
    assert digest(ORIGINAL, *reversed(files)) == known
    assert digest(ORIGINAL, files[0], replace(files[1], modified=1)) == known
    others = {
        digest(replace(ORIGINAL, list_public=False)),
        digest(replace(ORIGINAL, readers=("10.0.0.0/8",))),
        digest(ORIGINAL, files[0]),
        digest(ORIGINAL, files[0], replace(files[1], sha512="0" * 128)),
        digest(ORIGINAL, files[0], replace(files[1], media_type="text/csv")),
        rules.digest([(ORIGINAL, files)]),
        rules.digest(
            [(ORIGINAL, files), (replace(METADATA, record=MetadataRecord(titles=(Text("x"),))), [])]
        ),
    }
    assert len(others) == 7
    assert known not in others


def test_whose_readiness_is_in_vain() -> None:
    assert READY.transfer is not None
    assert rules.is_replaced(READY.transfer, OTHER, A)
    assert not rules.is_replaced(READY.transfer, ID, A)
    assert not rules.is_replaced(READY.transfer, OTHER, B)
    for given in (OFFERED.transfer, HANDED.transfer):
        assert given is not None
        assert not rules.is_replaced(given, OTHER, B)
