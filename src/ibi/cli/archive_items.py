"""`ibi archive show`, `describe`, `edition`, `translation`, `delete`: items of an archive."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
import msgspec

from ibi.adapters.remote_archive import RemoteArchive
from ibi.cli.archive_options import archive_options, json_option, show
from ibi.errors import ArchiveRequestError, shown


def add_to(archive: click.Group) -> None:
    """Add the commands of this module."""
    for command in (list_items, show_item, files, describe, edition, translation, delete):
        archive.add_command(command)


def _item(ibi: str) -> str:
    """Return where the API has an item; whatever is no label stays one word, and is refused."""
    return f"items/{quote(ibi, safe='')}"


@click.command("list")
@click.option("--kind", default="data", show_default=True, help="data, metadata or service.")
@archive_options
@json_option
def list_items(archive: RemoteArchive, *, kind: str, as_json: bool) -> None:
    """List all items, the oldest first.

    Example: ibi archive list
    """
    after = "0"
    while after:
        page = archive.ask("GET", "items", query={"after": after, "kind": kind, "limit": "1000"})
        for item in page["items"]:
            show(item, f"{item['rep']}\t{item['ibip']}\t{item['state']}", as_json=as_json)
        after = page["after"]


@click.command("show")
@click.argument("ibi")
@archive_options
@json_option
def show_item(archive: RemoteArchive, ibi: str, *, as_json: bool) -> None:
    """Show what is known of the item IBI.

    Example: ibi archive show IBI
    """
    item = archive.ask("GET", _item(ibi))
    show(item, _written(item), as_json=as_json)


def _written(item: dict[str, Any]) -> str:
    lines = []
    for name, value in item.items():
        text = value if isinstance(value, (str, int)) else msgspec.json.encode(value).decode()
        lines.append(f"{name:17} {text}")
    return "\n".join(lines)


@click.command()
@click.argument("ibi")
@archive_options
@json_option
def files(archive: RemoteArchive, ibi: str, *, as_json: bool) -> None:
    """List the files of the item IBI, with their checksums.

    Example: ibi archive files IBI
    """
    for file in archive.files(ibi):
        show(file, f"{file['sha256']}  {file['size']:>12}  {file['path']}", as_json=as_json)


@click.command()
@click.argument("ibi")
@click.option("--metadata", "record", type=click.Path(path_type=Path), help="JSON, or oai_dc XML.")
@click.option("--title", help="A title; the rest of the record stays.")
@click.option("--language", metavar="xx[-XX]", help="Of the item.")
@click.option("--target", metavar="FILE", help="To which the label leads.")
@click.option("--public-list/--private-list", default=None, help="Who may see which files it has.")
@click.option("--name", "names", multiple=True, metavar="IBI", help="A further name of the item.")
@archive_options
@json_option
def describe(  # noqa: PLR0913  # one argument an option
    archive: RemoteArchive,
    ibi: str,
    *,
    record: Path | None,
    title: str | None,
    language: str | None,
    target: str | None,
    public_list: bool | None,
    names: tuple[str, ...],
    as_json: bool,
) -> None:
    """Change what is said of the item IBI.

    Example: ibi archive describe IBI --title "A better title"
    """
    changes: dict[str, Any] = {}
    item: dict[str, Any] = {}
    if record is not None and record.suffix.lower() == ".xml":
        item = archive.put_xml(f"{_item(ibi)}/metadata", _read(record))
    elif record is not None:
        changes["metadata"] = _record(record)
    if title is not None:
        known = changes.get("metadata") or archive.ask("GET", f"{_item(ibi)}/metadata")
        changes["metadata"] = {**known, "titles": [title]}
    given = {"language": language, "target": target, "list_public": public_list}
    changes |= {name: value for name, value in given.items() if value is not None}
    if names:
        changes["further_names"] = list(names)
    if changes:
        item = archive.ask("PATCH", _item(ibi), changes)
    if not item:
        msg = "Nothing to change: say what is different now."
        raise ArchiveRequestError(msg)
    show(item, _written(item), as_json=as_json)


def _record(path: Path) -> dict[str, Any]:
    try:
        return msgspec.json.decode(_read(path), type=dict[str, Any])
    except msgspec.MsgspecError as fault:
        msg = f"{shown(str(path))} cannot be read as a record in JSON: {fault}."
        raise ArchiveRequestError(msg) from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as failure:
        msg = f"{shown(str(path))} cannot be read: {failure.strerror}."
        raise ArchiveRequestError(msg) from None


@click.command()
@click.argument("ibi")
@click.argument("next_ibi", metavar="NEXT")
@archive_options
@json_option
def edition(archive: RemoteArchive, ibi: str, next_ibi: str, *, as_json: bool) -> None:
    """Say that NEXT, held here or elsewhere, is the next edition of the item IBI.

    Example: ibi archive edition IBI NEXT
    """
    item = archive.ask("PATCH", _item(ibi), {"next_edition": next_ibi})
    show(item, _written(item), as_json=as_json)


@click.command()
@click.argument("ibi")
@click.argument("language", metavar="xx[-XX]")
@click.argument("other")
@archive_options
@json_option
def translation(
    archive: RemoteArchive, ibi: str, language: str, other: str, *, as_json: bool
) -> None:
    """Say that OTHER, held here or elsewhere, is the translation of the item IBI into a language.

    Example: ibi archive translation IBI pt-BR OTHER
    """
    item = archive.ask("PATCH", _item(ibi), {"translations": {language: other}})
    show(item, _written(item), as_json=as_json)


@click.command()
@click.argument("ibi")
@click.option("--reason", required=True, help="Why; readers will see it.")
@click.option("--replaced-by", default="", metavar="IBI", help="What takes its place.")
@click.option("--with-metadata", is_flag=True, help="What was said of it goes too.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@archive_options
@json_option
def delete(  # noqa: PLR0913  # one argument an option
    archive: RemoteArchive,
    ibi: str,
    *,
    reason: str,
    replaced_by: str,
    with_metadata: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Delete the item IBI: its files go, its tombstone stays for ever.

    Example: ibi archive delete IBI --reason "Deposited twice" --replaced-by OTHER
    """
    item = archive.ask("GET", _item(ibi))
    if not yes and sys.stdin is not None and sys.stdin.isatty():
        click.confirm(f"Delete {item['rep'] or item['ibip']} for ever?", abort=True, err=True)
    body = {"reason": reason, "replaced_by": replaced_by, "with_metadata": with_metadata}
    answer = archive.ask("POST", f"{_item(ibi)}/deletion", body)
    show(answer, f"deleted {answer['rep'] or answer['ibip']}", as_json=as_json)
