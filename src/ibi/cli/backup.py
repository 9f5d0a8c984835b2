"""The command `ibi backup`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from ibi.archive.cli.options import ARCHIVE
from ibi.archive.settings import ARCHIVE_FILE
from ibi.errors import RequestError, printable, shown
from ibi.foundation.cli.options import data_option, json_option, show
from ibi.foundation.cli.progress import shown_progress
from ibi.installation.backup.backup import BackedUp, back_up
from ibi.installation.settings import ProgramName
from ibi.resolver.cli.program import RESOLVER
from ibi.resolver.settings import RESOLVER_FILE

_EXAMPLES: Final = """\b
Examples:
  ibi backup /mnt/backups --data /srv/ibi
  ibi restore /mnt/backups --verify
"""


@click.command(epilog=_EXAMPLES)
@click.argument("target", type=click.Path(path_type=Path, file_okay=False))
@data_option("an archive, a resolver, or both")
@click.option("--ledger", default="", metavar="PLACE", help="Only this ledger, of a minter alone.")
@click.option(
    "--quick", is_flag=True, help="Compare with the last backup by size and time, not by content."
)
@json_option
def backup(target: Path, folder: Path | None, *, ledger: str, quick: bool, as_json: bool) -> None:
    """Back up an archive, a resolver, or both, into a new folder in TARGET.

    They may run meanwhile. Files that the last backup in TARGET has are not copied again, but
    compared and hard-linked. A file that is damaged already is named, and the exit code is 1;
    everything else is backed up. A logo that cannot be read is named too, with exit code 0.
    """
    with shown_progress() as progress:
        folders = {} if ledger else _folders(folder)
        made = back_up(folders, target.absolute(), ledger=ledger, quick=quick, progress=progress)
    lacking = [
        f"{part}/{key}" for part, record in made.record.parts.items() for key in record.lacking
    ]
    show(_facts(made, lacking), _text(made), as_json=as_json)
    for warning in made.warnings:
        click.echo(printable(warning), err=True)
    for path in lacking:
        click.echo(f"{printable(path)}: it is damaged, and not in the backup", err=True)
    if lacking:
        raise click.exceptions.Exit(1)


def _folders(folder: Path | None) -> dict[ProgramName, Path]:
    places: dict[ProgramName, Path] = {
        "archive": ARCHIVE.existing_folder(folder),
        "resolver": RESOLVER.folder_of(folder),
    }
    files = {"archive": ARCHIVE_FILE, "resolver": RESOLVER_FILE}
    there = {
        part: place.absolute() for part, place in places.items() if (place / files[part]).exists()
    }
    if not there:
        where = shown(str(folder or ARCHIVE.usual_folder().parent))
        msg = f"There is neither an archive nor a resolver in {where}."
        raise RequestError(msg)
    return there


def _facts(made: BackedUp, lacking: list[str]) -> dict[str, object]:
    parts = made.record.parts
    return {
        "backup": str(made.folder),
        "parts": list(parts),
        "items": sum(part.items for part in parts.values()),
        "files": sum(part.files for part in parts.values()),
        "bytes": sum(part.size for part in parts.values()),
        "copied": made.copied,
        "checksum": made.record.own_checksum(),
        "rows": sum(
            table.rows
            for part in parts.values()
            for store in part.stores.values()
            for table in store.tables.values()
        ),
        "lacking": lacking,
        "warnings": list(made.warnings),
    }


def _text(made: BackedUp) -> str:
    facts = _facts(made, [])
    return (
        f"backed up {facts['items']} items, {facts['files']} files ({facts['copied']} copied), "
        f"{facts['rows']} rows: {made.folder}\nchecksum {facts['checksum']}"
    )
