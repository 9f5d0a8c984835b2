"""`ibi archive stats`: how often items were read, and what the archive holds, in numbers."""

from __future__ import annotations

import shutil
import sys
from typing import Any, Final, TextIO

import click

from ibi.adapters.remote_archive import RemoteArchive
from ibi.archive.periods import PERIODS, Period, first_day, fitting
from ibi.cli import statistics_text
from ibi.cli.archive_options import archive_options
from ibi.cli.instance_options import json_option, show
from ibi.cli.plot import marks_for
from ibi.cli.svg_plot import picture

_PARTS: Final = ("accesses", "items", "holdings")


def add_to(archive: click.Group) -> None:
    """Add the commands of this module."""
    archive.add_command(stats)


@click.command()
@click.argument("part", type=click.Choice(_PARTS), required=False)
@click.option("--by", type=click.Choice(PERIODS), help="Count by this.  [default: what fits]")
@click.option("--from", "first", default="", metavar="DAY", help="As 2026-11-01.")
@click.option("--to", "last", default="", metavar="DAY")
@click.option("--item", default="", metavar="IBI", help="Only how often this item was read.")
@click.option(
    "--limit", default=10, show_default=True, type=click.IntRange(1, 1000), help="Of `items`."
)
@click.option(
    "--svg",
    type=click.File("w", encoding="utf-8", lazy=True),
    metavar="FILE",
    help="Write the plot there, as a picture.",
)
@archive_options
@json_option
def stats(  # noqa: PLR0913  # what is wanted, by name
    archive: RemoteArchive,
    *,
    part: str | None,
    by: Period | None,
    first: str,
    last: str,
    item: str,
    limit: int,
    svg: TextIO | None,
    as_json: bool,
) -> None:
    """Show how often items were read, which were read most, and what the archive holds.

    All three, or the PART that is named: accesses, items or holdings. Only who comes by a resolver
    is counted; nobody's address is kept.

    Example: ibi archive stats accesses --by week --from 2026-01-01
    """
    days = {name: day for name, day in (("from", first), ("to", last)) if day}
    part = part or ("accesses" if item or svg else None)
    _check(part, by, days, item, svg)
    answers: dict[str, Any] = {}
    if part in {None, "accesses"}:
        answers["accesses"] = _accesses(archive, by, days, item, exact=as_json)
    if part in {None, "items"}:
        query = {**days, "limit": str(limit)}
        answers["items"] = archive.ask("GET", "statistics/items", query=query)["items"]
    if part in {None, "holdings"}:
        answers["holdings"] = archive.ask("GET", "statistics/holdings")
    if svg is not None:
        [(name, answer)] = answers.items()
        svg.write(picture(statistics_text.PLOTS[name](answer)))
        return
    width = shutil.get_terminal_size().columns
    marks = marks_for(getattr(sys.stdout, "encoding", None) or "utf-8")
    text = "\n\n".join(
        statistics_text.TEXTS[name](answer, width, marks) for name, answer in answers.items()
    )
    show(answers if part is None else answers[part], text, as_json=as_json)


def _check(
    part: str | None, by: str | None, days: dict[str, str], item: str, svg: TextIO | None
) -> None:
    """Refuse what says nothing of the part that is wanted."""
    if part == "items" and (by or item or svg):
        raise click.UsageError("'items' are a list: only --from, --to and --limit go with it.")
    if part == "holdings" and (by or days or item):
        raise click.UsageError("'holdings' are what there is now: only --svg goes with it.")


def _accesses(
    archive: RemoteArchive, by: Period | None, days: dict[str, str], item: str, *, exact: bool
) -> dict[str, Any]:
    """Return all accesses; for people, those of a long time by weeks or months."""
    query = {**days, **({"item": item} if item else {})}
    if by is None and exact:
        by = "day"
    elif by is None:
        months = _paged(archive, {**query, "by": "month"})["accesses"]
        if not months:
            by = "day"
        else:
            by = fitting(first_day(months[0]["period"]), first_day(months[-1]["period"]))
    return _paged(archive, {**query, "by": by})


def _paged(archive: RemoteArchive, query: dict[str, str]) -> dict[str, Any]:
    answer: dict[str, Any] = archive.ask("GET", "statistics", query=query)
    page = answer
    while page["after"]:
        page = archive.ask("GET", "statistics", query={**query, "after": page["after"]})
        answer["accesses"] += page["accesses"]
    answer["after"] = ""
    return answer
