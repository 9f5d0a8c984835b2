"""`ibi archive stats`: shows how often items were read, and how much the archive holds."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, TextIO, TypeAlias, cast

import click

from ibi.archive.cli.options import archive_options
from ibi.archive.cli.svg_plot import picture
from ibi.archive.cli.text_plot import Marks, Plot, drawn, marks_for
from ibi.archive.rules.calendar import PERIODS, Period, filled, first_day, fitting, running
from ibi.client.archive import RemoteArchive
from ibi.errors import printable
from ibi.foundation.cli.options import json_option, show

Answer: TypeAlias = Any
"""The decoded JSON of an answer of the API."""
_THOUSAND: Final = 1000


def access_plot(answer: Answer, what: str = "accesses") -> Plot:
    """Return the plot of accesses by day, week or month, with those without any."""
    by = cast("Period", answer["by"])
    counts = [(each["period"], each["count"]) for each in answer["accesses"]]
    summary = f"{answer['total']:,} in all"
    if counts:
        name, most = max(counts, key=lambda each: each[1])
        summary += f", from {counts[0][0]} to {counts[-1][0]}; the most, {most:,}, in {name}"
    return Plot(
        title=f"{what.capitalize()} by {by}", summary=f"{summary}.", points=filled(counts, by)
    )


def growth_plot(answer: Answer) -> Plot:
    """Return the plot of holdings: the number of items by month."""
    made = [(each["month"], each["items"]) for each in answer["growth"]]
    total = sum(items for _, items in made)
    return Plot(
        title="Items of data, by the month in which they were made",
        summary=f"{total:,} {_nouns(total, 'item')} at the end.",
        points=running(filled(made, "month")),
        merge=max,
    )


def accesses_text(answer: Answer, width: int, marks: Marks, what: str = "accesses") -> str:
    """Return the text of the accesses."""
    text = f"{answer['total']:,} in all"
    if not answer["accesses"]:
        return text
    return f"{drawn(access_plot(answer, what), width, marks)}\n{text}"


def items_text(items: Answer, width: int, marks: Marks) -> str:  # noqa: ARG001  # a list, no plot
    """Return the text of the items that were read most."""
    lines = [
        printable(f"{each['count']:>9,}  {each['ibip'] or each['rep']}  {each['title']}".rstrip())
        for each in items
    ]
    return "\n".join(["Most read", *(lines or [f"{'none':>9}"])])


def holdings_text(answer: Answer, width: int, marks: Marks) -> str:
    """Return the text of the holdings and of their maintenance."""
    growth = [drawn(growth_plot(answer), width, marks)] if answer["growth"] else []
    return "\n".join(["Holdings", *_held(answer), *growth, *_upkeep(answer)])


def _held(answer: Answer) -> Iterator[str]:
    for each in answer["held"]:
        counts = ((each["items"], "item"), (each["files"], "file"))
        numbers = " ".join(f"{count:>9,} {_nouns(count, noun):5}" for count, noun in counts)
        yield f"  {each['kind']:9} {each['state']:9} {numbers}  {size(each['bytes'])}"


def _nouns(count: int, noun: str) -> str:
    """Return the singular or plural of a noun."""
    return noun if count == 1 else f"{noun}s"


def _upkeep(answer: Answer) -> Iterator[str]:
    copies = answer["copies"]
    yield (
        f"copies     {copies['known']:,} followed, {copies['missing']:,} without their Original, "
        f"{copies['faulty']:,} not brought up to date"
    )
    transfers = (
        f"{each['count']:,} {each['role']} {each['state']}" for each in answer["transfers"]
    )
    yield f"transfers  {', '.join(transfers) or 'none'}"
    tasks = (
        f"{each['count']:,} {each['kind']} {each['state']} (last {each['last']})"
        for each in answer["tasks"]
    )
    yield f"tasks      {', '.join(tasks) or 'none'}"
    yield f"damaged    {answer['damaged']:,} {_nouns(answer['damaged'], 'file')}"


def size(count: int) -> str:
    """Return a number of bytes with a unit, such as 1.5 GB."""
    number, units = float(count), ["bytes", "kB", "MB", "GB", "TB", "PB"]
    while number >= _THOUSAND and len(units) > 1:
        number /= _THOUSAND
        units.pop(0)
    return f"{count} {_nouns(count, 'byte')}" if number == count else f"{number:.1f} {units[0]}"


TEXTS: Final[Mapping[str, Callable[[Answer, int, Marks], str]]] = {
    "accesses": accesses_text,
    "items": items_text,
    "holdings": holdings_text,
}
_PARTS: Final = ("accesses", "items", "holdings")
_COUNTED: Final = ("accesses", "views", "downloads")


@click.command()
@click.argument("part", type=click.Choice(_PARTS), required=False)
@click.option("--by", type=click.Choice(PERIODS), help="Count by this.  [default: what fits]")
@click.option("--from", "first", default="", metavar="DAY", help="As 2026-11-01.")
@click.option("--to", "last", default="", metavar="DAY")
@click.option("--item", default="", metavar="IBI", help="Only how often this item was read.")
@click.option(
    "--count",
    "what",
    type=click.Choice(_COUNTED),
    default=_COUNTED[0],
    show_default=True,
    help="Readers sent by resolvers, views of pages, or downloads of files.",
)
@click.option(
    "--limit",
    default=10,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="Items that are listed.",
)
@click.option(
    "--svg",
    type=click.File("w", encoding="utf-8", lazy=True),
    metavar="FILE",
    help="Write the plot to this file.",
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
    what: str,
    limit: int,
    svg: TextIO | None,
    as_json: bool,
) -> None:
    """Show how often items were read, which were read most, and what the archive holds.

    Shows all three, or the named PART: accesses, items or holdings. An access is a reader
    whom a resolver sent; views and downloads are counted too, without robots (--count). No address
    of a reader is stored.

    Example: ibi archive stats accesses --by week --from 2026-01-01
    """
    days = {name: day for name, day in (("from", first), ("to", last)) if day}
    is_usage = what != _COUNTED[0]
    part = part or ("accesses" if item or svg or is_usage else None)
    if part != "accesses" and is_usage:
        raise click.UsageError("--count goes with 'accesses' only.")
    _check(part, by, days, item, svg)
    answers: dict[str, Any] = {}
    if part in {None, "accesses"}:
        answers["accesses"] = _accesses(archive, by, {**days, "count": what}, item, exact=as_json)
    if part in {None, "items"}:
        query = {**days, "limit": str(limit)}
        answers["items"] = archive.ask("GET", "statistics/items", query=query)["items"]
    if part in {None, "holdings"}:
        answers["holdings"] = archive.ask("GET", "statistics/holdings")
    if svg is not None:
        [(name, answer)] = answers.items()
        plot = access_plot(answer, what) if name == "accesses" else growth_plot(answer)
        svg.write(picture(plot))
        return
    width = shutil.get_terminal_size().columns
    marks = marks_for(getattr(sys.stdout, "encoding", None) or "utf-8")
    texts: dict[str, Callable[[Answer, int, Marks], str]] = {
        **TEXTS,
        "accesses": partial(accesses_text, what=what),
    }
    text = "\n\n".join(texts[name](answer, width, marks) for name, answer in answers.items())
    show(answers if part is None else answers[part], text, as_json=as_json)


def _check(
    part: str | None, by: str | None, days: dict[str, str], item: str, svg: TextIO | None
) -> None:
    """Raise UsageError if an option does not belong to the part."""
    if part == "items" and (by or item or svg):
        raise click.UsageError("'items' are a list: only --from, --to and --limit go with it.")
    if part == "holdings" and (by or days or item):
        raise click.UsageError("'holdings' are what there is now: only --svg goes with it.")


def _accesses(
    archive: RemoteArchive, by: Period | None, days: dict[str, str], item: str, *, exact: bool
) -> dict[str, Any]:
    """Return all accesses; for a text or a plot, long times are grouped by week or month."""
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
