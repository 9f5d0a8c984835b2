"""The command `ibi doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from ibi.archive.cli.options import ARCHIVE
from ibi.archive.settings import ARCHIVE_FILE
from ibi.errors import printable, shown
from ibi.foundation.cli.options import data_option, json_lines_option, show
from ibi.installation.instance_checks import instance_findings
from ibi.installation.machine_checks import machine_findings
from ibi.installation.settings import ProgramName
from ibi.model.finding import Finding
from ibi.resolver.cli.program import RESOLVER
from ibi.resolver.settings import RESOLVER_FILE
from ibi.wire.addresses import is_web_address

_EXAMPLES: Final = """\b
Examples:
  ibi doctor
  ibi doctor --data /srv/ibi --server https://www.example.org
"""


@click.command(epilog=_EXAMPLES)
@data_option("both, or of one of them")
@click.option("--server", default="", metavar="URL", help="A server whose clock is right.")
@json_lines_option
def doctor(folder: Path | None, *, server: str, as_json: bool) -> None:
    """Check an installation, running or not, and give advice; change nothing.

    One line for each check: ok, a warning, or a failure; with a failure the exit code is 1.
    """
    if server and not is_web_address(server):
        raise click.UsageError(f"{shown(server)} is no address: expected http://host[:port].")
    is_failing = False
    for finding in _findings(folder, server):
        show(finding.plain(), printable(str(finding)), as_json=as_json)
        is_failing |= finding.verdict == "failure"
    if is_failing:
        raise click.exceptions.Exit(1)


def _findings(folder: Path | None, server: str) -> Iterator[Finding]:
    yield from machine_findings(server)
    places: dict[ProgramName, Path] = {
        "resolver": RESOLVER.folder_of(folder),
        "archive": ARCHIVE.folder_of(folder),
    }
    files = {"resolver": RESOLVER_FILE, "archive": ARCHIVE_FILE}
    there = [part for part, place in places.items() if (place / files[part]).exists()]
    if folder is not None and not there:
        text = f"no archive and no resolver in {folder}"
        advice = "make one by 'ibi up', or name another by --data"
        if not folder.is_dir():
            text = f"there is no folder {folder}"
        yield Finding("installation", "folder", "failure", text, advice)
        return
    # If only one of the programs is installed, the other is not missed.
    for part in there or places:
        yield from instance_findings(part, places[part].absolute())
