"""`ibi archive audit`: checks that all files of an archive are as they were deposited."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from ibi.archive.cli.options import archive_or_folder_options
from ibi.archive.cli.tasks import follow_by, look_at
from ibi.archive.fixity.audit_schedule import AuditRequest
from ibi.archive.settings import read_archive
from ibi.archive.tasks import Tasks
from ibi.archive.web.api.audits import damage_answer
from ibi.archive.web.api.tasks import task_answer
from ibi.archive.wiring.capabilities import build_audits
from ibi.archive.wiring.instance import Instance
from ibi.client.archive import RemoteArchive
from ibi.errors import printable
from ibi.foundation.cli.options import json_option, show
from ibi.foundation.cli.progress import shown_progress
from ibi.foundation.system import instance_lock

_WHO: Final = "local"
_PHASE: Final = "Checking files"
_PAGE: Final = "1000"
_COUNTED: Final = ("files", "bytes", "damaged", "repaired")


@click.command()
@click.argument("labels", nargs=-1, metavar="[IBI]...")
@click.option(
    "--rate",
    type=click.FloatRange(0, 1_000_000, min_open=True),
    metavar="MB/S",
    help="Read no faster than this.  [default: no limit]",
)
@click.option("--repair", is_flag=True, help="Fetch damaged files from an archive that has them.")
@click.option("--from", "source", default="", metavar="ARCHIVE", help="The archive to repair from.")
@archive_or_folder_options
@json_option
def audit(  # noqa: PLR0913  # its options, by name
    archive: RemoteArchive | Path,
    labels: tuple[str, ...],
    *,
    rate: float | None,
    repair: bool,
    source: str,
    as_json: bool,
) -> None:
    """Check that all files, or those of the items IBI, are as they were deposited.

    Each is read from the disk and compared with its size and both its checksums. Damaged, missing
    and stray files are listed, and the exit code is 1; it is 0 if all files are whole or repaired.
    An archive that is not running is checked too.

    Example: ibi archive audit --repair --from http://copies.example.org
    """
    if source and not repair:
        raise click.UsageError("--from names the archive of --repair, and needs that option.")
    if rate is not None and math.isnan(rate):
        raise click.UsageError("--rate is a number of megabytes a second.")
    wanted = AuditRequest(list(labels), rate or 0, repair, source)
    if isinstance(archive, RemoteArchive):
        result, damage = _ask(archive, wanted)
    else:
        result, damage = _audit(archive, wanted)
    answer = {name: result[name] for name in _COUNTED} | {"damage": damage}
    lines = [f"{_place(each)}: {each['what']}" for each in damage]
    # `printable` keeps each file on one line, even if its name has line ends.
    show(answer, "\n".join(map(printable, [*lines, _summary(answer)])), as_json=as_json)
    if damage:
        raise click.exceptions.Exit(1)


def _ask(archive: RemoteArchive, wanted: AuditRequest) -> tuple[dict[str, Any], list[Any]]:
    """Audit a running archive, by a task of it."""
    task = archive.ask("POST", "audits", wanted)
    with shown_progress() as progress:
        done = follow_by(look_at(archive, task), partial(progress, _PHASE))
    result: dict[str, Any] = done["result"]
    return result, list(_listed(archive, set(result["labels"])))


def _listed(archive: RemoteArchive, labels: set[str]) -> Iterator[dict[str, str]]:
    after = ""
    while True:
        page = archive.ask("GET", "damage", query={"after": after, "limit": _PAGE})
        yield from (each for each in page["damage"] if not labels or each["label"] in labels)
        after = page["after"]
        if not after:
            return


def _audit(folder: Path, wanted: AuditRequest) -> tuple[dict[str, Any], list[Any]]:
    """Audit an archive that is not running; an interrupted audit is resumed the next time."""
    settings = read_archive(folder.absolute())
    with instance_lock.held(settings.folder), closing(Instance(settings)) as opened:
        auditing = build_audits(opened)
        tasks = Tasks(opened.catalogue.tasks, opened.clock, auditing.works)
        id_ = auditing.begin(tasks, wanted, _WHO, alone=True).id

        def look() -> dict[str, Any]:
            seen: dict[str, Any] = msgspec.to_builtins(task_answer(tasks.get(id_)))
            return seen

        tasks.start()
        try:
            with shown_progress() as progress:
                done = follow_by(look, partial(progress, _PHASE))
        finally:
            tasks.stop()
        result: dict[str, Any] = done["result"]
        labels = set(result["labels"])
        found = [
            each for each in opened.catalogue.damages.page() if not labels or each.label in labels
        ]
    return result, msgspec.to_builtins([damage_answer(each) for each in found])


def _place(damage: dict[str, str]) -> str:
    return "/".join(part for part in (damage["label"], damage["path"]) if part)


def _summary(answer: dict[str, Any]) -> str:
    checked = f"checked {answer['files']} files, {answer['bytes']} bytes"
    repaired = f"repaired {answer['repaired']}" if answer["repaired"] else ""
    left = f"{len(answer['damage'])} damaged" if answer["damage"] else "all whole"
    return ", ".join(part for part in (checked, repaired, left) if part)
