"""What is searched of the files of an item: which files, and the terms of their texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ibi.archive.ports.full_text import TextKind
from ibi.archive.ports.search import SearchDocument
from ibi.archive.rules.search.document import document_of, is_searched
from ibi.archive.rules.search.terms import stems_of, words_of
from ibi.model.item import Item
from ibi.model.metadata_record import MetadataRecord

MOST_FILES: Final = 50
"""Files of an item whose text is extracted: an item of ten thousand pages must not keep all others
waiting for an hour."""
MOST_PICTURES: Final = 10
"""Files of an item of which a picture of the first page is made, the target first."""
MOST_TEXT: Final = 400_000
"""Characters of the texts of an item, two long reports; later files are left out."""
PHRASE_WORDS: Final = 10_000
"""Words of the texts of an item that are indexed with their places, for phrases. PostgreSQL numbers
up to 16,383 places, of which the description has a part. Later words are indexed without a place,
each once."""
_ROOM: Final = 700_000
"""Bytes for the terms of an item: PostgreSQL stores less than a megabyte of them."""
_ROOM_OF_TERM: Final = 8
"""Bytes that a term takes beside its letters."""

_PLAIN: Final = frozenset({"application/x-tex", "application/x-ndjson"})
_MARKUP: Final = frozenset({"text/html", "application/xhtml+xml"})


def text_kind(media_type: str) -> TextKind | None:
    """Return how the text of a file is extracted; None if it has none that can be."""
    if media_type == "application/pdf":
        return "pdf"
    if media_type in _MARKUP:
        return "html"
    return "text" if media_type.startswith("text/") or media_type in _PLAIN else None


def has_public_files(item: Item) -> bool:
    """Return whether every reader may list and read the files of an item that is searched.

    Otherwise its files are not searched: a hit or a snippet would tell what is in them.
    """
    return is_searched(item) and not item.readers and item.list_public


def full_document(
    item: Item, record: MetadataRecord | None, texts: Sequence[str]
) -> SearchDocument:
    """Return the terms of an item with its description and the texts of its files.

    An item is found if one word is in its description and another in its files.
    """
    described = document_of(item, record)
    words = _FileWords(item, _room_beside(described))
    for text in texts:
        words.add(text)
    return replace(
        described,
        title=(),
        title_stems=(),
        body=(*described.title, *described.body, *map(tuple, words.runs)),
        body_stems=tuple(
            dict.fromkeys((*described.title_stems, *described.body_stems, *words.stems))
        ),
    )


def _room_beside(document: SearchDocument) -> int:
    runs = (*document.title, *document.body)
    terms = {*document.title_stems, *document.body_stems, *(word for run in runs for word in run)}
    return _ROOM - sum(map(_room_of, terms))


def _room_of(term: str) -> int:
    return len(term.encode()) + _ROOM_OF_TERM


class _FileWords:
    """Gathers the words of texts while there is room."""

    def __init__(self, item: Item, room: int) -> None:
        self.runs: list[list[str]] = []
        """Words that follow each other; of words without a place, one run each."""
        self.stems: dict[str, None] = {}
        self._language = item.language.code.partition("-")[0] if item.language else ""
        self._room = room
        self._places = PHRASE_WORDS
        self._known: set[str] = set()

    def add(self, text: str) -> None:
        """Add the words of a text."""
        run: list[str] = []
        self.runs.append(run)
        for word in words_of(text):
            is_new = word not in self._known
            if is_new and not self._is_added(word):
                return
            if self._places:
                run.append(word)
                self._places -= 1
            elif is_new:
                self.runs.append([word])

    def _is_added(self, word: str) -> bool:
        stems = stems_of(word, self._language)
        self._room -= _room_of(word) + sum(map(_room_of, stems))
        if self._room < 0:
            return False
        self._known.add(word)
        self.stems |= dict.fromkeys(stems)
        return True
