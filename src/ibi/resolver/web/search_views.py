"""The content of the search page of a resolver, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from ibi.model.registration import RegisteredArchive
from ibi.resolver.rules.archive_documents import FoundItems
from ibi.resolver.rules.archive_site import site_of
from ibi.resolver.web.pasted_text import PastedText


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedArchive:
    """An archive as pages show it. Its name is its own claim, so its address stands beside it."""

    service: str
    """The label of its service."""
    address: str
    name: str = ""
    """The name that it gives itself; empty if it is not known."""

    @classmethod
    def of(cls, archive: RegisteredArchive, name: str) -> Self:
        """Return an archive with a name."""
        return cls(service=archive.service.spelling, address=archive.address, name=name)

    @property
    def site(self) -> str:
        """The address of its front page; empty if there is none."""
        return site_of(self.address)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedArchive:
    """An archive in the list on the front page."""

    archive: NamedArchive
    labels: int
    """The number of labels in its digest; 0 if it publishes none."""
    is_down: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedArchive:
    """The items that one archive found."""

    archive: NamedArchive
    found: FoundItems
    page: str
    """The address of its own search page for the same words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedArchives:
    """What archives found by words."""

    words: str
    count: int
    """The number of hits of all archives."""
    found: tuple[SearchedArchive, ...] = ()
    without: tuple[NamedArchive, ...] = ()
    """Archives that found nothing."""
    silent: tuple[tuple[NamedArchive, str], ...] = ()
    """Archives that did not answer, and why, in English."""
    not_asked: int = 0

    @property
    def asked(self) -> int:
        """The number of archives that were asked, or would have been if they were up."""
        return len(self.found) + len(self.without) + len(self.silent)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchView:
    """What a reader wrote into the field: words with results, or an identifier."""

    pasted: PastedText
    results: SearchedArchives | None = None
    """None if the text is no search by words."""
    meant: tuple[str, ...] = ()
    """Labels that archives list, and that may have been meant by one that none lists."""
