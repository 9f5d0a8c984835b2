"""Which items are published to harvesters, in which sets, and what counts as a change of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b
from typing import Final

from ibi.archive.rules.manifest import document
from ibi.archive.rules.search.document import facets_of
from ibi.metadata.formats import HARVESTED
from ibi.model.item import Item, State
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord

TYPE: Final = "type:"
COLLECTION: Final = "collection:"
FORMAT: Final = "format:"
"""Begins the set of items that a format is for, if it is not for all."""
_PLAIN: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.!*'()")
"""The characters of a setSpec (OAI-PMH 2.0, 2.6) without `~`, which begins an escape here."""
_LONGEST: Final = 200
"""Characters of the value in a setSpec."""


def subjects(items: Iterable[Item]) -> dict[str, Forms]:
    """Return the items of data that these items are or describe, by their canonical labels."""
    found: dict[str, Forms] = {}
    for item in items:
        forms = item.forms if item.kind == "data" else item.describes
        if forms is not None:
            found[forms.label.canonical] = forms
    return found


def is_published(item: Item) -> bool:
    """Return whether harvesters learn of an item: Originals, and what is left of deleted ones.

    The archive of the Original publishes it: a harvester of several archives gets each work once.
    """
    return item.kind == "data" and item.state is not State.COPY


def sets_of(item: Item, record: MetadataRecord | None) -> tuple[str, ...]:
    """Return the sets of an item, as setSpec."""
    facets = facets_of(item, record)
    collections = (f"{COLLECTION}{_spelled(value)}" for value in facets["collection"])
    types = (f"{TYPE}{_spelled(value)}" for value in facets["type"])
    formats = (
        f"{FORMAT}{prefix}"
        for prefix, each in HARVESTED.items()
        if each.is_limited and record is not None and each.describes(record)
    )
    return tuple(dict.fromkeys((*collections, *types, *formats)))


def value_of(set_spec: str) -> str:
    """Return the type, or the label of the collection, in the setSpec of a set that exists."""
    first, *escaped = set_spec.partition(":")[2].split("~")
    octets = [first.encode(), *(bytes.fromhex(each[:2]) + each[2:].encode() for each in escaped)]
    return b"".join(octets).decode(errors="replace")


def fingerprint(item: Item, record: MetadataRecord | None) -> bytes:
    """Return a digest of all that harvesters may learn of an item.

    A transfer that has begun changes nothing for them.
    """
    shown = document(replace(item, transfer=None, custody=()))
    described = document(replace(item, record=record))
    return blake2b(f"{shown}\0{described}".encode(), digest_size=16).digest()


def _spelled(value: str) -> str:
    spelled = ""
    for octet in value.encode():
        character = chr(octet)
        spelled += character if character in _PLAIN else f"~{octet:02X}"
    cut = spelled[:_LONGEST]
    # Not in the middle of an escape.
    return cut if len(cut) == len(spelled) or "~" not in cut[-2:] else cut[: cut.rindex("~")]
