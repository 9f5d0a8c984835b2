"""Catalogue and files together: whatever fails at whatever step, an act is done or it is not."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from ibi.archive.ports.catalogue import Items, ManifestItem, StoredChange
from ibi.archive.rules.amendment import Amendment
from ibi.archive.rules.manifest import read_manifest
from ibi.errors import StateError, StorageError
from ibi.model.change import Change, ItemChange
from ibi.model.item import State
from tests.support.failures.syscalls import Killed, disk_fails_at, killed_at
from tests.support.scenes.small_archive import SmallArchive, contents, forms, tables, tree

Seen: TypeAlias = dict[str, Any]

MINTED = 100
"""Labels of the archive as each test finds it."""
FIRST = str(forms(1).label)
COPY = forms(5).label


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill is no power cut: what the kernel has stays, synced or not. It saves minutes."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive with two items, and deposits that wait to be completed."""
    folder = tmp_path_factory.mktemp("template")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        small = SmallArchive(folder)
        fill(small)
        small.close()
    return folder


def fill(small: SmallArchive) -> None:
    """Make what the acts are about."""
    small.deposit({"a/one": b"1", "two": b"2"}, target="two", language="en")
    small.deposit({"three": b"3"}, language="pt", further_names=["LK47B6W/362SFKH"])
    copied_from_elsewhere(small, {"c/four": b"4", "five": b"5"})
    small.open({"x/y": b"xy", "z": b"z"}, target="z", edition_of=FIRST)
    small.open({"two": b"22", "b/new": b"n"}, item=FIRST, remove=["a/one"])


def copied_from_elsewhere(small: SmallArchive, files: dict[str, bytes]) -> None:
    """Have a Copy, as it is after it was pulled from another archive."""
    look = small.deposit(files, target="five")
    copies = [
        ItemChange(
            item=replace(held.item, state=State.COPY, origin="http://other.example.org"),
            files=small.archive.files(held),
            version=held.version,
        )
        for held in (look.held, look.metadata)
        if held is not None
    ]
    small.archive.make(small.archive.change("copy", "me", COPY, copies, small.clock.wall()))


def drop(small: SmallArchive) -> None:
    """Keep a Copy no longer."""
    look = small.archive.get_described(COPY)
    gone = [
        ItemChange(item=held.item, version=held.version, dropped=True)
        for held in (look.held, look.metadata)
        if held is not None
    ]
    small.archive.make(small.archive.change("drop", "me", COPY, gone, small.clock.wall()))


@dataclass
class Act:
    """Something that is done to the archive, and may be tried again."""

    do: Callable[[SmallArchive], object]
    again: bool = True
    """Whether doing it twice is the same as doing it once."""


def complete(text: str) -> Act:
    return Act(lambda small: small.deposits.complete(waiting(small, text), "me"))


def waiting(small: SmallArchive, text: str) -> str:
    """Return the deposit that asks for something, also when it is completed."""
    ids = [
        row[0]
        for row in tables(small.folder / "catalogue.sqlite")["archive_deposit"]
        if text in row[3]
    ]
    return str(ids[0])


ACTS = {
    "deposit": complete("edition_of"),
    "replace": complete("remove"),
    "describe": Act(
        lambda small: small.archive.amend(
            FIRST, Amendment(metadata={"title": "New"}, list_public=False), "me"
        )
    ),
    "drop": Act(drop, again=False),
    "delete": Act(
        lambda small: small.archive.delete(FIRST, "me", "wrong", with_metadata=True), again=False
    ),
}


def view(small: SmallArchive) -> Seen:
    """Return what readers see, and check that catalogue and files say the same."""
    seen: Seen = {}
    for held in small.catalogue.items.page(0, 100):
        place = small.folder / "col" / held.item.forms.label.spelling
        item, files = read_manifest((place / "ibi.json").read_bytes())
        doc = contents(place / "doc")
        assert item == held.item
        assert sorted(files, key=lambda each: each.path) == small.catalogue.items.files(held.id)
        assert {each.path: each.sha256 for each in files} == {
            path: hashlib.sha256(content).hexdigest() for path, content in doc.items()
        }
        # Where the change's own name stands, any will do.
        old = {path.partition("/")[2]: each for path, each in contents(place / "old").items()}
        seen[str(held.item.forms)] = (held.item, doc, old)
    found = {place for place, _ in small.store.manifests()}
    assert found == {item.forms.label.spelling for item, _, _ in seen.values()}
    acts = [(entry.act, entry.label) for entry in small.catalogue.history.entries(0, 100)]
    return {"items": seen, "history": acts}


def check_tidy(small: SmallArchive) -> None:
    assert tree(small.folder / "journal") == {"./": b""}
    for id_ in small.store.staging.deposits():
        deposit = small.catalogue.deposits.get(id_)
        assert deposit is not None
        assert not deposit.completed
    assert not list((small.folder / "incoming").glob("change-*"))


@contextmanager
def copied(template: Path, folder: Path) -> Iterator[SmallArchive]:
    shutil.copytree(template, folder)
    small = SmallArchive(folder, minted=MINTED)
    try:
        yield small
    finally:
        small.close()
        shutil.rmtree(folder)


@pytest.fixture(params=ACTS)
def act(request: pytest.FixtureRequest) -> Act:
    return ACTS[request.param]


@pytest.fixture
def states(template: Path, tmp_path: Path, act: Act) -> tuple[Seen, Seen]:
    """What is to be seen before and after the act."""
    with copied(template, tmp_path / "states") as small:
        before = view(small)
        act.do(small)
        check_tidy(small)
        return before, view(small)


def settled(small: SmallArchive, act: Act, states: Sequence[Seen]) -> Seen:
    """Return what is there after a restart; then do it again: it is done, once."""
    small.restart()
    check_tidy(small)
    found = view(small)
    assert found in states
    if act.again or found == states[0]:
        act.do(small)
        check_tidy(small)
        assert without_times(view(small)) == without_times(states[-1])
    return found


def without_times(seen: Seen) -> tuple[list[str], list[str]]:
    """Return it without what a second try changes: later times, other labels."""
    kept = [(item.state, item.target, doc, old) for item, doc, old in seen["items"].values()]
    return sorted(map(repr, kept)), [act for act, _ in seen["history"]]


def test_killed_at_any_step_an_act_is_done_or_not(
    template: Path,
    tmp_path: Path,
    act: Act,
    states: tuple[Seen, Seen],
) -> None:
    found = []
    for last in range(1, 1000):
        with copied(template, tmp_path / "it") as small:
            with killed_at(last) as steps, suppress(Killed):
                act.do(small)
            found.append(settled(small, act, states))
        if steps.count < last:
            break
    assert states[0] in found
    assert found[-1] == states[1]
    assert len(found) > 30


@pytest.mark.parametrize("stays", [False, True], ids=["once", "for good"])
def test_whatever_the_disk_refuses_an_act_is_done_or_not(
    template: Path,
    tmp_path: Path,
    act: Act,
    states: tuple[Seen, Seen],
    *,
    stays: bool,
) -> None:
    """And if it is said to be done, it is. One step in three, for they are much alike."""
    for last in range(1, 1000, 3):
        with copied(template, tmp_path / "it") as small:
            is_done = False
            with disk_fails_at(last, stays=stays) as steps, suppress(StorageError):
                act.do(small)
                is_done = True
            found = settled(small, act, states)
            assert found == states[1] or not is_done
        if steps.count < last:
            break
    assert is_done


class FailingItems:
    """The items of a catalogue whose database goes away before, or after, it has committed."""

    def __init__(self, items: Items, *, committed: bool, times: int) -> None:
        """Fail so many times."""
        self._items = items
        self._committed = committed
        self.times = times

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Do all else as it does."""
        return getattr(self._items, name)

    def _fail(self) -> None:
        if self.times:
            self.times -= 1
            raise StorageError("of the test", "the server went away")

    def apply(self, change: Change, decide: Callable[[Change], None]) -> None:
        """Write a change, or fail after it was decided."""

        def last(numbered: Change) -> None:
            decide(numbered)
            if not self._committed:
                self._fail()

        self._items.apply(change, last)
        self._fail()

    def restore(
        self, stored: StoredChange, items: Sequence[ManifestItem], dropped: Sequence[str] = ()
    ) -> None:
        """Write items, or fail."""
        self._fail()
        self._items.restore(stored, items, dropped)


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("times", [1, 2])
def test_a_commit_that_fails_after_the_decision_is_made_up_for(  # noqa: PLR0913
    template: Path,
    tmp_path: Path,
    act: Act,
    states: tuple[Seen, Seen],
    *,
    committed: bool,
    times: int,
) -> None:
    with copied(template, tmp_path / "it") as small:
        failing = FailingItems(small.catalogue.items, committed=committed, times=times)
        small.archive.catalogue = replace(small.catalogue, items=failing)
        if times == 1:
            act.do(small)
        else:
            with pytest.raises(StorageError):
                act.do(small)
            assert list((small.folder / "journal").iterdir())
            small.archive.settle()
        check_tidy(small)
        assert view(small) == states[1]
        assert settled(small, act, states) == states[1]


def test_a_dropped_copy_leaves_nothing_but_what_goes_on_where_it_ended(
    template: Path, tmp_path: Path
) -> None:
    with copied(template, tmp_path / "it") as small:
        place = small.folder / "col" / COPY.spelling
        (place / "deeper").mkdir()
        drop(small)
        assert tree(place) == {"deeper/": b""}
        assert not (small.folder / "col" / forms(6).label.spelling).exists()
        (place / "deeper").rmdir()
        assert small.catalogue.items.find(COPY.canonical) is None
        view(small)


def test_while_a_decision_waits_its_deposit_is_left_alone(template: Path, tmp_path: Path) -> None:
    """Or files would be missing in the item, or unknown ones be among them."""
    with copied(template, tmp_path / "it") as small:
        id_ = waiting(small, "edition_of")
        fails = FailingItems(small.catalogue.items, committed=False, times=5)
        small.archive.catalogue = replace(small.catalogue, items=fails)
        with pytest.raises(StorageError):
            small.deposits.complete(id_, "me")
        tries: list[Callable[[], object]] = [
            lambda: small.deposits.abandon(id_),
            lambda: small.deposits.remove(id_, "z"),
            lambda: small.send(id_, {"more": b"more"}),
        ]
        for do in tries:
            with pytest.raises(StorageError):
                do()
        assert fails.times == 0
        with pytest.raises(StateError, match="is completed"):
            small.deposits.abandon(id_)
        check_tidy(small)
        view(small)


def test_a_deposit_that_is_completed_meanwhile_takes_no_more_files(tmp_path: Path) -> None:
    small = SmallArchive(tmp_path)
    id_ = small.open({"a": b"1"})
    late = small.deposits.receive(id_, "b", 0)
    small.deposits.complete(id_, "me")
    with pytest.raises(StateError, match="is completed"), late:
        raise AssertionError
    small.deposits.sweep()
    check_tidy(small)
    view(small)
    small.close()


def test_nobody_completes_or_abandons_a_deposit_while_a_file_comes(tmp_path: Path) -> None:
    small = SmallArchive(tmp_path)
    id_ = small.open({"a": b"1"})
    with small.deposits.receive(id_, "b", 0) as sink:
        for do in (
            lambda: small.deposits.complete(id_, "me"),
            lambda: small.deposits.abandon(id_),
        ):
            with pytest.raises(StateError, match="on its way"):
                do()
        sink.write(b"2")
        sink.finish()
    found = small.deposits.complete(id_, "me")
    assert [file.path for file in small.archive.files(found.held)] == ["a", "b"]
    small.close()
