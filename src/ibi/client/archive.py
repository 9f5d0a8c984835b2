"""A client of the HTTP API of an archive on another machine, or in another process."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib.parse import quote

import msgspec
import urllib3

from ibi.errors import (
    ArchiveError,
    ArchiveRefusedError,
    ArchiveRequestError,
    ArchiveUnreachableError,
    ChecksumError,
    StateError,
    StorageError,
    UnknownError,
    shown,
)
from ibi.foundation.http_client.api_client import (
    ATTEMPTS,
    OVERLOAD_PAUSE_SECONDS,
    RemoteApi,
    detail_of,
    reason_of,
)
from ibi.model.clock import SECOND
from ibi.model.pace import Backoff
from ibi.wire.percent_encoding import path as in_url

_TOO_MANY: Final = 429
_CONFLICT: Final = 409
_PIECE: Final = 1 << 20
"""Bytes of a file that are sent or received at once."""
_ONCE: Final = urllib3.Retry(total=None, connect=0, read=0, status=0, other=0, redirect=1)
"""No retries, but one redirection is followed."""
_RETRY: Final = Backoff(SECOND // 4, 8 * SECOND)
"""Waits between attempts to reach an archive that did not answer."""

Progress = Callable[[int], None]
"""A function that is called with the number of bytes of a file sent so far."""


class RemoteArchive(RemoteApi):
    """The API of one archive, used with a token."""

    service = "an archive"
    unusable = ArchiveRequestError
    unreachable = ArchiveUnreachableError
    refused = ArchiveRefusedError

    def insist(self, method: str, path: str, body: object | None = None) -> Any:  # noqa: ANN401
        """Send an idempotent request, again and again with growing waits while no answer comes."""
        for attempt in range(ATTEMPTS - 1):
            try:
                return self.ask(method, path, body)
            except (ArchiveUnreachableError, ArchiveRefusedError) as failure:
                if not _is_unavailable(failure):
                    raise
            time.sleep(_RETRY.wait(attempt) / SECOND)
        return self.ask(method, path, body)

    def read(self, path: str, query: Mapping[str, str]) -> bytes:
        """Return an answer that is not JSON, as it is."""
        return self._send("GET", path, None, {}, query).data

    def files(self, label: str) -> Iterator[dict[str, Any]]:
        """Yield all files of an item."""
        after = ""
        while True:
            place = f"items/{quote(label, safe='')}/files"
            page = self.ask("GET", place, query={"after": after})
            yield from page["files"]
            after = page["after"]
            if not after:
                return

    @contextmanager
    def read_file(self, place: str, path: str, offset: int) -> Iterator[Iterator[bytes]]:
        """Return the bytes of a file of an item, from an offset on."""
        url = f"{self.address}/col/{in_url(place)}/doc/{in_url(path)}"
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        with self._get(url, headers) as answer:
            if answer.status == HTTPStatus.NOT_FOUND:
                raise UnknownError("file", path)
            if answer.status not in {HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT}:
                raise ArchiveRefusedError(answer.status, detail_of(answer.data))
            if (answer.status == HTTPStatus.PARTIAL_CONTENT) != bool(offset):
                # The file was replaced by a shorter one, or is being replaced.
                raise StateError(f"{shown(path)} was changed meanwhile.")
            yield _received(answer, self.address)

    @contextmanager
    def _get(self, url: str, headers: Mapping[str, str]) -> Iterator[urllib3.BaseHTTPResponse]:
        """Get a file that may be in an object store elsewhere, to which the token is not sent."""
        try:
            answer = self._pool.request(
                "GET",
                url,
                headers={**self._headers, **headers},
                preload_content=False,
                retries=_ONCE,
            )
        except urllib3.exceptions.HTTPError as failure:
            raise ArchiveUnreachableError(self.address, reason_of(failure)) from failure
        try:
            yield answer
        finally:
            answer.close()  # no-op if it was read to its end: the connection is in the pool

    def send_file(
        self, deposit: str, path: str, source: Path, progress: Progress, *, resumed: bool = False
    ) -> None:
        """Send a file; if the connection breaks, continue from where it broke.

        If `resumed`, continue from where an earlier process stopped.
        """
        place = f"deposits/{deposit}/files/{quote(path, safe='/')}"
        for attempt in range(ATTEMPTS):
            try:
                first = not resumed and attempt == 0
                answer, sent = self._attempt(place, source, progress, first=first)
                break
            except (ArchiveUnreachableError, ArchiveRefusedError) as failure:
                if attempt == ATTEMPTS - 1:
                    raise
                if _is_unavailable(failure):
                    time.sleep(_RETRY.wait(attempt) / SECOND)
                    continue
                # The archive may not have noticed yet that the previous connection broke.
                passing = {_TOO_MANY, _CONFLICT} if attempt else {_TOO_MANY}
                if not isinstance(failure, ArchiveRefusedError) or failure.status not in passing:
                    raise
                time.sleep(OVERLOAD_PAUSE_SECONDS)
        sent = sent or _sha256(source)  # a file that was resumed was not read from its beginning
        if answer["sha256"] != sent:
            raise ChecksumError(path, sent, answer["sha256"])

    def _attempt(
        self, place: str, source: Path, progress: Progress, *, first: bool
    ) -> tuple[dict[str, Any], str]:
        """Send a file once; return the answer, and the checksum if all of it was sent now."""
        offset = 0 if first else self._offset(place)
        try:
            with source.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(offset)
                progress(offset)
                headers = {
                    "Content-Type": "application/octet-stream",
                    "Content-Length": str(size - offset),
                    **({"Upload-Offset": str(offset)} if offset else {}),
                }
                digest = hashlib.sha256()
                body = _pieces(file, offset, progress, digest.update)
                method = "PATCH" if offset else "PUT"
                answer = self._send(method, place, body, headers)
        except OSError as failure:
            raise StorageError(str(source), (failure.strerror or "").lower()) from failure
        return msgspec.json.decode(answer.data), "" if offset else digest.hexdigest()

    def _offset(self, place: str) -> int:
        try:
            staged = self.ask("GET", place)
        except ArchiveRefusedError as refusal:
            if refusal.status != HTTPStatus.NOT_FOUND:
                raise
            return 0
        return 0 if staged["whole"] else int(staged["size"])


def _is_unavailable(failure: ArchiveError) -> bool:
    """Return whether the archive, or the process that changes it, does not answer at present."""
    return isinstance(failure, ArchiveUnreachableError) or (
        isinstance(failure, ArchiveRefusedError)
        and failure.status == HTTPStatus.SERVICE_UNAVAILABLE
    )


def _received(answer: urllib3.BaseHTTPResponse, address: str) -> Iterator[bytes]:
    try:
        yield from answer.stream(_PIECE)
    except urllib3.exceptions.HTTPError as failure:
        raise ArchiveUnreachableError(address, reason_of(failure)) from failure


def _pieces(
    file: BinaryIO, sent: int, progress: Progress, note: Callable[[bytes], None]
) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        note(piece)
        yield piece
        sent += len(piece)
        progress(sent)


def _sha256(source: Path) -> str:
    with source.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
