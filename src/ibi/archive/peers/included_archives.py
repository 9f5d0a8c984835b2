"""The archives that the linked resolvers include, and how these archives call themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import urllib3
from urllib3.exceptions import HTTPError

from ibi.archive.peers.about import ask_about
from ibi.errors import ArchiveError, printable
from ibi.foundation.http_client.ssrf_guard import OutboundGuard
from ibi.model.clock import SECOND, Clock

LONGEST_NAME: Final = 200
"""Characters of the longest name of an archive that is kept."""
_TIMEOUT: Final = urllib3.Timeout(connect=5, read=20)
_LARGEST_LIST: Final = 8 << 20
"""Bytes of the longest list of archives that is read."""
_PAUSE: Final = 60 * SECOND
"""Nanoseconds between two readings of the lists."""
_MOST_NAMES: Final = 1000
"""Names that are remembered."""
_PORTS: Final = (":80", ":443")


class _Listed(msgspec.Struct):
    address: str
    state: str


class _List(msgspec.Struct):
    archives: list[_Listed]


class IncludedArchives:
    """Reads the public lists of resolvers, at most once a minute; used by one thread."""

    def __init__(
        self, resolvers: Callable[[], Sequence[str]], guard: OutboundGuard, clock: Clock
    ) -> None:
        """Ask the resolvers whose current addresses `resolvers` returns."""
        self._resolvers = resolvers
        self._guard = guard
        self._clock = clock
        self._pool = urllib3.PoolManager(retries=False, timeout=_TIMEOUT)
        self._places: frozenset[str] = frozenset()
        self._read_at: int | None = None
        self._names: dict[str, str] = {}

    def includes(self, place: str) -> bool:
        """Return whether a resolver includes an archive at this host and port."""
        now = self._clock.uptime()
        if self._read_at is None or now - self._read_at >= _PAUSE:
            self._read_at = now
            self._places = frozenset().union(*map(self._listed, self._resolvers()))
            self._names.clear()
        return place in self._places

    def _listed(self, resolver: str) -> frozenset[str]:
        """Return the hosts and ports of the archives of a resolver; none if it does not answer."""
        try:
            answer = self._pool.request(
                "GET", f"{resolver}/api/v1/archives", redirect=False, preload_content=False
            )
            body = answer.read(_LARGEST_LIST)
            answer.close()
            found = msgspec.json.decode(body, type=_List).archives
        except (HTTPError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return frozenset()
        included = (each.address.lower() for each in found if each.state in {"included", "down"})
        return frozenset(_without_port(address) for address in included if address)

    def name(self, address: str) -> str:
        """Return the name by which an archive calls itself; empty if it does not say."""
        if address not in self._names and len(self._names) < _MOST_NAMES:
            try:
                said = ask_about(address, self._guard).name
            except ArchiveError:
                said = ""
            self._names[address] = printable(said)[:LONGEST_NAME]
        return self._names.get(address, "")


def _without_port(place: str) -> str:
    for port in _PORTS:
        place = place.removesuffix(port)
    return place
