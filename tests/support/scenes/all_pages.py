"""All pages of an installation, for judges."""

from __future__ import annotations

from urllib.parse import quote

from tests.support.clients.page_crawler import FoundPage, crawl
from tests.support.scenes.published_items import Published

NEVER_MINTED = "LK47B6W/3S8T2FH"
"""A label of an archive that does not exist."""

_ITEMS = (
    "note",
    "note-3-pt",
    "satellites",
    "service",
    "draft",
    "report",
    "dataset",
    "many",
    "limited",
    "tides-0",
    "tongues",
    "several",
)
"""Items whose pages differ by what they show."""


def starts(library: Published) -> list[str]:
    """Return the addresses that lead to all pages, also those that no page links to."""
    label, gone = library.labels["note"], library.labels["draft"]
    return [
        f"{library.archive}/",
        f"{library.resolver}/",
        *(library.page(name) for name in _ITEMS if name in library.labels),
        *(
            f"{library.page(name)}?list={listed}"
            for name, listed in (("tides-0", "editions"), ("tongues", "translations"))
            if name in library.labels
        ),
        f"{library.archive}/search?q=estuary",
        f"{library.archive}/search?q=estuary&page=2",
        f"{library.archive}/search?q=nothingofthekind",
        f"{library.archive}/search",
        f"{library.archive}/browse",
        f"{library.archive}/statistics",
        f"{library.archive}/collections",
        f"{library.archive}/api",
        f"{library.archive}/api?part=items",
        f"{library.resolver}/api?part=archives",
        f"{library.archive}/no/such/page",
        f"{library.archive}/{NEVER_MINTED}",
        f"{library.archive}/{gone}",
        f"{library.resolver}/search?q=estuary",
        f"{library.resolver}/{NEVER_MINTED}",
        f"{library.resolver}/no/such/page",
        f"{library.resolver}/{gone}",
        f"{library.resolver}/{label}?ibiurl.verblist=GetNothing",
        f"{library.resolver}/?q={label}",
        f"{library.resolver}/?q=not+a+label",
        f"{library.resolver}/explain?url={quote(label + '!+(pt)')}",
        f"{library.resolver}/explain?url={NEVER_MINTED}",
        f"{library.resolver}/{label}+(ja)",
    ]


class AllPages:
    """The pages of an installation, in each language, read once."""

    def __init__(self, library: Published) -> None:
        """Read the pages of an installation that does not change."""
        self._starts = starts(library)
        self._found: dict[str, list[FoundPage]] = {}

    def of(self, language: str) -> list[FoundPage]:
        """Return all pages, some of each kind."""
        if language not in self._found:
            self._found[language] = crawl(self._starts, language)
        return self._found[language]

    def kinds(self, language: str) -> list[FoundPage]:
        """Return one page of each kind, and the page of each item that shows something else."""
        kinds: dict[str, FoundPage] = {}
        for page in self.of(language):
            is_item = page.url.endswith("/doc/metadata")
            kinds.setdefault(page.heading if is_item else page.shape, page)
        return list(kinds.values())
