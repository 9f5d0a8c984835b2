"""Whether a person who follows a label lands on the page of the item, or in its target file.

The standard's answers to resolvers are not affected: they name the target file. A browser says
that a person navigates (Fetch Metadata, W3C); programs never do, so they always get the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ibi.archive.ports.catalogue import Items, StoredItem
from ibi.archive.settings import Landing
from ibi.archive.web.delivery.media_types import is_shown
from ibi.model.item import State
from ibi.wire.percent_encoding import path as in_url

VARY: Final = "Accept, Sec-Fetch-Mode, Sec-Fetch-Site"
"""The headers on which an answer depends if it may be a page or a file."""


def navigates(headers: Mapping[str, str]) -> bool:
    """Return whether a person goes to an address with a browser."""
    is_navigation = headers.get("sec-fetch-mode") == "navigate"
    # A frame or an embedded object shows the file itself.
    is_whole_window = headers.get("sec-fetch-dest", "document") == "document"
    return is_navigation and is_whole_window and "text/html" in headers.get("accept", "")


def comes_from_elsewhere(headers: Mapping[str, str]) -> bool:
    """Return whether a person comes by a link of another site, or by an address that was typed.

    A resolver's redirect comes so, also if the link to the resolver is on a page of the archive.
    A link to the file on a page of the archive does not.
    """
    return navigates(headers) and headers.get("sec-fetch-site") != "same-origin"


def embedded_as(headers: Mapping[str, str]) -> str:
    """Return as what a page of the archive itself shows a file: "image", "audio" or "video"."""
    is_own = headers.get("sec-fetch-site") == "same-origin"
    kind = headers.get("sec-fetch-dest", "")
    return kind if is_own and kind in {"image", "audio", "video"} else ""


def lands_on_page(landing: Landing, *, is_shown: bool, is_chosen: bool = True) -> bool:
    """Return whether people land on the page of an item.

    `is_shown`: browsers show its target; `is_chosen`: the depositor chose that among its files.
    """
    return landing == "page" or (landing == "auto" and not (is_shown and is_chosen))


class LandingPages:
    """Finds the pages on which people land."""

    def __init__(self, items: Items, base: str, landing: Landing) -> None:
        """Decide by the setting of an archive whose public address is `base`."""
        self._items = items
        self._base = base
        self._landing = landing

    def may_differ(self, held: StoredItem) -> bool:
        """Return whether people may get something else than the target file of an item."""
        item = held.item
        if self._landing == "standard" or item.kind != "data" or not item.target:
            return False
        target = self._items.file(held.id, item.target)
        return target is not None and lands_on_page(
            self._landing, is_shown=is_shown(target), is_chosen=item.target_chosen
        )

    def address(self, held: StoredItem) -> str:
        """Return the URL of the page on which people land; empty if they get the file."""
        metadata = held.item.metadata
        if metadata is None or not self.may_differ(held):
            return ""
        page = self._items.find(metadata.label.canonical)
        if page is None or page.item.state is State.DELETED:
            return ""
        label = page.item.forms.label.spelling
        return f"{self._base}/col/{label}/doc/{in_url(page.item.target)}"
