"""What was read of a file: a record that may be unfinished, and what was not understood.

No file is refused for a part of it: a part that a record cannot have becomes a doubt, which a
depositor sees beside the form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ibi.errors import MetadataError, Sentence, shown
from ibi.metadata.json_record import (
    LARGEST_RECORD,
    MOST_VALUES,
    checked_by_lists,
    record_as_dict,
    unfinished_record_from,
)
from ibi.metadata.licence import licence_at
from ibi.metadata.related import scheme_of
from ibi.model.metadata_record import MetadataRecord

LARGEST_FILE: Final = LARGEST_RECORD
"""The largest file that is read, in bytes; a format may have a lower limit."""
MOST_DOUBTS: Final = 50
"""Doubts that are said; a file with more is hardly one of its format."""
DEEPEST: Final = 20
"""The deepest nesting that is read; no format needs more than ten levels."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_CONTROL_IN_LINES: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Reading:
    """A record, which may lack its title, and what was left out or is uncertain."""

    record: MetadataRecord
    doubts: tuple[str, ...] = ()
    """Sentences."""


def text_of(content: bytes, largest: int = LARGEST_FILE) -> str:
    """Return a file as text; MetadataError if it is too large or not in UTF-8."""
    if len(content) > largest:
        raise MetadataError(Sentence("The file is larger than %(largest)s bytes.", largest=largest))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise MetadataError(Sentence("The file is not encoded in UTF-8.")) from None


def one_line(text: str) -> str:
    """Return a text in one line, without control characters."""
    return " ".join(_CONTROL.sub(" ", text).split())


def paragraphs(text: str) -> str:
    """Return a text with its lines, without other control characters."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL_IN_LINES.sub(" ", lines).strip()


class Gathering:
    """Collects the parts of a record, each checked by itself, and the doubts."""

    def __init__(self) -> None:
        self._found: dict[str, list[Any]] = {}
        self._licence = ""
        self._doubts: dict[str, None] = {}
        self._size = 0

    def add(self, element: str, value: object, field: str) -> None:
        """Add a value of an element; `field` is what the file calls it."""
        try:
            kept = getattr(checked_by_lists(unfinished_record_from({element: value})), element)
        except MetadataError as fault:
            self.doubt(
                Sentence(
                    "%(field)s was left out: %(reason)s",
                    field=shown(field),
                    reason=fault.message(),
                )
            )
            return
        known = self._found.setdefault(element, [])
        for each in kept:
            size = len(repr(each))
            if each in known[:100]:
                continue
            if len(known) >= MOST_VALUES or self._size + size > LARGEST_RECORD // 2:
                self.doubt(Sentence("There is too much of %(field)s.", field=shown(field)))
                return
            self._size += size
            known.append(each)

    def add_texts(self, element: str, texts: Iterable[str], field: str, language: str = "") -> None:
        """Add texts of one element in a language."""
        for text in texts:
            tag = {"language": language} if language else {}
            self.add(element, {"value": text, **tag}, field)

    def add_identifier(self, text: str, field: str) -> None:
        """Add an identifier of the work, as the formats that are written find it again."""
        scheme, bare = scheme_of(text)
        if scheme == "IBI":
            self.doubt(
                Sentence(
                    "The label %(label)s was left out: the item has labels of its own.",
                    label=shown(bare),
                )
            )
        elif scheme == "DOI":
            self.add("identifiers", f"https://doi.org/{bare}", field)
        elif scheme in {"ISBN", "ISSN"}:
            self.add("identifiers", f"{scheme} {bare}", field)
        else:
            self.add("identifiers", text, field)

    def add_licence(self, text: str, field: str) -> None:
        """Add a licence by identifier or address; other texts are rights."""
        try:
            given = unfinished_record_from({"licence": licence_at(one_line(text))})
            licence = checked_by_lists(given).licence
        except MetadataError:
            self.add("rights", one_line(text), field)
            return
        self._licence = self._licence or licence
        if licence not in {"", self._licence}:
            self.doubt(
                Sentence(
                    "The licence %(licence)s was left out: there is another one.",
                    licence=shown(licence),
                )
            )

    def doubt(self, sentence: str) -> None:
        """Add a doubt, once."""
        if len(self._doubts) < MOST_DOUBTS:
            self._doubts[sentence] = None

    def left_out(self, fields: Iterable[str]) -> None:
        """Add a doubt that names fields for which a record has no place."""
        names = ", ".join(shown(name) for name in fields)
        if names:
            self.doubt(Sentence("A record has no place for %(names)s.", names=names[:1000]))

    def reading(self) -> Reading:
        """Return the record; MetadataError if nothing was read."""
        parts: dict[str, Any] = {name: tuple(values) for name, values in self._found.items()}
        record = MetadataRecord(**{"titles": (), **parts, "licence": self._licence})
        if record == MetadataRecord(titles=()):
            raise MetadataError(Sentence("The file describes nothing that a record can have."))
        return Reading(unfinished_record_from(record_as_dict(record)), tuple(self._doubts))


def texts_in(value: object) -> list[str]:
    """Return the texts of a value of a JSON or YAML file: one, or a list of them."""
    values = value if isinstance(value, list) else [value]
    return [str(each) for each in values if isinstance(each, str | int | float) and each != ""]


def text_in(value: object) -> str:
    """Return the only text of a value; empty if there is none."""
    return next(iter(texts_in(value)), "")


def objects_in(value: object) -> list[Mapping[str, object]]:
    """Return the objects of a value of a JSON or YAML file: one, or a list of them."""
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, Mapping)]
