"""An archive on another machine, or in another process: its API over HTTP."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib.parse import quote

import msgspec
import urllib3

from ibi.errors import (
    ArchiveRefusedError,
    ArchiveRequestError,
    ArchiveUnreachableError,
    ChecksumError,
    StorageError,
    printable,
    shown,
)
from ibi.metadata.web_address import is_web_address

_TIMEOUT: Final = urllib3.Timeout(connect=10, read=300)
_ATTEMPTS: Final = 6
"""To send a file: each goes on where the one before broke off."""
_REST: Final = 1.0
"""Seconds, for an archive that was asked too much of."""
_TOO_MANY: Final = 429
_CONFLICT: Final = 409
_PIECE: Final = 1 << 20
_LONGEST_DETAIL: Final = 500

_WORDS: Final = (
    (urllib3.exceptions.NameResolutionError, "nobody knows its name"),
    (urllib3.exceptions.TimeoutError, "it takes too long"),
    (urllib3.exceptions.SSLError, "it cannot prove who it is"),
    (urllib3.exceptions.HTTPError, "the connection broke"),
)
"""What went wrong; the first class that fits decides."""

Progress = Callable[[int], None]
"""Is told how many bytes of a file have gone, each time some have."""


class RemoteArchive:
    """Speaks to one archive, with a token."""

    def __init__(self, address: str, token: str) -> None:
        """Connect when needed."""
        if not is_web_address(address):
            msg = f"{shown(address)} is not the address of an archive: expected http://host[:port]."
            raise ArchiveRequestError(msg)
        self.address = address.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._pool = urllib3.PoolManager(retries=False, timeout=_TIMEOUT)

    def ask(
        self,
        method: str,
        path: str,
        body: object | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Any:  # noqa: ANN401  # whatever it answers
        """Send a request, and return what came as JSON; nothing if nothing came."""
        sent = None if body is None else msgspec.json.encode(body)
        for attempt in range(_ATTEMPTS):
            try:
                answer = self._send(method, path, sent, {"Content-Type": "application/json"}, query)
                break
            except ArchiveRefusedError as refusal:
                if refusal.status != _TOO_MANY or attempt == _ATTEMPTS - 1:
                    raise
                time.sleep(_REST)
        return msgspec.json.decode(answer.data) if answer.data else None

    def insist(self, method: str, path: str) -> Any:  # noqa: ANN401
        """Ask for what may be asked twice: if no answer comes, again, with growing pauses."""
        for attempt in range(_ATTEMPTS - 1):
            with suppress(ArchiveUnreachableError):
                return self.ask(method, path)
            time.sleep(_pause(attempt))
        return self.ask(method, path)

    def files(self, label: str) -> Iterator[dict[str, Any]]:
        """Go through all files of an item."""
        after = ""
        while True:
            place = f"items/{quote(label, safe='')}/files"
            page = self.ask("GET", place, query={"after": after})
            yield from page["files"]
            after = page["after"]
            if not after:
                return

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | Iterator[bytes] | None,
        headers: Mapping[str, str],
        query: Mapping[str, str] | None = None,
    ) -> urllib3.BaseHTTPResponse:
        pairs = "&".join(f"{name}={quote(value, safe='')}" for name, value in (query or {}).items())
        url = f"{self.address}/api/v1/{path}" + (f"?{pairs}" if pairs else "")
        try:
            answer = self._pool.request(
                method, url, body=body, headers={**self._headers, **headers}, redirect=False
            )
        except urllib3.exceptions.HTTPError as failure:
            raise ArchiveUnreachableError(self.address, _reason(failure)) from failure
        if answer.status >= 300:  # noqa: PLR2004  # whatever is no success
            raise ArchiveRefusedError(answer.status, _detail(answer.data))
        return answer

    def send_file(self, deposit: str, path: str, source: Path, progress: Progress) -> None:
        """Send a file; if the connection breaks, go on from where it broke."""
        place = f"deposits/{deposit}/files/{quote(path, safe='/')}"
        for attempt in range(_ATTEMPTS):
            try:
                answer = self._attempt(place, source, progress, first=attempt == 0)
                break
            except ArchiveUnreachableError:
                if attempt == _ATTEMPTS - 1:
                    raise
                time.sleep(_pause(attempt))
            except ArchiveRefusedError as refusal:
                # It may not have noticed yet that the connection before this one broke.
                passing = {_TOO_MANY, _CONFLICT} if attempt else {_TOO_MANY}
                if refusal.status not in passing or attempt == _ATTEMPTS - 1:
                    raise
                time.sleep(_REST)
        sent = _sha256(source)
        if answer["sha256"] != sent:
            raise ChecksumError(path, sent, answer["sha256"])

    def _attempt(self, place: str, source: Path, progress: Progress, *, first: bool) -> Any:  # noqa: ANN401
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
                body = _pieces(file, offset, progress)
                method = "PATCH" if offset else "PUT"
                answer = self._send(method, place, body, headers)
        except OSError as failure:
            raise StorageError(str(source), (failure.strerror or "").lower()) from failure
        return msgspec.json.decode(answer.data)

    def _offset(self, place: str) -> int:
        with suppress(ArchiveRefusedError):
            staged = self.ask("GET", place)
            return 0 if staged["whole"] else int(staged["size"])
        return 0


def _pause(attempt: int) -> float:
    """Return for how many seconds to leave an archive alone that did not answer."""
    return 0.25 * (1 << attempt)


def _pieces(file: BinaryIO, sent: int, progress: Progress) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece
        sent += len(piece)
        progress(sent)


def _sha256(source: Path) -> str:
    with source.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _reason(failure: urllib3.exceptions.HTTPError) -> str:
    """Say in words why nothing was answered: those of the system, if it has any."""
    words = next(words for kind, words in _WORDS if isinstance(failure, kind))
    cause = failure.__cause__
    while cause is not None and isinstance(cause.__cause__, OSError):
        cause = cause.__cause__
    text = getattr(cause, "strerror", None) or words
    return printable(str(text)).lower()


def _detail(body: bytes) -> str:
    with suppress(msgspec.MsgspecError, UnicodeDecodeError):
        problem = msgspec.json.decode(body, type=dict[str, Any])
        detail = str(problem.get("detail") or problem.get("title") or "")
        return printable(detail[:_LONGEST_DETAIL])
    return ""
