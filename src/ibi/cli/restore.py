"""The command `ibi restore`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NoReturn

import click

from ibi.errors import DamagedBackupError, printable
from ibi.foundation.cli.confirmation import confirm, require_confirmation, yes_option
from ibi.foundation.cli.options import json_option, show
from ibi.foundation.cli.progress import shown_progress
from ibi.installation.backup.record import backup_at, read_record
from ibi.installation.backup.restore import (
    Restored,
    RestoreRequest,
    prefixes_in,
    restore_minter,
)
from ibi.installation.backup.restore import restore as restored_from
from ibi.installation.backup.verification import faults_of
from ibi.model.clock import SECOND

_SHOWN: Final = 20
"""How many labels are listed; the others are counted."""

_EXAMPLES: Final = """\b
Examples:
  ibi restore /mnt/backups --verify
  ibi restore /mnt/backups --data /srv/ibi
  ibi restore /mnt/backups/20261115T223005Z --data /srv/ibi --catalogue postgresql://db/archive
"""


@click.command(epilog=_EXAMPLES)
@click.argument("source", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option(
    "--data",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where to restore to: a new folder, or an empty one.",
)
@click.option("--verify", is_flag=True, help="Only check every file and row, without --data.")
@click.option(
    "--checksum", default="", metavar="SHA256", help="Refuse any backup but the one with this."
)
@click.option(
    "--without-damaged", is_flag=True, help="Leave out damaged files of items, and name them."
)
@click.option("--catalogue", default="", metavar="URL", help="A postgresql:// URL.")
@click.option("--ledger", default="", metavar="URL", help="Likewise; or the path of a new ledger.")
@click.option("--database", default="", metavar="URL", help="Likewise, of a resolver.")
@yes_option
@json_option
def restore(
    source: Path,
    folder: Path | None,
    *,
    verify: bool,
    yes: bool,
    as_json: bool,
    **wanted: Any,  # noqa: ANN401  # the fields of a RestoreRequest
) -> None:
    """Restore a backup, the newest if SOURCE has several, into the folder DATA.

    Databases become files in that folder, unless URLs of empty ones are given. The instance that
    was backed up must not run any more: labels continue after now, and both would issue the same.
    Every file and row is checked before. If anything is damaged, missing, added, or a link, it is
    named, nothing is restored, and the exit code is 1.

    An attacker who can write to a backup can make its checksums fit. 'ibi backup' prints the
    checksum of the whole: keep it elsewhere, and give it with --checksum.
    """
    if folder is None and not verify and not wanted["ledger"]:
        raise click.UsageError("Name a folder to restore to with --data, or use --verify alone.")
    is_check = folder is None and not wanted["ledger"]
    if not is_check:
        require_confirmation(yes=yes)
    backup = backup_at(source.absolute())
    request = RestoreRequest(**wanted)
    if is_check:
        _verify(backup, request.checksum, as_json=as_json)
        return
    _confirm(backup, yes=yes)
    try:
        with shown_progress() as progress:
            if folder is not None:
                restored = restored_from(backup, folder.absolute(), request, progress)
            else:
                after = _time(restore_minter(backup, request, progress))
    except DamagedBackupError as damage:
        _report(backup, damage.faults, as_json=as_json)
    if folder is not None:
        _show(restored, backup, as_json=as_json)
    else:
        show({"after": after}, f"restored: labels go on after {after}", as_json=as_json)
        click.echo(_caution(backup), err=True)


def _confirm(backup: Path, *, yes: bool) -> None:
    if not yes:
        taken = _time(read_record(backup).taken)
        confirm(f"{_caution(backup)} Restore how it was at {taken}?", yes=yes)


def _caution(backup: Path) -> str:
    """Return why what was backed up must be stopped."""
    text = "What was backed up must not run any more, here or elsewhere"
    prefixes = " and ".join(map(printable, prefixes_in(backup)))
    return (
        f"{text}: both would give out the same labels under {prefixes}." if prefixes else f"{text}."
    )


def _verify(backup: Path, checksum: str, *, as_json: bool) -> None:
    with shown_progress() as progress:
        faults = tuple(map(str, faults_of(backup, progress, checksum)))
    if faults:
        _report(backup, faults, as_json=as_json)
    show({"backup": str(backup), "faults": []}, f"whole: {backup}", as_json=as_json)


def _report(backup: Path, faults: tuple[str, ...], *, as_json: bool) -> NoReturn:
    """Name the faults of a backup, and exit."""
    for fault in faults:
        click.echo(printable(fault), err=True)
    text = f"not whole, faults: {len(faults)}, {backup}"
    show({"backup": str(backup), "faults": list(faults)}, text, as_json=as_json)
    raise click.exceptions.Exit(1)


def _show(restored: Restored, backup: Path, *, as_json: bool) -> None:
    taken = _time(read_record(backup).taken)
    facts = {
        "backup": str(backup),
        "taken": taken,
        "folders": {part: str(folder) for part, folder in restored.folders.items()},
        "items": restored.items,
        "files": restored.files,
        "transferring": restored.transferring,
        "faults": restored.faults,
    }
    places = " and ".join(map(str, restored.folders.values()))
    text = f"restored {restored.items} items, {restored.files} files: {places}"
    show(facts, text, as_json=as_json)
    click.echo(f"This is how it was at {taken}. {_caution(backup)}", err=True)
    if "archive" in restored.folders:
        _warn(restored, taken)
    for key in restored.faults:
        click.echo(f"{printable(key)}: it is damaged or lacking in the backup", err=True)
    if restored.faults:
        raise click.exceptions.Exit(1)


def _warn(restored: Restored, taken: str) -> None:
    """Warn of what may have changed since the backup."""
    after = _time(restored.minting_after)
    click.echo(f"Labels go on after {after}, by the clock of this machine: is it right?", err=True)
    if restored.originals:
        click.echo(
            f"{restored.originals} Originals may have been transferred since {taken}, and are "
            "Originals here again: see docs/how-to/back-up-and-restore.md before it serves.",
            err=True,
        )
    for label in restored.transferring[:_SHOWN]:
        click.echo(f"{label} was being transferred.", err=True)
    if len(restored.transferring) > _SHOWN:
        click.echo(f"And {len(restored.transferring) - _SHOWN} others.", err=True)


def _time(nanoseconds: int) -> str:
    moment = datetime.fromtimestamp(nanoseconds // SECOND, UTC)
    return moment.isoformat().replace("+00:00", "Z")
