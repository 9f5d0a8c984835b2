"""PostgreSQL, by asyncpg: many machines may share one ledger.

The programs use threads and asyncpg uses asyncio: an event loop in a thread of its own connects
them.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from threading import BoundedSemaphore, Lock, RLock, Thread
from typing import Any, Final, Literal, TypeVar
from urllib.parse import unquote

import asyncpg

from ibi.errors import LedgerUnavailableError
from ibi.foundation.sql.database import Execute

T = TypeVar("T")

TIMEOUT: Final = 10.0
"""Seconds for a connection or a statement; then the server counts as unreachable."""
LONGEST_SURVEY: Final = 120.0
"""Seconds for a long statement, which delays no other."""
READERS: Final = 4
"""Connections that read concurrently. A server on another machine takes a while for each answer,
and a single reader would wait for the answers to others too."""

_AMBIGUOUS: Final = (
    "its URL cannot be read: in the password, / is written as %2F, ? as %3F, # as %23, @ as %40, "
    "[ as %5B and ] as %5D"
)

_SETTINGS: Final = {
    "application_name": "ibi",
    # Whatever the server's default is: a commit is durable when it returns.
    "synchronous_commit": "on",
    # A minter that was stopped in the middle of a transaction must not block the others.
    "idle_in_transaction_session_timeout": "2000",
    "lock_timeout": "8000",
}

# The best plan depends on how many rows a value finds. A statement that stops early seems costly to
# the planner, which would compile it for longer than it runs, or give it to several processes. The
# server ends a statement by itself after five seconds: a client that gives up and disconnects may
# leave it running, for ever.
_LIMITED: Final = {
    "plan_cache_mode": "force_custom_plan",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "work_mem": "32MB",
    "statement_timeout": "5000",
}

_READ_ONLY: Final = {"default_transaction_read_only": "on"}

# asyncpg raises InternalClientError if the server disconnects between two statements.
LOST: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
    ValueError,  # an invalid URL
)


class Postgres:
    """A database on a server. Threads that write take turns; a few may read concurrently."""

    # The timeline of the write-ahead log: a promoted replica and a restored backup begin a new one,
    # and may lack the last commits of the old one.
    history = "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"
    for_update = " FOR UPDATE"
    # Two processes that create the same table at once collide, even with IF NOT EXISTS.
    before_tables = "SELECT pg_advisory_xact_lock(1768057193)"
    numbering = (
        "SELECT setval(pg_get_serial_sequence('{table}', '{column}'), "
        "coalesce(max({column}), 0) + 1, false) FROM {table}"
    )
    emptying = "TRUNCATE"
    text_index: Literal["fts5", "tsvector"] = "tsvector"
    json_field = "(CAST({column} AS json) ->> '{name}')"

    def __init__(self, url: str, *, read_only: bool = False) -> None:
        """Connect to the server; if `read_only`, the server refuses writes."""
        self._url = url
        self._settings = {**_SETTINGS, **(_READ_ONLY if read_only else {})}
        self.name = without_password(url)
        self._lock = RLock()
        self._reading = BoundedSemaphore(READERS)
        self._starting = Lock()
        self._process = os.getpid()
        self._writer: asyncpg.Connection | None = None
        self._idle: list[asyncpg.Connection] = []
        """Connections that are not in use; only the loop's thread takes from this list."""
        self._limited = BoundedSemaphore(READERS)
        self._idle_limited: list[asyncpg.Connection] = []
        """Those of `read_within`, which wait for each other and delay no other reader."""
        self._loop: asyncio.AbstractEventLoop | None = None
        with self._lock:
            self._run(self._connected())

    def transaction(self, work: Callable[[Execute], T]) -> T:
        """Run `work` in one transaction; durable when this returns, rolled back if it raises."""
        with self._lock:
            connection = self._run(self._connected())
            try:
                self._run(connection.execute("BEGIN"))
                result = work(lambda sql, *values: self._run(self._rows(connection, sql, values)))
                self._run(connection.execute("COMMIT"))
            except (LedgerUnavailableError, KeyboardInterrupt):
                # Whether it is durable is unknown: the next transaction reads what the server has.
                self._abandon()
                raise
            except BaseException:
                try:
                    self._run(connection.execute("ROLLBACK"))
                except LedgerUnavailableError:
                    self._abandon()
                raise
            return result

    def read(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one SELECT, on a connection that waits for no writer."""
        with self._reading:
            # In one call: the way to the loop's thread and back takes longer than most reads.
            return self._run(self._fetched(self._idle, sql, values))

    def read_within(self, seconds: float, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one SELECT like `survey`, and raise TimeoutError if it takes longer than that."""
        with self._limited:
            try:
                return self._run(self._fetched(self._idle_limited, sql, values, seconds))
            except LedgerUnavailableError as failure:
                if isinstance(failure.__cause__, TimeoutError):
                    raise TimeoutError from None
                raise

    async def _fetched(
        self,
        idle: list[asyncpg.Connection],
        sql: str,
        values: tuple[object, ...],
        seconds: float = TIMEOUT,
    ) -> list[tuple[Any, ...]]:
        settings = _LIMITED if idle is self._idle_limited else {}
        connection = idle.pop() if idle else await self._connect(settings)
        # A connection that the server closed while it was idle is replaced by another.
        while connection.is_closed():
            connection = idle.pop() if idle else await self._connect(settings)
        try:
            rows = await self._rows(connection, sql, values, seconds)
        except BaseException:
            # What broke this connection has probably broken the idle ones too.
            for each in (connection, *idle):
                each.terminate()
            idle.clear()
            raise
        idle.append(connection)
        return rows

    def survey(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one SELECT that may take long, on a connection and a loop of its own."""
        try:
            return asyncio.run(self._surveyed(sql, values))
        except LOST as failure:
            raise LedgerUnavailableError(self.name, reason_of(failure, self._url)) from failure

    async def _surveyed(self, sql: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        connection = await asyncpg.connect(
            self._url,
            timeout=TIMEOUT,
            command_timeout=LONGEST_SURVEY,
            server_settings=self._settings,
        )
        try:
            return await self._rows(connection, sql, values)
        finally:
            connection.terminate()

    @staticmethod
    async def _rows(
        connection: asyncpg.Connection,
        sql: str,
        values: tuple[object, ...],
        seconds: float | None = None,
    ) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await connection.fetch(sql, *values, timeout=seconds)]

    async def _connected(self) -> asyncpg.Connection:
        """Return the connection for writing."""
        if self._writer is None or self._writer.is_closed():
            self._writer = await self._connect()
        return self._writer

    async def _connect(self, settings: Mapping[str, str] | None = None) -> asyncpg.Connection:
        connection = await asyncpg.connect(
            self._url,
            timeout=TIMEOUT,
            command_timeout=TIMEOUT,
            server_settings={**self._settings, **(settings or {})},
        )
        if await connection.fetchval("SHOW fsync") != "on":
            await connection.close()
            raise LedgerUnavailableError(self.name, "the server runs with fsync = off")
        return connection

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self._started()).result(2 * TIMEOUT)
        except LOST as failure:
            raise LedgerUnavailableError(self.name, reason_of(failure, self._url)) from failure

    def _started(self) -> asyncio.AbstractEventLoop:
        """Return the running loop, started by the first caller."""
        with self._starting:
            if self._process != os.getpid():
                # Forked without `pause`: loop, thread and connections belong to the parent.
                self._writer, self._loop = None, None
                self._idle, self._idle_limited = [], []
                self._process = os.getpid()
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = Thread(
                    target=_run_loop, args=[self._loop], name="ibi-postgres", daemon=True
                )
                self._thread.start()
            return self._loop

    def _abandon(self) -> None:
        connection, self._writer = self._writer, None
        if connection is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(connection.terminate)

    def pause(self) -> None:
        """Close the connections and end the thread before a fork: the child would not have it."""
        self._lock.acquire()
        for _ in range(READERS):
            self._reading.acquire()
            self._limited.acquire()
        self._end()

    def resume(self) -> None:
        """Allow connections again, when they are needed."""
        for _ in range(READERS):
            self._reading.release()
            self._limited.release()
        self._lock.release()

    def close(self) -> None:
        """Close the connections and end the loop."""
        self.pause()
        self.resume()

    def _end(self) -> None:
        self._abandon()
        if self._loop is not None:
            for connection in (*self._idle, *self._idle_limited):
                self._loop.call_soon_threadsafe(connection.terminate)
            self._idle, self._idle_limited = [], []
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(TIMEOUT)
            # The kernel's thread ends a little later, and OpenSSL holds a lock until then: a child
            # that is forked meanwhile would wait for it for ever.
            task = Path(f"/proc/self/task/{self._thread.native_id}")
            while not self._thread.is_alive() and task.exists():
                time.sleep(0.0001)
            self._loop = None


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        loop.run_until_complete(asyncio.sleep(0))  # one more round closes the socket
    finally:
        loop.close()


def without_password(url: str) -> str:
    """Return a URL without its password, for messages."""
    scheme, _, rest = url.partition("://")
    if _is_ambiguous(url):
        return f"{scheme}://..."
    place, mark, query = rest.partition("?")
    credentials, at, place = place.rpartition("@")
    user, colon, _ = credentials.partition(":")
    pairs = "&".join(map(_without_value, query.split("&")))
    return f"{scheme}://{user}{colon and ':...'}{at}{place}{mark}{pairs}"


def _is_ambiguous(url: str) -> bool:
    """Return whether it is unclear where the password ends, because it is not percent-encoded."""
    place, _, query = url.partition("://")[2].partition("?")
    server, _, name = place.partition("/")
    credentials = server.rpartition("@")[0]
    return "#" in url or "@" in name + query or "[" in credentials or "]" in credentials


def _without_value(pair: str) -> str:
    name, mark, _ = pair.partition("=")
    return f"{name}{mark}..." if "pass" in unquote(name).lower() else pair


def reason_of(failure: BaseException, url: str) -> str:
    """Return the first line of a failure, without a part of the password."""
    if _is_ambiguous(url):
        return _AMBIGUOUS
    return str(failure).strip().partition("\n")[0].rstrip(".") or type(failure).__name__
