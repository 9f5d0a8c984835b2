"""The API of an archive: records read from files of other programs, or from other items."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, Final

import msgspec
from starlette.responses import Response

from ibi.archive.archive import Archive
from ibi.archive.holder_check import HolderCheck
from ibi.archive.rules.scopes import DEPOSIT
from ibi.errors import ArchiveRequestError, Sentence, UnknownError
from ibi.foundation.translation.language import in_one_language, preference_of
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.openapi import query
from ibi.foundation.web.operations import AuthorizedRequest, Body, Media, Operation
from ibi.identifier.label import Label, parse
from ibi.metadata.json_record import record_as_dict
from ibi.metadata.readers.formats import FORMATS, read_metadata
from ibi.metadata.readers.reading import LARGEST_FILE, Reading
from ibi.model.metadata_record import MetadataRecord

LARGEST: Final = 2 * LARGEST_FILE
"""Bytes of the largest file; the limit of each format is lower, and its error says more."""


class ReadingAnswer(msgspec.Struct, frozen=True):
    """A record that may be unfinished, as the metadata of a deposit, and what is uncertain."""

    record: dict[str, Any]
    doubts: list[str]
    """Sentences in the language that the client prefers."""


class ReadingsApi:
    """The handler of readings, which change nothing."""

    def __init__(self, archive: Archive, holders: HolderCheck) -> None:
        """Read records of an archive; `holders` reads those of other archives."""
        self._archive = archive
        self._holders = holders

    async def read(self, request: AuthorizedRequest) -> Response:
        """Read the record in a file, which is the body, or that of an item."""
        label, format_ = (request.query_params.get(name, "") for name in ("label", "format"))
        content = await request.read_bytes()
        if bool(label) == bool(content):
            raise ArchiveRequestError(
                Sentence("Send a file as the body, or name an item as label: one of the two.")
            )
        if label:
            reading = await asyncio.to_thread(self.of_item, parse(label))
        else:
            reading = await asyncio.to_thread(read_metadata, content, format_)
        preference = preference_of(request.headers.get("accept-language", ""))
        doubts, language = in_one_language(reading.doubts, preference)
        answer = ReadingAnswer(record_as_dict(reading.record), doubts)
        return json_answer(answer, headers={"Content-Language": language})

    def of_item(self, label: Label) -> Reading:
        """Return the record of an item of this archive, or of one that linked resolvers know."""
        if self._archive.catalogue.items.find(label.canonical) is None:
            record, doubts = self._holders.record_elsewhere(label)
            return Reading(_of_another(record), doubts)
        described = self._archive.get_described(label)
        if described.record is None:
            raise UnknownError("metadata of", label.spelling)
        return Reading(_of_another(described.record))


def _of_another(record: MetadataRecord) -> MetadataRecord:
    """Return the record without identifiers, which are those of the item that was read."""
    return replace(record, identifiers=())


READING_OPERATIONS: Final = (
    Operation(
        "POST",
        "/api/v1/metadata-readings",
        DEPOSIT,
        ReadingsApi.read,
        "Read a record from a file of another program, or from an item; nothing is changed",
        request=Body(Media({"application/octet-stream": {}}), required=None, largest=LARGEST),
        answer=ReadingAnswer,
        problems=(404, 409, 413, 429),
        parameters=(
            query("format", f"{', '.join(FORMATS)}; found by the content if left out"),
            query("label", "A label of an item, here or elsewhere, instead of a file"),
        ),
    ),
)
