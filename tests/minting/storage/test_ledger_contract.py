"""Whatever keeps a ledger: every adapter of the port behaves the same."""

from __future__ import annotations

import asyncio
import os
import secrets
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from ibi.errors import BindingError, LabelInUseError, LedgerUnavailableError
from ibi.foundation.sql import postgres as postgres_database
from ibi.foundation.sql import sqlite
from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.postgres import Postgres, without_password
from ibi.foundation.sql.sqlite import Sqlite
from ibi.minting.ports import Commitment, Entry, Issue, LabelRecord, Ledger
from ibi.minting.rules.label_generator import EARLIEST
from ibi.minting.storage.ledger import SqlLedger
from ibi.model.clock import ClockReading
from ibi.model.token import Token
from tests.support.servers.postgres import PostgresServer
from tests.support.waiting import wait_until

PREFIX = "sid.inpe.br/mtc-m19"
OPAQUE = "8JMKD3MGP8W"
SECOND = 1_000_000_000
NOW = ClockReading(1_700_000_000 * SECOND, 1000 * SECOND, "boot-1")
FIRST = Commitment(NOW.wall, 1, NOW)


@dataclass
class Place:
    """Where a ledger lies, and may be opened again and again."""

    open: Callable[[], Ledger]
    opened: list[Ledger] = field(default_factory=list)

    def __call__(self) -> Ledger:
        """Open it."""
        self.opened.append(self.open())
        return self.opened[-1]


def query(url: str, *statements: str) -> Any:  # noqa: ANN401  # whatever the server says
    """Ask the server, past our adapter; return the answer to the last question."""

    async def ask() -> list[Any]:
        connection = await asyncpg.connect(url)
        try:
            return [await connection.fetchval(statement) for statement in statements]
        finally:
            await connection.close()

    return asyncio.run(ask())[-1]


def schema(server: PostgresServer) -> str:
    """Return the URL of an empty place; much quicker than a database of its own."""
    name = f"ibi_{secrets.token_hex(8)}"
    query(server.url, f"CREATE SCHEMA {name}")
    return f"{server.url}?search_path={name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        place = Place(lambda: SqlLedger(Sqlite(tmp_path / "new" / "ledger.sqlite")))
    else:
        url = schema(request.getfixturevalue("postgres"))
        place = Place(lambda: SqlLedger(Postgres(url)))
    with ExitStack() as stack:
        yield place
        for ledger in place.opened:
            stack.callback(ledger.close)


@pytest.fixture
def ledger(place: Place) -> Ledger:
    return place()


def settle(
    ledger: Ledger,
    decide: Callable[[Entry], Commitment | None] = lambda _: None,
    prefixes: tuple[str, ...] = (PREFIX,),
    boot: str = NOW.boot,
) -> Entry:
    return ledger.settle(prefixes, boot, decide)


# --- settle -------------------------------------------------------------------------------------


def test_a_fresh_ledger_knows_nothing(ledger: Ledger) -> None:
    entry = Entry(ledger.identity(), 0, None, None, None)
    seen = []

    def look(entry: Entry) -> None:
        seen.append(entry)

    assert settle(ledger, look) == entry
    assert seen == [entry]


def test_what_is_decided_stands_there_for_everyone(place: Place) -> None:
    one, other = place(), place()
    written = settle(one, lambda _: FIRST)
    assert written == Entry(one.identity(), 1, NOW.wall, NOW, NOW.wall)
    assert settle(one) == written
    assert settle(other) == written


def test_deciding_nothing_writes_nothing(ledger: Ledger) -> None:
    before = settle(ledger, lambda _: FIRST)
    assert settle(ledger, lambda _: None) == before
    assert settle(ledger) == before


class RefusedError(Exception):
    """What a rule raises."""


@pytest.mark.parametrize("error", [RefusedError, KeyboardInterrupt])
def test_if_deciding_raises_nothing_is_written_and_the_ledger_goes_on(
    ledger: Ledger, error: type[BaseException]
) -> None:
    before = settle(ledger, lambda _: FIRST)

    def refuse(_: Entry) -> None:
        raise error

    with pytest.raises(error):
        settle(ledger, refuse)
    with pytest.raises(error):
        settle(ledger, refuse, (OPAQUE,))
    assert settle(ledger) == before
    assert settle(ledger, prefixes=(OPAQUE,)).generation == 0


def test_numbers_of_64_bits_are_kept(ledger: Ledger) -> None:
    most = 2**63 - 1
    extreme = Commitment(most, most, ClockReading(most, most, "boot-1"))
    assert settle(ledger, lambda _: extreme) == settle(ledger)
    assert settle(ledger).mark == settle(ledger).generation == most


def test_each_prefix_has_an_entry_of_its_own(ledger: Ledger) -> None:
    settle(ledger, lambda _: FIRST)
    assert settle(ledger, prefixes=(OPAQUE,)).mark is None


def test_prefixes_together_have_the_greatest_mark_and_generation_of_each(ledger: Ledger) -> None:
    settle(ledger, lambda _: replace(FIRST, mark=5, generation=9), (PREFIX,))
    settle(ledger, lambda _: replace(FIRST, mark=8, generation=2), (OPAQUE,))
    for prefixes in ((PREFIX, OPAQUE), (OPAQUE, PREFIX)):
        entry = settle(ledger, prefixes=prefixes)
        assert (entry.mark, entry.generation) == (8, 9)
    settle(ledger, lambda entry: replace(FIRST, generation=entry.generation + 1), (PREFIX, OPAQUE))
    assert settle(ledger, prefixes=(PREFIX,)).generation == 10
    assert settle(ledger, prefixes=(OPAQUE,)).generation == 10


def test_the_clocks_are_those_seen_under_the_askers_boot(ledger: Ledger) -> None:
    later = ClockReading(NOW.wall + SECOND, 5, "boot-2")
    settle(ledger, lambda _: FIRST)
    settle(ledger, lambda _: Commitment(later.wall, 2, later), boot="boot-2")
    assert settle(ledger, boot="boot-1").seen == NOW
    assert settle(ledger, boot="boot-2").seen == later
    assert settle(ledger, boot="boot-3").seen is None
    assert {settle(ledger, boot=boot).last_seen for boot in ("boot-1", "boot-3")} == {later.wall}


def test_a_machine_without_a_name_for_its_run_has_seen_nothing(ledger: Ledger) -> None:
    nameless = replace(NOW, boot="")
    settle(ledger, lambda _: Commitment(1, 1, nameless), boot="")
    assert settle(ledger, boot="").seen is None
    assert settle(ledger, boot="").last_seen == NOW.wall


def test_connections_take_turns(place: Place) -> None:
    """Each adds one, many times, and no step is lost."""
    ledgers = [place() for _ in range(4)]
    steps = 15

    def add(entry: Entry) -> Commitment:
        return Commitment((entry.mark or 0) + 1, entry.generation + 1, NOW)

    def work(ledger: Ledger, prefixes: tuple[str, ...]) -> None:
        for _ in range(steps):
            settle(ledger, add, prefixes)

    orders = [(PREFIX, OPAQUE), (OPAQUE, PREFIX)] * 2
    threads = [
        threading.Thread(target=work, args=each) for each in zip(ledgers, orders, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entry = settle(ledgers[0])
    assert (entry.mark, entry.generation) == (4 * steps, 4 * steps)


def test_nobody_reads_what_another_is_deciding(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = place()
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT", 1)
    monkeypatch.setitem(postgres_database._SETTINGS, "lock_timeout", "1")  # noqa: SLF001
    impatient = place()

    def decide(_: Entry) -> Commitment:
        with pytest.raises(LedgerUnavailableError, match=r"locked|lock timeout"):
            settle(impatient)
        return FIRST

    settle(one, decide)
    assert settle(impatient).mark == NOW.wall


def test_threads_may_share_a_ledger(ledger: Ledger) -> None:
    def work() -> None:
        for _ in range(10):
            settle(ledger, lambda entry: Commitment(entry.generation, entry.generation + 1, NOW))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert settle(ledger).generation == 40


# --- who it is ------------------------------------------------------------------------------------


def test_a_ledger_keeps_its_identity_and_no_other_has_it(place: Place, tmp_path: Path) -> None:
    one, again = place(), place()
    another = SqlLedger(Sqlite(tmp_path / "another.sqlite"))
    assert one.identity() == again.identity() != another.identity()
    assert len(one.identity()) == 32
    another.close()


def test_two_who_make_it_at_once_make_one(place: Place) -> None:
    identities: list[str] = []
    threads = [
        threading.Thread(target=lambda: identities.append(place().identity())) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(identities) == 4
    assert len(set(identities)) == 1


def test_everything_is_there_after_closing_and_opening_again(place: Place) -> None:
    ledger = place()
    issue = issue_of("key", "request", (1, 2))
    token = Token("name", "digest", "mint", 5)
    settle(ledger, lambda _: FIRST)
    ledger.record([issue], [label(1, 3, "target"), label(2, 3)])
    ledger.add_token(token)
    before = settle(ledger)
    ledger.close()
    again = place()
    assert settle(again) == before
    assert again.issued((PREFIX,), ["key"]) == {"key": issue}
    assert again.unbound((PREFIX,), 0, 10) == [label(2, 3)]
    assert again.find(PREFIX, 1) == label(1, 3, "target")
    assert again.tokens() == [token]


class ReportingLock:
    """A reentrant lock that sets an event when a thread has to wait for it."""

    def __init__(self) -> None:
        """Begin unlocked."""
        self._lock = threading.RLock()
        self.is_awaited = threading.Event()

    def acquire(self) -> None:
        """Lock, and report a wait."""
        if not self._lock.acquire(blocking=False):
            self.is_awaited.set()
            self._lock.acquire()

    def release(self) -> None:
        """Unlock."""
        self._lock.release()

    def __enter__(self) -> None:
        """Lock."""
        self.acquire()

    def __exit__(self, *_: object) -> None:
        """Unlock."""
        self.release()


def test_pause_lets_nobody_in_until_resume(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    locks: list[ReportingLock] = []

    def new_lock() -> ReportingLock:
        locks.append(ReportingLock())
        return locks[-1]

    for module in (sqlite, postgres_database):
        monkeypatch.setattr(module, "RLock", new_lock)
    ledger = place()
    settle(ledger, lambda _: FIRST)
    ledger.pause()
    done: list[Entry] = []
    other = threading.Thread(target=lambda: done.append(settle(ledger)))
    other.start()
    wait_until(lambda: any(lock.is_awaited.is_set() for lock in locks))
    assert done == []
    ledger.resume()
    other.join()
    assert [entry.mark for entry in done] == [NOW.wall]
    assert settle(ledger).mark == NOW.wall


# --- labels, keys and tokens ----------------------------------------------------------------------


def label(instant: int, recorded: int, target: str = "") -> LabelRecord:
    return LabelRecord(instant, (PREFIX,), recorded, target)


def issue_of(key: str, request: str, instants: tuple[int, ...]) -> Issue:
    return Issue(key, request, instants, (PREFIX,))


def test_what_is_minted_under_two_prefixes_is_found_under_either(ledger: Ledger) -> None:
    both = (PREFIX, OPAQUE)
    given, reserved = Issue("key", "", (5,), both), LabelRecord(5, both, 9)
    assert ledger.record([given], [reserved]) is None
    for prefix in both:
        assert ledger.issued((prefix,), ["key"]) == {"key": given}
        assert ledger.unbound((prefix,), 0, 10) == [reserved]
    assert ledger.unbound(both, 0, 10) == [reserved]
    assert ledger.record([issue_of("key", "other", (6,))], []) == given
    ledger.bind(OPAQUE, 5, "target")
    assert ledger.find(PREFIX, 5) == replace(reserved, target="target")
    assert ledger.unbound(both, 0, 10) == []


def test_issues_are_found_by_their_keys(ledger: Ledger) -> None:
    issues = [
        issue_of("a", "one", (5,)),
        issue_of("b", "two", (6, 7)),
        issue_of("ç' \U0001f600", "", ()),
    ]
    ledger.record(issues, [])
    assert ledger.issued((PREFIX,), ["a", "ç' \U0001f600", "nobody"]) == {
        "a": issues[0],
        "ç' \U0001f600": issues[2],
    }
    assert ledger.issued((PREFIX,), []) == {}
    assert ledger.issued((OPAQUE,), ["a"]) == {}


def test_a_key_that_is_taken_is_refused_and_nothing_is_half_written(ledger: Ledger) -> None:
    taken = issue_of("taken", "first", (1,))
    ledger.record([taken], [])
    new = [issue_of("new", "", (2,)), issue_of("taken", "second", (3,))]
    assert ledger.record(new, [label(2, 9)]) == taken
    assert ledger.issued((PREFIX,), ["new", "taken"]) == {"taken": taken}
    assert ledger.find(PREFIX, 2) is None
    assert ledger.record([replace(taken, prefixes=(OPAQUE,))], []) is None


def test_a_label_recorded_twice_is_refused_and_nothing_is_half_written(ledger: Ledger) -> None:
    ledger.record([], [label(1, 9, "target")])
    with pytest.raises(LedgerUnavailableError):
        ledger.record([issue_of("key", "", (1,))], [label(0, 9), label(1, 9)])
    assert ledger.find(PREFIX, 1) == label(1, 9, "target")
    assert ledger.find(PREFIX, 0) is None
    assert ledger.issued((PREFIX,), ["key"]) == {}


def test_a_reserved_label_is_bound_once_and_for_good(ledger: Ledger) -> None:
    ledger.record([], [label(1, 9)])
    assert ledger.bind(PREFIX, 1, "first") == label(1, 9, "first")
    assert ledger.bind(PREFIX, 1, "second") == label(1, 9, "first")
    assert ledger.find(PREFIX, 1) == label(1, 9, "first")
    assert ledger.bind(PREFIX, 2, "target") is None
    assert ledger.bind(OPAQUE, 1, "target") is None


def test_unbound_labels_are_listed_page_by_page_the_oldest_first(ledger: Ledger) -> None:
    labels = [label(instant, 100 + instant) for instant in (5, 1, 4, 2, 3)]
    ledger.record([], [*labels, label(6, 0, "bound")])
    ledger.record([], [LabelRecord(7, (OPAQUE,), 0)])
    ledger.bind(PREFIX, 4, "target")
    pages, after = [], 0
    while page := ledger.unbound((PREFIX,), after, 2):
        pages.append([record.instant for record in page])
        after = page[-1].instant
    assert pages == [[1, 2], [3, 5]]
    assert ledger.unbound((PREFIX,), 4, 1) == [label(5, 105)]


def test_tokens_are_kept_by_name(ledger: Ledger) -> None:
    one, two = Token("b", "digest-1", "mint", 1), Token("a", "digest-2", "admin", 2)
    assert ledger.add_token(one)
    assert ledger.add_token(two)
    assert not ledger.add_token(replace(two, name="b"))
    assert ledger.tokens() == [one, two]
    assert ledger.remove_token("b")
    assert not ledger.remove_token("b")
    assert ledger.tokens() == [two]


# --- what goes wrong ------------------------------------------------------------------------------


def complaint(action: Callable[[], object]) -> str:
    with pytest.raises(LedgerUnavailableError) as refused:
        action()
    message = str(refused.value)
    assert message.startswith("The ledger '")
    assert "cannot be used, nothing was minted: " in message
    assert message.endswith(".")
    assert not message.endswith("..")
    assert message.isprintable()
    return refused.value.reason


def under_a_file(folder: Path) -> Path:
    (folder / "file").write_bytes(b"")
    return folder / "file" / "ledger.sqlite"


def a_folder(folder: Path) -> Path:
    (folder / "ledger.sqlite").mkdir()
    return folder / "ledger.sqlite"


def a_pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def another_file(folder: Path) -> Path:
    (folder / "notes.txt").write_text("Dear diary, " * 1000, encoding="utf-8")
    return folder / "notes.txt"


def bytes_of(name: str, content: bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content.ljust(5000, content[-1:]))
        return path

    return make


def no_disk(_: Path) -> Path:
    return Path("/proc/ibi/ledger.sqlite")


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (under_a_file, "its folder is a file"),
        (a_folder, "it is not a file"),
        (a_pipe, "it is not a file"),
        (another_file, "it is not an SQLite database, but a text"),
        (bytes_of("a.pdf", b"%PDF-1.7 x"), "it is not an SQLite database, but a PDF"),
        (bytes_of("a.zip", b"PK\x03\x04"), "it is not an SQLite database, but a zip file"),
        (bytes_of("a.gz", b"\x1f\x8b\x08"), "it is not an SQLite database, but a gzip file"),
        (bytes_of("a", b"\xfe\xff"), "it is not an SQLite database, but a file of another kind"),
        (bytes_of("b", b"a\0"), "it is not an SQLite database, but a file of another kind"),
        (
            bytes_of("c", b"SQLite format 3\0\xff"),
            "it is not an SQLite database, but a damaged or encrypted one",
        ),
        (no_disk, "no such file or directory"),
    ],
)
def test_a_place_where_no_file_can_be_a_ledger_is_named(
    tmp_path: Path, make: Callable[[Path], Path], reason: str
) -> None:
    path = make(tmp_path)
    before = path.read_bytes() if path.is_file() else None
    mode = 0o666
    if path.exists():
        path.chmod(mode)
    assert complaint(lambda: SqlLedger(Sqlite(path))) == reason
    assert before is None or path.read_bytes() == before
    assert not path.exists() or stat.S_IMODE(path.stat().st_mode) == mode


def test_a_file_that_is_removed_is_missed_and_not_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    ledger = SqlLedger(Sqlite(path))
    settle(ledger, lambda _: FIRST)
    for file in tmp_path.iterdir():
        file.unlink()
    for _ in range(3):
        complaint(lambda: settle(ledger, lambda _: replace(FIRST, generation=2)))
    assert not path.exists()
    ledger.close()


def test_another_ledger_in_the_place_of_a_file_is_noticed_before_anything_is_written(
    tmp_path: Path,
) -> None:
    path, other = tmp_path / "ledger.sqlite", tmp_path / "other.sqlite"
    ledger, another = SqlLedger(Sqlite(path)), SqlLedger(Sqlite(other))
    settle(ledger, lambda _: FIRST)
    another.close()
    for file in tmp_path.glob("ledger.sqlite*"):
        file.unlink()
    other.rename(path)
    decided = []

    def decide(entry: Entry) -> Commitment:
        decided.append(entry)
        return FIRST

    reasons = [complaint(lambda: settle(ledger, decide)) for _ in range(3)]
    assert reasons[0] == "the file was replaced or removed"
    assert reasons[1:] == ["another ledger lies in its place"] * 2
    assert decided == []
    ledger.close()


def test_a_ledger_that_a_newer_program_wrote_is_left_alone(tmp_path: Path) -> None:
    database = Sqlite(tmp_path / "ledger.sqlite")
    SqlLedger(database)
    database.transaction(lambda execute: execute("INSERT INTO ibi_ledger VALUES (2, 'newer')"))
    reason = complaint(lambda: SqlLedger(database))
    assert reason == "a newer ibi wrote it (version 2, this one knows 1)"
    database.close()


def test_a_wrong_password_is_refused_and_not_repeated(postgres: PostgresServer) -> None:
    url = postgres.url.replace(postgres.url.split(":")[2].split("@")[0], "hunter2")
    with pytest.raises(LedgerUnavailableError) as refused:
        Postgres(url)
    assert "password authentication failed" in refused.value.reason
    assert "hunter2" not in str(refused.value)
    assert "hunter2" not in repr(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:hunter2@db.example.org:5432/ibi",
        "postgresql://user:hunter2@db.example.org/ibi?sslmode=require",
        "postgresql://user:hunter2@[2001:db8::1]:5432/ibi",
        "postgresql://user:hunter2%40@db.example.org/ibi",
        "postgresql://user@db.example.org/ibi?password=hunter2",
        "postgresql:///ibi?user=user&host=db.example.org&password=hunter2",
        "postgresql://db.example.org/ibi?sslmode=require&sslPassword=hunter2&x=1",
    ],
)
def test_no_password_stands_in_a_name(url: str) -> None:
    shown = without_password(url)
    assert "hunter2" not in shown
    assert shown.startswith("postgresql://")
    assert "db.example.org" in shown or "2001:db8::1" in shown


def test_a_server_that_stops_is_missed_and_found_again(postgres: PostgresServer) -> None:
    ledger = SqlLedger(Postgres(schema(postgres)))
    before = settle(ledger, lambda _: FIRST)
    postgres.stop(immediate=True)
    try:
        for _ in range(2):
            reason = complaint(lambda: settle(ledger, lambda _: replace(FIRST, generation=2)))
            assert reason
    finally:
        postgres.start()
    assert settle(ledger) == before
    assert settle(ledger, lambda _: replace(FIRST, generation=2)).generation == 2
    ledger.close()


def test_a_read_that_takes_long_keeps_no_other_waiting(postgres: PostgresServer) -> None:
    def work(execute: Execute) -> None:
        execute("SELECT pg_advisory_xact_lock(4711)")
        waiting = others.submit(database.read, "SELECT pg_advisory_xact_lock_shared(4711)")
        blocked = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        wait_until(lambda: bool(execute(blocked)))
        assert database.read("SELECT 1") == [(1,)]
        assert not waiting.done()
        held.append(waiting)

    held: list[Future[list[tuple[Any, ...]]]] = []
    with closing(Postgres(postgres.url)) as database, ThreadPoolExecutor() as others:
        database.transaction(work)
        assert len(held[0].result()) == 1


def test_a_server_that_is_not_there_is_named(postgres: PostgresServer) -> None:
    port = postgres.url.rpartition(":")[2].partition("/")[0]
    assert complaint(lambda: Postgres(postgres.url.replace(f":{port}/", ":1/")))


def set_fsync(url: str, statement: str, wanted: str) -> None:
    query(url, statement, "SELECT pg_reload_conf()")
    wait_until(lambda: query(url, "SHOW fsync") == wanted)


def test_a_server_that_does_not_sync_is_refused(postgres: PostgresServer) -> None:
    set_fsync(postgres.url, "ALTER SYSTEM SET fsync = off", "off")
    try:
        assert complaint(lambda: Postgres(postgres.url)) == "the server runs with fsync = off"
    finally:
        set_fsync(postgres.url, "ALTER SYSTEM RESET fsync", "on")
    Postgres(postgres.url).close()


def test_what_one_prefix_saw_of_the_clock_says_nothing_of_another(ledger: Ledger) -> None:
    """A snapshot of the machine is put back: who mints first must not vouch for the others."""
    settle(ledger, lambda _: FIRST, (PREFIX,))
    settle(ledger, lambda _: FIRST, (OPAQUE,))
    later = replace(NOW, wall=NOW.wall + 60 * SECOND)
    settle(ledger, lambda _: Commitment(later.wall, 2, later), (OPAQUE,))
    assert settle(ledger, prefixes=(PREFIX,)).seen == NOW


def test_a_file_with_two_names_is_refused(tmp_path: Path) -> None:
    """SQLite keeps a log beside each name, and neither would see the other's."""
    path = tmp_path / "ledger"
    SqlLedger(Sqlite(path)).close()
    (tmp_path / "second").hardlink_to(path)
    with pytest.raises(LedgerUnavailableError, match="a second name"):
        SqlLedger(Sqlite(path))


@pytest.mark.parametrize("url", ["postgresql://[bad", "postgresql://h:notaport/db"])
def test_a_url_that_is_none_is_refused_in_one_sentence(url: str) -> None:
    with pytest.raises(LedgerUnavailableError) as refused:
        Postgres(url)
    assert "\n" not in str(refused.value)


OLD = NOW.wall - 1000 * SECOND
ADOPTED = LabelRecord(OLD, (PREFIX,), NOW.wall, "an archive")


def adopted(
    ledger: Ledger, label: LabelRecord, commitment: Commitment | None = None
) -> tuple[Entry, int | None]:
    """Adopt a label; return what the decision was based on."""
    seen: list[tuple[Entry, int | None]] = []

    def decide(entry: Entry, began: int | None) -> Commitment | None:
        seen.append((entry, began))
        return commitment

    ledger.adopt((PREFIX, OPAQUE), "boot-1", label, decide)
    return seen[0]


def test_a_label_is_adopted_with_its_mark_and_before_the_beginning_of_its_prefix(
    place: Place,
) -> None:
    ledger = place()
    entry, began = adopted(ledger, ADOPTED, Commitment(OLD, 1, NOW))
    assert (entry.mark, began) == (None, None)
    again = place()
    assert again.find(PREFIX, OLD) == ADOPTED
    assert again.settle((PREFIX,), "boot-1", lambda _: None).mark == OLD
    earlier = replace(ADOPTED, instant=OLD - SECOND)
    assert adopted(again, earlier)[1] is None  # no label was issued under the prefix yet

    again.settle((PREFIX,), "boot-1", lambda _: Commitment(NOW.wall, 2, NOW))
    began = adopted(place(), replace(ADOPTED, instant=OLD - 2 * SECOND))[1]
    assert began is not None
    assert OLD < began < NOW.wall
    again.settle((PREFIX,), "boot-1", lambda _: Commitment(NOW.wall + SECOND, 3, NOW))
    assert adopted(place(), replace(ADOPTED, instant=OLD - 3 * SECOND))[1] == began
    other = replace(ADOPTED, prefixes=(OPAQUE,))
    assert adopted(place(), other)[1] is None  # the other prefix has not begun


def test_a_decision_that_refuses_an_adoption_leaves_nothing(place: Place) -> None:
    ledger = place()

    def refuse(_: Entry, __: int | None) -> Commitment | None:
        raise LabelInUseError("label")

    with pytest.raises(LabelInUseError):
        ledger.adopt((PREFIX,), "boot-1", ADOPTED, refuse)
    assert ledger.find(PREFIX, OLD) is None
    assert adopted(ledger, ADOPTED)[0].mark is None


def test_a_label_is_adopted_by_one_target_and_a_reserved_one_is_bound(place: Place) -> None:
    ledger = place()
    adopted(ledger, ADOPTED)
    for same in (place(), ledger):
        same.adopt((PREFIX,), "boot-1", ADOPTED, lambda *_: FIRST)  # nothing is decided again
    with pytest.raises(BindingError, match="an archive"):
        ledger.adopt((PREFIX,), "boot-1", replace(ADOPTED, target="another"), lambda *_: None)
    assert ledger.settle((PREFIX,), "boot-1", lambda _: None).mark is None
    reserved = LabelRecord(NOW.wall, (PREFIX, OPAQUE), NOW.wall)
    ledger.record([], [reserved])
    wanted = LabelRecord(NOW.wall, (OPAQUE,), NOW.wall, "an archive")
    ledger.adopt((OPAQUE,), "boot-1", wanted, lambda *_: None)
    assert ledger.find(PREFIX, NOW.wall) == replace(reserved, target="an archive")


def test_a_ledger_that_recorded_no_beginnings_may_have_issued_any_label(place: Place) -> None:
    ledger = place()
    ledger.settle((PREFIX,), "boot-1", lambda _: FIRST)
    assert isinstance(ledger, SqlLedger)
    ledger._database.transaction(lambda execute: execute("DELETE FROM ibi_beginning"))  # noqa: SLF001
    assert adopted(place(), ADOPTED)[1] == EARLIEST
    later = Commitment(NOW.wall + SECOND, 2, NOW)
    place().settle((PREFIX,), "boot-1", lambda _: later)
    assert adopted(place(), replace(ADOPTED, instant=OLD - SECOND))[1] == EARLIEST
