"""A catalogue is rebuilt from the tree alone, as it was; whoever is killed meanwhile, or was."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from ibi.archive.archive import Archive
from ibi.archive.ports.deposits import Deposit
from ibi.archive.recovery.rebuild import Rebuilt, rebuild
from ibi.archive.rules.amendment import Amendment
from ibi.archive.rules.manifest import manifest, read_kept
from ibi.archive.storage.catalogue.catalogue import sql_catalogue
from ibi.archive.storage.catalogue.rebuild import REBUILDING
from ibi.archive.storage.files.folder_store import FolderStore
from ibi.archive.storage.migrations import ARCHIVE_MIGRATIONS
from ibi.foundation.sql.database import Database, Execute
from ibi.foundation.sql.postgres import Postgres
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.sql.upgrade import upgrade
from ibi.model.item import Item, State
from tests.support.failures.syscalls import Killed, killed_at
from tests.support.scenes.catalogue import schema
from tests.support.scenes.full_archive import (
    ELSEWHERE,
    INNER,
    LEGACY,
    OUTER,
    bring,
    change,
    fill,
    kept_rows,
    rows,
)
from tests.support.scenes.small_archive import SmallArchive, TickingClock, forms

Place = Callable[[], Database]


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill is no power cut: what the kernel has stays, synced or not. It saves minutes."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Place]]:
    """Makes empty places for a catalogue."""
    opened: list[Database] = []

    def make() -> Place:
        if request.param == "sqlite":
            place = str(tmp_path / f"{len(opened)}-{os.urandom(4).hex()}.sqlite")
        else:
            place = schema(request.getfixturevalue("postgres"))
        is_server = request.param == "postgresql"
        upgrade(place, ARCHIVE_MIGRATIONS, postgresql=is_server)

        def open_it() -> Database:
            opened.append(Postgres(place) if is_server else Sqlite(place))
            return opened[-1]

        return open_it

    yield make
    for database in opened:
        database.close()


def archive_on(place: Place, folder: Path) -> SmallArchive:
    return SmallArchive(folder, minted=200, catalogue=lambda _: sql_catalogue(place(), quick=True))


def full(place: Place, folder: Path) -> SmallArchive:
    small = SmallArchive(folder, catalogue=lambda _: sql_catalogue(place(), quick=True))
    fill(small)
    return small


def faults(small: SmallArchive) -> list[Rebuilt]:
    return [each for each in rebuild(small.archive) if each.fault]


def test_the_rebuilt_catalogue_is_the_old_one(empty: Callable[[], Place], tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    old, new = empty(), empty()
    small = full(old, folder)
    before = rows(old())
    assert [len(each) for each in before.values()] == [21, 43, 7, 1]
    small.close()
    again = archive_on(new, folder)
    assert faults(again) == []
    assert rows(new()) == before
    numbers = "SELECT id, label FROM archive_item ORDER BY id"
    assert new().read(numbers) == old().read(numbers)
    # It goes on: with versions, numbers and labels.
    for label in (OUTER.label, INNER.label):
        assert again.archive.get(label).item.target == "f/copied"
    again.archive.amend(again.label({"a": b"1"}), Amendment(list_public=False), "me")
    again.deposit({"z": b"1"}, label=str(again.catalogue.reservations.page("", 1)[0].forms.label))
    again.close()


def test_what_the_tree_does_not_have_goes_and_what_only_the_catalogue_has_stays(
    empty: Callable[[], Place], tmp_path: Path
) -> None:
    place, other = empty(), empty()
    small = full(place, tmp_path / "archive")
    stray = archive_on(other, tmp_path / "other")
    catalogue = small.catalogue
    catalogue.links.keep("http://resolver.example.org", "{}")
    catalogue.deposits.open(Deposit("d1", 1, "me", "{}"))
    before, kept = rows(place()), kept_rows(place())
    history = catalogue.history.entries(0, 1000)

    def spoil(execute: Execute) -> None:
        execute("UPDATE archive_item SET version = 99, document = '{}', kind = 'data'")
        execute("UPDATE archive_item SET label = 'nobody' WHERE id = 4")
        execute("UPDATE archive_file SET size = 7")
        execute("INSERT INTO archive_file VALUES (5, 'stray', 1, '', '', 1, '')")
        execute("INSERT INTO archive_name VALUES ('stray', 3)")
        execute("INSERT INTO archive_name VALUES ('LK47B6W/362SFKJ', NULL)")
        execute("DELETE FROM archive_name WHERE item = 6")
        execute("DELETE FROM archive_reservation")

    place().transaction(spoil)
    assert rows(place()) != before
    assert faults(small) == []
    assert rows(place()) == before
    found = kept_rows(place())
    assert found.pop("accesses") == kept.pop("accesses")
    assert found == kept
    assert catalogue.history.entries(0, 1000)[: len(history)] == history
    assert catalogue.history.entries(len(history), 9)[-1].act == "rebuild"
    assert [name for name in _tables(place()) if "new_" in name] == []
    small.close()
    stray.close()


def _tables(database: Database) -> list[str]:
    select = (
        "SELECT name FROM sqlite_master"
        if isinstance(database, Sqlite)
        else "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    )
    return [name for (name,) in database.read(select)]


def test_statistics_go_with_the_label_where_numbers_move(
    empty: Callable[[], Place], tmp_path: Path
) -> None:
    place = empty()
    small = full(place, tmp_path / "archive")
    before = kept_rows(place())["accesses"]
    place().transaction(lambda execute: execute("UPDATE archive_item SET id = id + 100"))
    place().transaction(lambda execute: execute("UPDATE archive_access SET item = item + 100"))
    assert faults(small) == []
    assert kept_rows(place())["accesses"] == before
    small.close()


def test_manifests_of_before_numbers_were_written_are_read(
    empty: Callable[[], Place], tmp_path: Path
) -> None:
    """With the catalogue, all is as it was; without it, versions begin anew."""
    folder = tmp_path / "archive"
    old, new = empty(), empty()
    small = full(old, folder)
    before = rows(old())
    for path in folder.rglob("ibi.json"):
        kept = read_kept(path.read_bytes())
        path.write_bytes(manifest(kept.item, kept.files))
    assert faults(small) == []
    assert rows(old()) == before
    small.close()
    again = archive_on(new, folder)
    assert faults(again) == []
    after = rows(new())
    assert sorted(label for label, *_ in after["items"]) == sorted(
        label for label, *_ in before["items"]
    )
    assert {version for _, _, _, version, _ in after["items"]} == {1}
    assert [after[each] for each in ("names", "files")] == [
        before[each] for each in ("names", "files")
    ]
    created = [held.item.created for held in again.catalogue.items.page(0, 100)]
    assert created == sorted(created)
    again.close()


def test_two_trees_with_the_same_numbers_become_one_archive(
    empty: Callable[[], Place], tmp_path: Path
) -> None:
    place = empty()
    one = SmallArchive(tmp_path / "one")
    two = SmallArchive(tmp_path / "two", minted=50)
    labels = [one.label({"a": b"1"}), two.label({"b": b"2"})]
    shutil.copytree(tmp_path / "two" / "col", tmp_path / "one" / "col", dirs_exist_ok=True)
    one.close()
    two.close()
    both = archive_on(place, tmp_path / "one")
    assert faults(both) == []
    assert [held.id for held in both.catalogue.items.page(0, 9)] == [1, 2, 3, 4]
    for label in labels:
        assert both.archive.get(label).version == 1
    both.close()


def test_places_that_cannot_be_read_are_named_and_what_is_known_of_them_stays(
    empty: Callable[[], Place], tmp_path: Path
) -> None:
    folder = tmp_path / "archive"
    place, lost = empty(), empty()
    small = full(place, folder)
    before = rows(place())
    labels = [held.item.forms.label.spelling for held in small.catalogue.items.page(0, 3)]
    for label, text in zip(labels, (b"", b"{", b"\xff"), strict=True):
        (folder / "col" / label / "ibi.json").write_bytes(text)
    (folder / "col" / "stray" / "doc").mkdir(parents=True)
    (folder / "col" / "stray" / "ibi.json").write_bytes(b"stray")
    (folder / "col" / labels[0] / "stray.json").write_bytes(b"stray")
    (folder / "reserved" / "damaged.json").write_bytes(b"[")
    named = sorted([*labels, "stray", "reserved"])
    assert sorted(each.place for each in faults(small)) == named
    assert rows(place()) == before
    small.close()
    again = archive_on(lost, folder)
    assert sorted(each.place for each in faults(again)) == named
    found = {label for label, *_ in rows(lost())["items"]}
    assert len(found) == len(before["items"]) - 3
    again.close()


# --- whoever is interrupted -----------------------------------------------------------------------


class DyingDatabase:
    """Dies before its n-th transaction, or at its end; then for ever."""

    def __init__(self, database: Database, last: int, *, committed: bool) -> None:
        """Live for so many transactions."""
        self._database = database
        self._left = last
        self._committed = committed
        self.died = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Do all else as it does."""
        return getattr(self._database, name)

    def transaction(self, work: Callable[[Execute], Any]) -> Any:  # noqa: ANN401
        """Do the work, or die."""
        self._left -= 1
        if self._left < 0 or (not self._left and not self._committed):
            self.died = True
            raise Killed
        done = self._database.transaction(work)
        if not self._left:
            self.died = True
            raise Killed
        return done


@pytest.mark.parametrize("committed", [False, True])
def test_whoever_interrupts_it_may_begin_again(
    empty: Callable[[], Place], tmp_path: Path, *, committed: bool
) -> None:
    """Until the new catalogue is whole the old one is used; after that nobody is served by half."""
    folder = tmp_path / "archive"
    place = empty()
    full(place, folder).close()

    def seen_by(read: Callable[[Database], Any]) -> Any:  # noqa: ANN401  # what it reads
        with closing(place()) as database:
            return read(database)

    before, accesses = seen_by(rows), seen_by(kept_rows)["accesses"]
    stale = "UPDATE archive_item SET version = version + 1 WHERE id = 3"
    seen = set()
    for last in range(1, 100):
        seen_by(lambda database: database.transaction(lambda execute: execute(stale)))
        old = seen_by(rows)
        database = place()
        dying = DyingDatabase(database, last, committed=committed)
        store = FolderStore(folder)
        catalogue = sql_catalogue(dying, quick=True)
        archive = Archive(catalogue, store, lambda _: [], TickingClock())
        with suppress(Killed):
            list(rebuild(archive))
        database.close()
        again = archive_on(place, folder)
        is_half = bool(again.catalogue.settings.get(REBUILDING))
        seen.add(is_half)
        assert is_half or seen_by(rows) in (old, before)
        assert faults(again) == []
        assert seen_by(rows) == before
        assert seen_by(kept_rows)["accesses"] == accesses
        again.close()
        if not dying.died:
            break
    assert seen == {False, True}
    assert last > 5


FIRST = str(forms(1).label)
COPY = forms(7, ELSEWHERE)


def complete(text: str) -> Callable[[SmallArchive], object]:
    def do(small: SmallArchive) -> object:
        select = "SELECT id FROM archive_deposit WHERE completed = '' AND request LIKE $1"
        [(id_,)] = Sqlite(small.folder / "catalogue.sqlite").read(select, f"%{text}%")
        return small.deposits.complete(id_, "me")

    return do


ACTS: dict[str, Callable[[SmallArchive], object]] = {
    "deposit": complete("edition_of"),
    "revise": complete("remove"),
    "describe": lambda small: small.archive.amend(
        FIRST, Amendment(metadata={"title": "New"}, further_names=[str(LEGACY)]), "me"
    ),
    "delete": lambda small: small.archive.delete(FIRST, "me", "wrong", with_metadata=True),
    "drop": lambda small: change(small, "drop", COPY, dropped=True),
    "hand over": lambda small: change(small, "hand over", COPY, state=State.ORIGINAL),
    "reserve": lambda small: small.archive.reserve(2, "me"),
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive with a few items, and deposits that wait to be completed."""
    folder = tmp_path_factory.mktemp("template")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        small = SmallArchive(folder / "archive")
        small.deposit({"a/one": b"1", "two": b"2"}, target="two")
        bring(small, Item(forms=COPY, state=State.COPY))
        small.open({"x/y": b"xy", "z": b"z"}, target="z", edition_of=FIRST)
        small.open({"two": b"22", "b/new": b"n"}, item=FIRST, remove=["a/one"])
        small.archive.reserve(1, "me")
        small.close()
        upgrade(str(folder / "empty.sqlite"), ARCHIVE_MIGRATIONS, postgresql=False)
    return folder


@pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("act", ACTS)
def test_killed_at_any_step_the_tree_says_what_the_archive_says_after_a_restart(
    template: Path, tmp_path: Path, act: str, stride: int
) -> None:
    """One step in seven, for they are much alike; all of them if there is time."""
    seen = []
    for last in range(1, 1000, stride):
        folder, lost = tmp_path / "it", tmp_path / "lost"
        shutil.copytree(template / "archive", folder)
        small = SmallArchive(folder, minted=100)
        with killed_at(last) as steps, suppress(Killed):
            ACTS[act](small)
        small.close()
        shutil.copytree(folder, lost, ignore=lambda *_: {"catalogue.sqlite"})
        shutil.copyfile(template / "empty.sqlite", lost / "catalogue.sqlite")
        own, rebuilt = SmallArchive(folder, minted=200), SmallArchive(lost, minted=200)
        assert faults(rebuilt) == []
        said, found = (rows(Sqlite(each / "catalogue.sqlite")) for each in (folder, lost))
        if act == "reserve":
            # Labels that nobody was told, because of the kill, may be reserved all the same.
            for name in ("names", "reservations"):
                assert set(said[name]) <= set(found.pop(name))
                del said[name]
        assert found == said
        seen.append(said)
        for each in (own, rebuilt):
            each.close()
            shutil.rmtree(each.folder)
        if steps.count < last:
            break
    assert len(seen) > 1
    assert (seen[0] != seen[-1]) == (act != "reserve")
