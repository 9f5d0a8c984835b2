"""Backups: made while an archive works, restored into any database, never whole too soon."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from ibi.archive.drafts.description import RecordForm
from ibi.archive.drafts.drafts import Drafts
from ibi.archive.drafts.files import DraftFiles
from ibi.archive.ports.restoration import RESTORED, UNRECONCILED, Restoration, moment_of
from ibi.archive.recovery.rebuild import rebuild
from ibi.archive.resolver_links.digest_log import DigestLog
from ibi.archive.rules.amendment import Amendment
from ibi.archive.rules.drafts.draft import read
from ibi.archive.settings import ArchiveSettings, read_archive
from ibi.archive.storage.catalogue.catalogue import sql_catalogue
from ibi.archive.storage.files.staging import Staging
from ibi.archive.storage.migrations import ARCHIVE_MIGRATIONS
from ibi.archive.wiring.stores import bulk_files_of, store_of
from ibi.errors import (
    DamagedBackupError,
    InstanceHeldError,
    PrefixHeldError,
    RequestError,
    StorageError,
)
from ibi.foundation.settings_file import written
from ibi.foundation.sql.database import Database
from ibi.foundation.sql.postgres import Postgres
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.sql.upgrade import upgrade
from ibi.installation.backup import archive_snapshot, tables
from ibi.installation.backup.backup import BackedUp, back_up
from ibi.installation.backup.record import backup_at, backups_in, partial_in, read_record
from ibi.installation.backup.restore import Restored, RestoreRequest, restore, restore_minter
from ibi.installation.backup.verification import faults_of
from ibi.minting.storage.machine_folder import FOLDER
from ibi.minting.wiring import minter_of
from ibi.model.account import INVITATION, AccountLink, Session
from ibi.model.item import Item, State
from ibi.model.token import Token
from ibi.resolver.settings import ResolverSettings
from ibi.resolver.storage.migrations import RESOLVER_MIGRATIONS
from ibi.resolver.storage.store import SqlResolverStore
from ibi.wire.digest import fingerprint
from tests.support.failures.syscalls import Killed, killed_at
from tests.support.hostile.forged_backups import reseal
from tests.support.scenes.catalogue import schema
from tests.support.scenes.full_archive import ELSEWHERE, bring, change, fill, kept_rows, rows
from tests.support.scenes.small_archive import HOST, IP, SmallArchive, contents, forms
from tests.support.servers.object_store import ObjectServer

Empty = Callable[[str], str]
IDENTITY = "SELECT identity FROM ibi_ledger"


@pytest.fixture
def empty(request: pytest.FixtureRequest) -> Empty:
    """Return a place for a database of a kind; empty for the file that it is in by itself."""

    def place(kind: str) -> str:
        return schema(request.getfixturevalue("postgres")) if kind == "postgresql" else ""

    return place


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody cuts the power here; it saves minutes."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def opened(place: str) -> Database:
    return Postgres(place) if "://" in place else Sqlite(place)


def run(database: Database, statement: str, *values: object) -> None:
    database.transaction(lambda execute: execute(statement, *values))


def settings_of(folder: Path, catalogue: str = "", ledger: str = "") -> ArchiveSettings:
    return ArchiveSettings(
        folder=folder,
        name="An archive",
        address="http://archive.example.org",
        host=HOST,
        port=80,
        ip=IP,
        catalogue=catalogue or "catalogue.sqlite",
        ledger=ledger or "ledger.sqlite",
    )


class Site:
    """An archive with settings, as `init` leaves it, on any database."""

    def __init__(
        self, folder: Path, catalogue: str = "", ledger: str = "", *, keep_replaced: bool = True
    ) -> None:
        """Make it; nothing is in it."""
        folder.mkdir(parents=True)
        self.settings = settings_of(folder, catalogue, ledger)
        self.place = self.settings.place(self.settings.catalogue)
        upgrade(self.place, ARCHIVE_MIGRATIONS, postgresql="://" in self.place)
        self.small = SmallArchive(
            folder,
            catalogue=lambda _: sql_catalogue(opened(self.place), quick=True),
            keep_replaced=keep_replaced,
        )
        with minter_of(self.settings.minter) as minter:
            minter.mint_many(3)
        (folder / "archive.toml").write_text(written(self.settings), encoding="utf-8")
        (folder / "token").write_text("ibi_secret\n", encoding="utf-8")

    def back_up(self, target: Path, *, quick: bool = False) -> BackedUp:
        """Back it up."""
        return back_up({"archive": self.settings.folder}, target, quick=quick)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path / "archive")
    yield made
    made.small.close()


def restored_archive(
    backup: Path, folder: Path, catalogue: str = "", ledger: str = ""
) -> tuple[Restored, ArchiveSettings]:
    done = restore(backup, folder, RestoreRequest(catalogue=catalogue, ledger=ledger))
    return done, read_archive(folder)


def test_open_drafts_come_back_with_their_files(site: Site, tmp_path: Path) -> None:
    small = site.small
    form = RecordForm("An archive")
    drafts = Drafts(small.archive, small.deposits, form)
    files = DraftFiles(small.archive, small.deposits, drafts)
    kept, published = (
        drafts.open("@ana", fields=(("title", "T"), ("year", "2026"), ("type", "Dataset")))
        for _ in range(2)
    )
    for draft in (kept, published):
        for path in ("a/é.txt", "b"):
            with files.receive(draft.id, "@ana", path, 0) as sink:
                sink.write(draft.id.encode())
                sink.finish()
    with files.receive(kept.id, "@ana", "half", 0) as sink:
        sink.write(b"1")
        sink.suspend()
    drafts.save(published.id, "@ana", 0, (*read(published.fields), ("creator-unknown", "yes")))
    drafts.publish(published.id, "@ana")
    backed_up = site.back_up(tmp_path / "backups").folder
    assert list(faults_of(backed_up)) == []
    _, settings = restored_archive(backed_up, tmp_path / "restored")
    catalogue = sql_catalogue(opened(settings.place(settings.catalogue)), quick=True)
    try:
        found = catalogue.drafts.get(kept.id)
        assert found == kept
        staging = Staging(settings.folder / "incoming")
        for path in ("a/é.txt", "b"):
            staged = staging.staged_file(kept.id, path)
            assert staged is not None
            assert staged.file is not None
        assert contents(staging.root / kept.id / "files").keys() == {"a/é.txt", "b"}
        assert not (staging.root / published.id).exists()
    finally:
        catalogue.close()
    # A second backup of the same, and a file that no draft has.
    assert list(faults_of(site.back_up(tmp_path / "backups").folder)) == []
    stray = backed_up / "archive" / "drafts" / kept.id / "files" / "stray"
    stray.write_bytes(b"1")
    assert [each.path for each in faults_of(backed_up)] == [stray.relative_to(backed_up).as_posix()]


@pytest.mark.parametrize("is_old", [False, True])
def test_no_session_and_no_link_comes_back(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_old: bool
) -> None:
    accounts = site.small.catalogue.accounts
    accounts.add_session(Session("d" * 64, "ana", 1, 2, "A browser"))
    link = {"kind": INVITATION, "role": "viewer", "made_by": "@b", "created": 1, "expires": 2**62}
    accounts.add_link(AccountLink(digest="e" * 64, **link))  # type: ignore[arg-type]  # as listed
    with monkeypatch.context() as patch:
        if is_old:  # an earlier ibi wrote them into the backup
            patch.setattr(tables, "_TRANSIENT", frozenset())
        backed_up = site.back_up(tmp_path / "backups").folder
    assert list(faults_of(backed_up)) == []
    written_rows = [path for path in backed_up.rglob("*.jsonl") if b"dddd" in path.read_bytes()]
    assert len(written_rows) == is_old
    _, settings = restored_archive(backed_up, tmp_path / "restored")
    catalogue = sql_catalogue(opened(settings.place(settings.catalogue)), quick=True)
    try:
        assert catalogue.accounts.sessions("ana") == []
        assert catalogue.accounts.links() == []
    finally:
        catalogue.close()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("sqlite", "sqlite"),
        ("sqlite", "postgresql"),
        ("postgresql", "sqlite"),
        ("postgresql", "postgresql"),
    ],
)
def test_an_archive_comes_back_whatever_its_database_was_or_is(
    tmp_path: Path, empty: Empty, before: str, after: str
) -> None:
    site = Site(tmp_path / "archive", empty(before), empty(before))
    fill(site.small)
    source = opened(site.place)
    backup = site.back_up(tmp_path / "backups")
    assert list(faults_of(backup.folder)) == []
    done, settings = restored_archive(backup.folder, tmp_path / "again", empty(after), empty(after))
    assert (done.items, done.files, done.faults) == (21, 7, [])
    target = opened(settings.place(settings.catalogue))
    assert rows(target) == rows(source)
    taken = moment_of(backup.record.taken)
    facts = Restoration(taken, site.settings.address).text
    marks = [(RESTORED, facts), (UNRECONCILED, taken)]
    kept = {**kept_rows(source), "setting": marks}
    assert kept_rows(target) == kept
    numbers = "SELECT id, label FROM archive_item ORDER BY id"
    assert target.read(numbers) == source.read(numbers)
    histories = [
        database.read("SELECT number, change, at, who, act, label, detail FROM archive_history")
        for database in (source, target)
    ]
    assert sorted(histories[1])[:-1] == sorted(histories[0])
    assert max(histories[1])[4] == "restore"
    folders = [each / "col" for each in (site.settings.folder, backup.folder / "archive")]
    for folder in (*folders, tmp_path / "again" / "col"):
        assert without_empty(folder) == without_empty(folders[0])
    again = SmallArchive(
        settings.folder,
        minted=200,
        catalogue=lambda _: sql_catalogue(opened(settings.place(settings.catalogue)), quick=True),
    )
    check_times(again)
    check_digest(again, site.small)
    again.label({"new": b"1"})  # numbers go on
    assert [each.fault for each in rebuild(again.archive) if each.fault] == []
    for each in (source, target, again, site.small):
        each.close()


def without_empty(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def check_digest(again: SmallArchive, before: SmallArchive) -> None:
    """Whoever read the log of before is told to begin anew, and finds what there is now."""
    state = again.catalogue.digest.state()
    assert not state.whole
    assert state.epoch != before.catalogue.digest.state().epoch
    while again.catalogue.digest.fill():
        pass
    digest = DigestLog(again.catalogue.digest)
    page = digest.page(*digest.place(before.catalogue.digest.state().epoch, 7))
    items = [held.item for held in again.catalogue.items.page(0, 100)]
    assert (page.after, page.more) == (0, False)
    assert set(page.held) == {fingerprint(name.canonical) for item in items for name in item.names}


def check_times(small: SmallArchive) -> None:
    """Whoever delivers a file knows by its time that it is the one that was deposited."""
    for held in small.catalogue.items.page(0, 100):
        for file in small.catalogue.items.files(held.id):
            path = small.folder / "col" / held.item.forms.label.spelling / "doc" / file.path
            assert path.stat().st_mtime_ns == file.modified


@pytest.mark.parametrize("after", ["sqlite", "postgresql"])
@pytest.mark.parametrize("before", ["sqlite", "postgresql"])
def test_a_resolver_comes_back_too(tmp_path: Path, empty: Empty, before: str, after: str) -> None:
    folder = tmp_path / "resolver"
    folder.mkdir()
    settings = ResolverSettings(
        folder=folder,
        name="A resolver",
        address="http://resolver.example.org",
        database=empty(before) or "registry.sqlite",
    )
    upgrade(settings.place, RESOLVER_MIGRATIONS, postgresql=before == "postgresql")
    (folder / "resolver.toml").write_text(written(settings), encoding="utf-8")
    database = opened(settings.place)
    SqlResolverStore(database, quick=True).tokens.add_token(Token("me", "digest", "read", 5))
    for insert in (
        "INSERT INTO resolver_owner VALUES ('label', 'archive', 7, $1)",
        "INSERT INTO resolver_conflict (label, is_open, document) VALUES ('label', $1, '{}')",
    ):
        for flag in (True, False):
            label = f"a{flag}"
            run(database, insert.replace("'label'", f"'{label}'"), flag)
    run(
        database,
        "INSERT INTO resolver_acknowledgment (archive, request, acknowledgment, count, since) "
        "VALUES ('archive', '', '{}', $1, 0)",
        3,
    )
    backup = back_up({"resolver": folder}, tmp_path / "backups")
    assert list(faults_of(backup.folder)) == []
    place = empty(after)
    restore(backup.folder, tmp_path / "again", RestoreRequest(database=place))
    other = opened(place or str(tmp_path / "again" / "registry.sqlite"))
    for table in ("owner", "conflict", "token", "archive", "event"):
        select = f"SELECT * FROM resolver_{table}"  # noqa: S608
        assert sorted(other.read(select)) == sorted(database.read(select))
    assert len(other.read("SELECT * FROM resolver_owner")) == 2
    # The archive was told of these accesses since: whoever comes back tells nobody again.
    assert not other.read("SELECT * FROM resolver_acknowledgment")
    store = SqlResolverStore(other, quick=True)
    insert = "INSERT INTO resolver_conflict (label, is_open, document) VALUES ('b', $1, '{}')"
    run(other, insert, flag)  # its number is the next
    assert [token.name for token in store.tokens.tokens()] == ["me"]
    for each in (database, other):
        each.close()


def test_what_is_secret_stays_so(site: Site, tmp_path: Path) -> None:
    backup = site.back_up(tmp_path / "backups").folder
    assert stat.S_IMODE((tmp_path / "backups").stat().st_mode) == 0o700
    assert stat.S_IMODE((backup / "archive" / "token").stat().st_mode) == 0o600
    restored_archive(backup, tmp_path / "again")
    assert stat.S_IMODE((tmp_path / "again").stat().st_mode) == 0o700
    for name in ("token", "archive.toml"):
        assert stat.S_IMODE((tmp_path / "again" / name).stat().st_mode) == 0o600
        assert (tmp_path / "again" / name).read_bytes() == (
            site.settings.folder / name
        ).read_bytes()


def test_the_list_of_checksums_is_one_that_others_read(site: Site, tmp_path: Path) -> None:
    fill(site.small)
    backup = site.back_up(tmp_path / "backups").folder
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"],  # noqa: S607
        cwd=backup,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")
    listed = {line.split("  ", 1)[1] for line in (backup / "SHA256SUMS").read_text().splitlines()}
    found = {each.relative_to(backup).as_posix() for each in backup.rglob("*") if each.is_file()}
    assert found - listed == {"SHA256SUMS", "backup.json"}


def test_an_item_of_many_files(site: Site, tmp_path: Path) -> None:
    files = {f"{number // 100}/{number}": str(number).encode() for number in range(450)}
    label = site.small.label(files, target="0/0")
    backup = site.back_up(tmp_path / "backups").folder
    assert list(faults_of(backup)) == []
    done, _ = restored_archive(backup, tmp_path / "again")
    assert done.files == 450
    assert contents(tmp_path / "again" / "col" / label / "doc") == files


def test_an_archive_whose_files_are_in_an_object_store(
    object_server: ObjectServer, tmp_path: Path
) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    settings = replace(
        settings_of(folder),
        storage=object_server.storage(),
        storage_endpoint=object_server.endpoint,
        storage_region=object_server.region,
    )
    small = SmallArchive(folder, store=lambda: store_of(settings))
    fill(small)
    with minter_of(settings.minter) as minter:
        minter.mint()
    (folder / "archive.toml").write_text(written(settings), encoding="utf-8")
    backup = back_up({"archive": folder}, tmp_path / "backups").folder
    assert list(faults_of(backup)) == []
    done, restored = restored_archive(backup, tmp_path / "again")
    assert (done.items, done.files, done.faults, restored.storage) == (21, 7, [], "")
    stored = bulk_files_of(settings)
    found = {key for key, _ in stored.keys("col")}
    again = tmp_path / "again"
    assert {f"col/{path}" for path in without_empty(again / "col")} == found
    check_times(SmallArchive(again, minted=200))
    small.close()


# --- one after the other --------------------------------------------------------------------------


def test_the_next_backup_copies_what_is_new_and_the_last_one_stays(
    site: Site, tmp_path: Path
) -> None:
    fill(site.small)
    target = tmp_path / "backups"
    first = site.back_up(target)
    assert first.copied == 7
    one = site.small.label({"big": b"big" * 1000})
    gone = site.small.label({"gone": b"gone"})
    second = site.back_up(target)
    assert second.copied == 2
    site.small.archive.delete(gone, "me", "wrong")
    site.small.deposit({"big": b"other"}, item=one)
    third = site.back_up(target, quick=True)
    assert third.copied == 1
    assert backups_in(target) == [third.folder, second.folder, first.folder]
    assert backup_at(target) == third.folder
    path = f"archive/col/{one}/doc/big"
    assert (second.folder / path).read_bytes() == b"big" * 1000
    assert (third.folder / path).read_bytes() == b"other"
    assert not (third.folder / "archive" / "col" / gone / "doc").exists()
    old = list((third.folder / "archive" / "col" / one / "old").rglob("big"))
    assert [each.read_bytes() for each in old] == [b"big" * 1000]
    for each in (first, second, third):
        assert list(faults_of(each.folder)) == []
    shutil.rmtree(first.folder)
    assert list(faults_of(third.folder)) == []


def test_what_the_last_backup_has_damaged_is_copied_again(site: Site, tmp_path: Path) -> None:
    label = site.small.label({"a": b"whole", "b": b"b"}, target="a")
    first = site.back_up(tmp_path / "backups").folder
    spoil(first / "archive" / "col" / label / "doc" / "a")
    second = site.back_up(tmp_path / "backups")
    assert second.copied == 1
    assert list(faults_of(second.folder)) == []
    assert len(list(faults_of(first))) == 1


def spoil(path: Path) -> None:
    """Flip a bit, behind everybody's back."""
    status = path.stat()
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    path.chmod(0o600)
    path.unlink()
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_a_file_that_is_damaged_already_is_named_and_taken_from_the_last_backup_if_it_has_it(
    site: Site, tmp_path: Path
) -> None:
    old = site.small.label({"a": b"whole"})
    site.back_up(tmp_path / "backups")
    new = site.small.label({"b": b"whole too"})
    for label, name in ((old, "a"), (new, "b")):
        spoil(site.settings.folder / "col" / label / "doc" / name)
    backup = site.back_up(tmp_path / "backups")
    lacking = f"col/{new}/doc/b"
    assert backup.record.parts["archive"].lacking == (lacking,)
    [fault] = faults_of(backup.folder)
    assert (fault.path, fault.kind) == (f"archive/{lacking}", "lacking")
    done, _ = restored_archive(backup.folder, tmp_path / "again")
    assert done.faults == [lacking]
    assert (tmp_path / "again" / "col" / old / "doc" / "a").read_bytes() == b"whole"


# --- interrupted, or damaged ----------------------------------------------------------------------


def test_an_interrupted_backup_is_never_taken_for_whole(site: Site, tmp_path: Path) -> None:
    """And the next one goes on with what it had."""
    site.small.deposit({"a": b"1", "b/c": b"2"}, target="a")
    target = tmp_path / "backups"
    whole = 0
    for last in range(1, 2000, 7):
        with killed_at(last) as steps, suppress(Killed):
            site.back_up(target)
        found = backups_in(target)
        whole = len(found)
        for each in found:
            assert list(faults_of(each)) == []
        if not found:
            with pytest.raises(RequestError, match="no backup"):
                backup_at(target)
        if steps.count < last:
            break
    assert whole >= 1
    assert last > 50
    again = site.back_up(target)
    assert again.copied == 0
    assert partial_in(target) == []
    with pytest.raises(StorageError, match="incomplete"):
        read_record(target)


def test_only_one_backup_is_made_in_a_place_at_a_time(site: Site, tmp_path: Path) -> None:
    entered, going = threading.Event(), threading.Event()

    def wait(*_: object) -> None:
        entered.set()
        going.wait(60)

    site.small.label()
    folders = {"archive": site.settings.folder}
    thread = threading.Thread(
        target=lambda: back_up(folders, tmp_path / "backups", progress=wait)  # type: ignore[arg-type]
    )
    thread.start()
    assert entered.wait(60)
    with pytest.raises(InstanceHeldError, match="being made"):
        site.back_up(tmp_path / "backups")
    going.set()
    thread.join()


def test_whatever_is_damaged_is_found_and_named(site: Site, tmp_path: Path) -> None:
    fill(site.small)
    backup = site.back_up(tmp_path / "backups").folder
    files = [each for each in backup.rglob("*") if each.is_file() and each.stat().st_size]
    assert len(files) > 40
    for path in files:
        kept = path.read_bytes()
        for damaged in (None, bytes([kept[0] ^ 1, *kept[1:]]), kept[:-1], kept + b"\n"):
            path.unlink()
            if damaged is not None:
                path.write_bytes(damaged)
            name = path.relative_to(backup).as_posix()
            if name == "backup.json":
                found = ["backup.json"] if damaged == kept + b"\n" else faults_or_refusal(backup)
            else:
                found = list(map(str, faults_of(backup)))
            assert any(name in fault for fault in found), (name, damaged, found)
            path.unlink(missing_ok=True)
            path.write_bytes(kept)
    assert list(faults_of(backup)) == []


def faults_or_refusal(backup: Path) -> list[str]:
    try:
        return [*map(str, faults_of(backup)), "backup.json"]
    except StorageError as refusal:
        return [f"backup.json: {refusal}"]


def test_rows_that_contradict_each_other_are_found(site: Site, tmp_path: Path) -> None:
    fill(site.small)
    database = opened(site.place)
    for statement, fault in (
        ("INSERT INTO archive_file VALUES (999, 'x', 0, '', '', 0, '')", "which does not exist"),
        ("INSERT INTO archive_name VALUES ('x', 3)", "its names"),
        ("UPDATE archive_item SET state = 'Copy' WHERE id = 3", "differ"),
        ("DELETE FROM archive_name WHERE item IS NULL", "reserved"),
        ("UPDATE archive_item SET document = '{}' WHERE id = 9", "cannot be read"),
    ):
        run(database, statement)
        with suppress(StorageError):  # what cannot be read cannot be backed up either
            found = list(faults_of(site.back_up(tmp_path / "backups").folder))
            assert any(fault in each.reason for each in found), (statement, found)
            continue
        assert fault == "cannot be read"
    database.close()


def test_nothing_is_restored_over_something(site: Site, tmp_path: Path, empty: Empty) -> None:
    backup = site.back_up(tmp_path / "backups").folder
    with pytest.raises(RequestError, match="not empty"):
        restored_archive(backup, site.settings.folder)
    place = empty("postgresql")
    (tmp_path / "again").mkdir()
    restored_archive(backup, tmp_path / "again", place)
    with pytest.raises(RequestError, match=r"catalogue at .* already"):
        restored_archive(backup, tmp_path / "other", place)
    assert not (tmp_path / "other").exists()


# --- while it works -------------------------------------------------------------------------------


@pytest.mark.parametrize("keep_replaced", [True, False])
def test_backups_of_an_archive_at_work_are_consistent(
    tmp_path: Path, *, keep_replaced: bool
) -> None:
    """It deposits, revises and deletes meanwhile; each backup is whole, and each item in it.

    It has so many turns for each backup: one that revised every item for ever, faster than the
    catalogue can be read, could not be followed.
    """
    site = Site(tmp_path / "archive", keep_replaced=keep_replaced)
    small = site.small
    done = threading.Event()
    failed: list[BaseException] = []
    labels = [small.label({"a": b"0", "b": b"0"}, target="a") for _ in range(20)]
    turns: list[int] = []
    allowed = threading.Semaphore(0)

    def work() -> None:
        try:
            while allowed.acquire() and not done.is_set():
                turn = len(turns) + 1
                new = small.label({"a": f"{turn}".encode(), "b": b"0"}, target="a")
                small.deposit({"a": f"{turn} new".encode(), "b": b"new"}, item=labels[turn % 20])
                small.archive.amend(labels[turn % 20], Amendment(list_public=False), "me")
                if turn % 2:
                    small.archive.delete(new, "me", "wrong")
                turns.append(turn)
        except BaseException as failure:  # noqa: BLE001  # told to the test
            failed.append(failure)

    thread = threading.Thread(target=work)
    thread.start()
    backups = []
    try:
        for _ in range(5):
            seen = len(turns)
            allowed.release(60)
            backups.append(site.back_up(tmp_path / "backups"))
            while len(turns) == seen and not failed:
                time.sleep(0.001)
    finally:
        done.set()
        allowed.release()
        thread.join()
    assert failed == []
    for backup in backups:
        assert backup.record.parts["archive"].lacking == ()
        assert list(faults_of(backup.folder)) == []
    items = [backup.record.parts["archive"].items for backup in backups]
    assert items[0] < items[-1]
    done_, settings = restored_archive(backups[-1].folder, tmp_path / "again")
    assert done_.faults == []
    again = SmallArchive(settings.folder, minted=5000)
    for label in labels:
        held = again.archive.get(label)
        doc = contents(settings.folder / "col" / label / "doc")
        assert (doc["b"] == b"new") == (b"new" in doc["a"])  # of one revision, both files
        assert [file.path for file in again.archive.files(held)] == ["a", "b"]
    again.close()
    small.close()


def test_a_journal_file_may_vanish_between_listing_and_reading(site: Site) -> None:
    """An archive at work finishes a change after its journal was listed, before it was read."""
    journal = site.settings.folder / "journal"
    for name in ("1.json", "2.json", "3.json"):
        (journal / name).write_bytes(b"decided")
    keys = bulk_files_of(site.settings).keys("journal")
    assert next(keys) == ("journal/1.json", 7)
    (journal / "2.json").unlink()
    assert list(keys) == [("journal/3.json", 7)]


@pytest.mark.parametrize("keep_replaced", [True, False])
def test_what_changes_before_its_files_are_copied_is_backed_up_as_it_became(
    tmp_path: Path, *, keep_replaced: bool
) -> None:
    site = Site(tmp_path / "archive", keep_replaced=keep_replaced)
    small = site.small
    first, gone, revised, copy = (small.label({"a": b"0", "d/b": b"1"}, target="a") for _ in "1234")
    bring(small, Item(forms=forms(7, ELSEWHERE), state=State.COPY))

    begun: list[str] = []

    def change_all(phase: str, *_: int) -> None:
        if phase == "Copying files" and not begun:
            begun.append(phase)
            small.archive.delete(gone, "me", "wrong", with_metadata=True)
            small.deposit({"a": b"0 new"}, item=revised, remove=["d/b"])
            change(small, "drop", forms(7, ELSEWHERE), dropped=True)
            small.label({"late": b"late"})

    folders = {"archive": site.settings.folder}
    backup = back_up(folders, tmp_path / "backups", progress=change_all)  # type: ignore[arg-type]
    assert begun
    assert backup.record.parts["archive"].lacking == ()
    assert list(faults_of(backup.folder)) == []
    col = backup.folder / "archive" / "col"
    docs = [sorted(contents(col / label / "doc")) for label in (first, gone, revised, copy)]
    assert docs == [["a", "d/b"], [], ["a"], ["a", "d/b"]]
    assert not (col / forms(7, ELSEWHERE).label.spelling / "ibi.json").exists()
    assert not (backup.folder / "archive" / "before").exists()
    small.close()


def test_an_act_that_was_interrupted_has_to_be_finished_first(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_snapshot, "ROUNDS", 3)
    label = site.small.label({"a": b"0"})
    (site.settings.folder / "col" / label / "doc" / "a").unlink()
    (site.settings.folder / "journal" / "act.json").write_bytes(b"decided")
    with pytest.raises(StorageError, match="start it once"):
        site.back_up(tmp_path / "backups")
    assert backups_in(tmp_path / "backups") == []


# --- no label comes twice -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_restored_ledger_goes_on_after_now(
    tmp_path: Path, empty: Empty, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also on a machine that remembers nothing."""
    site = Site(tmp_path / "archive", ledger=empty(kind))
    given = []
    with minter_of(site.settings.minter) as minter:
        given += minter.mint_many(10)
    backup = site.back_up(tmp_path / "backups").folder
    with minter_of(site.settings.minter) as minter:
        given += minter.mint_many(200)  # of these the backup knows nothing
        given += [minter.mint() for _ in range(5)]
    now = time.time_ns()
    done, settings = restored_archive(backup, tmp_path / "again", ledger=empty(kind))
    assert done.minting_after > now
    before, after = (opened(each.place(each.ledger)) for each in (site.settings, settings))
    assert before.read(IDENTITY) != after.read(IDENTITY)
    assert min(after.read("SELECT mark FROM ibi_prefix")) > (now,)
    for database in (before, after):
        database.close()
    monkeypatch.setenv(FOLDER, str(tmp_path / "machine"))
    with minter_of(settings.minter) as minter:
        given += minter.mint_many(200)
        given += [minter.mint() for _ in range(5)]
    assert len({str(each) for each in given}) == len(given)
    assert sorted(map(str, given[-205:])) == sorted(map(str, given))[-205:]
    site.small.close()


def test_the_original_and_what_was_restored_do_not_mint_at_once(site: Site, tmp_path: Path) -> None:
    backup = site.back_up(tmp_path / "backups").folder
    _, settings = restored_archive(backup, tmp_path / "again")
    with (
        minter_of(site.settings.minter),
        pytest.raises(PrefixHeldError),
        minter_of(settings.minter),
    ):
        raise AssertionError


def test_a_ledger_alone_is_backed_up_and_restored(site: Site, tmp_path: Path) -> None:
    place = site.settings.minter.place
    backup = back_up({}, tmp_path / "backups", ledger=place).folder
    assert list(faults_of(backup)) == []
    with minter_of(site.settings.minter) as minter:
        given = minter.mint_many(20)
    new = str(tmp_path / "again.sqlite")
    with pytest.raises(RequestError, match="--ledger"):
        restored_archive(backup, tmp_path / "again")
    after = restore_minter(backup, RestoreRequest(ledger=new))
    with minter_of(replace(site.settings.minter, ledger=new)) as minter:
        given += minter.mint_many(20)
    assert len({str(each) for each in given}) == 40
    assert after > time.time_ns() - 600 * 10**9
    with pytest.raises(RequestError, match="already"):
        restore_minter(backup, RestoreRequest(ledger=new))
    with pytest.raises(RequestError, match="--data"):
        restore_minter(
            site.back_up(tmp_path / "others").folder, RestoreRequest(ledger=str(tmp_path / "other"))
        )


# --- written by somebody else ---------------------------------------------------------------------


def test_a_table_that_lacks_a_row_is_not_restored(site: Site, tmp_path: Path) -> None:
    fill(site.small)
    backup = site.back_up(tmp_path / "backups").folder
    table = backup / "archive" / "catalogue" / "archive_item.jsonl"
    table.write_bytes(b"".join(table.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(DamagedBackupError, match="rows instead of"):
        restored_archive(backup, tmp_path / "again")
    assert not (tmp_path / "again").exists()


Forgery: TypeAlias = Callable[[dict[str, Any]], object]
FORGERIES: dict[str, Forgery] = {
    "no ledger": lambda record: record["parts"]["archive"]["stores"].pop("ledger"),
    "no catalogue": lambda record: record["parts"]["archive"]["stores"].pop("catalogue"),
    "another part": lambda record: record["parts"].update({"../x": record["parts"]["archive"]}),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_record_that_is_not_ours_is_refused(site: Site, tmp_path: Path, forgery: str) -> None:
    backup = site.back_up(tmp_path / "backups").folder
    record = json.loads((backup / "backup.json").read_bytes())
    FORGERIES[forgery](record)
    del record["checksum"]  # as earlier versions wrote it
    (backup / "backup.json").write_text(json.dumps(record))
    with pytest.raises(StorageError, match="no backup of ours"):
        restored_archive(backup, tmp_path / "again")
    with pytest.raises(StorageError, match="no backup of ours"):
        list(faults_of(backup))


def test_rows_that_are_not_ours_are_refused(site: Site, tmp_path: Path) -> None:
    fill(site.small)
    backup = site.back_up(tmp_path / "backups").folder
    forge(backup, lambda row: {"id": row["id"]})
    assert any("no catalogue of ours" in fault.reason for fault in faults_of(backup))
    with pytest.raises(DamagedBackupError):
        restored_archive(backup, tmp_path / "again")


def test_a_version_that_nobody_knows_is_refused(site: Site, tmp_path: Path) -> None:
    backup = site.back_up(tmp_path / "backups").folder
    forge(backup, lambda row: row, version="0000x")
    with pytest.raises(StorageError, match="0000x"):
        restored_archive(backup, tmp_path / "again")


def forge(
    backup: Path, change: Callable[[dict[str, Any]], dict[str, Any]], version: str = ""
) -> None:
    """Change all items of a backup, and its checksums so that all agree."""
    table = backup / "archive" / "catalogue" / "archive_item.jsonl"
    rows = [change(json.loads(line)) for line in table.read_bytes().splitlines()]
    text = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    table.write_bytes(text)
    record = json.loads((backup / "backup.json").read_bytes())
    stored = record["parts"]["archive"]["stores"]["catalogue"]
    stored["version"] = version or stored["version"]
    (backup / "backup.json").write_text(json.dumps(record))
    reseal(backup)
