"""Addresses of other archives, asked of the resolvers that this archive is linked to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import HTTPError

from ibi.archive.peers.archive_client import HttpPeerArchive
from ibi.archive.recovery.concede import Claims
from ibi.archive.resolver_links.announcer import CatalogueLinks
from ibi.client.resolver import RemoteResolver
from ibi.errors import ResolverError, Sentence, StateError
from ibi.errors.sentence import series
from ibi.foundation.http_client.api_client import reason_of
from ibi.foundation.http_client.ssrf_guard import OutboundGuard
from ibi.identifier.label import Label
from ibi.identifier.persistent_url import PersistentUrl
from ibi.wire.addresses import is_web_address

_TIMEOUT: Final = urllib3.Timeout(connect=10, read=60)
_REDIRECTION: Final = 3
_WORDS: Final[dict[int, str]] = {
    HTTPStatus.NOT_FOUND: Sentence("it knows of none"),
    HTTPStatus.GONE: Sentence("it was deleted"),
    HTTPStatus.CONFLICT: Sentence("archives contend for it"),
    HTTPStatus.SERVICE_UNAVAILABLE: Sentence("not all archives have answered"),
}


class OriginalFinder:
    """Asks resolvers for the archive of an Original; several threads may share one finder."""

    def __init__(self, resolvers: Callable[[], Sequence[str]]) -> None:
        """Ask the resolvers whose current addresses `resolvers` returns."""
        self._resolvers = resolvers
        self._pool = urllib3.PoolManager(retries=False, timeout=_TIMEOUT, maxsize=16)

    def __call__(self, label: Label) -> str:
        """Return the address of the archive of an item's Original; raise StateError if unknown."""
        resolvers = self._resolvers()
        if not resolvers:
            msg = Sentence("This archive is linked to no resolver to ask: name the other archive.")
            raise StateError(msg)
        reasons = []
        for resolver in resolvers:
            address, reason = self._ask(resolver, label)
            if address:
                return address
            reasons.append(Sentence("%(address)s: %(reason)s", address=resolver, reason=reason))
        msg = Sentence(
            "No resolver says where the Original of %(label)s is (%(reasons)s).",
            label=label,
            reasons=series(reasons),
        )
        raise StateError(msg)

    def _ask(self, resolver: str, label: Label) -> tuple[str, str]:
        """Return the address of an archive, or an empty one and the reason."""
        url = PersistentUrl(label, original_required=True).at(resolver)
        try:
            answer = self._pool.request("HEAD", url, redirect=False)
        except HTTPError as failure:
            return "", reason_of(failure)
        location = answer.headers.get("Location", "")
        if answer.status // 100 != _REDIRECTION or not is_web_address(location):
            return "", _WORDS.get(
                answer.status, Sentence("it answered %(status)s", status=answer.status)
            )
        parts = urlsplit(location)
        return f"{parts.scheme.lower()}://{parts.netloc.lower()}", ""

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()


_HAVE_IT: Final = ("original", "copy", "has-it")
_SECURE: Final = ":443"
"""The port that is HTTPS by convention."""


class PeerDirectory:
    """Finds archives that have an item, and makes clients of them."""

    def __init__(self, links: CatalogueLinks, guard: OutboundGuard, own: str) -> None:
        """Ask the resolvers of these links; `own`, the address of this archive, is left out."""
        self._links = links
        self._guard = guard
        self._own = own

    def connect(self, address: str) -> HttpPeerArchive:
        """Return a client of an archive; it connects at its first request."""
        return HttpPeerArchive(address, self._guard)

    def holders(self, label: Label) -> list[str]:
        """Return the addresses of archives that report to have an item."""
        said = _said([link.resolver for link in self._links.all()], label)
        return [address for address in _who_said(_HAVE_IT, said) if address != self._own]


def claims_of(resolvers: Iterable[str], label: Label) -> Claims:
    """Return which archives claim an Original, trusted by a resolver or not, and which are silent.

    All archives are asked anew, by the resolvers.
    """
    said = _said(resolvers, label)
    return Claims(_who_said(("original",), said), _who_said(("silent",), said))


def _said(resolvers: Iterable[str], label: Label) -> list[tuple[str, str]]:
    """Return the addresses of the archives that resolvers asked for an item, and the answers."""
    found: list[tuple[str, str]] = []
    for resolver in resolvers:
        # A resolver that does not answer, or does not find the item, is skipped.
        with suppress(ResolverError):
            query = {"url": label.spelling}
            found += _answers(RemoteResolver(resolver, "").ask("GET", "explain", query=query))
    return found


def _answers(explained: Any) -> list[tuple[str, str]]:  # noqa: ANN401  # the JSON of a resolver
    """Return the answers of an explanation; none if it is malformed."""
    with suppress(LookupError, TypeError, AttributeError):
        asked = explained["steps"][0]["asked"]
        return [(str(each["address"]), str(each["said"])) for each in asked]
    return []


def _who_said(words: Sequence[str], said: Iterable[tuple[str, str]]) -> list[str]:
    """Return the addresses of archives that said one of these words, each once."""
    return list(dict.fromkeys(_url(address) for address, word in said if address and word in words))


def _url(address: str) -> str:
    return f"{'https' if address.endswith(_SECURE) else 'http'}://{address}"
