"""Transfers between real archives, in one process: killed, cut off, doubled, undone, lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.archive.copies.pull import ItemPuller
from ibi.archive.rules.amendment import Amendment
from ibi.archive.rules.transfer_messages import Commit, Message, TransferOffer, TransferReply, Undo
from ibi.errors import (
    ArchiveRequestError,
    ArchiveUnreachableError,
    DeletedError,
    StateError,
    StorageFullError,
    UnknownError,
)
from ibi.foundation.system.clock import SystemClock
from ibi.identifier.label import parse
from ibi.model.item import State
from tests.support.scenes.peer_archive import LocalPeer
from tests.support.scenes.small_archive import SmallArchive
from tests.support.scenes.transfers import TOKEN, Killed, Network, Side, copied
from tests.support.waiting import PATIENCE, wait_until

FILES = {"report.txt": b"all of it", "data/numbers.csv": b"1,2,3\n" * 10}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """Two archives, of which the first has an item; and its label."""
    giver, receiver = tmp_path_factory.mktemp("giver"), tmp_path_factory.mktemp("receiver")
    small = SmallArchive(giver)
    label = small.label(FILES, list_public=False, target="report.txt")
    small.close()
    SmallArchive(receiver).close()
    return giver, receiver, label


class Scene:
    """Two archives, and one item."""

    def __init__(self, folder: Path, template: tuple[Path, Path, str]) -> None:
        """Make them anew."""
        self.network = Network()
        giver, receiver, self.label = template
        self.a = Side(self.network, copied(giver, folder / "a"), "a", 1)
        self.b = Side(self.network, copied(receiver, folder / "b"), "b", 2)
        self._template, self._folder = receiver, folder

    def third(self) -> Side:
        """Return one more archive."""
        return Side(self.network, copied(self._template, self._folder / "c"), "c", 3)

    def restart(self) -> None:
        """Start all of them again."""
        for side in self.network.sides.values():
            side.restart()

    def close(self) -> None:
        """Let go of the catalogues."""
        for side in self.network.sides.values():
            side.small.close()


@pytest.fixture
def scene(tmp_path: Path, template: tuple[Path, Path, str]) -> Iterator[Scene]:
    made = Scene(tmp_path, template)
    yield made
    made.close()


def check_moved(scene: Scene, source: Side, to: Side, id_: str) -> None:
    label = scene.label
    assert scene.network.originals(label) == [to.address]
    for item in (to.item(label), to.metadata(label)):
        assert item is not None
        assert (item.state, item.origin, item.transfer) == (State.ORIGINAL, "", None)
        assert item.custody[-1] == id_
    for item in (source.item(label), source.metadata(label)):
        assert item is not None
        assert (item.state, item.origin, item.transfer) == (State.COPY, to.address, None)
    assert to.files(label) == source.files(label) == FILES
    assert source.small.catalogue.copies.get(to.transfers.get(id_).exchange.label) is not None
    assert [side.transfers.get(id_).phase for side in (source, to)] == ["done", "done"]
    assert all(side.transfers.get(id_).exchange.secret == "" for side in (source, to))


def check_stayed(scene: Scene, id_: str, *, was_here: bool = False) -> None:
    label = scene.label
    assert scene.network.originals(label) == [scene.a.address]
    for item in (scene.a.item(label), scene.a.metadata(label)):
        assert item is not None
        assert (item.state, item.origin, item.transfer) == (State.ORIGINAL, "", None)
    assert scene.a.files(label) == FILES
    there = scene.b.item(label)
    assert (there is not None) is was_here
    if there is not None:
        assert (there.state, there.transfer) == (State.COPY, None)
    assert scene.a.transfers.get(id_).phase == "undone"


def test_an_original_is_transferred_with_what_describes_it(scene: Scene) -> None:
    before = scene.a.item(scene.label), scene.a.metadata(scene.label)
    id_ = scene.a.offer(scene.label, scene.b)
    scene.network.settle()
    check_moved(scene, scene.a, scene.b, id_)
    after = scene.b.item(scene.label), scene.b.metadata(scene.label)
    for one, other in zip(before, after, strict=True):
        assert one is not None
        assert other is not None
        assert replace(other, custody=()) == one
    acts = [each.act for each in scene.a.small.catalogue.history.entries(0, 100)]
    assert acts[-3:] == ["offer", "hand over", "accept"]
    assert [each.act for each in scene.b.small.catalogue.history.entries(0, 100)] == [
        "receive",
        "accept",
    ]


def test_there_and_back_and_on(scene: Scene) -> None:
    c = scene.third()
    for source, to in ((scene.a, scene.b), (scene.b, scene.a), (scene.a, c), (c, scene.b)):
        id_ = source.offer(scene.label, to)
        scene.network.settle()
        check_moved(scene, source, to, id_)
    assert scene.a.item(scene.label).custody  # type: ignore[union-attr]


# --- killed ---------------------------------------------------------------------------------------


def run(scene: Scene, *, undo: str = "") -> None:
    """Transfer, and undo it if that is wished; whoever is killed is started again."""
    wished = False
    for _ in range(60):
        try:
            if not scene.a.open_ids() and not scene.network.said:
                scene.a.offer(scene.label, scene.b)
            for side in (scene.a, scene.b):
                side.step()
                wished = wished or _undo(scene, undo)
            if not scene.a.open_ids() and not scene.b.open_ids() and scene.network.said:
                return
        except Killed:
            scene.restart()
        assert len(scene.network.originals(scene.label)) <= 1
        assert {**FILES} in (scene.a.files(scene.label), scene.b.files(scene.label))
    raise AssertionError([side.transfers.newest(100) for side in (scene.a, scene.b)])


def _undo(scene: Scene, phase: str) -> bool:
    for side in (scene.a, scene.b):
        for each in side.transfers.newest(100, "open"):
            if phase == f"{side.number} {each.phase}":
                side.transfers.undo(each.exchange.id, "me")
                return True
    return False


UNDOS = ("", "1 offered", "1 handed over", "2 copying", "2 ready")


def kill_at(folder: Path, template: tuple[Path, Path, str], undo: str, every: int) -> set[str]:
    """Kill whoever makes a write before it, and after it, one write after the other."""
    ended: set[str] = set()
    number, writes = -every, 0
    while number < writes:
        for after in (False, True):
            scene = Scene(folder / f"{number}{after}", template)
            scene.network.kill_at = (number, after)  # first nobody is killed
            run(scene, undo=undo)
            [original] = scene.network.originals(scene.label)
            side = scene.network.sides[original]
            metadata = side.metadata(scene.label)
            assert side.files(scene.label) == FILES
            assert metadata is not None
            assert metadata.state is State.ORIGINAL
            ended.add(original)
            writes = max(writes, scene.network.writes)
            scene.close()
        number += every
    assert writes >= 10
    return ended


def test_whoever_is_killed_it_ends_with_one_original(
    tmp_path: Path, template: tuple[Path, Path, str]
) -> None:
    assert "http://b.example.org" in kill_at(tmp_path, template, "", 4)


@pytest.mark.long
@pytest.mark.parametrize("undo", UNDOS)
def test_whoever_is_killed_at_whichever_write_it_ends_with_one_original(
    tmp_path: Path, template: tuple[Path, Path, str], undo: str
) -> None:
    ended = kill_at(tmp_path, template, undo, 1)
    assert ("http://a.example.org" if undo else "http://b.example.org") in ended


# --- messages -------------------------------------------------------------------------------------


def test_answers_that_are_lost_are_asked_for_again(scene: Scene) -> None:
    lost: list[Message] = []

    def lose(_to: str, message: Message, _answer: TransferReply) -> None:
        if message not in lost:
            lost.append(message)
            raise ArchiveUnreachableError("there", "the connection broke")

    scene.network.after = lose
    id_ = scene.a.offer(scene.label, scene.b)
    scene.network.settle()
    check_moved(scene, scene.a, scene.b, id_)
    assert [type(each) for each in lost] == [TransferOffer, Commit]


def test_while_the_other_does_not_answer_the_copy_waits_and_says_why(scene: Scene) -> None:
    def cut(_to: str, message: Message) -> None:
        if isinstance(message, Commit | Undo):
            raise ArchiveUnreachableError("there", "nobody is there")

    scene.network.before = cut
    id_ = scene.a.offer(scene.label, scene.b)
    for _ in range(20):
        scene.a.step()
        scene.b.step()
    progress = scene.a.transfers.get(id_)
    assert progress.phase == "handed over"
    assert "nobody is there" in progress.exchange.fault
    assert scene.network.originals(scene.label) == []
    scene.network.before = lambda _to, _message: None
    scene.network.settle()
    check_moved(scene, scene.a, scene.b, id_)


def test_every_message_may_come_again_at_any_later_time(scene: Scene) -> None:
    c = scene.third()
    ids = []
    for source, to in ((scene.a, scene.b), (scene.b, c)):
        ids.append(source.offer(scene.label, to))
        scene.network.settle()
    states = [side.item(scene.label) for side in scene.network.sides.values()]
    for address, message, _ in list(scene.network.said):
        for each in (message, Undo(id=message.id, label=message.label)):
            answer = scene.network.sides[address].transfers.hear(each)
            assert answer.state == "accepted"
    assert [side.item(scene.label) for side in scene.network.sides.values()] == states
    assert scene.network.originals(scene.label) == [c.address]


def test_a_late_offer_of_what_was_undone_is_refused(scene: Scene) -> None:
    id_ = scene.a.offer(scene.label, scene.b)
    scene.a.step()
    scene.b.step()
    scene.a.transfers.undo(id_, "me")
    scene.network.settle()
    check_stayed(scene, id_)
    [(_, offer, _), *_] = scene.network.said
    answer = scene.b.transfers.hear(offer)
    assert answer.state == "refused"
    assert "undid it" in answer.reason
    scene.network.settle()
    check_stayed(scene, id_)


def test_a_receipt_of_another_archive_is_not_judged(scene: Scene) -> None:
    id_ = scene.a.offer(scene.label, scene.b)
    for message in (
        Commit(id=id_, label=scene.label, receipt="0" * 32 + "@elsewhere"),
        Undo(id=id_, label=scene.label, receipt="0" * 32 + "@elsewhere"),
    ):
        with pytest.raises(StateError, match="not of this archive"):
            scene.b.transfers.hear(message)


@pytest.mark.parametrize("id_", ["", "x" * 32, "0" * 31, "../../etc"])
def test_an_id_that_is_none_is_refused(scene: Scene, id_: str) -> None:
    with pytest.raises(ArchiveRequestError, match="not the id"):
        scene.b.transfers.hear(Undo(id=id_, label=scene.label))


# --- undone ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("undo", UNDOS[1:])
def test_it_can_be_undone_in_every_phase(scene: Scene, undo: str) -> None:
    run(scene, undo=undo)
    [ended] = scene.a.transfers.newest(100)
    check_stayed(scene, ended.exchange.id)
    assert ended.exchange.fault.endswith("undid it.") or "undone" in ended.exchange.fault


def test_a_copy_that_was_there_before_stays_when_it_is_undone(scene: Scene) -> None:
    there = scene.a.offer(scene.label, scene.b)
    scene.network.settle()
    back = scene.b.offer(scene.label, scene.a)
    scene.network.settle()
    check_moved(scene, scene.b, scene.a, back)
    run_until(scene, scene.a.offer(scene.label, scene.b), "ready")
    [ready] = scene.b.transfers.newest(100, "open")
    scene.b.transfers.undo(ready.exchange.id, "me")
    scene.network.settle()
    check_stayed(scene, ready.exchange.id, was_here=True)
    assert scene.b.item(scene.label).custody == (there,)  # type: ignore[union-attr]


def run_until(scene: Scene, id_: str, phase: str) -> None:
    """Go on until the receiver is that far."""
    for _ in range(20):
        scene.a.step()
        with_row = scene.b.small.catalogue.transfers.get(id_) is not None
        if with_row and scene.b.transfers.get(id_).phase == phase:
            return
        scene.b.step()
    raise AssertionError(phase)


def test_what_was_accepted_cannot_be_undone(scene: Scene) -> None:
    id_ = scene.a.offer(scene.label, scene.b)

    def lose(_to: str, message: Message, _answer: TransferReply) -> None:
        if isinstance(message, Commit | Undo):
            raise ArchiveUnreachableError("there", "the connection broke")

    scene.network.after = lose
    for _ in range(10):
        scene.a.step()
        scene.b.step()
    assert scene.network.originals(scene.label) == [scene.b.address]
    scene.a.transfers.undo(id_, "me")  # it does not know better
    scene.a.step()
    assert scene.network.originals(scene.label) == [scene.b.address]
    with pytest.raises(StateError, match="ended already"):
        scene.b.transfers.undo(id_, "me")
    scene.network.after = lambda *_: None
    scene.network.settle()
    check_moved(scene, scene.a, scene.b, id_)


def test_a_giver_whose_receiver_is_gone_forgets_what_it_took_back(scene: Scene) -> None:
    id_ = scene.a.offer(scene.label, scene.b)
    b = scene.network.sides.pop(scene.b.address)
    scene.a.step()
    assert scene.a.transfers.undo(id_, "me").phase == "ending"
    assert scene.network.originals(scene.label) == [scene.a.address]
    scene.a.step()
    assert scene.a.transfers.undo(id_, "me").phase == "undone"
    b.small.close()


# --- the catalogue is lost ------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["offered", "handed over"])
def test_the_giver_loses_its_catalogue_and_goes_on_by_a_new_token(scene: Scene, phase: str) -> None:
    cut = phase == "handed over"

    def lose(_to: str, message: Message) -> None:
        if isinstance(message, Commit) and cut:
            raise ArchiveUnreachableError("there", "nobody is there")

    scene.network.before = lose
    id_ = scene.a.offer(scene.label, scene.b)
    for _ in range(10 if cut else 0):
        scene.a.step()
        scene.b.step()
    scene.a.lose_catalogue()
    scene.network.before = lambda *_: None
    progress = scene.a.transfers.get(id_)
    assert progress.phase == phase
    assert "give it again" in progress.exchange.fault
    for _ in range(10):
        scene.a.step()
        scene.b.step()
    assert scene.a.transfers.get(id_).phase == phase
    # The same command again takes it up.
    assert scene.a.offer(scene.label, scene.b) == id_
    scene.network.settle()
    check_moved(scene, scene.a, scene.b, id_)


def test_the_receiver_loses_its_catalogue_when_it_is_ready(scene: Scene) -> None:
    id_ = scene.a.offer(scene.label, scene.b)
    run_until(scene, id_, "ready")
    scene.b.lose_catalogue()
    assert scene.b.transfers.get(id_).phase == "ready"
    scene.network.settle()
    check_moved(scene, scene.a, scene.b, id_)


def test_the_receiver_loses_its_catalogue_after_it_accepted_and_gave_on(scene: Scene) -> None:
    def lose(_to: str, message: Message, _answer: TransferReply) -> None:
        if isinstance(message, Commit):
            raise ArchiveUnreachableError("there", "the connection broke")

    id_ = scene.a.offer(scene.label, scene.b)
    scene.network.after = lose
    for _ in range(10):
        scene.a.step()
        scene.b.step()
    assert scene.a.transfers.get(id_).phase == "handed over"
    scene.network.after = lambda *_: None
    c = scene.third()
    scene.b.offer(scene.label, c)
    for _ in range(20):
        scene.b.step()
        c.step()
    scene.b.lose_catalogue()
    assert scene.network.originals(scene.label) == [c.address]
    scene.network.settle()
    assert scene.network.originals(scene.label) == [c.address]
    assert scene.a.transfers.get(id_).phase == "done"


# --- refusals -------------------------------------------------------------------------------------


def test_what_cannot_be_transferred(scene: Scene) -> None:
    a, b, label = scene.a, scene.b, scene.label
    described = str(a.metadata(label).forms.label)  # type: ignore[union-attr]
    gone = a.small.label({"one.txt": b"one"})
    a.small.archive.delete(gone, "me", "Deposited twice")
    with pytest.raises(UnknownError):
        a.offer("6qtX3pFwXQZGivnK2Y/SskcB", b)
    with pytest.raises(DeletedError):
        a.offer(gone, b)
    with pytest.raises(StateError, match="describes another item"):
        a.offer(described, b)
    with pytest.raises(ArchiveRequestError, match="is this archive itself"):
        a.offer(label, a)
    with pytest.raises(ArchiveRequestError, match="not the address"):
        a.transfers.offer([label], "ftp://elsewhere", "token", "me")
    with pytest.raises(ArchiveRequestError, match="A token"):
        a.offer(label, b, "")
    with pytest.raises(ArchiveRequestError, match="0 items"):
        a.transfers.offer([], b.address, "token", "me")
    a.offer(label, b)
    with pytest.raises(StateError, match=r"being transferred to http://b\.example\.org already"):
        a.offer(label, b)
    with pytest.raises(StateError, match=r"being transferred to http://b\.example\.org: wait, or"):
        a.small.archive.amend(label, Amendment(metadata={"title": "Another"}), "me")
    with pytest.raises(StateError, match="being transferred"):
        a.small.archive.delete(label, "me", "Not wanted")
    other = a.small.label({"one.txt": b"one"})
    with pytest.raises(StateError, match="being transferred"):
        a.small.archive.amend(other, Amendment(next_edition=label), "me")
    scene.network.settle()
    with pytest.raises(StateError, match="is a Copy here: its Original is transferred where it is"):
        a.offer(label, b)


def test_several_are_begun_or_none(scene: Scene) -> None:
    other = scene.a.small.label({"one.txt": b"one"})
    gone = scene.a.small.label({"one.txt": b"one"})
    scene.a.small.archive.delete(gone, "me", "Deposited twice")
    with pytest.raises(DeletedError):
        scene.a.transfers.offer([scene.label, other, gone], scene.b.address, "t", "me")
    assert scene.a.transfers.newest(100) == []
    scene.a.transfers.offer([scene.label, other, other], scene.b.address, "ibi_token", "me")
    scene.network.settle()
    assert [each.phase for each in scene.a.transfers.newest(100)] == ["done", "done"]
    assert scene.network.originals(other) == [scene.b.address]


def test_a_wrong_token_changes_nothing(scene: Scene) -> None:
    id_ = scene.a.offer(scene.label, scene.b, "ibi_wrong")
    scene.network.settle()
    check_stayed(scene, id_)
    assert "needs a token" in scene.a.transfers.get(id_).exchange.fault


def test_a_token_that_is_taken_away_after_the_hand_over_decides_nothing(scene: Scene) -> None:
    def revoke(_to: str, message: Message) -> None:
        if isinstance(message, Commit):
            scene.b.tokens.clear()

    scene.network.before = revoke
    id_ = scene.a.offer(scene.label, scene.b)
    for _ in range(20):
        scene.a.step()
        scene.b.step()
    assert scene.a.transfers.get(id_).phase == "handed over"
    assert "needs a token" in scene.a.transfers.get(id_).exchange.fault
    scene.network.before = lambda *_: None
    scene.b.tokens.add("another")
    with pytest.raises(ArchiveRequestError, match="needs no token"):
        scene.b.transfers.resume(id_, "another")
    scene.a.transfers.resume(id_, "another")
    scene.network.settle()
    check_moved(scene, scene.a, scene.b, id_)


def test_a_receiver_that_has_the_item_otherwise_refuses(scene: Scene) -> None:
    c = scene.third()
    scene.a.offer(scene.label, scene.b)
    scene.network.settle()
    scene.b.offer(scene.label, c)
    scene.network.settle()
    c.small.archive.delete(scene.label, "me", "Not wanted")
    # Whoever was restored from an old backup may offer what others have by now.
    [(_, offer, _), *_] = scene.network.said
    assert isinstance(offer, TransferOffer)
    again = replace(offer, id="0" * 32)
    answer = c.transfers.hear(again)
    assert (answer.state, "was deleted" in answer.reason) == ("refused", True)
    answer = c.transfers.hear(replace(again, id="1" * 32, source=c.address))
    assert answer.state == "refused"
    answer = scene.b.transfers.hear(replace(again, id="2" * 32, source="nowhere"))
    assert (answer.state, "makes no sense" in answer.reason) == ("refused", True)


def test_two_transfers_of_one_item_to_one_archive(scene: Scene) -> None:
    id_ = scene.a.offer(scene.label, scene.b)
    run_until(scene, id_, "ready")
    [(_, offer, _), *_] = scene.network.said
    assert isinstance(offer, TransferOffer)
    other = replace(offer, id="0" * 32, source="http://c.example.org")
    answer = scene.b.transfers.hear(other)
    assert answer.state == "refused"
    assert "being transferred from http://a.example.org already" in answer.reason
    scene.network.settle()
    check_moved(scene, scene.a, scene.b, id_)


def test_an_item_that_is_named_twice_is_transferred_once(scene: Scene) -> None:
    item = scene.a.item(scene.label)
    assert item is not None
    names = [str(label) for label in item.forms]
    assert len(names) > 1
    begun = scene.a.transfers.offer([*names, scene.label], scene.b.address, TOKEN, "me")
    [id_] = [each.exchange.id for each in begun]
    scene.network.settle()
    check_moved(scene, scene.a, scene.b, id_)


def test_who_began_anew_does_not_wait_for_what_the_other_has_ready(scene: Scene) -> None:
    first = scene.a.offer(scene.label, scene.b)
    scene.a.step()
    scene.b.step()
    scene.b.tokens.clear()
    scene.a.step()
    assert scene.a.transfers.get(first).phase == "undone"
    assert scene.b.transfers.get(first).phase == "ready"  # nobody could tell it
    scene.b.tokens.add("another")
    second = scene.a.offer(scene.label, scene.b, "another")
    scene.network.settle()
    check_moved(scene, scene.a, scene.b, second)
    assert scene.b.transfers.get(first).exchange.fault == "The other archive began anew."


def test_an_offer_that_comes_after_it_was_undone_is_refused(scene: Scene) -> None:
    late: list[Message] = []

    def delay(_to: str, message: Message) -> None:
        if isinstance(message, TransferOffer):
            late.append(message)
            raise ArchiveUnreachableError("there", "it takes too long")

    scene.network.before = delay
    id_ = scene.a.offer(scene.label, scene.b)
    scene.a.step()
    scene.a.transfers.undo(id_, "me")
    scene.network.settle()
    check_stayed(scene, id_)
    [offer] = late
    assert scene.b.transfers.hear(offer).state == "refused"
    assert scene.b.open_ids() == []


def test_who_copies_the_same_item_is_waited_for(scene: Scene) -> None:
    id_ = scene.a.offer(scene.label, scene.b)
    scene.a.step()
    other = LocalPeer(scene.a.small.archive, scene.a.address)
    pulled = ItemPuller(scene.b.small.archive).pull(other, parse(scene.label))
    with scene.b.small.store.staging.busy(pulled.deposit):
        scene.b.step()
        assert scene.b.transfers.get(id_).phase == "copying"
        assert "at work" in scene.b.transfers.get(id_).exchange.fault
    scene.network.settle()
    check_moved(scene, scene.a, scene.b, id_)


# --- elsewhere by now -----------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["offered", "handed over"])
def test_the_receiver_has_another_address_by_now(scene: Scene, phase: str) -> None:
    def cut(_to: str, message: Message) -> None:
        if phase == "offered" or isinstance(message, Commit):
            raise ArchiveUnreachableError("there", "nobody is there")

    scene.network.before = cut
    id_ = scene.a.offer(scene.label, scene.b)
    for _ in range(5):
        scene.a.step()
        scene.b.step()
    assert scene.a.transfers.get(id_).phase == phase
    scene.network.before = lambda *_: None
    c = scene.third()
    if phase == "handed over":  # another archive knows nothing of it
        scene.a.transfers.resume(id_, to=c.address)
        scene.a.step()
        assert "not of this archive" in scene.a.transfers.get(id_).exchange.fault
        assert scene.network.originals(scene.label) == []
    scene.b.move("http://new.example.org")
    scene.a.transfers.resume(id_, to="http://NEW.example.org/")
    scene.network.settle()
    check_moved(scene, scene.a, scene.b, id_)
    with pytest.raises(StateError, match="ended already"):
        scene.a.transfers.resume(id_, to=c.address)


@pytest.mark.parametrize("phase", ["copying", "ready"])
def test_the_giver_has_another_address_by_now(scene: Scene, phase: str) -> None:
    id_ = scene.a.offer(scene.label, scene.b)
    run_until(scene, id_, phase)
    scene.a.move("http://new.example.org")
    with pytest.raises(ArchiveRequestError, match="needs no token or address"):
        scene.b.transfers.resume(id_, to="http://new.example.org")
    scene.network.settle()
    check_moved(scene, scene.a, scene.b, id_)


def test_a_disk_that_is_full_changes_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise StorageFullError("of the files", "no space left on device")

    monkeypatch.setattr(scene.b.small.store.staging, "receive", full)
    id_ = scene.a.offer(scene.label, scene.b)
    scene.network.settle()
    check_stayed(scene, id_)
    assert "no space left" in scene.a.transfers.get(id_).exchange.fault
    assert "no space left" in scene.b.transfers.get(id_).exchange.fault


def test_bytes_that_are_not_what_they_should_be_change_nothing(scene: Scene) -> None:
    def garble(source: object) -> None:
        source.garble = lambda piece: piece[::-1]  # type: ignore[attr-defined]

    scene.a.source = garble
    id_ = scene.a.offer(scene.label, scene.b)
    scene.network.settle()
    check_stayed(scene, id_)
    assert "checksum" in scene.a.transfers.get(id_).exchange.fault


def test_a_receiver_that_has_something_else_gets_nothing(scene: Scene) -> None:
    def twist(source: object) -> None:
        source.twist = lambda item, files: (replace(item, list_public=True), files)  # type: ignore[attr-defined]

    scene.a.source = twist
    id_ = scene.a.offer(scene.label, scene.b)
    scene.network.settle()
    check_stayed(scene, id_)
    assert "is not what is here" in scene.a.transfers.get(id_).exchange.fault


def test_a_ticket_opens_one_item_while_it_is_offered(scene: Scene) -> None:
    other = scene.a.small.label({"one.txt": b"one"})
    a = scene.a.transfers
    scene.a.offer(scene.label, scene.b)
    scene.a.step()
    [(_, offer, _)] = scene.network.said
    assert isinstance(offer, TransferOffer)
    items = [scene.a.item(scene.label), scene.a.metadata(scene.label), scene.a.item(other)]
    assert [each and a.is_ticket(each, offer.ticket) for each in items] == [True, True, False]
    assert not any(
        each and a.is_ticket(each, wrong) for each in items for wrong in ("", "é", "\udcff")
    )
    scene.network.settle()
    ended = scene.a.item(scene.label)
    assert ended is not None
    assert not a.is_ticket(ended, offer.ticket)


def test_an_unknown_or_ended_transfer_cannot_be_undone(scene: Scene) -> None:
    with pytest.raises(UnknownError):
        scene.a.transfers.undo("0" * 32, "me")
    id_ = scene.a.offer(scene.label, scene.b)
    scene.network.settle()
    for side in (scene.a, scene.b):
        with pytest.raises(StateError, match="ended already: it is done"):
            side.transfers.undo(id_, "me")
        with pytest.raises(StateError, match="ended already: it is done"):
            side.transfers.resume(id_)


def test_what_ended_meanwhile_is_not_opened_again(scene: Scene) -> None:
    id_ = scene.a.offer(scene.label, scene.b)
    known = scene.a.transfers.get(id_).exchange
    scene.network.settle()
    giving = scene.a.transfers._sender  # noqa: SLF001  # as a thread that read it before does
    with pytest.raises(StateError, match="ended already"):
        giving.undo(replace(known, fault="nobody was there"), "me")
    with pytest.raises(StateError, match="ended already"):
        giving.renew(known, "another", "", "me")
    check_moved(scene, scene.a, scene.b, id_)


def test_what_is_given_does_not_wait_for_what_comes(scene: Scene) -> None:
    c = scene.third()
    sides = (scene.a, scene.b, c)
    coming, go_on = threading.Semaphore(0), threading.Event()

    def hold(_: LocalPeer) -> None:
        coming.release()
        go_on.wait(PATIENCE)

    scene.a.source = hold
    for side in sides:
        side.small.clock = SystemClock()  # type: ignore[assignment]
        side.restart()
        side.transfers.start()
    try:
        items = [scene.a.small.label({"a.txt": b"a"}) for _ in range(6)]
        scene.a.transfers.offer(items, scene.b.address, TOKEN, "me")
        assert all(coming.acquire(timeout=PATIENCE) for _ in range(4))
        own = scene.b.small.label({"b.txt": b"b"})
        scene.b.offer(own, c)
        wait_until(lambda: scene.network.originals(own) == [c.address])
        go_on.set()
        wait_until(lambda: not any(side.open_ids() for side in sides))
        assert all(scene.network.originals(each) == [scene.b.address] for each in items)
    finally:
        go_on.set()
        for side in sides:
            side.transfers.stop()
