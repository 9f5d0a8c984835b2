"""Pulling an item from another archive: whole and verified, or nothing of it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.archive.copies.pull import ItemPuller
from ibi.archive.deposits.deposits import DAY, LIFE
from ibi.errors import (
    ArchiveUnreachableError,
    ChecksumError,
    DeletedError,
    IbiError,
    StateError,
    StorageFullError,
    UnknownError,
)
from ibi.identifier.label import parse
from ibi.model.item import File, Item, State, Tombstone
from ibi.model.label_pair import Forms
from tests.support.scenes.peer_archive import ArchivePair, Twist
from tests.support.scenes.small_archive import forms, unchanged

FILES = {"a.txt": b"0123456789", "in/b.txt": b"abcdefgh", "empty": b""}


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[ArchivePair]:
    made = ArchivePair(tmp_path, FILES)
    yield made
    made.close()


def test_item_and_what_describes_it_come_whole(pair: ArchivePair) -> None:
    pair.store(pair.pull())
    look = pair.here.archive.get_described(pair.label)
    there = pair.there.archive.get_described(pair.label)
    assert pair.files() == FILES
    assert look.item == replace(there.item, state=State.COPY)
    assert look.metadata is not None
    assert look.record == there.record
    assert look.metadata.item.state is State.COPY
    kept = {file.path: file for file in pair.here.archive.files(look.held)}
    for file in pair.there.archive.files(there.held):
        assert replace(kept[file.path], modified=0) == replace(file, modified=0)
    assert pair.here.store.staging.deposits() == []


def test_label_of_metadata_means_the_item_that_they_describe(pair: ArchivePair) -> None:
    metadata = pair.there.archive.get_described(pair.label).item.metadata
    assert metadata is not None
    pulled = ItemPuller(pair.here.archive).pull(pair.source, metadata.label)
    assert [item.kind for item, _ in pulled.items] == ["data", "metadata"]
    assert pulled.items[0][0].forms.label.spelling == pair.label


def test_nothing_comes_that_is_here(pair: ArchivePair) -> None:
    pair.store(pair.pull())
    pair.source.asked.clear()
    assert pair.pull().deposit == ""
    assert pair.fetched == []


def test_only_what_is_new_comes_and_what_went_goes(pair: ArchivePair) -> None:
    pair.store(pair.pull())
    pair.there.deposit(
        {"a.txt": b"new bytes", "moved": b"abcdefgh"}, item=pair.label, remove=["in/b.txt"]
    )
    pair.source.asked.clear()
    pair.store(pair.pull())
    assert pair.files() == {"a.txt": b"new bytes", "moved": b"abcdefgh", "empty": b""}
    assert pair.fetched == ["a.txt 0"]


def test_file_here_under_another_path_that_is_damaged_comes_anew(pair: ArchivePair) -> None:
    pair.store(pair.pull())
    pair.there.deposit({"moved": b"abcdefgh"}, item=pair.label)
    place = pair.here.folder / "col" / pair.label / "doc" / "in" / "b.txt"
    place.write_bytes(b"abcdefgX")
    pair.source.asked.clear()
    pair.store(pair.pull())
    assert pair.files()["moved"] == b"abcdefgh"
    assert pair.fetched == ["moved 0"]


def test_another_media_type_alone_is_news_and_costs_no_transfer(pair: ArchivePair) -> None:
    pair.store(pair.pull())
    pair.source.twist = lambda item, files: (
        item,
        tuple(replace(file, media_type="text/x-other") for file in files),
    )
    pair.source.asked.clear()
    pair.store(pair.pull())
    held = pair.here.archive.get(pair.label)
    assert {file.media_type for file in pair.here.archive.files(held)} == {"text/x-other"}
    assert pair.fetched == []


def test_pull_broken_at_every_step_goes_on(pair: ArchivePair) -> None:
    for number in range(3, 8):  # the first two are manifests
        pair.source.breaks_at(number)
        pulled = pair.pull()
        assert [staged.size for staged in pair.here.store.staging.staged(pulled.deposit)] == [
            10,
            0,
            8,
        ]
        pair.here.store.discard(pulled.deposit)


def test_what_came_before_a_break_does_not_come_again(pair: ArchivePair) -> None:
    pair.source.breaks_at(4)
    pair.store(pair.pull())
    assert pair.fetched[:2] == ["a.txt 0", "a.txt 4"]
    assert pair.files() == FILES


@pytest.mark.parametrize("number", range(1, 8))
def test_pull_interrupted_anywhere_goes_on_after_a_restart(pair: ArchivePair, number: int) -> None:
    calls = iter(range(1, 100))

    def before() -> None:
        if next(calls) == number:
            raise KeyboardInterrupt

    pair.source.before = before
    with pytest.raises(KeyboardInterrupt):
        pair.pull()
    pair.here.restart()
    pair.source.before = lambda: None
    pair.store(pair.pull())
    assert pair.files() == FILES
    assert len(pair.here.store.staging.deposits()) == 0


def test_source_that_stays_silent_is_given_up(pair: ArchivePair) -> None:
    pair.source.breaks_at(*range(3, 100))
    with pytest.raises(ArchiveUnreachableError):
        pair.pull()
    assert pair.here.catalogue.items.find(parse(pair.label).canonical) is None
    assert pair.fetched == ["a.txt 0"] * 5


def test_interruption_by_who_is_told_how_far_it_is(pair: ArchivePair) -> None:
    told: list[tuple[int, int]] = []

    def report(done: int, total: int) -> None:
        told.append((done, total))
        if done > 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ItemPuller(pair.here.archive).pull(pair.source, parse(pair.label), report=report)
    assert told == [(0, 18), (4, 18), (8, 18)]


@pytest.mark.parametrize("restarts", [False, True])
def test_damaged_bytes_are_refused_and_the_old_version_stays(
    pair: ArchivePair, *, restarts: bool
) -> None:
    pair.store(pair.pull())
    pair.there.deposit({"a.txt": b"9876543210"}, item=pair.label)
    pair.source.garble = lambda piece: piece.replace(b"6", b"7")
    with pytest.raises(ChecksumError):
        pair.pull()
    assert pair.files() == FILES
    pair.source.garble = lambda piece: piece
    if restarts:
        pair.here.restart()
    pair.store(pair.pull())
    assert pair.files() == FILES | {"a.txt": b"9876543210"}


def test_sha512_alone_is_enough_to_refuse(pair: ArchivePair) -> None:
    pair.source.twist = lambda item, files: (
        item,
        tuple(replace(file, sha512="0" * 128) for file in files),
    )
    with pytest.raises(ChecksumError):
        pair.pull()


def test_file_that_does_not_end_is_refused(pair: ArchivePair) -> None:
    pair.source.garble = lambda piece: piece * 1000
    with pytest.raises(StateError, match="longer"):
        pair.pull()


def test_half_of_another_version_is_not_kept(pair: ArchivePair) -> None:
    pair.source.breaks_at(*range(4, 100))
    with pytest.raises(ArchiveUnreachableError):
        pair.pull()
    pair.there.deposit({"a.txt": b"9876543210"}, item=pair.label)
    pair.source.before = lambda: None
    pair.store(pair.pull())
    assert pair.files()["a.txt"] == b"9876543210"


def test_file_that_went_meanwhile_does_not_come_with_the_rest(pair: ArchivePair) -> None:
    pair.source.breaks_at(*range(7, 100))
    with pytest.raises(ArchiveUnreachableError):
        pair.pull()
    pair.there.deposit(item=pair.label, remove=["empty", "in/b.txt"])
    pair.source.before = lambda: None
    pair.store(pair.pull())
    assert pair.files() == {"a.txt": b"0123456789"}


def test_full_disk_leaves_nothing_behind(
    pair: ArchivePair, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StorageFullError):
            pair.pull()
    assert pair.here.store.staging.deposits() == []
    pair.store(pair.pull())
    assert pair.files() == FILES


LIES: dict[str, Twist] = {
    "another label": lambda item, files: (replace(item, forms=forms(77)), files),
    "a path that leaves": lambda item, files: (item, (replace(files[0], path="../x"), *files)),
    "a path twice": lambda item, files: (item, (*files, *files)),
    "paths that clash": lambda item, files: (item, (*files, replace(files[0], path="A.TXT"))),
    "a file below a file": lambda item, files: (item, (*files, replace(files[0], path="a.txt/b"))),
    "no checksum": lambda item, files: (item, (replace(files[0], sha256="x"), *files[1:])),
    "half a checksum": lambda item, files: (item, (replace(files[0], sha512="0"), *files[1:])),
    "a negative size": lambda item, files: (item, (replace(files[0], size=-1), *files[1:])),
    "no files": lambda item, _: (item, ()),
    "a script": lambda item, _: (replace(item, runs_at="javascript:alert(1)"), ()),
    "a network": lambda item, files: (replace(item, readers=("nowhere",)), files),
    "a time": lambda item, files: (replace(item, updated=1 << 80), files),
    "the wrong metadata": lambda item, files: (
        replace(item, describes=forms(78)) if item.describes else item,
        files,
    ),
    "metadata that are none": lambda item, files: (
        replace(item, kind="service") if item.describes else item,
        files,
    ),
    "a service": lambda item, _: (replace(item, kind="service", target=""), ()),
    "a size that nobody can count": lambda item, files: (
        item,
        tuple(replace(file, size=1 << 62) for file in files),
    ),
    "a header": lambda item, files: (
        item,
        tuple(replace(file, media_type="text/html\r\nX: \0") for file in files),
    ),
    "a tombstone": lambda item, files: (replace(item, tombstone=Tombstone(1, "x", "y")), files),
    "a description": lambda item, files: (replace(item, describes=forms(79)), files),
    "more than anybody reads": lambda item, files: (
        replace(item, custody=("x" * 3_000_000,)),
        files,
    ),
    "metadata that say nothing": lambda item, files: (replace(item, record=None), files),
    "metadata that lie elsewhere": lambda item, files: (
        replace(item, target="../../x") if item.describes else item,
        files,
    ),
}


def _data_only(twist: Twist) -> Twist:
    def twisted(item: Item, files: tuple[File, ...]) -> tuple[Item, tuple[File, ...]]:
        return twist(item, files) if files or item.describes is None else (item, files)

    return twisted


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_refused_and_nothing_changes(pair: ArchivePair, lie: str) -> None:
    twist = LIES[lie]
    pair.source.twist = twist if "metadata" in lie else _data_only(twist)
    with unchanged(pair.here), pytest.raises(StateError):
        pair.pull()
    assert pair.fetched == []


def test_manifest_that_is_none_is_refused(
    pair: ArchivePair, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = b'{"version": 1, "more": ' + b"[" * 100_000
    for text in (b"", b"{}", b"[]", b"\xff", b'{"version": 99, "forms": "x"}', deep):
        monkeypatch.setattr(pair.source, "manifest", lambda _, text=text: text)
        with unchanged(pair.here), pytest.raises(StateError, match="cannot be used"):
            pair.pull()


def test_deleted_and_unknown_items_are_said_to_be_so(pair: ArchivePair) -> None:
    pair.there.archive.delete(pair.label, "me", "gone")
    with unchanged(pair.here), pytest.raises(DeletedError):
        pair.pull()
    pair.label = str(forms(99).label)
    with unchanged(pair.here), pytest.raises(UnknownError):
        pair.pull()


def test_label_that_names_another_item_here_is_refused(pair: ArchivePair) -> None:
    pair.here.deposit({"x": b"x"}, further_names=[pair.label])
    with unchanged(pair.here), pytest.raises(StateError, match="names another item"):
        pair.pull()


def test_item_keeps_the_spelling_by_which_its_files_lie(pair: ArchivePair) -> None:
    pair.store(pair.pull())
    subdomain, word, *rest = pair.label.split("/")
    spelled = Forms.of("/".join((subdomain, f"{word}.80", *rest)))
    pair.source.twist = lambda item, files: (
        item if item.describes else replace(item, forms=spelled),
        files,
    )
    with unchanged(pair.here), pytest.raises(StateError, match="spelled otherwise"):
        pair.pull()


def test_drops_do_not_keep_anybody_waiting(pair: ArchivePair) -> None:
    pair.source.piece = 1
    pair.source.breaks_at(*range(4, 1000, 2))
    with pytest.raises(ArchiveUnreachableError):
        pair.pull()
    assert len(pair.fetched) == 5


def test_what_is_pulled_is_no_deposit_of_anybody(pair: ArchivePair) -> None:
    deposits = pair.here.deposits
    id_ = pair.pull().deposit
    acts: list[Callable[[], object]] = [
        lambda: deposits.get(id_),
        lambda: deposits.staged(id_),
        lambda: deposits.staged_file(id_, "a.txt"),
        lambda: deposits.receive(id_, "a.txt", 0).__enter__(),
        lambda: deposits.remove(id_, "a.txt"),
        lambda: deposits.unpack(id_, "a.txt"),
        lambda: deposits.abandon(id_),
        lambda: deposits.complete(id_, "me"),
    ]
    for act in acts:
        with unchanged(pair.here), pytest.raises(UnknownError):
            act()


def test_pull_that_nobody_goes_on_with_is_swept_away(pair: ArchivePair) -> None:
    pair.pull()
    pair.here.deposits.sweep()
    assert len(pair.here.store.staging.deposits()) == 1
    pair.here.clock.now += LIFE + DAY
    pair.here.deposits.sweep()
    assert pair.here.store.staging.deposits() == []
    pair.store(pair.pull())
    assert pair.files() == FILES


def test_pull_that_takes_weeks_is_not_swept_away(pair: ArchivePair) -> None:
    def before() -> None:
        pair.here.clock.now += DAY
        pair.here.deposits.sweep()

    pair.source.before = before
    pulled = pair.pull()
    pair.here.deposits.sweep()
    pair.store(pulled)
    assert pair.files() == FILES


def test_two_pulls_of_one_item_do_not_meet(pair: ArchivePair) -> None:
    def report(done: int, _: int) -> None:
        if done == 4:
            with pytest.raises(StateError, match="at work"):
                pair.pull()

    pair.store(ItemPuller(pair.here.archive).pull(pair.source, parse(pair.label), report=report))
    assert pair.files() == FILES


def test_what_another_pull_brought_does_not_come_with_it(pair: ArchivePair) -> None:
    pulled = pair.pull()
    pair.there.deposit({"new": b"new"}, item=pair.label)
    later = pair.pull()
    assert later.deposit == pulled.deposit
    with pytest.raises(StateError, match="pull it again"):
        pair.store(pulled)
    pair.store(later)
    assert pair.files() == FILES | {"new": b"new"}


def test_item_that_changed_here_since_it_was_pulled_is_not_overwritten(pair: ArchivePair) -> None:
    pair.store(pair.pull())
    pair.there.deposit({"a.txt": b"second"}, item=pair.label)
    pulled = pair.pull()
    pair.there.deposit({"a.txt": b"third"}, item=pair.label)
    pair.store(pair.pull())
    with pytest.raises(IbiError):
        pair.store(pulled)
    assert pair.files()["a.txt"] == b"third"
