"""Asks the linked resolvers which other archives have an item.

A resolver answers a plain resolution of a label that no archive has by a few messages, or by none:
the explanation, for which it asks all archives, is asked for only if there is something to explain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

import msgspec
import urllib3
from urllib3.exceptions import HTTPError

from ibi.archive.ports.holders import Finding, HeldAs, Holder
from ibi.archive.ports.maintenance import PeerArchive
from ibi.archive.rules.foreign_manifest import check_described, read_foreign
from ibi.errors import ArchiveError, LabelError, Sentence, TooManyRequestsError, printable
from ibi.foundation.http_client.api_client import reason_of
from ibi.identifier.label import Label, parse
from ibi.identifier.language import Language
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord

_TIMEOUT: Final = urllib3.Timeout(connect=10, read=60)
_NOT_FOUND: Final = "urn:ibi:problem:not-found"
_PAUSE: Final = 5
"""Seconds to wait if a resolver asks for a pause without a time."""
_LONGEST_PAUSE: Final = 3600
_MOST_NAMED: Final = 3
"""The most silent archives that a doubt names."""
_SECURE: Final = ":443"
"""The port that is HTTPS by convention."""
_STATES: Final[dict[str, HeldAs]] = {
    "original": "Original",
    "copy": "Copy",
    "has-it": "restricted",
    "deleted": "deleted",
}
"""How an archive has an item, by the word of an explanation."""


class _Asked(msgspec.Struct):
    archive: str
    address: str
    said: str


class _Step(msgspec.Struct):
    asked: list[_Asked]


class _Explanation(msgspec.Struct):
    steps: list[_Step]


class LinkedResolvers:
    """Asks resolvers over HTTP; several threads may share it."""

    def __init__(
        self,
        resolvers: Callable[[], Sequence[str]],
        own: Forms,
        connect: Callable[[str], PeerArchive],
    ) -> None:
        """Ask the resolvers whose current addresses `resolvers` returns.

        The archive with the service labels `own` is left out of their answers; `connect` makes
        clients of other archives.
        """
        self._resolvers = resolvers
        self._own = own
        self._connect = connect
        self._pool = urllib3.PoolManager(retries=False, timeout=_TIMEOUT, maxsize=16)

    def find(self, label: Label) -> Finding:
        """Return what the resolvers know of a label."""
        holders: dict[str, Holder] = {}
        doubts: list[str] = []
        resolvers = tuple(self._resolvers())
        for resolver in resolvers:
            found, doubt = self._ask(resolver, label)
            holders |= {each.service: each for each in found}
            if doubt:
                doubts.append(Sentence("%(address)s: %(reason)s", address=resolver, reason=doubt))
        return Finding(tuple(holders.values()), resolvers, tuple(doubts))

    def _ask(self, resolver: str, label: Label) -> tuple[list[Holder], str]:
        """Return the holders that a resolver finds, and why there may be others."""
        try:
            answer = self._get(resolver, "resolve", label)
            if answer.status == HTTPStatus.NOT_FOUND and _NOT_FOUND.encode() in answer.data:
                return [], ""
            answer = self._get(resolver, "explain", label)
            if answer.status != HTTPStatus.OK:
                return [], Sentence("it answered %(status)s", status=answer.status)
            explained = msgspec.json.decode(answer.data, type=_Explanation)
        except HTTPError as failure:
            return [], reason_of(failure)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return [], Sentence("its answer makes no sense")
        asked = explained.steps[0].asked if explained.steps else []
        return list(self._holders(asked)), _doubt(asked)

    def _get(self, resolver: str, act: str, label: Label) -> urllib3.BaseHTTPResponse:
        url = f"{resolver}/api/v1/{act}?url={quote(label.spelling, safe='')}"
        headers = {"Accept": "application/json"}
        answer = self._pool.request("GET", url, headers=headers, redirect=False)
        if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
            after = answer.headers.get("Retry-After", "")
            seconds = int(after) if after.isdecimal() and len(after) < len("10000") else _PAUSE
            raise TooManyRequestsError(min(seconds, _LONGEST_PAUSE))
        return answer

    def _holders(self, asked: Sequence[_Asked]) -> Iterator[Holder]:
        for each in asked:
            state = _STATES.get(each.said)
            if state is not None and each.address and not self._is_own(each.archive):
                scheme = "https" if each.address.endswith(_SECURE) else "http"
                address = printable(f"{scheme}://{each.address}")
                yield Holder(printable(each.archive), address, state)

    def _is_own(self, service: str) -> bool:
        try:
            return parse(service, strict=True) in tuple(self._own)
        except LabelError:
            return False

    def language(self, label: Label, address: str) -> Language | None:
        """Return the language of an item of another archive, by its manifest."""
        try:
            with closing(self._connect(address)) as peer:
                item, _ = read_foreign(peer.manifest(label.spelling), label, address)
        except ArchiveError:
            return None
        return item.language

    def record(self, label: Label, address: str) -> MetadataRecord | None:
        """Return the metadata of an item of another archive, by its manifests."""
        try:
            with closing(self._connect(address)) as peer:
                item, _ = read_foreign(peer.manifest(label.spelling), label, address)
                if item.record is not None or item.metadata is None:
                    return item.record
                own = item.metadata.label
                metadata, _ = read_foreign(peer.manifest(own.spelling), own, address)
                check_described(item, metadata, address)
        except ArchiveError:
            return None
        return metadata.record

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()


def _doubt(asked: Sequence[_Asked]) -> str:
    """Return that some archives did not answer, as a text; empty if all did."""
    silent = [printable(each.address or each.archive) for each in asked if each.said == "silent"]
    if not silent:
        return ""
    named, more = ", ".join(silent[:_MOST_NAMED]), len(silent) - _MOST_NAMED
    if more <= 0:
        return Sentence("%(names)s did not answer", names=named)
    return Sentence("%(names)s and %(count)s more did not answer", names=named, count=more)
