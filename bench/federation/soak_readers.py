"""Readers of a soak: they keep connections open, and know what the right answers are."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

CONNECTIONS = 16
PATIENCE = 30.0
MOST_WRONG = 1000


@dataclass(frozen=True)
class Click:
    """What is asked for, and where it may lead; nowhere if nobody has it."""

    target: str
    places: frozenset[str]
    """Hosts and ports."""


class Readers:
    """Ask a resolver, and judge its answers."""

    def __init__(self, place: str, click: Callable[[], Click]) -> None:
        """Ask at host and port."""
        host, _, port = place.partition(":")
        self._host, self._port = host, int(port)
        self._click = click
        self.forget()

    def forget(self) -> None:
        """Begin to count anew."""
        self.answers: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._seen = (0, 0)

    def since_last(self) -> tuple[int, int]:
        """Return how many answers there were since this was asked last, and how many were 503."""
        now = (self.answers.total(), self.answers["503"])
        before, self._seen = self._seen, now
        return now[0] - before[0], now[1] - before[1]

    async def flat_out(self, seconds: float) -> float:
        """Ask as fast as is answered; return requests a second."""
        began = time.monotonic()
        ends = began + seconds
        await asyncio.gather(*(self._read(ends, 0.0) for _ in range(CONNECTIONS)))
        return self.answers.total() / (time.monotonic() - began)

    async def at_rate(self, rate: float, ends: float) -> None:
        """Ask so many times a second."""
        await asyncio.gather(*(self._read(ends, CONNECTIONS / rate) for _ in range(CONNECTIONS)))

    async def _read(self, ends: float, pause: float) -> None:
        line = _Line(self._host, self._port)
        due = time.monotonic()
        while (now := time.monotonic()) < ends:
            if pause and now < due:
                await asyncio.sleep(due - now)
            # Whoever falls behind catches up a little, not all at once.
            due = max(due + pause, now - 1.0)
            click = self._click()
            try:
                async with asyncio.timeout(PATIENCE):
                    status, place = await line.ask(click.target)
            except (OSError, EOFError, TimeoutError) as failure:
                line.close()
                self._note(click, f"no answer ({type(failure).__name__})", "")
                continue
            self._note(click, status, place)
        line.close()

    def _note(self, click: Click, status: str, place: str) -> None:
        self.answers[status] += 1
        if status == "503":
            return
        is_right = status == "302" and place in click.places if click.places else status == "404"
        if not is_right and len(self.wrong) < MOST_WRONG:
            self.wrong.append(f"{click.target}: {status} {place}")


class _Line:
    """A connection that is opened when it is needed."""

    def __init__(self, host: str, port: int) -> None:
        self._at = host, port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, target: str) -> tuple[str, str]:
        """Return the status, and the host and port of the Location.

        A server may close a connection that is idle just when something is asked: then nothing
        came back, and it is asked once more, as browsers do (RFC 9110, section 9.2.2).
        """
        was_open = self._writer is not None
        try:
            return await self._ask(target)
        except (ConnectionError, asyncio.IncompleteReadError) as failure:
            self.close()
            if was_open and not getattr(failure, "partial", b""):
                return await self._ask(target)
            raise

    async def _ask(self, target: str) -> tuple[str, str]:
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(*self._at)
        self._writer.write(f"GET {target} HTTP/1.1\r\nHost: resolver\r\n\r\n".encode())
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("iso-8859-1")
        fields = {}
        for line in head.split("\r\n")[1:]:
            name, _, value = line.partition(":")
            fields[name.lower()] = value.strip()
        await self._reader.readexactly(int(fields.get("content-length", "0")))
        if fields.get("connection", "").lower() == "close":
            self.close()
        place = fields.get("location", "").partition("://")[2].partition("/")[0]
        return head[9:12], place

    def close(self) -> None:
        if self._writer is not None:
            with suppress(OSError):
                self._writer.close()
        self._reader = self._writer = None
