"""The items that a person may act on by pages: by the same check of rights as the API."""

from __future__ import annotations

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.item_rights import ItemRights
from ibi.archive.rules.scopes import DEPOSIT, Caller
from ibi.errors import RoleError, UnknownError
from ibi.foundation.web.visitor import Visitor
from ibi.identifier.label import Label


class ItemAccess:
    """Finds the items that a person may act on."""

    def __init__(self, archive: Archive) -> None:
        """Find items of an archive."""
        self._archive = archive
        self._rights = ItemRights(archive)

    def get(self, label: Label, visitor: Visitor) -> ItemWithMetadata:
        """Return an item; raise RoleError if the person may not act on it."""
        look = self._archive.get_described(label)
        if look.item.kind != "data":
            raise UnknownError("item", str(label))
        self._rights.check(Caller(visitor.actor, visitor.scopes), look.item)
        return look

    def allows(self, look: ItemWithMetadata, visitor: Visitor) -> bool:
        """Return whether a person may act on an item, of which the metadata may be what is read."""
        if DEPOSIT not in visitor.scopes:
            return False
        try:
            self._rights.check(Caller(visitor.actor, visitor.scopes), look.item)
        except RoleError:
            return False
        return True
