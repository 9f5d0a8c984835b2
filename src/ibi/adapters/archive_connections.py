"""Connections to the addresses of archives: bounded in number, in time and in what comes back.

Redirects are not followed, cookies not kept, compressed answers not taken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeVar

from aiohttp import ClientResponse, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from ibi.adapters.archive_answers import NoAnswerError
from ibi.adapters.outbound_guard import GuardedResolver, OutboundGuard
from ibi.adapters.places import Places

# Half of what aiohttp, nginx and Apache allow a header: an archive needs hardly any.
_LONGEST_LINE: Final = 4096
_MOST_HEADERS: Final = 64
_IDLE_SECONDS: Final = 30.0
# An address that was looked up and checked serves new connections for that long.
_NAME_SECONDS: Final = 10
_HEADERS: Final = {"Accept-Encoding": "identity", "User-Agent": "ibi-resolver"}
_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}

_Read = TypeVar("_Read")


class ArchiveConnections:
    """Connections for requests of one kind, which are kept; for one event loop."""

    def __init__(
        self, guard: OutboundGuard, places: Places, answers: type[ResponseHandler], accept: str
    ) -> None:
        """Open nothing yet: that needs the event loop."""
        self._guard = guard
        self._places = places
        self._answers = answers
        self._accept = accept
        self._session: ClientSession | None = None
        self._resolver: GuardedResolver | None = None
        self._is_closed = False

    async def get(
        self,
        url: URL,
        seconds: float,
        read: Callable[[ClientResponse], Awaitable[_Read]],
        body: bytes = b"",
    ) -> _Read:
        """Read the answer to a request, all of it in that time; what has a body is posted."""
        method, data, headers = ("POST", body, _FORM) if body else ("GET", None, None)
        session = self._opened()
        async with (
            self._places.place(url.authority, seconds),
            asyncio.timeout(seconds),
            session.request(
                method, url, data=data, headers=headers, allow_redirects=False
            ) as answer,
        ):
            return await read(answer)

    async def close(self) -> None:
        """Close all connections; whoever still waits for an answer gets none."""
        self._is_closed = True
        if self._session is not None and self._resolver is not None:
            await self._session.close()
            await self._resolver.close()

    def _opened(self) -> ClientSession:
        if self._is_closed:
            raise NoAnswerError("this resolver is being switched off")
        if self._session is None:
            self._resolver = GuardedResolver(self._guard)
            self._session = ClientSession(
                connector=_Connector(self._guard, self._resolver, self._answers),
                headers={**_HEADERS, "Accept": self._accept},
                cookie_jar=DummyCookieJar(),
                timeout=ClientTimeout(),
                auto_decompress=False,
                trust_env=False,
                max_line_size=_LONGEST_LINE,
                max_field_size=_LONGEST_LINE,
                max_headers=_MOST_HEADERS,
            )
        return self._session


class _Connector(TCPConnector):
    """Connects to where the guard lets it."""

    def __init__(
        self, guard: OutboundGuard, resolver: GuardedResolver, answers: type[ResponseHandler]
    ) -> None:
        super().__init__(
            resolver=resolver,
            # Numbers in the place of a name never come to the resolver, but every address here.
            socket_factory=guard.socket_to,
            ttl_dns_cache=_NAME_SECONDS,
            keepalive_timeout=_IDLE_SECONDS,
            limit=0,  # there is a place for each, or nobody comes here
        )
        # aiohttp has no other way in; the floods among the tests notice if this one closes.
        self._factory = partial(answers, loop=self._loop)
