"""Inspection of an installation from outside: its databases and addresses.

Nothing here changes anything: even databases are opened without writing.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec
import urllib3

_TIMEOUT: Final = urllib3.Timeout(connect=5, read=10)
_LARGEST: Final = 65_536
_POSTGRESQL: Final = ("postgresql://", "postgres://")
_BUSY: Final = 5000


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The answer of an address."""

    facts: dict[str, Any]
    """The JSON of the answer; empty if it was none."""
    clock: float | None
    """The server's clock, in seconds of POSIX time; None if unknown."""
    reason: str = ""
    """Why there was no answer; empty if there was one."""


def rows_of(place: str, select: str) -> list[tuple[Any, ...]]:
    """Read from a database, at a path or a postgresql:// URL; OSError if that fails."""
    try:
        if place.startswith(_POSTGRESQL):
            return _rows_of_server(place, select)
        return _rows_of_file(Path(place), select)
    except apsw.Error as failure:
        raise OSError(str(failure)) from failure


def _rows_of_file(path: Path, select: str) -> list[tuple[Any, ...]]:
    if not path.exists():
        raise FileNotFoundError("it is not there")
    # SQLite creates a log when it opens a file in that mode. Without a log the file is complete.
    how = "mode=ro" if Path(f"{path}-wal").exists() else "immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(f"{path.absolute().as_uri()}?{how}", flags)
    with closing(connection):
        connection.set_busy_timeout(_BUSY)
        return list(connection.execute(select))


def _rows_of_server(place: str, select: str) -> list[tuple[Any, ...]]:
    from ibi.errors import LedgerUnavailableError  # noqa: PLC0415
    from ibi.foundation.sql.postgres import Postgres  # noqa: PLC0415  # few installations need it

    try:
        with closing(Postgres(place)) as database:
            return database.read(select)
    except LedgerUnavailableError as failure:
        raise OSError(failure.reason) from failure


def probe(url: str) -> ProbeResult:
    """Get the JSON at a URL, without a token."""
    with urllib3.PoolManager(retries=False, timeout=_TIMEOUT) as pool:
        try:
            answer = pool.request(
                "GET",
                url,
                headers={"Accept": "application/json"},
                redirect=False,
                preload_content=False,
            )
            body = answer.read(_LARGEST, decode_content=False)
            answer.close()
        except (urllib3.exceptions.HTTPError, UnicodeError):  # the latter for an invalid name
            return ProbeResult({}, None, "it does not answer")
    try:
        facts = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        facts = {}
    return ProbeResult(facts, _date(answer.headers.get("Date", "")))


def _date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError):
        return None
