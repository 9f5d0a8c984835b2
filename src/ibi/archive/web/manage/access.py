"""Which items a person may act on by pages: those of the person's own drafts, or as curator all."""

from __future__ import annotations

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.rules.scopes import CURATE
from ibi.errors import RoleError, UnknownError
from ibi.foundation.web.visitor import Visitor
from ibi.identifier.label import Label


class ItemAccess:
    """Finds the items that a person may act on."""

    def __init__(self, archive: Archive) -> None:
        """Find items of an archive."""
        self._archive = archive
        self._drafts = archive.catalogue.drafts

    def get(self, label: Label, visitor: Visitor) -> ItemWithMetadata:
        """Return an item; raise RoleError if the person may not act on it."""
        look = self._archive.get_described(label)
        if look.item.kind != "data":
            raise UnknownError("item", str(label))
        if CURATE not in visitor.scopes and not self._is_own(look, visitor):
            raise RoleError(CURATE)
        return look

    def _is_own(self, look: ItemWithMetadata, visitor: Visitor) -> bool:
        draft = self._drafts.get(self._drafts.with_label(look.item.forms.label.canonical))
        return draft is not None and draft.owner == visitor.actor
