"""`ibi archive history`: shows the log of acts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import click

from ibi.archive.cli.options import archive_options
from ibi.client.archive import RemoteArchive
from ibi.errors import printable
from ibi.foundation.cli.options import json_option, show

_BRIEF: Final = 120
"""Characters of the details of an act in one line."""
_PAGE: Final = 1000


@click.command()
@click.option("--item", default="", metavar="IBI", help="Only of this item.")
@click.option("--act", default="", help="Only this act, as deposit or delete.")
@click.option("--who", default="", metavar="NAME", help="Only what this token did.")
@click.option("--from", "first", default="", metavar="DAY", help="As 2026-11-01.")
@click.option("--to", "last_day", default="", metavar="DAY")
@click.option("--last", type=click.IntRange(1), metavar="N", help="Only the newest N.")
@click.option("--reverse", is_flag=True, help="The newest first.")
@click.option("--by", type=click.Choice(["act"]), help="Only count them by this.")
@archive_options
@json_option
def history(  # noqa: PLR0913  # what is wanted, by name
    archive: RemoteArchive,
    *,
    item: str,
    act: str,
    who: str,
    first: str,
    last_day: str,
    last: int | None,
    reverse: bool,
    by: str | None,
    as_json: bool,
) -> None:
    """Show the log of acts, the oldest first; times are UTC.

    Example: ibi archive history --act delete --last 10
    """
    choice = {"item": item, "act": act, "who": who, "from": first, "to": last_day}
    query = {name: value for name, value in choice.items() if value}
    if by:
        answer = archive.ask("GET", "history/acts", query=query)
        lines = [f"{count:>9,}  {name}" for name, count in answer["acts"].items()]
        show(answer, "\n".join(lines) or "nothing", as_json=as_json)
        return
    if last and not reverse:
        found: Iterator[dict[str, Any]] = reversed([*_lines(archive, query, last, "newest")])
    else:
        found = _lines(archive, query, last, "newest" if reverse else "oldest")
    for line in found:
        text = f"{line['at']}  {line['act']:12} {line['who']:12} {line['label']}"
        show(line, f"{text}  {_brief(line['detail'])}".rstrip(), as_json=as_json)


def _lines(
    archive: RemoteArchive, query: dict[str, str], most: int | None, order: str
) -> Iterator[dict[str, Any]]:
    """Yield lines of the history, at most `most` if that is given."""
    after, left = "0", most or 0
    while after:
        limit = _PAGE if most is None else min(_PAGE, left)
        asked = {**query, "order": order, "after": after, "limit": str(limit)}
        page = archive.ask("GET", "history", query=asked)
        yield from page["history"]
        left -= len(page["history"])
        after = page["after"] if most is None or left else ""


def _brief(detail: dict[str, Any]) -> str:
    """Return the details of an act, shortened; --json shows all of them."""
    text = ", ".join(f"{name}: {_value(value)}" for name, value in detail.items() if value)
    return printable(text if len(text) <= _BRIEF else f"{text[: _BRIEF - 1]}…")


def _value(value: Any) -> str:  # noqa: ANN401  # JSON
    match value:
        case list():
            return " ".join(map(str, value))
        case dict():
            return " ".join(f"{name} {inner}" for name, inner in value.items())
        case _:
            return str(value)
