"""An archive on another machine, or in another process: its API over HTTP."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib.parse import quote

import msgspec

from ibi.adapters.remote_api import ATTEMPTS, REST, RemoteApi
from ibi.errors import (
    ArchiveRefusedError,
    ArchiveRequestError,
    ArchiveUnreachableError,
    ChecksumError,
    StorageError,
)

_TOO_MANY: Final = 429
_CONFLICT: Final = 409
_PIECE: Final = 1 << 20

Progress = Callable[[int], None]
"""Is told how many bytes of a file have gone, each time some have."""


class RemoteArchive(RemoteApi):
    """Speaks to one archive, with a token."""

    service = "an archive"
    unusable = ArchiveRequestError
    unreachable = ArchiveUnreachableError
    refused = ArchiveRefusedError

    def insist(self, method: str, path: str) -> Any:  # noqa: ANN401
        """Ask for what may be asked twice: if no answer comes, again, with growing pauses."""
        for attempt in range(ATTEMPTS - 1):
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

    def send_file(self, deposit: str, path: str, source: Path, progress: Progress) -> None:
        """Send a file; if the connection breaks, go on from where it broke."""
        place = f"deposits/{deposit}/files/{quote(path, safe='/')}"
        for attempt in range(ATTEMPTS):
            try:
                answer = self._attempt(place, source, progress, first=attempt == 0)
                break
            except ArchiveUnreachableError:
                if attempt == ATTEMPTS - 1:
                    raise
                time.sleep(_pause(attempt))
            except ArchiveRefusedError as refusal:
                # It may not have noticed yet that the connection before this one broke.
                passing = {_TOO_MANY, _CONFLICT} if attempt else {_TOO_MANY}
                if refusal.status not in passing or attempt == ATTEMPTS - 1:
                    raise
                time.sleep(REST)
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
