"""`ibi archive import`: imports the items of a bag of another archive."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import msgspec

from ibi.archive.cli.bag_import import BagImport
from ibi.archive.cli.options import archive_options
from ibi.archive.rules import bagit
from ibi.archive.rules.handover import HandOver, Paper, check_key, paper_of
from ibi.archive.storage.bags.reader import BagFolder
from ibi.client.archive import RemoteArchive
from ibi.errors import ArchiveRequestError, BagError, printable, shown
from ibi.foundation.cli.options import json_option, show
from ibi.foundation.cli.progress import Progress, shown_progress

_EXAMPLES = """\b
Examples:
  ibi archive import /media/disk/bag
  ibi archive import bag --signed-by KEY
"""


@click.command("import", epilog=_EXAMPLES)
@click.argument("place", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option(
    "--signed-by",
    "key",
    default="",
    metavar="KEY",
    help="Take Originals that are handed over to this archive, signed by this key.",
)
@click.option(
    "--trust-address",
    "giver",
    default="",
    metavar="URL",
    help="The same, with the key that the archive at this address publishes.",
)
@archive_options
@json_option
def import_bag(archive: RemoteArchive, place: Path, *, key: str, giver: str, as_json: bool) -> None:
    """Import the items of the bag in FOLDER, which 'ibi archive export' made, as Copies.

    The whole bag is verified first. An item whose Original is here, or that was deleted here, is
    refused; the others are imported. Existing Copies are updated.

    To receive Originals, get the key of the other archive ('ibi archive key') apart from the bag.
    """
    if key and giver:
        raise click.UsageError("The key is named, or told by an address: not both.")
    with closing(BagFolder(place)) as source:
        total = source.size()
        with shown_progress() as progress:
            source.verify(_counted("Verifying", total, progress))
        papers, signed_by = _papers(archive, source, key, giver)
        with shown_progress() as progress:
            done = BagImport(
                archive,
                source,
                papers,
                signed_by,
                lambda done: progress("Importing", done.bytes, total),
            ).run()
    for label, detail in done.refused:
        named = "" if label in detail else f" {label}"
        click.echo(f"refused{named}: {printable(detail)}", err=True)
    words = ("imported", "updated", "here", "refused")
    counts = {word: done.counts.get(word, 0) for word in words}
    refused = [{"label": label, "detail": detail} for label, detail in done.refused]
    text = ", ".join(f"{word} {count}" for word, count in counts.items())
    show({**counts, "refusals": refused}, text, as_json=as_json)
    if done.refused:
        click.get_current_context().exit(1)


def _counted(phase: str, total: int, progress: Progress) -> Callable[[int], None]:
    """Return a function that adds to the bytes of a phase."""
    done = 0

    def advance(more: int) -> None:
        nonlocal done
        done += more
        progress(phase, done, total)

    return advance


def _papers(
    archive: RemoteArchive, source: BagFolder, key: str, giver: str
) -> tuple[dict[str, Paper], str]:
    """Return the hand-over document of the bag and its key; none unless a key is given."""
    has_paper = (source.folder / bagit.HAND_OVER_FILE).is_file()
    if not key and not giver:
        if has_paper:
            text = "The bag hands Originals over; without --signed-by they come as Copies."
            click.echo(text, err=True)
        return {}, ""
    if not has_paper:
        raise BagError(f"it hands nothing over: there is no {bagit.HAND_OVER_FILE}")
    document = _document(source)
    known = check_key(key) if key else _key_of(archive, document, giver)
    return {item.label: paper_of(document, item) for item in document.items}, known


def _document(source: BagFolder) -> HandOver:
    try:
        return msgspec.json.decode(source.read(bagit.HAND_OVER_FILE), type=HandOver)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise BagError(f"its {bagit.HAND_OVER_FILE} cannot be read") from None


def _key_of(archive: RemoteArchive, document: HandOver, giver: str) -> str:
    """Return the key of the trusted archive `giver`; raise if the bag is not by that archive."""
    address = giver.lower().rstrip("/")
    if document.address != address:
        msg = f"The bag is by the archive at {shown(document.address)}, not by {shown(giver)}."
        raise ArchiveRequestError(msg)
    answer: dict[str, Any] = archive.ask("GET", "keys", query={"address": address})
    if answer["service"] != document.giver:
        msg = f"At {giver} answers {shown(answer['service'])}, and not {shown(document.giver)}."
        raise ArchiveRequestError(msg)
    return check_key(answer["key"])
