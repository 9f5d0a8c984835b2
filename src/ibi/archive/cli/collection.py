"""`ibi archive collection`: collections, and the items that belong to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import quote

import click

from ibi.archive.cli.options import archive_options
from ibi.archive.collections import MOST_AT_ONCE
from ibi.client.archive import RemoteArchive
from ibi.errors import printable
from ibi.foundation.cli.options import json_option, show

_EXAMPLES: Final = """\b
Examples:
  ibi archive deposit --type Collection --title "Field notes" --creator INPE --date 1998
  ibi archive collection add COLLECTION ITEM ITEM
  ibi archive collection list
"""


@click.group(epilog=_EXAMPLES)
def collection() -> None:
    """Add items to collections, remove them, and list collections.

    A collection is an item of the type Collection: it is deposited and described as any other.
    """


def _path(ibi: str) -> str:
    return f"collections/{quote(ibi, safe='')}"


def _parts(items: Sequence[str]) -> Iterator[list[str]]:
    return (
        list(items[start : start + MOST_AT_ONCE]) for start in range(0, len(items), MOST_AT_ONCE)
    )


def _change(archive: RemoteArchive, ibi: str, field: str, items: Sequence[str]) -> dict[str, Any]:
    """Change the members part by part, and return the collection."""
    answer: dict[str, Any] = {}
    for part in _parts(items):
        answer = archive.ask("PATCH", _path(ibi), {field: part})
    return answer


def _line(each: dict[str, Any]) -> str:
    title = printable(each["title"])
    return f"{each['rep']}\t{each['ibip']}\t{each['items']}\t{title}"


@collection.command("add")
@click.argument("collection_ibi", metavar="COLLECTION")
@click.argument("items", metavar="ITEM...", nargs=-1, required=True)
@archive_options
@json_option
def add_items(
    archive: RemoteArchive, collection_ibi: str, items: tuple[str, ...], *, as_json: bool
) -> None:
    """Add ITEMs to a COLLECTION; those that belong to it already stay.

    All of up to 100 items are added, or none; of more, each hundred.
    """
    answer = _change(archive, collection_ibi, "add", items)
    show(answer, _line(answer), as_json=as_json)


@collection.command("remove")
@click.argument("collection_ibi", metavar="COLLECTION")
@click.argument("items", metavar="ITEM...", nargs=-1, required=True)
@archive_options
@json_option
def remove_items(
    archive: RemoteArchive, collection_ibi: str, items: tuple[str, ...], *, as_json: bool
) -> None:
    """Remove ITEMs from a COLLECTION; the items themselves stay."""
    answer = _change(archive, collection_ibi, "remove", items)
    show(answer, _line(answer), as_json=as_json)


@collection.command("list")
@click.argument("collection_ibi", metavar="[COLLECTION]", default="")
@archive_options
@json_option
def list_collections(archive: RemoteArchive, collection_ibi: str, *, as_json: bool) -> None:
    """List the collections, or the items of a COLLECTION.

    A line has the labels, of a collection the number of its items, and the title.
    """
    if collection_ibi:
        found = _all_pages(archive, "search", "items", collection=collection_ibi)
        lines = [f"{each['rep']}\t{each['ibip']}\t{printable(each['title'])}" for each in found]
        show({"items": found}, "\n".join(lines), as_json=as_json)
        return
    found = _all_pages(archive, "collections", "collections")
    show({"collections": found}, "\n".join(map(_line, found)), as_json=as_json)


def _all_pages(archive: RemoteArchive, path: str, field: str, **query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    page = pages = 1
    while page <= pages:
        answer = archive.ask("GET", path, query={**query, "page": str(page)})
        found += answer[field]
        page, pages = page + 1, answer["pages"]
    return found
