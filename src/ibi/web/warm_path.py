"""Answers that are known are given before all else: no parser, no task, no application.

Only what an application decided is given again, byte for byte but for the date, for as long as its
decision holds. Whatever is not the plainest of requests takes the usual way: the one decides, the
other only skips work whose outcome is known.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from ibi.resolver.memory import Remembered
from ibi.web.bounded_http import BoundedHttp

MOST: Final = 100_000
LONGEST_TARGET: Final = 1024
KEEP_ALIVE: Final = 5.0
"""Seconds that a connection may be idle, as on the usual way."""

# RFC 9112: one whole request without a body, in origin form. Header lines that could change what
# the answer is, or where the next request begins, are left to the parser.
_PLAIN_GET: Final = re.compile(
    rb"GET (/[!-~]*) HTTP/1\.1\r\n(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~\x80-\xff]*\r\n)+\r\n"
)
_UNUSUAL: Final = re.compile(
    rb"\r\n(?:content-length|transfer-encoding|expect|upgrade|proxy-connection):", re.IGNORECASE
)
_FORWARDED: Final = re.compile(rb"\r\nx-forwarded-for:([^\r]*)", re.IGNORECASE)
_FOUND: Final = b"HTTP/1.1 302 Found\r\n"


Told: TypeAlias = tuple[str, ...]
"""What archives are told of a reader's address."""


@dataclass(frozen=True, slots=True)
class WarmAnswer:
    """A redirection that holds for as long as what it was made from is remembered."""

    fields: bytes
    """The header fields but for the date, and the blank line."""
    remembered: Remembered
    version: int
    note: Callable[[Told], None]
    """Counts the access of a reader."""


class WarmAnswers:
    """Redirections by the target of a request, as it was written."""

    def __init__(
        self,
        version: Callable[[], int],
        told: Callable[[str, str], Told],
        *,
        reads_forwarded: bool = True,
    ) -> None:
        """Know none; when `version` changes, none holds any more.

        `told` returns what archives are told of who is connected, and of what it says for whom,
        which is read only where somebody is believed.
        """
        self._reads_forwarded = reads_forwarded
        self._answers: dict[bytes, WarmAnswer] = {}
        self._version = version
        self._told = told
        self.given = 0

    def keep(
        self,
        target: bytes,
        fields: list[tuple[bytes, bytes]],
        remembered: Remembered,
        note: Callable[[Told], None],
    ) -> None:
        """Keep a redirection, as the usual way has just given it."""
        if len(target) > LONGEST_TARGET:
            return
        self._answers.pop(target, None)
        while self._answers:
            oldest = next(iter(self._answers))
            if len(self._answers) < MOST and self._answers[oldest].remembered.until:
                break
            del self._answers[oldest]
        written = b"".join(b"%b: %b\r\n" % field for field in fields) + b"\r\n"
        self._answers[target] = WarmAnswer(written, remembered, self._version(), note)

    def find(self, target: bytes, now: float) -> WarmAnswer | None:
        """Return the redirection for a target, if it still holds."""
        found = self._answers.get(target)
        if found is None:
            return None
        if now < found.remembered.until and found.version == self._version():
            return found
        del self._answers[target]
        return None

    def note(self, found: WarmAnswer, peer: str, data: bytes) -> None:
        """Count an access, by whoever is connected or whoever that says it is for."""
        forwarded = ""
        if self._reads_forwarded:
            forwarded = b",".join(_FORWARDED.findall(data)).decode("iso-8859-1")
        found.note(self._told(peer, forwarded))
        self.given += 1


def _plain_target(data: bytes) -> bytes:
    """Return the target of the plainest of requests; empty for any other."""
    plain = _PLAIN_GET.fullmatch(data)
    if plain is None or _UNUSUAL.search(data):
        return b""
    lower = data.lower()
    kept = lower.count(b"\r\nconnection: keep-alive\r")
    return plain[1] if lower.count(b"\r\nconnection:") == kept else b""


class WarmHttp(BoundedHttp):
    """Looks for a warm answer first."""

    answers: WarmAnswers
    _seen: float = 0.0
    _watch: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        """Answer at once, or take the usual way."""
        if self._is_between and (target := _plain_target(data)) and self._is_idle():
            now = self.loop.time()
            found = self.answers.find(target, now)
            if found is not None and not self.flow.write_paused and not self._is_closing():
                self._give(found, data, now)
                return
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        super().data_received(data)

    def _is_closing(self) -> bool:
        return self.transport.is_closing()

    def _give(self, found: WarmAnswer, data: bytes, now: float) -> None:
        default = b"".join(b"%b: %b\r\n" % field for field in self.server_state.default_headers)
        self.transport.write(_FOUND + default + found.fields)
        self.answers.note(found, self.client[0] if self.client else "", data)
        self._seen = now
        if self._watch is None:
            self._end()
            self._unset_keepalive_if_required()
            self._watch = self.loop.call_later(KEEP_ALIVE, self._look_after)

    def _look_after(self) -> None:
        """Hang up if nothing came for a while: one timer for any number of requests."""
        idle = self.loop.time() - self._seen
        if idle < KEEP_ALIVE:
            self._watch = self.loop.call_later(KEEP_ALIVE - idle, self._look_after)
        elif not self._is_closing():
            self._watch = None
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        super().connection_lost(exc)


def warm_http(answers: WarmAnswers) -> type[WarmHttp]:
    """Return the protocol of a server that gives these answers again."""
    return type("WarmHttpOfOneServer", (WarmHttp,), {"answers": answers})
