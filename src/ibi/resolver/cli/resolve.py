"""`ibi resolve`: where a persistent URL leads, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click
import msgspec

from ibi.client.resolver import RemoteResolver
from ibi.errors import InstanceHeldError, ResolverUnreachableError
from ibi.foundation.cli.options import json_option, show
from ibi.foundation.system.instance_lock import serving_at
from ibi.resolver.cli.program import RESOLVER
from ibi.resolver.web.explanation import Explanation, as_text

_EXAMPLES: Final = """\b
Examples:
  ibi resolve 8JMKD3MGP7W/3EPGUE5 --resolver http://urlib.net
  ibi resolve "LK47B6W/362SFKH!+(pt)" --explain
"""


@click.command(epilog=_EXAMPLES)
@click.argument("text")
@RESOLVER.address_option
@RESOLVER.folder_option
@click.option(
    "--explain", is_flag=True, help="Show the archives asked, their answers and the choice."
)
@json_option
def resolve(
    text: str, *, address: str | None, folder: Path | None, explain: bool, as_json: bool
) -> None:
    """Ask a resolver where TEXT leads: a label, with or without modifiers, or a persistent URL.

    Prints the URL; no access is counted. If there is none, prints the reason, and the exit code is
    1.
    """
    resolver = _resolver(folder, address)
    query = {"url": text}
    if explain:
        _explain(resolver, query, as_json=as_json)
        return
    answer = resolver.ask("GET", "resolve", query=query)
    show(answer, answer["location"], as_json=as_json)


def _resolver(folder: Path | None, address: str | None) -> RemoteResolver:
    if RESOLVER.is_elsewhere(folder, address):
        return RemoteResolver(address or "", "")
    place = RESOLVER.existing_folder(folder)
    found = serving_at(place)
    if not found:
        msg = (
            f"No resolver is running on {place}: name one with --resolver URL, or start one with "
            "'ibi resolver serve'."
        )
        raise InstanceHeldError(msg)
    return RemoteResolver(found, "")


def _explain(resolver: RemoteResolver, query: dict[str, str], *, as_json: bool) -> None:
    answer = resolver.ask("GET", "explain", query=query)
    try:
        explanation = msgspec.convert(answer, Explanation)
    except msgspec.ValidationError:
        raise ResolverUnreachableError(resolver.address, "its answer makes no sense") from None
    show(answer, as_text(explanation), as_json=as_json)
    if explanation.outcome != "redirect":
        raise click.exceptions.Exit(1)
