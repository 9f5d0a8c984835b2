"""The upload of files by a plain form, which works without script: straight to the disk.

The form carries the description as well, so that nothing is lost that was typed before the files
were chosen. A file that is refused does not keep the others from coming.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, suppress
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from ibi.archive.drafts.files import DraftFiles
from ibi.archive.ports.drafts import DepositDraft
from ibi.archive.ports.file_store import Sink
from ibi.archive.rules.drafts.draft import LARGEST_FIELDS
from ibi.archive.web.api.uploads import PIECE, declared_type, to_the_end
from ibi.archive.web.drafts.multipart import (
    MEDIA_TYPE,
    MultipartDecoder,
    PartBegin,
    PartData,
    PartEvent,
)
from ibi.archive.web.drafts.pages import DraftPages
from ibi.errors import ArchiveError, ForgeryError, IbiError, RequestError, Sentence, TooLargeError
from ibi.foundation.web.form_tokens import FIELD
from ibi.foundation.web.page_operations import CarriedForm, PageRequest, here_of

FILES: Final = "files"
"""The field of the files."""
MOST_FILES: Final = 10_000
"""Files of one form."""


class UploadPage:
    """Handler of the form with files."""

    def __init__(self, pages: DraftPages, files: DraftFiles, largest: int) -> None:
        """Receive files of at most so many bytes."""
        self._pages = pages
        self._files = files
        self._largest = largest

    async def upload(self, request: PageRequest) -> Response:
        """Receive the files of a form, then save its fields."""
        draft = await self._pages.own(request)
        reception = _Reception(draft, self._files, self._largest)
        decoder = MultipartDecoder(request.headers.get("content-type", ""))
        try:
            async for chunk in request.stream():
                for event in decoder.feed(chunk):
                    await reception.take(event)
            decoder.close()
        except ClientDisconnect:
            raise RequestError(Sentence("The form did not come whole.")) from None
        finally:
            await reception.close()
        pairs = (*reception.fields, ("act", "upload"))
        return await self._pages.save(request, draft, pairs, reception.fault)


MOST_WITHOUT_SESSION: Final = 1 << 28
"""The most bytes of a form that are read for its texts alone, when no session authorizes it."""


async def typed_before_sign_in(request: Request) -> CarriedForm:
    """Return the texts of the form of a draft whose session has ended; its files are dropped."""
    media_type = request.headers.get("content-type", "")
    if not media_type.lower().startswith(MEDIA_TYPE):
        raise ForgeryError  # no form of ours sends its files so
    decoder = MultipartDecoder(media_type)
    reader, received = _TextReader(), 0
    try:
        async for chunk in request.stream():
            received += len(chunk)
            if received > MOST_WITHOUT_SESSION:
                raise TooLargeError(Sentence("The session has ended. Sign in, and send it again."))
            for event in decoder.feed(chunk):
                reader.take(event)
        decoder.close()
    except ClientDisconnect:
        raise RequestError(Sentence("The form did not come whole.")) from None
    path = here_of(request).partition("?")[0].removesuffix("/files")
    return CarriedForm(path, (*reader.fields, ("act", "save")))


class _TextReader:
    """Keeps the texts of a form, within the limit of all fields together."""

    def __init__(self) -> None:
        self.fields: list[tuple[str, str]] = []
        self._field = ""
        self._text = bytearray()
        self._held = 0

    def take(self, event: PartEvent) -> None:
        match event:
            case PartBegin(name, filename):
                self._field = name if filename is None else ""
            case PartData(data) if self._field:
                self._held += len(data)
                if self._held > LARGEST_FIELDS:
                    raise TooLargeError(Sentence("The fields of the form are too large."))
                self._text += data
            case PartData():
                pass
            case _:
                if self._field not in {"", FIELD, "act"}:
                    self.fields.append((self._field, bytes(self._text).decode("utf-8", "replace")))
                self._text.clear()
                self._field = ""


class _Reception:
    """The parts of one form on their way."""

    def __init__(self, draft: DepositDraft, files: DraftFiles, largest: int) -> None:
        self._draft = draft
        self._files = files
        self._largest = largest
        self._field = ""
        self._text = bytearray()
        self._held = 0
        self._count = 0
        self._file: _File | None = None
        self.fields: list[tuple[str, str]] = []
        self.fault: IbiError | None = None
        """The first fault of a file."""

    async def take(self, event: PartEvent) -> None:
        match event:
            case PartBegin(name, filename, media_type):
                self._field = name if filename is None else ""
                if filename and name == FILES:
                    await self._begin(filename, media_type)
            case PartData(data) if self._field:
                self._held += len(data)
                if self._held > LARGEST_FIELDS:
                    raise TooLargeError(Sentence("The fields of the form are too large."))
                self._text += data
            case PartData(data):
                await self._try(data)
            case _:
                await self._end()

    async def _begin(self, filename: str, media_type: str) -> None:
        self._count += 1
        try:
            if self._count > MOST_FILES:
                msg = Sentence("A form has at most %(most)s files.", most=MOST_FILES)
                raise TooLargeError(msg)  # a fault as any other of a file
            context = self._files.receive(self._draft.id, self._draft.owner, filename, 0)
            self._file = _File(filename, context, media_type, self._largest)
            await self._file.open()
        except (ArchiveError, RequestError) as fault:
            await self._give_up(fault)

    async def _try(self, data: bytes) -> None:
        if self._file is not None:
            try:
                await self._file.write(data)
            except ArchiveError as fault:
                await self._give_up(fault)

    async def _end(self) -> None:
        if self._field:
            text = bytes(self._text).decode("utf-8", "replace")
            self.fields.append((self._field, text))
            self._text.clear()
        elif self._file is not None:
            file, self._file = self._file, None
            try:
                await file.finish()
            except ArchiveError as fault:
                self.fault = self.fault or fault
        self._field = ""

    async def _give_up(self, fault: IbiError) -> None:
        """Go on without a file; its other bytes are read and dropped."""
        self.fault = self.fault or fault
        path = self._file.path if self._file is not None else ""
        await self.close()
        if path:
            with suppress(ArchiveError):  # an earlier file of this name stays
                await asyncio.to_thread(self._drop_part, path)

    def _drop_part(self, path: str) -> None:
        draft = self._draft
        if self._files.staged_file(draft.id, draft.owner, path).file is None:
            self._files.remove(draft.id, draft.owner, path)

    async def close(self) -> None:
        """Break off the file that did not end."""
        file, self._file = self._file, None
        if file is not None:
            await file.close()


class _File:
    """A file that is written piece by piece."""

    def __init__(
        self, path: str, context: AbstractContextManager[Sink], media_type: str, largest: int
    ) -> None:
        self.path = path
        self._context = context
        self._media_type = declared_type(media_type)
        self._largest = largest
        self._sink: Sink | None = None
        self._pieces: list[bytes] = []
        self._gathered = 0
        self._size = 0

    async def open(self) -> None:
        self._sink = await to_the_end(self._context.__enter__)

    async def write(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self._largest:
            msg = Sentence(
                "The file is larger than %(most)s bytes, which is all that this archive takes.",
                most=self._largest,
            )
            raise TooLargeError(msg)
        self._pieces.append(data)
        self._gathered += len(data)
        if self._gathered >= PIECE:
            await self._flush()

    async def _flush(self) -> None:
        piece, self._pieces, self._gathered = b"".join(self._pieces), [], 0
        if piece and self._sink is not None:
            await to_the_end(self._sink.write, piece)

    async def finish(self) -> None:
        try:
            await self._flush()
            if self._sink is not None:
                await to_the_end(self._sink.finish, self._media_type)
        finally:
            await self.close()

    async def close(self) -> None:
        if self._sink is not None:
            self._sink = None
            await asyncio.shield(to_the_end(self._context.__exit__, None, None, None))
