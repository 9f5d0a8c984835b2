"""What is promised, and whether a run kept it: a line each, which the head of the page collects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_MET, _NOT_MET = "- met: ", "- **NOT MET**: "


def at_most(what: str, measured: float, limit: float, unit: str = "") -> str:
    """Return the line of a promise that something stays below a limit."""
    return _line(what, f"{measured:.2f}{unit}, at most {limit:g}", is_met=measured <= limit)


def at_least(what: str, measured: float, limit: float, unit: str = "") -> str:
    """Return the line of a promise that something reaches a limit."""
    return _line(what, f"{measured:.2f}{unit}, at least {limit:g}", is_met=measured >= limit)


def none_of(what: str, found: Iterable[str]) -> str:
    """Return the line of a promise that something does not happen."""
    happened = list(found)
    return _line(what, "; ".join(happened) or "none", is_met=not happened)


def _line(what: str, measured: str, *, is_met: bool) -> str:
    return f"{_MET if is_met else _NOT_MET}{what}: {measured}"


def rows(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield the rows of the table of promises that a section adds to it."""
    anchor = "".join(c for c in title.lower() if c.isalnum() or c in " -").replace(" ", "-")
    for line in lines:
        for begin, verdict in ((_MET, "met"), (_NOT_MET, "**not met**")):
            if line.startswith(begin):
                what, _, measured = line.removeprefix(begin).rpartition(": ")
                yield f"| [{title}](#{anchor}) | {what} | {measured} | {verdict} |"
