"""`ibi resolver conflicts`, `settle`: rival claims to one Original."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

import click

from ibi.client.resolver import RemoteResolver
from ibi.errors import printable
from ibi.foundation.cli.confirmation import confirm, yes_option
from ibi.foundation.cli.options import json_option, show
from ibi.resolver.cli.program import resolver_options

_CONFLICTS_EXAMPLE: Final = """\b
Examples:
  ibi resolver conflicts
  ibi resolver conflicts --all --json
"""
_SETTLE_EXAMPLE: Final = """\b
Example:
  ibi resolver settle LK47B6W/362SFKH --owner example.org/archive/2026/11.15.12.00 \\
      --note "By telephone with both"
"""


@click.command(epilog=_CONFLICTS_EXAMPLE)
@click.option("--all", "with_settled", is_flag=True, help="Show settled conflicts too.")
@resolver_options
@json_option
def conflicts(resolver: RemoteResolver, *, with_settled: bool, as_json: bool) -> None:
    """Show the Originals that several archives claim, and the answer of each."""
    query = {"all": "true"} if with_settled else {}
    found = list(resolver.pages("conflicts", query))
    if as_json:
        show(found, "", as_json=True)
        return
    for conflict in found:
        click.echo(_text(conflict))


def _text(conflict: dict[str, Any]) -> str:
    lines = [f"{conflict['number']}  {conflict['label']}  {_state(conflict)}"]
    lines += [
        f"    {claim['archive']}  {claim['url']}  updated {claim['timestamp']}, "
        f"claimed from {claim['first_seen']} to {claim['last_seen']}"
        for claim in conflict["claims"]
    ]
    return "\n".join(map(printable, lines))


def _state(conflict: dict[str, Any]) -> str:
    if "settled" not in conflict:
        return f"open since {conflict['opened']}, seen {conflict['seen']} times"
    note = f": {conflict['note']}" if conflict.get("note") else ""
    return f"settled {conflict['settled']} for {conflict['owner']}{note}"


@click.command(epilog=_SETTLE_EXAMPLE)
@click.argument("label")
@click.option(
    "--owner", required=True, metavar="SERVICE", help="The archive that has the Original."
)
@click.option("--note", default="", metavar="TEXT", help="The reason.")
@yes_option
@resolver_options
@json_option
def settle(  # noqa: PLR0913  # one argument an option
    resolver: RemoteResolver, label: str, *, owner: str, note: str, yes: bool, as_json: bool
) -> None:
    """Settle which archive has the Original of LABEL, an item or the number of a conflict."""
    question = f"Send the readers of {printable(label)} to {printable(owner)} alone?"
    confirm(question, yes=yes)
    path = f"conflicts/{quote(label, safe='')}/settlement"
    settled = resolver.ask("POST", path, {"owner": owner, "note": note})
    show(settled, f"settled {settled['label']} for {settled['owner']}", as_json=as_json)
