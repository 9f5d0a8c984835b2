"""The ledger in SQL, the same for every database.

The tables are few and plain, and `ibi mint` opens them at every call: they are created here, by
hand, so that no migration library needs to be loaded (docs/adr/0009).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final

from ibi.errors import BindingError, LedgerUnavailableError
from ibi.foundation.sql import store
from ibi.foundation.sql.database import Database, Execute
from ibi.minting.ports import Commitment, Entry, Issue, LabelRecord
from ibi.minting.rules.adoption import beginning
from ibi.minting.rules.label_generator import EARLIEST
from ibi.model.clock import ClockReading
from ibi.model.token import Token

_LABEL: Final = "SELECT instant, prefixes, recorded, target FROM ibi_label WHERE prefix = $1"


def _label(row: tuple[Any, ...]) -> LabelRecord:
    instant, prefixes, recorded, target = row
    return LabelRecord(instant, tuple(prefixes.split()), recorded, target)


def label_at(execute: Execute, prefix: str, instant: int) -> LabelRecord | None:
    """Return the record of a label, None if there is none."""
    rows = execute(f"{_LABEL} AND instant = $2", prefix, instant)
    return _label(rows[0]) if rows else None


def issue_of(execute: Execute, prefix: str, key: str) -> Issue | None:
    """Return what was issued for a key, None if nothing was."""
    rows = execute(
        "SELECT request, instants, prefixes FROM ibi_issue WHERE prefix = $1 AND key = $2",
        prefix,
        key,
    )
    if not rows:
        return None
    request, instants, prefixes = rows[0]
    return Issue(key, request, tuple(map(int, instants.split())), tuple(prefixes.split()))


class TakenError(Exception):
    """A key is already used; the transaction is rolled back."""

    def __init__(self, issue: Issue) -> None:
        self.issue = issue
        super().__init__(issue)


def write(execute: Execute, issues: Sequence[Issue], labels: Sequence[LabelRecord]) -> None:
    """Write issues and labels; TakenError if a key is already used."""
    # Under each prefix, so that a subsystem that gains or loses a form still finds it.
    for issue in issues:
        for prefix in sorted(issue.prefixes):
            written = execute(
                "INSERT INTO ibi_issue (prefix, key, request, instants, prefixes) "
                "VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING key",
                prefix,
                issue.key,
                issue.request,
                " ".join(map(str, issue.instants)),
                " ".join(issue.prefixes),
            )
            if not written and (taken := issue_of(execute, prefix, issue.key)):
                raise TakenError(taken)
    for label in labels:
        for prefix in label.prefixes:
            execute(
                "INSERT INTO ibi_label (prefix, instant, prefixes, recorded, target) "
                "VALUES ($1, $2, $3, $4, $5)",
                prefix,
                label.instant,
                " ".join(label.prefixes),
                label.recorded,
                label.target,
            )


def _bind(execute: Execute, record: LabelRecord, target: str) -> None:
    for prefix in record.prefixes:
        execute(
            "UPDATE ibi_label SET target = $1 WHERE prefix = $2 AND instant = $3",
            target,
            prefix,
            record.instant,
        )


def _began(execute: Execute, prefix: str) -> int | None:
    """Return the beginning of a prefix; None if no label was ever issued under it."""
    rows = execute("SELECT instant FROM ibi_beginning WHERE prefix = $1", prefix)
    if rows:
        return None if rows[0][0] is None else int(rows[0][0])
    [(mark,)] = execute("SELECT mark FROM ibi_prefix WHERE prefix = $1", prefix)
    if mark is not None:
        return EARLIEST  # a version that recorded no beginnings has issued labels
    # From now on the prefix has a mark: this row says that none was issued under it so far.
    execute("INSERT INTO ibi_beginning (prefix, instant) VALUES ($1, NULL)", prefix)
    return None


def _begin(execute: Execute, prefix: str, instant: int) -> None:
    """Record the beginning of a prefix, before its first mark, unless it is recorded."""
    if _began(execute, prefix) is None:
        execute("UPDATE ibi_beginning SET instant = $1 WHERE prefix = $2", instant, prefix)


def unbound_labels(
    execute: Execute, prefixes: Sequence[str], after: int, limit: int
) -> list[LabelRecord]:
    """Return labels that are not bound to a target, the oldest first, each once."""
    select = f"{_LABEL} AND target = '' AND instant > $2 ORDER BY instant LIMIT $3"
    found = {_label(row) for prefix in prefixes for row in execute(select, prefix, after, limit)}
    return sorted(found, key=lambda record: record.instant)[:limit]


LEDGER_TABLE: Final = "ibi_ledger"
"""The table that every ledger has."""
_VERSION: Final = 1
_TOKENS: Final = "ibi_token"

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS ibi_ledger (
    version INTEGER PRIMARY KEY, identity TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS ibi_prefix (
    prefix TEXT PRIMARY KEY, mark BIGINT, generation BIGINT NOT NULL, history TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS ibi_beginning (
    prefix TEXT PRIMARY KEY, instant BIGINT);
CREATE TABLE IF NOT EXISTS ibi_sighting (
    prefix TEXT NOT NULL, boot TEXT NOT NULL, wall BIGINT NOT NULL, uptime BIGINT NOT NULL,
    PRIMARY KEY (prefix, boot));
CREATE TABLE IF NOT EXISTS ibi_issue (
    prefix TEXT NOT NULL, key TEXT NOT NULL, request TEXT NOT NULL, instants TEXT NOT NULL,
    prefixes TEXT NOT NULL, PRIMARY KEY (prefix, key));
CREATE TABLE IF NOT EXISTS ibi_label (
    prefix TEXT NOT NULL, instant BIGINT NOT NULL, prefixes TEXT NOT NULL,
    recorded BIGINT NOT NULL, target TEXT NOT NULL, PRIMARY KEY (prefix, instant));
CREATE INDEX IF NOT EXISTS ibi_unbound ON ibi_label (prefix, instant) WHERE target = '';
CREATE TABLE IF NOT EXISTS ibi_token (
    name TEXT PRIMARY KEY, digest TEXT NOT NULL, scope TEXT NOT NULL, created BIGINT NOT NULL)
"""


class SqlLedger:
    """A ledger in a database."""

    def __init__(self, database: Database) -> None:
        """Create the tables if they do not exist."""
        self._database = database
        self._begun: set[str] = set()
        """Prefixes whose beginning is certainly recorded."""
        try:
            self._identity = database.transaction(self._open)
        except LedgerUnavailableError as failure:
            if not failure.is_full:
                raise
            self._identity = self._read_identity(failure)

    def _read_identity(self, failure: LedgerUnavailableError) -> str:
        """Return the identity of a ledger that can only be read, as on a full disk."""
        try:
            rows = self._database.read(
                "SELECT identity FROM ibi_ledger WHERE version = $1", _VERSION
            )
        except LedgerUnavailableError:
            rows = []
        if len(rows) != 1:
            raise failure
        return str(rows[0][0])

    def _open(self, execute: Execute) -> str:
        for statement in (self._database.before_tables, *_TABLES.split(";")):
            execute(statement)
        execute(
            "INSERT INTO ibi_ledger (version, identity) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            _VERSION,
            uuid.uuid4().hex,
        )
        rows = execute("SELECT version, identity FROM ibi_ledger ORDER BY version DESC")
        version, identity = rows[0]
        if version != _VERSION:
            reason = f"a newer ibi wrote it (version {version}, this one knows {_VERSION})"
            raise LedgerUnavailableError(self.name, reason)
        return str(identity)

    @property
    def name(self) -> str:
        """The place of the ledger."""
        return self._database.name

    def identity(self) -> str:
        """Return the random identity that the ledger got when it was created."""
        return self._identity

    def settle(
        self, prefixes: Sequence[str], boot: str, decide: Callable[[Entry], Commitment | None]
    ) -> Entry:
        """Read the entry, write what `decide` returns for it, and return the new entry."""
        begun: set[str] = set()

        def work(execute: Execute) -> Entry:
            self._check_identity(execute)
            entry = self._entry(execute, prefixes, boot)
            commitment = decide(entry)
            if commitment is None:
                return entry
            for prefix in set(prefixes) - self._begun:
                _begin(execute, prefix, beginning(entry, commitment))
                begun.add(prefix)
            return self._commit(execute, prefixes, commitment)

        entry = self._database.transaction(work)
        self._begun |= begun
        return entry

    def _check_identity(self, execute: Execute) -> None:
        if not execute("SELECT 1 FROM ibi_ledger WHERE identity = $1", self._identity):
            raise LedgerUnavailableError(self.name, "another ledger lies in its place")

    def adopt(
        self,
        prefixes: Sequence[str],
        boot: str,
        label: LabelRecord,
        decide: Callable[[Entry, int | None], Commitment | None],
    ) -> Entry:
        """Record a label that this ledger did not issue, in one transaction with its mark."""
        [prefix] = label.prefixes

        def work(execute: Execute) -> Entry:
            self._check_identity(execute)
            entry = self._entry(execute, prefixes, boot)
            known = label_at(execute, prefix, label.instant)
            if known is not None and known.target not in {"", label.target}:
                raise BindingError(f"{prefix} at {label.instant}", known.target)
            if known is not None:
                _bind(execute, known, label.target)
                return entry
            # Of all prefixes, because all get the mark: it does not mean that labels were issued.
            began = {each: _began(execute, each) for each in sorted(prefixes)}
            commitment = decide(entry, began[prefix])
            write(execute, [], [label])
            return entry if commitment is None else self._commit(execute, prefixes, commitment)

        return self._database.transaction(work)

    def _entry(self, execute: Execute, prefixes: Sequence[str], boot: str) -> Entry:
        # In the same order everywhere, so that two minters that share a prefix cannot deadlock.
        rows = [self._row(execute, prefix) for prefix in sorted(prefixes)]
        pasts = [row for row in rows if row[1] is not None]
        sightings = [
            sighting
            for prefix, *_ in pasts
            for sighting in execute(
                "SELECT boot, wall, uptime FROM ibi_sighting WHERE prefix = $1", prefix
            )
        ]
        here = [
            ClockReading(wall, uptime, boot) for where, wall, uptime in sightings if where == boot
        ]
        [(history,)] = execute(self._database.history)
        return Entry(
            ledger=self._identity,
            generation=max(generation for _, _, generation, _ in rows),
            mark=max((mark for _, mark, _, _ in rows if mark is not None), default=None),
            # Only if the clock was read under every prefix; then the reading longest ago.
            seen=min(here, key=lambda seen: seen.uptime, default=None)
            if boot and len(here) == len(pasts)
            else None,
            last_seen=max((wall for _, wall, _ in sightings), default=None),
            moved=any(row[3] != history for row in pasts),
        )

    def _row(self, execute: Execute, prefix: str) -> tuple[str, int | None, int, str]:
        execute(
            "INSERT INTO ibi_prefix (prefix, mark, generation, history) VALUES ($1, NULL, 0, '') "
            "ON CONFLICT DO NOTHING",
            prefix,
        )
        select = "SELECT mark, generation, history FROM ibi_prefix WHERE prefix = $1"
        [(mark, generation, history)] = execute(f"{select}{self._database.for_update}", prefix)
        return prefix, mark, generation, history

    def _commit(self, execute: Execute, prefixes: Sequence[str], commitment: Commitment) -> Entry:
        reading = commitment.reading
        [(history,)] = execute(self._database.history)
        for prefix in sorted(prefixes):
            execute(
                "UPDATE ibi_prefix SET mark = $1, generation = $2, history = $3 WHERE prefix = $4",
                commitment.mark,
                commitment.generation,
                history,
                prefix,
            )
            execute(
                "INSERT INTO ibi_sighting (prefix, boot, wall, uptime) VALUES ($1, $2, $3, $4) "
                "ON CONFLICT (prefix, boot) "
                "DO UPDATE SET wall = excluded.wall, uptime = excluded.uptime",
                prefix,
                reading.boot,
                reading.wall,
                reading.uptime,
            )
        return Entry(
            ledger=self._identity,
            generation=commitment.generation,
            mark=commitment.mark,
            seen=reading,
            last_seen=reading.wall,
        )

    def record(self, issues: Sequence[Issue], labels: Sequence[LabelRecord]) -> Issue | None:
        """Write all of it, or nothing if a key is already used: then return its issue."""
        try:
            self._database.transaction(lambda execute: write(execute, issues, labels))
        except TakenError as taken:
            return taken.issue
        return None

    def issued(self, prefixes: Sequence[str], keys: Sequence[str]) -> dict[str, Issue]:
        """Return what was issued for these keys under any of the prefixes."""

        def work(execute: Execute) -> dict[str, Issue]:
            found = {}
            for key in keys:
                for prefix in prefixes:
                    if key not in found and (issue := issue_of(execute, prefix, key)):
                        found[key] = issue
            return found

        return self._database.transaction(work)

    def bind(self, prefix: str, instant: int, target: str) -> LabelRecord | None:
        """Bind a reserved label if it is unbound; return its record, None if there is none."""

        def work(execute: Execute) -> LabelRecord | None:
            record = label_at(execute, prefix, instant)
            if record is None or record.target:
                return record
            _bind(execute, record, target)
            return label_at(execute, prefix, instant)

        return self._database.transaction(work)

    def find(self, prefix: str, instant: int) -> LabelRecord | None:
        """Return the record of a label, None if there is none."""
        return label_at(self._database.read, prefix, instant)

    def unbound(self, prefixes: Sequence[str], after: int, limit: int) -> list[LabelRecord]:
        """Return labels reserved and never bound, the oldest first, later than `after`."""
        return unbound_labels(self._database.read, prefixes, after, limit)

    def add_token(self, token: Token) -> bool:
        """Store a token; return False if the name is taken."""
        return self._database.transaction(lambda execute: store.add_token(execute, _TOKENS, token))

    def tokens(self) -> list[Token]:
        """Return all tokens, the oldest first."""
        found = store.all_tokens(self._database.read, _TOKENS)
        return sorted(found, key=lambda token: (token.created, token.name))

    def remove_token(self, name: str) -> bool:
        """Remove a token; return False if there is none of this name."""
        return self._database.transaction(
            lambda execute: store.remove_token(execute, _TOKENS, name)
        )

    def pause(self) -> None:
        """Disconnect from the database, because the process is about to fork."""
        self._database.pause()

    def resume(self) -> None:
        """Reconnect after a fork, in the parent and in the child."""
        self._database.resume()

    def close(self) -> None:
        """Disconnect from the database."""
        self._database.close()
