"""`ibi archive concede`: makes Copies of Originals that other archives have after a restore."""

from __future__ import annotations

import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import click

from ibi.archive.cli.options import folder_of, folder_option
from ibi.archive.peers.directory import OriginalFinder, claimants
from ibi.archive.recovery.concede import Rival, rivals
from ibi.archive.recovery.concede import concede as concede_to
from ibi.archive.resolver_links.announcer import CatalogueLinks
from ibi.archive.settings import read_archive
from ibi.archive.wiring.instance import Instance
from ibi.client.resolver import RemoteResolver
from ibi.errors import ResolverError, StateError
from ibi.foundation.cli.confirmation import confirm, require_confirmation, yes_option
from ibi.foundation.cli.options import is_terminal, json_option, show
from ibi.foundation.system import instance_lock


@click.command()
@folder_option
@click.option("--dry-run", is_flag=True, help="Only list them.")
@click.option("--claimed", is_flag=True, help="Also those whose claimant no resolver trusts.")
@yes_option
@json_option
def concede(folder: Path | None, *, dry_run: bool, claimed: bool, yes: bool, as_json: bool) -> None:
    """After a restore, before serving: concede Originals that other archives have.

    The resolvers to which the archive is linked are asked which archive has each Original. An item
    that was transferred after the backup was taken becomes a Copy of the Original there.

    A resolver that was not asked for an item since its transfer does not trust the other archive
    while this one is silent. Such items are listed as claimed and stay as they are, and the exit
    code is 1. If you gave these items away, and to that archive, concede them with --claimed.

    Example: ibi archive concede --data /srv/archive
    """
    if not dry_run:
        require_confirmation(yes=yes)
    settings = read_archive(folder_of(folder).absolute())
    with instance_lock.held(settings.folder), closing(Instance(settings)) as opened:
        resolvers = _resolvers(opened)
        finder = OriginalFinder(lambda: resolvers)
        asked, found = 0, list[Rival]()
        with (
            closing(finder),
            click.progressbar(
                rivals(opened.archive, finder, partial(claimants, resolvers), settings.address),
                label="Originals",
                show_pos=True,
                file=sys.stderr,
                hidden=not is_terminal(),
            ) as originals,
        ):
            for rival in originals:
                asked += 1
                if rival is not None:
                    found.append(rival)
        for rival in found:
            facts = {"label": str(rival.label), "original_at": rival.address}
            words = [*facts.values(), *([] if rival.is_trusted else ["claimed"])]
            told = {**facts, "trusted": rival.is_trusted}
            show(told, "\t".join(words), as_json=as_json)
        conceded = [rival for rival in found if rival.is_trusted or claimed]
        if conceded and not dry_run:
            confirm(f"Make Copies of these {len(conceded)} Originals, for good?", yes=yes)
            for rival in conceded:
                concede_to(opened.archive, rival)
    verb = "to concede" if dry_run else "conceded"
    click.echo(f"{asked} Originals, {len(conceded)} {verb}", err=True)
    if left := len(found) - len(conceded):
        click.echo(f"{left} more are claimed: if you gave them away, use --claimed", err=True)
        raise click.exceptions.Exit(1)


def _resolvers(opened: Instance) -> list[str]:
    """Return the resolvers that answer; raise StateError if none does."""
    linked = [link.resolver for link in CatalogueLinks(opened.catalogue.links).all()]
    answering = [resolver for resolver in linked if _answers(resolver)]
    if not answering:
        msg = "No resolver to which the archive is linked answers: Originals cannot be located."
        raise StateError(msg)
    return answering


def _answers(resolver: str) -> bool:
    try:
        RemoteResolver(resolver, "").ask("GET", "resolver")
    except ResolverError:
        return False
    return True
