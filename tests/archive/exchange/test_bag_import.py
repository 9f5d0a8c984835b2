"""Items that come from another archive, and Originals that are handed over: no two of one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ibi.archive.exchange.bag_import import NOTHING, BagImporter, Brought, ImportDecision
from ibi.archive.exchange.handover import HandoverIssuer
from ibi.archive.peers.signing_key import SigningKey
from ibi.archive.rules.amendment import Amendment
from ibi.archive.rules.deposit_request import DepositRequest
from ibi.archive.rules.handover import HandOver, paper_of, signing_text
from ibi.archive.rules.manifest import manifest, read_manifest
from ibi.errors import ArchiveRequestError, StateError, UnknownError
from ibi.foundation.system.signatures import is_signed
from ibi.identifier.label import parse
from ibi.model.change import Act, ItemChange
from ibi.model.item import State, Transfer
from ibi.model.label_pair import Forms
from tests.support.scenes.small_archive import SmallArchive, forms, unchanged
from tests.support.values.bags import brought, carry, contents

FILES = {"index.html": b"<p>hello</p>", "data/a.csv": b"a,b\n"}
SERVICES = {"giver": forms(900_001), "taker": forms(900_002), "other": forms(900_003)}


class Party:
    """An archive that gives and takes."""

    def __init__(self, folder: Path, name: str, minted: int) -> None:
        """Make it."""
        folder.mkdir()
        self.small = SmallArchive(folder, minted=minted)
        self.service = SERVICES[name]
        self.key = SigningKey(self.small.catalogue.settings)
        self.restart()

    def restart(self) -> None:
        """Forget all that is not on the disk."""
        self.small.restart()
        small = self.small
        self.key = SigningKey(small.catalogue.settings)
        self.importing = BagImporter(small.archive, small.deposits, self.service, is_signed)
        address = "http://giver.example.org"
        self.handing_over = HandoverIssuer(small.archive, self.service, address, self.key.sign)

    def state(self, label: str) -> str:
        """Return how an item is here; empty if it is not."""
        held = self.small.catalogue.items.find(parse(label).canonical)
        return "" if held is None else str(held.item.state)

    def give(self, label: str, to: Party) -> HandOver:
        """Hand an item over."""
        return self.handing_over.give([label], to.service.label.spelling, "me")

    def take(self, giver: Party, label: str, document: HandOver, key: str | None = None) -> str:
        """Import an item as the Original."""
        paper = paper_of(document, document.items[0])
        wanted = msgspec.structs.replace(brought(giver.small, label), paper=paper)
        return self.bring(
            wanted, contents(giver.small, label), giver.key.public() if key is None else key
        )

    def bring(self, wanted: Brought, files: dict[str, bytes], key: str = "") -> str:
        """Import an item; return what came of it."""
        [opened] = self.importing.open([wanted], key, "me")
        if opened.outcome != "open":
            return f"{opened.outcome}: {opened.detail}"
        needed = {path: files[path] for path in opened.needed}
        ended = self.importing.complete(opened.deposit, needed, "me")
        return f"{ended.outcome}: {ended.detail}".removesuffix(": ")


@pytest.fixture
def giver(tmp_path: Path) -> Iterator[Party]:
    party = Party(tmp_path / "giver", "giver", 0)
    yield party
    party.small.close()


@pytest.fixture
def taker(tmp_path: Path) -> Iterator[Party]:
    party = Party(tmp_path / "taker", "taker", 1000)
    yield party
    party.small.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Party]:
    party = Party(tmp_path / "other", "other", 2000)
    yield party
    party.small.close()


# --- as a Copy ------------------------------------------------------------------------------------


def test_an_item_comes_as_a_copy_with_its_labels_files_and_metadata(
    giver: Party, taker: Party
) -> None:
    label = giver.small.label(FILES, language="pt", list_public=False)
    assert carry(giver.small, label, taker.importing) == "imported"
    there, here = giver.small.archive.get_described(label), taker.small.archive.get_described(label)
    origin = "http://giver.example.org"
    assert here.item == replace(there.item, state=State.COPY, origin=origin)
    assert here.metadata is not None
    assert there.metadata is not None
    assert here.metadata.item == replace(there.metadata.item, state=State.COPY, origin=origin)
    assert contents(taker.small, label) == FILES
    [entry] = taker.small.catalogue.history.entries(0, 10)
    assert (entry.act, entry.label) == ("import", there.item.forms.label.canonical)
    assert taker.small.catalogue.copies.get(entry.label) is not None
    before = taker.small.dump()
    taker.small.lose_catalogue()
    assert [place for place, _ in taker.small.store.manifests()]
    assert before[1] == taker.small.dump()[1]


def test_what_is_here_already_is_left_as_it_is(giver: Party, taker: Party) -> None:
    label = giver.small.label(FILES)
    carry(giver.small, label, taker.importing)
    with unchanged(taker.small):
        assert carry(giver.small, label, taker.importing) == "here: it is here already, as Copy"


def test_a_newer_one_brings_only_what_is_new(giver: Party, taker: Party) -> None:
    label = giver.small.label(FILES)
    old = brought(giver.small, label)
    carry(giver.small, label, taker.importing)
    giver.small.deposit({"data": b"a file now", "new.txt": b""}, item=label, remove=["data/a.csv"])
    wanted = brought(giver.small, label)
    [opened] = taker.importing.open([wanted], "", "me")
    assert opened.needed == ("data", "new.txt")
    assert taker.bring(wanted, contents(giver.small, label)) == "updated"
    assert contents(taker.small, label) == contents(giver.small, label)
    with unchanged(taker.small):  # an older bag changes nothing
        assert taker.bring(old, FILES).startswith("here")


def test_a_change_of_what_is_said_comes_too(giver: Party, taker: Party) -> None:
    label = giver.small.label(FILES)
    carry(giver.small, label, taker.importing)
    giver.small.archive.amend(label, Amendment(metadata={"title": "Another"}), "me")
    assert carry(giver.small, label, taker.importing) == "updated"
    record = taker.small.archive.get_described(label).record
    assert record is not None
    assert record.title.value == "Another"


def test_an_item_without_files_and_a_service_elsewhere_come(giver: Party, taker: Party) -> None:
    for request in ({}, {"service": "http://runs.example.org/"}):
        label = giver.small.label({}, **request)
        assert carry(giver.small, label, taker.importing) == "imported"
        assert taker.state(label) == "Copy"


def test_an_original_is_not_replaced(giver: Party) -> None:
    label = giver.small.label(FILES)
    giver.small.deposit({"x": b""}, item=label)
    with unchanged(giver.small):
        assert "is the Original in this archive" in carry(giver.small, label, giver.importing)


def test_what_was_deleted_here_stays_deleted(giver: Party, taker: Party) -> None:
    label = giver.small.label(FILES)
    wanted = brought(giver.small, label)
    giver.small.archive.delete(label, "me", "why not")
    with unchanged(giver.small):
        assert "was deleted" in giver.bring(wanted, FILES)
    assert "was deleted" in taker.bring(brought(giver.small, label), FILES)


def test_a_copy_that_is_being_transferred_waits(giver: Party, taker: Party) -> None:
    label = giver.small.label(FILES)
    carry(giver.small, label, taker.importing)
    giver.small.deposit({"x": b""}, item=label)
    ready = Transfer(id="1", peer="http://x.example.org", phase="ready", since=1)
    edit(taker.small, label, transfer=ready)
    with unchanged(taker.small):
        assert "is being transferred" in carry(giver.small, label, taker.importing)


def edit(small: SmallArchive, label: str, **fields: Any) -> None:  # noqa: ANN401  # of an item
    """Change an item as no act would."""
    held = small.archive.get(label)
    changed = ItemChange(
        item=replace(held.item, **fields), files=small.archive.files(held), version=held.version
    )
    act: Act = "receive"
    main = held.item.forms.label
    small.archive.make(small.archive.change(act, "me", main, [changed], small.clock.wall()))


def test_no_name_that_belongs_to_another_is_taken(giver: Party, taker: Party) -> None:
    theirs = taker.small.label({"x": b""})
    label = giver.small.label(FILES, further_names=[theirs])
    with unchanged(taker.small):
        assert "names another item here" in carry(giver.small, label, taker.importing)
    reserved = taker.small.archive.reserve(1, "me")[0].forms
    label = giver.small.label(FILES, further_names=[reserved.label.spelling])
    with unchanged(taker.small):
        assert "is reserved in this archive" in carry(giver.small, label, taker.importing)


def test_a_further_name_of_something_here_is_not_taken_for_it(giver: Party, taker: Party) -> None:
    label = giver.small.label(FILES)
    taker.small.label({"x": b""}, further_names=[label])
    with unchanged(taker.small):
        assert "names another item here" in carry(giver.small, label, taker.importing)


def altered(wanted: Brought, **fields: Any) -> Brought:  # noqa: ANN401  # of an item
    item, files = read_manifest(bytes(wanted.item))
    text = manifest(replace(item, **fields), files)
    return msgspec.structs.replace(wanted, item=msgspec.Raw(text))


def test_a_label_that_is_spelled_otherwise_leaves_no_files_behind(
    giver: Party, taker: Party
) -> None:
    label = giver.small.label(FILES)
    assert carry(giver.small, label, taker.importing) == "imported"
    wanted = brought(giver.small, label)
    item, files = read_manifest(bytes(wanted.item))
    metadata, _ = read_manifest(bytes(wanted.metadata))
    respelled = Forms.of(label.replace("archive", "ARCHIVE"), item.forms.ibip)
    other = Brought(
        respelled.label.spelling,
        msgspec.Raw(manifest(replace(item, forms=respelled, updated=item.updated + 1), files)),
        msgspec.Raw(manifest(replace(metadata, describes=respelled), ())),
    )
    with unchanged(taker.small):
        assert "spelled otherwise" in taker.bring(other, FILES)
    assert contents(taker.small, label) == FILES


def test_what_is_not_as_it_should_be_is_refused_and_nothing_changed(
    giver: Party, taker: Party
) -> None:
    label = giver.small.label(FILES)
    second = giver.small.label({"b": b""})
    wanted = brought(giver.small, label)
    metadata = Forms.parse(str(giver.small.archive.get_described(second).item.metadata))
    bad = (
        msgspec.structs.replace(wanted, label=second),
        msgspec.structs.replace(wanted, label="not a label"),
        msgspec.structs.replace(wanted, item=msgspec.Raw(b"{}")),
        msgspec.structs.replace(wanted, metadata=NOTHING),
        msgspec.structs.replace(wanted, metadata=brought(giver.small, second).metadata),
        msgspec.structs.replace(wanted, metadata=wanted.item),
        altered(wanted, metadata=metadata),
        altered(wanted, state=State.DELETED),
        altered(wanted, kind="service"),
        altered(wanted, kind="metadata"),
        altered(wanted, target="gone.txt"),
        altered(wanted, runs_at="javascript:alert(1)"),
        altered(wanted, readers=("nowhere",)),
    )
    with unchanged(taker.small):
        for each in bad:
            [reception] = taker.importing.open([each], "", "me")
            assert reception.outcome == "refused", each
            assert reception.detail


def test_the_others_come_when_one_is_refused(giver: Party, taker: Party) -> None:
    labels = [giver.small.label({"a": b"%d" % number}) for number in range(3)]
    items = [brought(giver.small, label) for label in labels]
    items[1] = altered(items[1], state=State.DELETED)
    outcomes = [each.outcome for each in taker.importing.open(items, "", "me")]
    assert outcomes == ["open", "refused", "open"]


def opened(giver: Party, taker: Party, label: str) -> ImportDecision:
    [reception] = taker.importing.open([brought(giver.small, label)], "", "me")
    assert reception.outcome == "open"
    return reception


def test_files_that_are_not_those_of_the_manifest_make_no_item(giver: Party, taker: Party) -> None:
    label = giver.small.label(FILES)
    for files in (
        {**FILES, "index.html": b"<p>other</p>"},
        {"index.html": FILES["index.html"]},
        {**FILES, "more.txt": b"unheard of"},
        {**FILES, "../x": b""},
    ):
        id_ = opened(giver, taker, label).deposit
        ended = taker.importing.complete(id_, files, "me")
        assert ended.outcome == "refused", files
        assert taker.state(label) == ""
        taker.small.deposits.abandon(id_)
    assert carry(giver.small, label, taker.importing) == "imported"


def test_an_import_is_gone_on_with_and_ends_once(giver: Party, taker: Party) -> None:
    label = giver.small.label(FILES)
    id_ = opened(giver, taker, label).deposit
    with taker.small.deposits.receive(id_, "index.html", 0) as sink:
        sink.write(FILES["index.html"])
        sink.finish("text/plain")
    with taker.small.deposits.receive(id_, "data/a.csv", 0) as sink:
        sink.write(b"a,")
    taker.restart()
    again = opened(giver, taker, label)
    assert again.deposit == id_
    assert [(each.path, each.size) for each in again.staged] == [
        ("data/a.csv", 2),
        ("index.html", 12),
    ]
    assert taker.importing.complete(id_, {}, "me").outcome == "refused"  # a part is missing
    with taker.small.deposits.receive(id_, "data/a.csv", 2) as sink:
        sink.write(b"b\n")
        sink.finish()
    assert taker.importing.complete(id_, {}, "me").outcome == "imported"
    assert taker.importing.complete(id_, FILES, "me").outcome == "imported"
    assert len(taker.small.catalogue.history.entries(0, 10)) == 1
    assert taker.small.archive.files(taker.small.archive.get(label))[1].media_type == ""


def test_an_import_is_not_a_deposit_of_another_item(giver: Party, taker: Party) -> None:
    label = giver.small.label(FILES)
    id_ = opened(giver, taker, label).deposit
    with pytest.raises(StateError, match="as an import"):
        taker.small.deposits.complete(id_, "me")
    deposit = taker.small.deposits.open(DepositRequest(metadata={"title": "x"}), "me")
    for unknown in (deposit.id, "import", "import/../x", ""):
        with pytest.raises(UnknownError):
            taker.importing.complete(unknown, {}, "me")
    with pytest.raises(ArchiveRequestError):
        taker.importing.open([], "", "me")


def test_a_media_type_that_is_none_reaches_no_header(giver: Party, taker: Party) -> None:
    label = giver.small.label({"a": b"a"})
    wanted = brought(giver.small, label)
    item, [file] = read_manifest(bytes(wanted.item))
    bad = manifest(item, [replace(file, media_type="text/html\r\nX: y")])
    with unchanged(taker.small):
        told = taker.bring(msgspec.structs.replace(wanted, item=msgspec.Raw(bad)), {"a": b"a"})
    assert "the media type of 'a' is none" in told


# --- as the Original ------------------------------------------------------------------------------


def test_an_original_is_handed_over(giver: Party, taker: Party) -> None:
    label = giver.small.label(FILES)
    document = giver.give(label, taker)
    assert giver.state(label) == "Copy"  # before anybody has the paper
    assert taker.take(giver, label, document) == "imported"
    item = taker.small.archive.get(label).item
    assert (item.state, item.origin) == (State.ORIGINAL, "")
    assert item.custody == (document.items[0].transfer,)
    look = taker.small.archive.get_described(label)
    assert look.metadata is not None
    assert look.metadata.item.state is State.ORIGINAL
    there = giver.small.archive.get_described(label)
    assert there.metadata is not None
    assert there.metadata.item.state is State.COPY
    with unchanged(taker.small):
        assert taker.take(giver, label, document).startswith("here")
    [exchange] = taker.small.catalogue.transfers.listed()
    assert (exchange.role, exchange.state) == ("receiving", "done")
    [exchange] = giver.small.catalogue.transfers.listed()
    assert (exchange.role, exchange.state) == ("giving", "done")


def test_a_copy_becomes_the_original(giver: Party, taker: Party) -> None:
    label = giver.small.label(FILES)
    carry(giver.small, label, taker.importing)
    assert taker.take(giver, label, giver.give(label, taker)) == "updated"
    assert taker.state(label) == "Original"
    assert taker.small.catalogue.copies.get(parse(label).canonical) is None


def test_the_same_hand_over_is_the_same_paper(giver: Party, taker: Party) -> None:
    label = giver.small.label(FILES)
    first = giver.give(label, taker)
    giver.restart()
    with unchanged(giver.small):
        assert giver.give(label, taker) == first


def test_what_is_given_to_one_is_not_given_to_another(
    giver: Party, taker: Party, other: Party
) -> None:
    label = giver.small.label(FILES)
    document = giver.give(label, taker)
    with pytest.raises(StateError, match="is a Copy here"):
        giver.give(label, other)
    assert "which is not this archive" in other.take(giver, label, document)
    assert other.state(label) == ""


def forgeries(document: HandOver, wrong: str) -> Iterator[HandOver]:
    """Change one fact of a paper after another."""
    [item] = document.items
    for facts in (
        {"recipient": wrong},
        {"giver": wrong},
        {"address": "http://evil.example.org"},
    ):
        yield msgspec.structs.replace(document, **facts)
    for facts in (
        {"transfer": "0" * 32},
        {"digest": "0" * 64},
        {"label": wrong},
        {"metadata": wrong},
        {"at": "2020-01-01T00:00:00Z"},
        {"signature": "0" * 128},
        {"signature": ""},
    ):
        yield msgspec.structs.replace(document, items=[msgspec.structs.replace(item, **facts)])


def test_a_paper_of_which_anything_was_changed_makes_no_original(
    giver: Party, taker: Party, other: Party
) -> None:
    label = giver.small.label(FILES)
    document = giver.give(label, taker)
    wrong = other.service.label.spelling
    with unchanged(taker.small):
        for forged in forgeries(document, wrong):
            assert "cannot be accepted" in taker.take(giver, label, forged), forged
        assert "by the key that you named" in taker.take(giver, label, document, other.key.public())
        assert "has to name the key" in taker.take(giver, label, document, "")
    for forged in forgeries(document, wrong):  # for whom it says it is, it is none
        assert "cannot be accepted" in other.take(giver, label, forged)
    with pytest.raises(ArchiveRequestError):
        taker.take(giver, label, document, "not a key")


def test_somebody_else_signs_for_nobody(giver: Party, taker: Party, other: Party) -> None:
    """The guard that is off in the twin: who checks no signature takes an Original from anybody."""
    label = giver.small.label(FILES)
    [item] = giver.give(label, taker).items
    document = HandOver(
        id="0" * 32,
        giver=giver.service.label.spelling,
        address="http://giver.example.org",
        recipient=taker.service.label.spelling,
        items=[item],
    )
    signature = other.key.sign(signing_text(paper_of(document, item)))
    forged = msgspec.structs.replace(
        document, items=[msgspec.structs.replace(item, signature=signature)]
    )
    assert "cannot be accepted" in taker.take(giver, label, forged)
    assert taker.state(label) == ""
    small = taker.small
    taker.importing = BagImporter(small.archive, small.deposits, taker.service, lambda *_: True)
    assert taker.take(giver, label, forged) == "imported"


def test_other_content_than_was_handed_over_is_refused(giver: Party, taker: Party) -> None:
    label = giver.small.label(FILES)
    document = giver.give(label, taker)
    paper = paper_of(document, document.items[0])
    wanted = altered(brought(giver.small, label), list_public=False)
    wanted = msgspec.structs.replace(wanted, paper=paper)
    assert "is not what was handed over" in taker.bring(wanted, FILES, giver.key.public())
    assert taker.state(label) == ""


def test_an_original_that_went_on_does_not_come_back_by_the_old_paper(
    giver: Party, taker: Party, other: Party
) -> None:
    label = giver.small.label(FILES)
    first = giver.give(label, taker)
    taker.take(giver, label, first)
    second = taker.give(label, other)
    assert other.take(taker, label, second) == "imported"
    assert [party.state(label) for party in (giver, taker, other)] == ["Copy", "Copy", "Original"]
    with unchanged(taker.small):
        assert taker.take(giver, label, first).startswith("here")
        assert taker.give(label, other) == second
    assert [party.state(label) for party in (giver, taker, other)] == ["Copy", "Copy", "Original"]
    # And back to where it was: another hand-over, under another id, for the same two archives.
    assert giver.take(other, label, other.give(label, giver)) == "updated"
    again = giver.give(label, taker)
    assert again.items[0].transfer != first.items[0].transfer
    assert taker.take(giver, label, first).startswith("here")
    assert taker.take(giver, label, again) == "updated"
    assert [party.state(label) for party in (giver, taker, other)] == ["Copy", "Original", "Copy"]


def test_what_cannot_be_given_is_refused_before_anything_is(giver: Party, taker: Party) -> None:
    good, fixed = giver.small.label({"a": b""}), giver.small.label({"b": b""})
    edit(giver.small, fixed, transferable=False)
    deleted = giver.small.label({"c": b""})
    giver.small.archive.delete(deleted, "me", "why")
    recipient = taker.service.label.spelling
    described = giver.small.archive.get_described(good).item.metadata
    assert described is not None
    with unchanged(giver.small):
        for bad in (fixed, deleted):
            for act in (
                lambda b=bad: giver.handing_over.check([good, b], recipient),
                lambda b=bad: giver.handing_over.give([good, b], recipient, "me"),
            ):
                with pytest.raises(StateError):
                    act()
        with pytest.raises(ArchiveRequestError, match="to itself"):
            giver.handing_over.give([good], giver.service.short.spelling, "me")
        with pytest.raises(ArchiveRequestError):
            giver.handing_over.give([], recipient, "me")
        with pytest.raises(UnknownError):
            giver.handing_over.give([forms(77_777).label.spelling], recipient, "me")
    assert giver.state(good) == "Original"


def test_copies_of_what_others_have_are_left_out_if_wanted_so(
    giver: Party, taker: Party, other: Party
) -> None:
    mine = giver.small.label({"a": b""})
    theirs = other.small.label({"b": b""})
    carry(other.small, theirs, giver.importing)
    recipient = taker.service.label.spelling
    with pytest.raises(StateError):
        giver.handing_over.give([mine, theirs], recipient, "me")
    document = giver.handing_over.give([mine, theirs], recipient, "me", leave_copies=True)
    assert [item.label for item in document.items] == [mine]
    assert giver.handing_over.give([mine, theirs], recipient, "me", leave_copies=True) == document


def test_nobody_else_changes_what_was_handed_over(giver: Party, taker: Party) -> None:
    label = giver.small.label(FILES)
    giver.give(label, taker)
    with pytest.raises(StateError, match="is a Copy here"):
        giver.small.deposit({"x": b""}, item=label)


def test_signatures() -> None:
    """A signature is good for its text and its key alone (RFC 8032, 7.1, TEST 2)."""
    key = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
    signature = (
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )
    assert is_signed(key, b"\x72", signature)
    assert not is_signed(key, b"\x73", signature)
    assert not is_signed(key, b"\x72", signature[:-2] + "01")
    assert not is_signed("ab", b"\x72", signature)
