"""The fast path: cached redirects are answered without a parser, a task or the application.

Only answers that the application gave are repeated, byte for byte except the date, while their
lease runs. Every request that is not of the plainest form goes to the application: it decides, and
this module only skips work whose outcome is known.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable
from typing import Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from ibi.foundation.web.bounded_http import BoundedHttp, is_host_valid
from ibi.metadata.negotiation import negotiates
from ibi.resolver.rules.redirect_entry import CachedRedirect

LONGEST_TARGET: Final = 1024
MAX_SPELLINGS: Final = 100_000
"""Targets in memory that are more than a label, or not in our spelling: clients can invent any
number."""
KEEP_ALIVE: Final = 5.0
"""Seconds that a connection may be idle, as in the application's server."""

_METHOD: Final = b"GET "
_VERSION: Final = b" HTTP/1.1\r\n"
_START: Final = len(_METHOD)
_LONGEST_LINE: Final = _START + LONGEST_TARGET + len(_VERSION)
# RFC 9112: the rest of one whole request without a body, in origin form. Header lines that could
# change what the answer is, or where the next request begins, are left to the parser.
_PLAIN: Final = re.compile(
    rb" HTTP/1\.1\r\n(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~\x80-\xff]*\r\n)+\r\n"
)
_DECIDING: Final = re.compile(
    rb"\r\n(?:content-length|transfer-encoding|expect|upgrade|proxy-connection):", re.IGNORECASE
)
_HOSTS: Final = re.compile(rb"\r\nhost:([^\r]*)", re.IGNORECASE)
_CONNECTION: Final = re.compile(rb"\r\nconnection:([^\r]*)", re.IGNORECASE)
_STAYS: Final = b" keep-alive"
_FORWARDED: Final = re.compile(rb"\r\nx-forwarded-for:([^\r]*)", re.IGNORECASE)
_ACCEPT: Final = re.compile(rb"\r\naccept:([^\r]*)", re.IGNORECASE)
_FOUND: Final = b"HTTP/1.1 302 Found\r\n"


Disclosed: TypeAlias = tuple[str, ...]
"""The part of a reader's address that is disclosed to archives."""
Fields: TypeAlias = Iterable[tuple[bytes, bytes]]


class ClientAddresses(Protocol):
    """Decides which client addresses are disclosed to archives."""

    @property
    def has_trusted_proxies(self) -> bool:
        """Whether X-Forwarded-For of some peers is trusted."""
        ...

    def disclosed_of_peer(self, peer: str, forwarded: str) -> Disclosed:
        """Return the disclosed addresses, by the peer's address and its X-Forwarded-For."""
        ...


class _Spelling(NamedTuple):
    known: CachedRedirect
    received: bytes
    """The persistent URL of which archives are told, empty if it is the one to cite."""


_Value = TypeVar("_Value", CachedRedirect, _Spelling)


class _Targets(Generic[_Value]):
    """Cached redirects by target, up to a number; the first in are the first out."""

    def __init__(self, most: int) -> None:
        self.known: dict[bytes, _Value] = {}
        self._most = most
        self._ring: list[bytes] = []
        self._next = 0

    def put(self, target: bytes, known: _Value) -> None:
        if target not in self.known:
            self._make_room(target)
        self.known[target] = known

    def _make_room(self, target: bytes) -> None:
        if len(self._ring) < self._most:
            self._ring.append(target)
            return
        self.known.pop(self._ring[self._next], None)
        self._ring[self._next] = target
        self._next = (self._next + 1) % self._most


class FastRedirects:
    """Redirects by the target of a request, as it was written."""

    def __init__(
        self,
        drop_stale: Callable[[], None],
        note: Callable[[CachedRedirect, Disclosed, bytes], None],
        readers: ClientAddresses,
        *,
        most: int,
    ) -> None:
        """Begin empty; `drop_stale` ends redirects that became invalid, `note` counts an access."""
        self._drop_stale = drop_stale
        self._readers = readers
        self._targets: _Targets[CachedRedirect] = _Targets(most)
        self._spellings: _Targets[_Spelling] = _Targets(min(most, MAX_SPELLINGS))
        self._frame: tuple[bytes, bytes, bytes] | None = None
        """The parts of the header fields before, between and after those of a redirect."""
        self._head = b""
        self._default: Fields | None = None
        """The fields from which the head was made."""
        self._note = note
        self.given = 0

    def __len__(self) -> int:
        """Return the number of targets, including those whose lease has ended."""
        return len(self._targets.known)

    def keep(self, target: bytes, fields: Fields, known: CachedRedirect, received: bytes) -> None:
        """Store a redirect as the application has just answered it.

        `received` is the persistent URL of which archives are told, empty if it is the one to cite.
        """
        before, location, rest = _written(fields).partition(known.url)
        between, cited, behind = rest.partition(known.path)
        if not location or not cited or len(target) > LONGEST_TARGET:
            return
        frame = before, between, behind
        if self._frame is None:
            self._frame = frame
        if self._frame != frame:  # no two answers differ in anything else that may be warm
            return
        is_ours = target == known.path and known.asked is None
        if is_ours or target in self._targets.known:
            self._targets.put(known.path if is_ours else target, known)  # the same bytes once
        else:
            self._spellings.put(target, _Spelling(known, received))

    def find(self, target: bytes, now: float) -> CachedRedirect | None:
        """Return the redirect of a target, if its lease runs."""
        known = self._targets.known.get(target)
        if known is None:
            spelling = self._spellings.known.get(target)
            if spelling is None:
                return None
            known = spelling.known
        self._drop_stale()
        return known if now < known.lease.until else None

    def answer(self, known: CachedRedirect, default: Fields) -> bytes:
        """Return the bytes of a redirect, with the current default header fields of the server."""
        if default is not self._default:
            self._default = default
            before, self._between, self._behind = self._frame or (b"", b"", b"")
            self._head = _FOUND + _written(default)[:-2] + before
        self.given += 1
        return b"".join((self._head, known.url, self._between, known.path, self._behind))

    def note(self, target: bytes, known: CachedRedirect, disclosed: Disclosed) -> None:
        """Count an access by a target that was found."""
        received = b""
        if target != known.path:
            spelling = self._spellings.known.get(target)
            received = b"" if spelling is None else spelling.received
        self._note(known, disclosed, received)

    def disclosed(self, peer: str, head: bytes) -> Disclosed:
        """Return the addresses to disclose to archives, by the head of a request."""
        forwarded = ""
        if self._readers.has_trusted_proxies:
            forwarded = b",".join(_FORWARDED.findall(head)).decode("iso-8859-1")
        return self._readers.disclosed_of_peer(peer, forwarded)


def _written(fields: Fields) -> bytes:
    return b"".join([b"%b: %b\r\n" % field for field in fields]) + b"\r\n"


class FastRedirectHttp(BoundedHttp):
    """Answers from the fast path if it can, and otherwise as usual."""

    answers: FastRedirects
    _plain: bytes = b""
    """The last head of a plain request without its target: clients repeat it."""
    _disclosed: Disclosed = ()
    """The addresses that are disclosed for it."""
    _seen: float = 0.0
    _watch: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        """Answer at once, or as usual."""
        end = data.find(_VERSION, _START, _LONGEST_LINE)
        if end > 0 and self._is_between and data.startswith(_METHOD) and not self._is_parting:
            now = self.loop.time()
            target = data[_START:end]
            known = self.answers.find(target, now)
            if known is not None and self._is_free():
                rest = data[end:]
                if rest == self._plain or self._is_plain(rest):
                    self._give(target, known, now)
                    return
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        super().data_received(data)

    def _is_plain(self, rest: bytes) -> bool:
        if _PLAIN.fullmatch(rest) is None or _DECIDING.search(rest) is not None:
            return False
        if not is_host_valid(_HOSTS.findall(rest)):
            return False
        if any(said.lower() != _STAYS for said in _CONNECTION.findall(rest)):
            return False
        if negotiates(b",".join(_ACCEPT.findall(rest)).decode("iso-8859-1")):
            return False  # what is known here is where the item itself is
        self._disclosed = self.answers.disclosed(self.client[0] if self.client else "", rest)
        self._plain = rest
        return True

    def _is_free(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # there is none before the first request
        return (
            (cycle is None or cycle.response_complete)
            and not self.flow.write_paused
            and not self.transport.is_closing()
        )

    def _give(self, target: bytes, known: CachedRedirect, now: float) -> None:
        answers = self.answers
        self.transport.write(answers.answer(known, self.server_state.default_headers))
        answers.note(target, known, self._disclosed)
        self._seen = now
        if self._watch is None:
            self._end()
            self._unset_keepalive_if_required()
            self._watch = self.loop.call_later(KEEP_ALIVE, self._look_after)

    def _look_after(self) -> None:
        """Close the connection if it was idle for a while: one timer for any number of requests."""
        # An absolute time, not the remaining delay, which may be too small to add to the time.
        due = self._seen + KEEP_ALIVE
        if self.loop.time() < due:
            self._watch = self.loop.call_at(due, self._look_after)
        elif not self.transport.is_closing():
            self._watch = None
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timer."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        super().connection_lost(exc)


def fast_redirect_http(answers: FastRedirects) -> type[FastRedirectHttp]:
    """Return the protocol class of a server that answers from this fast path."""
    return type("WarmHttpOfOneServer", (FastRedirectHttp,), {"answers": answers})
