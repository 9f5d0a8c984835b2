"""A client of other archives over HTTP: reads the items that they offer to others.

The address comes from an administrator or from a resolver, and either may be wrong or deceived. So
connections go only where the guard allows, and redirects are not followed.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

import msgspec
import urllib3
from urllib3.exceptions import HTTPError

from ibi.errors import (
    ArchiveRefusedError,
    ArchiveRequestError,
    ArchiveUnreachableError,
    Sentence,
    StateError,
    UnknownError,
    shown,
)
from ibi.foundation.http_client.api_client import detail_of, reason_of
from ibi.foundation.http_client.guarded_pool import guarded_pool
from ibi.foundation.http_client.ssrf_guard import OutboundGuard
from ibi.wire.addresses import is_web_address
from ibi.wire.percent_encoding import path as in_url

LARGEST_MANIFEST: Final = 256 << 20
"""Bytes of the largest manifest that is read; enough for more than half a million files."""
CONNECTIONS: Final = 16
"""Connections that are kept open for concurrent threads."""
_MANIFEST_SECONDS: Final = 600.0
"""Seconds in which a manifest must arrive, even if bytes keep coming slowly."""
_PIECE: Final = 1 << 18
"""Bytes of one read."""
_LARGEST_PROBLEM: Final = 1 << 16
"""Bytes of the largest problem document that is read."""
_PAGE: Final = 500
"""Labels of one page of holdings."""
_LARGEST_PAGE: Final = 1 << 20
"""Bytes of the largest page of holdings."""
_LONGEST_CURSOR: Final = 200
"""Characters of the longest cursor of a page of holdings."""
_UNKNOWN: Final = b'"urn:ibi:problem:unknown"'
_REDIRECTION: Final = 3
_NOT_AN_ARCHIVE: Final = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.GONE,
)
"""Statuses with which an archive never answers a request for a manifest."""
_LATER: Final = (
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)
"""Statuses after which a later attempt may succeed."""


class _Holding(msgspec.Struct):
    label: str


class _Holdings(msgspec.Struct):
    items: list[_Holding]
    after: str


class HttpPeerArchive:
    """Reads items of one archive; several threads may share one client."""

    def __init__(
        self,
        address: str,
        guard: OutboundGuard,
        ticket: str = "",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Connect at the first request; a ticket or token gives access to restricted items."""
        if not is_web_address(address):
            msg = Sentence(
                "%(address)s is not the address of an archive: expected http://host[:port].",
                address=shown(address),
            )
            raise ArchiveRequestError(msg)
        self.address = address.rstrip("/")
        self._pool = guarded_pool(self.address, guard, CONNECTIONS, tls)
        # Redirects are not followed: Ibi-Direct asks for the bytes from the archive itself.
        self._headers = {"Accept-Encoding": "identity", "Ibi-Direct": "1", "User-Agent": "ibi"}
        if ticket:
            self._headers["Authorization"] = f"Bearer {ticket}"
        self._tags: dict[tuple[str, str], str] = {}
        """Entity tags of the files being read: a resumed read must get the same file."""

    def manifest(self, label: str) -> bytes:
        """Return the manifest of an item, without what the archive restricts."""
        deadline = time.monotonic() + _MANIFEST_SECONDS
        with self._get(f"/col/{in_url(label)}/ibi.json", {"Accept": "application/json"}) as answer:
            if answer.status != HTTPStatus.OK:
                raise self._no_manifest(answer, label)
            if not answer.headers.get("Content-Type", "").startswith("application/json"):
                raise self._not_ours(answer.status)
            body = bytearray()
            for piece in self._pieces(answer):
                body += piece
                if len(body) > LARGEST_MANIFEST:
                    msg = Sentence(
                        "The manifest of %(label)s at %(address)s is too large to be read.",
                        label=label,
                        address=self.address,
                    )
                    raise StateError(msg)
                if time.monotonic() > deadline:
                    raise ArchiveUnreachableError(self.address, Sentence("it takes too long"))
            return bytes(body)

    def holdings(self, after: str) -> tuple[list[str], str]:
        """Return labels of Originals and the cursor of the next page, empty after the last."""
        target = f"/api/v1/holdings?limit={_PAGE}&after={quote(after, safe='')}"
        with self._get(target, {"Accept": "application/json"}) as answer:
            body = self._body(answer, _LARGEST_PAGE)
            if answer.status != HTTPStatus.OK:
                raise self._refusal(answer, body)
        try:
            page = msgspec.json.decode(body, type=_Holdings)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise self._not_ours(answer.status) from None
        if len(page.after) > _LONGEST_CURSOR or not page.after.isprintable():
            raise self._not_ours(answer.status)
        return [item.label for item in page.items], page.after

    def _no_manifest(self, answer: urllib3.BaseHTTPResponse, label: str) -> Exception:
        problem = self._body(answer)
        if answer.status == HTTPStatus.NOT_FOUND and _UNKNOWN in problem:
            return UnknownError("item", label)
        if answer.status in _NOT_AN_ARCHIVE:
            return self._not_ours(answer.status)
        return self._refusal(answer, problem)

    def _not_ours(self, status: int) -> ArchiveRefusedError:
        sentence = Sentence(
            "The server at %(address)s offers no manifests: it is not such an archive.",
            address=self.address,
        )
        return ArchiveRefusedError(status, sentence)

    @contextmanager
    def read(self, place: str, path: str, offset: int) -> Iterator[Iterator[bytes]]:
        """Return the bytes of a file of an item from an offset on."""
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        tag = self._tags.get((place, path), "")
        if offset and tag:
            headers["If-Range"] = tag
        with self._get(f"/col/{in_url(place)}/doc/{in_url(path)}", headers) as answer:
            skipped = self._skipped(answer, path, offset, tag)
            self._tags[place, path] = answer.headers.get("ETag", "")
            yield self._pieces(answer, skipped)
        del self._tags[place, path]

    def _skipped(self, answer: urllib3.BaseHTTPResponse, path: str, offset: int, tag: str) -> int:
        """Return how many bytes of the answer to skip; raise if it is not the rest of the file."""
        changed = Sentence(
            "%(path)s is being changed at %(address)s: try again.",
            path=shown(path),
            address=self.address,
        )
        match answer.status:
            case HTTPStatus.PARTIAL_CONTENT if offset:
                if answer.headers.get("Content-Range", "").startswith(f"bytes {offset}-"):
                    return 0
                raise ArchiveUnreachableError(self.address, Sentence("its answer makes no sense"))
            case HTTPStatus.OK:
                if offset and tag and answer.headers.get("ETag", "") != tag:
                    raise StateError(changed)
                return offset
            case HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                raise StateError(changed)
            case HTTPStatus.NOT_FOUND:
                raise UnknownError("file", path)
            case _:
                raise self._refusal(answer, self._body(answer))

    @contextmanager
    def _get(self, target: str, headers: Mapping[str, str]) -> Iterator[urllib3.BaseHTTPResponse]:
        try:
            answer = self._pool.urlopen(
                "GET",
                target,
                headers={**self._headers, **headers},
                redirect=False,
                preload_content=False,
                decode_content=False,
            )
        except HTTPError as failure:
            raise ArchiveUnreachableError(self.address, reason_of(failure)) from failure
        try:
            if answer.headers.get("Content-Encoding", "identity").lower() != "identity":
                raise ArchiveUnreachableError(self.address, Sentence("its answer makes no sense"))
            yield answer
        finally:
            answer.close()  # if it was read to its end, its connection is in the pool already

    def _pieces(self, answer: urllib3.BaseHTTPResponse, skipped: int = 0) -> Iterator[bytes]:
        while True:
            try:
                piece = answer.read1(_PIECE)
            except HTTPError as failure:
                raise ArchiveUnreachableError(self.address, reason_of(failure)) from failure
            if not piece:
                return
            if skipped < len(piece):
                yield piece[skipped:]
            skipped = max(0, skipped - len(piece))

    def _body(self, answer: urllib3.BaseHTTPResponse, largest: int = _LARGEST_PROBLEM) -> bytes:
        body = b""
        for piece in self._pieces(answer):
            body += piece
            if len(body) > largest:
                break
        return body

    def _refusal(self, answer: urllib3.BaseHTTPResponse, problem: bytes) -> Exception:
        status = answer.status
        if status in _LATER:
            return ArchiveUnreachableError(
                self.address, Sentence("it answered %(status)s", status=status)
            )
        if status // 100 == _REDIRECTION:
            sentence = Sentence(
                "The archive at %(address)s redirects, which is not followed.", address=self.address
            )
            return ArchiveRefusedError(status, sentence)
        said = detail_of(problem) or Sentence("it answered %(status)s.", status=status)
        return ArchiveRefusedError(
            status,
            Sentence(
                "The archive at %(address)s refuses: %(said)s", address=self.address, said=said
            ),
        )

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()
