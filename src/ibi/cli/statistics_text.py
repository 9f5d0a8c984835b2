"""The statistics of an archive, as its API tells them, for people: plots and a few words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

from ibi.archive.periods import Period, filled, running
from ibi.cli.plot import Marks, Plot, drawn
from ibi.errors import printable

Answer: TypeAlias = Any
"""JSON, as it came."""
_THOUSAND: Final = 1000


def access_plot(answer: Answer) -> Plot:
    """Return what is plotted of accesses: each day, week or month, also those without any."""
    by = cast("Period", answer["by"])
    counts = [(each["period"], each["count"]) for each in answer["accesses"]]
    summary = f"{answer['total']:,} in all"
    if counts:
        name, most = max(counts, key=lambda each: each[1])
        summary += f", from {counts[0][0]} to {counts[-1][0]}; the most, {most:,}, in {name}"
    return Plot(title=f"Accesses by {by}", summary=f"{summary}.", points=filled(counts, by))


def growth_plot(answer: Answer) -> Plot:
    """Return what is plotted of holdings: how many items there were, month by month."""
    made = [(each["month"], each["items"]) for each in answer["growth"]]
    total = sum(items for _, items in made)
    return Plot(
        title="Items of data, by the month in which they were made",
        summary=f"{total:,} {_nouns(total, 'item')} at the end.",
        points=running(filled(made, "month")),
        merge=max,
    )


def accesses_text(answer: Answer, width: int, marks: Marks) -> str:
    """Tell how often items were read."""
    text = f"{answer['total']:,} in all"
    return f"{drawn(access_plot(answer), width, marks)}\n{text}" if answer["accesses"] else text


def items_text(items: Answer, width: int, marks: Marks) -> str:  # noqa: ARG001  # a list, no plot
    """Tell which items were read most."""
    lines = [
        printable(f"{each['count']:>9,}  {each['ibip'] or each['rep']}  {each['title']}".rstrip())
        for each in items
    ]
    return "\n".join(["Most read", *(lines or [f"{'none':>9}"])])


def holdings_text(answer: Answer, width: int, marks: Marks) -> str:
    """Tell what the archive holds, and how it stands with it."""
    growth = [drawn(growth_plot(answer), width, marks)] if answer["growth"] else []
    return "\n".join(["Holdings", *_held(answer), *growth, *_upkeep(answer)])


def _held(answer: Answer) -> Iterator[str]:
    for each in answer["held"]:
        counts = ((each["items"], "item"), (each["files"], "file"))
        numbers = " ".join(f"{count:>9,} {_nouns(count, noun):5}" for count, noun in counts)
        yield f"  {each['kind']:9} {each['state']:9} {numbers}  {size(each['bytes'])}"


def _nouns(count: int, noun: str) -> str:
    """Return the noun for so many."""
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
    """Write so many bytes in a few characters."""
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
PLOTS: Final[Mapping[str, Callable[[Answer], Plot]]] = {
    "accesses": access_plot,
    "holdings": growth_plot,
}
