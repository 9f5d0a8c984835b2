"""Where the Original of an item is, as the resolvers say to which this archive is linked.

They are asked as any reader asks, for the Original alone, and are not followed: the address to
which they would send a reader is that of the archive. HEAD is not counted as an access.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import HTTPError

from ibi.adapters.remote_api import reason_of
from ibi.errors import StateError
from ibi.identifier.label import Label
from ibi.identifier.persistent_url import PersistentUrl
from ibi.metadata.web_address import is_web_address

_TIMEOUT: Final = urllib3.Timeout(connect=10, read=60)
_REDIRECTION: Final = 3
_WORDS: Final[dict[int, str]] = {
    HTTPStatus.NOT_FOUND: "it knows of none",
    HTTPStatus.GONE: "it was deleted",
    HTTPStatus.CONFLICT: "archives contend for it",
    HTTPStatus.SERVICE_UNAVAILABLE: "not all archives have answered",
}


class OriginalFinder:
    """Asks resolvers; threads may share it."""

    def __init__(self, resolvers: Callable[[], Sequence[str]]) -> None:
        """Take who knows their addresses just now."""
        self._resolvers = resolvers
        self._pool = urllib3.PoolManager(retries=False, timeout=_TIMEOUT, maxsize=16)

    def __call__(self, label: Label) -> str:
        """Return the address of the archive that has the Original of an item."""
        resolvers = self._resolvers()
        if not resolvers:
            msg = "This archive is linked to no resolver that would know: name the other archive."
            raise StateError(msg)
        reasons = []
        for resolver in resolvers:
            address, reason = self._ask(resolver, label)
            if address:
                return address
            reasons.append(f"{resolver}: {reason}")
        msg = f"No resolver says where the Original of {label} is ({'; '.join(reasons)})."
        raise StateError(msg)

    def _ask(self, resolver: str, label: Label) -> tuple[str, str]:
        """Return the address of an archive, or why there is none."""
        url = PersistentUrl(label, original_required=True).at(resolver)
        try:
            answer = self._pool.request("HEAD", url, redirect=False)
        except HTTPError as failure:
            return "", reason_of(failure)
        location = answer.headers.get("Location", "")
        if answer.status // 100 != _REDIRECTION or not is_web_address(location):
            return "", _WORDS.get(answer.status, f"it answered {answer.status}")
        parts = urlsplit(location)
        return f"{parts.scheme.lower()}://{parts.netloc.lower()}", ""

    def close(self) -> None:
        """Let go of connections."""
        self._pool.clear()
