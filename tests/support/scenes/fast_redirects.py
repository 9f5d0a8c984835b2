"""One resolver twice, without sockets: by the warm path, and by the usual way alone.

Both are served the same bytes at the same moments of virtual time, by the real protocol, door and
memory. What they write, whether they hang up, and what they note of readers has to be the same.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, cast

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from uvicorn.server import ServerState

from ibi.errors import IbiError
from ibi.foundation.system.clock import SystemClock
from ibi.foundation.web.bounded_http import BoundedHttp
from ibi.foundation.web.client_address import ClientAddresses
from ibi.foundation.web.rate_limit import RateLimit
from ibi.identifier.instant import Instant
from ibi.identifier.label import parse
from ibi.model.item import State
from ibi.model.relation import Relation
from ibi.resolver.acknowledgments.sender import AcknowledgmentSender
from ibi.resolver.rules.acknowledgment import Referral
from ibi.resolver.rules.decision import NotFound, Redirect, Why
from ibi.resolver.rules.evidence import Evidence
from ibi.resolver.rules.redirect_cache import LastingRedirects, RedirectCache
from ibi.resolver.rules.redirect_entry import CachedRedirect
from ibi.resolver.rules.redirect_lease import Lease
from ibi.resolver.rules.resolution import Resolution, ResolutionStep
from ibi.resolver.search.hops import HopResolver
from ibi.resolver.web.fast_redirects import FastRedirects, fast_redirect_http
from ibi.resolver.web.redirect import RedirectEndpoint, wanted_of
from ibi.wire.answer_choice import Served
from ibi.wire.question import Question
from tests.support.values.archive_answers import original
from tests.support.values.resolutions import FIRST

HERE: Final = "http://resolver.example"
HOT: Final = 10.0
TAKES: Final = 0.01
"""Seconds, of a search."""
MOST: Final = 3
"""Targets that are warm: fewer than there are."""
LASTING: Final = "8JMKD3MGP7W/3EPGUE5"
HOT_ONLY: Final = "8JMKD3MGP8W/35MMLL8"
PERSONAL: Final = "8JMKD3MGP8W/3C9EP6P"
NOWHERE: Final = "LK47B6W/362SFKH"
LABELS: Final = (LASTING, HOT_ONLY, PERSONAL, NOWHERE)
NOW: Final = Instant(1_700_000_000)


class Wire:
    """Where a server writes to one reader."""

    def __init__(self, peer: str, ended: Callable[[], object]) -> None:
        """Be connected with somebody; `ended` is called when it is hung up."""
        self.peer = (peer, 40_000)
        self.written = b""
        self.is_closed = False
        self._ended = ended

    def get_extra_info(self, name: str, default: object = None) -> object:
        """Tell who is at its ends."""
        return {"peername": self.peer, "sockname": ("127.0.0.1", 80)}.get(name, default)

    def write(self, data: bytes) -> None:
        """Take what is written; after the end nothing is."""
        if not self.is_closed:
            self.written += data

    def close(self) -> None:
        """Hang up."""
        if not self.is_closed:
            self.is_closed = True
            self._ended()

    abort = close

    def is_closing(self) -> bool:
        """Tell whether it was hung up."""
        return self.is_closed

    def pause_reading(self) -> None:
        """Go on: nothing is sent here before it can be read."""

    resume_reading = pause_reading


class Leases:
    """Lets what one item has last, until it is ended."""

    def __init__(self) -> None:
        """Give none yet."""
        self._given: list[Lease] = []

    def lease(self, archive: str, asked: float, now: float) -> Lease | None:
        """Give one."""
        assert archive == FIRST
        assert now >= asked + TAKES, "it is given at the end of the search"
        self._given.append(Lease(now + 1000))
        return self._given[-1]

    def release(self) -> None:
        """End all."""
        for each in self._given:
            each.until = 0.0


@dataclass
class Side:
    """A resolver, its reader, and what came of both."""

    loop: asyncio.AbstractEventLoop
    proxies: tuple[str, ...]
    reveal: str
    is_warm: bool
    version: int = 0
    edition: int = 0
    """Of the URLs to which its archive sends readers."""
    searches: int = 0
    noted: Counter[tuple[str, str, tuple[str, ...]]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Put it together."""
        self.memory = RedirectCache(
            lambda: self.version,
            hot_seconds=HOT,
            absent_seconds=2,
            lasting=LastingRedirects(MOST),
            leases=Leases(),
        )
        clients = ClientAddresses(self.proxies, self.reveal)
        self.warm = FastRedirects(self.memory.drop_stale, self.note_known, clients, most=MOST)
        self._door = RedirectEndpoint(
            HERE,
            cast("HopResolver", self),
            self.memory,
            self.warm,
            cast("AcknowledgmentSender", self),
            clients,
            RateLimit(SystemClock(), 1000, 100_000),
        )
        app = Starlette(routes=[Route("/healthz", _alive), Route("/{rest:path}", self._answer)])
        app.router.redirect_slashes = False
        self._config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            ws="none",
            lifespan="off",
            log_level="critical",
            proxy_headers=False,
        )
        self._config.load()
        self._http = fast_redirect_http(self.warm) if self.is_warm else BoundedHttp
        self.state = ServerState()

    def connect(self, peer: str) -> None:
        """Be connected with another reader."""
        protocol = self._http(self._config, self.state, {}, self.loop)
        lost = partial(self.loop.call_soon, protocol.connection_lost, None)
        self.wire, self.protocol = Wire(peer, lost), protocol
        self.protocol.connection_made(cast("asyncio.Transport", self.wire))

    def send(self, data: bytes) -> None:
        """Receive bytes, unless it has hung up."""
        if not self.wire.is_closed:
            self.protocol.data_received(data)

    def note(self, referral: Referral, count: int = 1) -> None:
        """Note an access of what was just found."""
        path = referral.persistent_url.removeprefix(HERE)
        self.noted[referral.url, path, referral.request.clients] += count

    def note_known(self, known: CachedRedirect, clients: tuple[str, ...], received: bytes) -> None:
        """Note an access of what is known."""
        self.note(known.referral(clients, received))

    async def resolve(
        self, question: Question, clients: tuple[str, ...], **_: object
    ) -> Resolution:
        """Find an item; it takes a moment."""
        began, edition = self.loop.time(), self.edition
        self.searches += 1
        await asyncio.sleep(TAKES)
        label = question.label
        if label == parse(NOWHERE):
            return _resolution(question, clients, began, NotFound())
        state = State.COPY if label == parse(HOT_ONLY) else State.ORIGINAL
        url = f"http://first.example/{label.canonical}/{edition}/{len(question.verbs)}"
        outcome = _redirect(url + question.path, state)
        return _resolution(question, clients, began, outcome, personal=label == parse(PERSONAL))

    async def _answer(self, request: Request) -> Response:
        try:
            found = await self._door.answer(request, wanted_of(request, HERE, NOW))
        except IbiError:
            return PlainTextResponse("no label\n", 400)
        return found if isinstance(found, Response) else PlainTextResponse("nowhere\n", 404)


async def _alive(_: Request) -> Response:
    return PlainTextResponse("alive\n")


def _redirect(url: str, state: State) -> Redirect:
    answer = replace(original("a"), archive=FIRST)
    assert answer.listed is not None
    related = replace(answer.listed.related[Relation()], url=url, state=state)
    return Redirect(answer, Served(Relation(), related), Why.OWNER)


def _resolution(
    question: Question,
    clients: tuple[str, ...],
    began: float,
    outcome: Redirect | NotFound,
    *,
    personal: bool = False,
) -> Resolution:
    request = question.request(clients)
    step = ResolutionStep(question, request, Evidence(), outcome, began, TAKES, None, personal)
    return Resolution(question, (step,), outcome)


class Pair:
    """Both sides."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, proxies: tuple[str, ...], reveal: str
    ) -> None:
        """Begin with nothing known to either."""
        self.loop = loop
        self.warm = Side(loop, proxies, reveal, is_warm=True)
        self.usual = Side(loop, proxies, reveal, is_warm=False)
        self.sides = (self.warm, self.usual)
        self.each(lambda side: side.connect("127.0.0.1"))
        self.tick()

    def each(self, act: Callable[[Side], object]) -> None:
        """Let the same happen to both."""
        for side in self.sides:
            act(side)

    def tick(self) -> None:
        """Have the servers look at the clock, as they do every second."""
        date = b"second %d" % self.loop.time()
        self.each(lambda side: setattr(side.state, "default_headers", [(b"date", date)]))

    def compare(self) -> None:
        """Hold both to the same."""
        assert self.warm.wire.written == self.usual.wire.written
        assert self.warm.wire.is_closed == self.usual.wire.is_closed
        assert self.warm.noted == self.usual.noted
        assert self.warm.searches == self.usual.searches
        assert not self.usual.warm.given
