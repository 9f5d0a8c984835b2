"""An archive for tests whose search answers with what it was told."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import parse_qs, urlsplit

from tests.support.doubles.archive import ArchiveDouble

_SEARCH: Final = "/api/v1/search"


def found(*items: Mapping[str, object], count: int | None = None) -> bytes:
    """Write the answer to a search, as an archive of this software does."""
    number = len(items) if count is None else count
    return json.dumps({"count": number, "more": False, "items": items}).encode()


class SearchableArchive(ArchiveDouble):
    """Has a search, and documents at other paths."""

    def __init__(self, service: str) -> None:
        """Find nothing yet."""
        super().__init__(service)
        self.results = found()
        """The body of its answer to every search."""
        self.searches: list[str] = []
        """The words that it was asked for."""
        self.status = 200
        self.documents: dict[str, tuple[int, bytes]] = {}
        """Status and body of further documents in JSON, by path."""
        self.on_document: Callable[[], object] = lambda: None
        """Called before each document is sent."""

    def document(self, target: str) -> tuple[int, bytes] | None:
        """Return status and body of a document; None if the protocol answers."""
        parts = urlsplit(target)
        if parts.path == _SEARCH:
            self.on_document()
            with self._asked:
                self.searches.append(parse_qs(parts.query).get("q", [""])[0])
            return self.status, self.results
        if parts.path in self.documents and not parts.query:
            self.on_document()
            return self.documents[parts.path]
        return None
