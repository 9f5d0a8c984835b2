"""Rows of the catalogue from which the search makes its terms."""

from __future__ import annotations

from ibi.archive.rules.manifest import read_document
from ibi.foundation.sql.database import Execute
from ibi.model.item import Item
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord


def read_item(execute: Execute, number: int) -> Item | None:
    """Return the item of a number."""
    rows = execute("SELECT document FROM archive_item WHERE id = $1", number)
    return read_document(rows[0][0]) if rows else None


def find_item(execute: Execute, forms: Forms) -> tuple[int, Item] | None:
    """Return the item with one of these labels, and its number."""
    select = (
        "SELECT i.id, i.document FROM archive_item i JOIN archive_name n ON n.item = i.id "
        "WHERE n.name = $1"
    )
    for label in forms:
        for number, text in execute(select, label.canonical):
            return int(number), read_document(text)
    return None


def find_record(execute: Execute, item: Item) -> MetadataRecord | None:
    """Return the description of an item."""
    found = find_item(execute, item.metadata) if item.metadata else None
    return found[1].record if found else None
