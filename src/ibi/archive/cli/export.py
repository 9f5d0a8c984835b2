"""`ibi archive export` and `ibi archive key`: export items of an archive in a bag."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from ibi.archive.cli.bag_export import (
    BagExporter,
    ExportProgress,
    entries_of,
    entry_of,
    incoming_of,
)
from ibi.archive.cli.options import archive_options
from ibi.archive.rules import bagit
from ibi.archive.rules.handover import HandedItem, HandOver, document_id
from ibi.archive.rules.incoming_item import read_incoming
from ibi.archive.storage.bags.writer import BagWriter
from ibi.client.archive import RemoteArchive
from ibi.errors import ArchiveRequestError, StateError
from ibi.foundation.cli.confirmation import confirm, require_confirmation, yes_option
from ibi.foundation.cli.options import is_terminal, json_option, show
from ibi.foundation.cli.progress import Progress, shown_progress

_BATCH: Final = 500
"""Items that are handed over in one request."""


_EXAMPLES = """\b
Examples:
  ibi archive export IBI bag
  ibi archive export --all /media/disk/bag
  ibi archive export IBI bag --hand-over-to SERVICE_IBI
"""


@click.command(epilog=_EXAMPLES)
@click.argument("arguments", nargs=-1, required=True, metavar="[IBI]... FOLDER")
@click.option("--all", "everything", is_flag=True, help="All items but those that were deleted.")
@click.option(
    "--hand-over-to",
    "recipient",
    default="",
    metavar="SERVICE_IBI",
    help="Hand the Originals over to the archive with this service label.",
)
@yes_option
@archive_options
@json_option
def export(  # noqa: PLR0913  # one argument an option
    archive: RemoteArchive,
    arguments: tuple[str, ...],
    *,
    everything: bool,
    recipient: str,
    yes: bool,
    as_json: bool,
) -> None:
    """Write the items IBI, or all, into a new FOLDER: a bag (BagIt, RFC 8493).

    The same command resumes an interrupted export.

    With --hand-over-to this archive keeps only Copies, and the bag gives the Originals to the named
    archive and to no other. Only a hand-over back can undo that.
    """
    *named, folder = arguments
    if bool(named) == everything:
        raise click.UsageError("Name the items and then the folder, or --all and the folder.")
    labels = list(dict.fromkeys(entry["label"] for entry in _named(archive, named)))
    if recipient:
        require_confirmation(yes=yes)
        _check_giving(archive, labels, recipient, yes=yes)
    about = archive.ask("GET", "archive")
    purpose = {"archive": about["address"], "items": labels, "hand_over_to": recipient}
    writer = BagWriter(Path(folder), purpose)
    try:
        with shown_progress() as progress:
            done = _write(archive, writer, labels, progress)
            tags = {}
            if recipient:
                progress("Handing over", 0, 0)
                tags[bagit.HAND_OVER_FILE] = _hand_over(archive, writer, labels, recipient)
            progress("Writing to the disk", 0, 0)
            writer.finish(_info(archive, about, labels), tags)
    finally:
        writer.close()
    facts = {"folder": folder, "items": done.items, "files": writer.count, "bytes": writer.size}
    text = f"exported {done.items} items to {folder}: {writer.count} files, {writer.size} bytes"
    show(facts, text, as_json=as_json)


def _named(archive: RemoteArchive, named: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the named items; an item that is named twice is yielded twice."""
    return (entry_of(archive, label) for label in named)


def _write(
    archive: RemoteArchive, writer: BagWriter, labels: Sequence[str], progress: Progress
) -> ExportProgress:
    total = _total(archive, labels, progress) if is_terminal() else 0

    def report(done: ExportProgress) -> None:
        progress("Exporting", done.bytes, total)

    return BagExporter(archive, writer, report).export(entries_of(archive, labels))


def _total(archive: RemoteArchive, labels: Sequence[str], progress: Progress) -> int:
    """Return the bytes of all items that are to be exported."""
    progress("Listing items", 0, 0)
    return sum(
        file.size for entry in entries_of(archive, labels) for file in incoming_of(entry).files
    )


def _check_giving(
    archive: RemoteArchive, labels: Sequence[str], recipient: str, *, yes: bool
) -> None:
    """Check that all items can be handed over, and ask for confirmation."""
    count = 0
    for some in _batches(archive, labels):
        archive.ask("POST", "hand-overs/check", _wanted(some, labels, recipient))
        count += len(some)
    originals = f"{count} Original{'' if count == 1 else 's'}"
    text = f"Give {originals} up to {recipient}? Only a hand-over back can undo it."
    confirm(text, yes=yes)


def _batches(archive: RemoteArchive, labels: Sequence[str]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for entry in entries_of(archive, labels):
        batch.append(entry)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _wanted(
    entries: Sequence[dict[str, Any]], labels: Sequence[str], recipient: str
) -> dict[str, Any]:
    """Return the items to hand over: all Originals, or each named item."""
    items = [entry["label"] for entry in entries]
    return {"recipient": recipient, "items": items, "leave_copies": not labels}


def _hand_over(
    archive: RemoteArchive, writer: BagWriter, labels: Sequence[str], recipient: str
) -> bytes:
    """Hand the Originals over; return the document that is valid for the items of the bag."""
    found: list[HandOver] = []
    for some in _batches(archive, labels):
        # Items deposited since then are not in the bag, and stay.
        written = [entry for entry in some if writer.has(entry["label"])]
        if written:
            answer = archive.ask("POST", "hand-overs", _wanted(written, labels, recipient))
            found.append(msgspec.convert(answer, HandOver))
    items = [item for paper in found for item in paper.items]
    if not items:
        msg = "There is nothing to hand over."
        raise ArchiveRequestError(msg)
    for item in items:
        _check_content(writer.folder, item)
    id_ = document_id(item.transfer for item in items)
    document = msgspec.structs.replace(found[0], id=id_, items=items)
    return msgspec.json.format(msgspec.json.encode(document)) + b"\n"


def _check_content(folder: Path, item: HandedItem) -> None:
    """Raise StateError if the item was changed between the export and the hand-over."""
    texts = [
        (folder / f"{bagit.ITEMS}{place}/{bagit.MANIFEST}").read_bytes() if place else None
        for place in (item.label, item.metadata)
    ]
    if read_incoming(item.label, texts[0] or b"", texts[1]).digest != item.digest:
        msg = f"{item.label} was changed before it was handed over: run the same command again."
        raise StateError(msg)


def _info(
    archive: RemoteArchive, about: dict[str, Any], labels: Sequence[str]
) -> list[tuple[str, str]]:
    pairs = [
        ("Source-Organization", about["name"]),
        ("Bagging-Date", datetime.now(UTC).date().isoformat()),
        ("Bag-Software-Agent", f"ibi {metadata.version('ibi')}"),
        ("Internal-Sender-Identifier", about["address"]),
    ]
    contact = archive.ask("GET", "manifests", query={"limit": "1"}).get("contact", "")
    if contact:
        pairs.append(("Contact-Email", contact))
    return [*pairs, *(("External-Identifier", label) for label in labels)]


@click.command()
@archive_options
@json_option
def key(archive: RemoteArchive, *, as_json: bool) -> None:
    """Show the public key that verifies the hand-overs of this archive.

    Example: ibi archive key
    """
    about = archive.ask("GET", "archive")
    show({"address": about["address"], "key": about["key"]}, about["key"], as_json=as_json)
