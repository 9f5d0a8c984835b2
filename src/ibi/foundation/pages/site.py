"""The frame of all pages of one archive or resolver: its name, look, and entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Entry(NamedTuple):
    """A link in the navigation or the footer of every page."""

    path: str
    """A path below the site's address, or a whole address."""
    name: str
    """The English name, which the message catalogues translate."""

    @property
    def is_own(self) -> bool:
        """Whether it is a page of the site itself."""
        return self.path.startswith("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What the frame shows of an archive or a resolver."""

    name: str
    navigation: tuple[Entry, ...] = ()
    footer: tuple[Entry, ...] = ()
    has_accounts: bool = False
    """Whether people sign in here, so that every page leads to their accounts."""
    search: str = ""
    """The path of the search, which every page has a field for; empty if there is none."""
    contact: str = ""
    """The address for questions, a mailto or a page; empty if there is none."""
    logo: str = ""
    """The path of the logo; empty for the mark of IBI."""
    picture: str = ""
    """The path of the logo, if it is an image that other sites show beside a link."""
    accent: str = ""
    """The path of a style sheet that sets the accent colour; empty for the usual colour."""
