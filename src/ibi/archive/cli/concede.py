"""`ibi archive concede`: makes Copies of Originals that other archives have after a restore."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import click

from ibi.archive.cli.options import folder_of, folder_option
from ibi.archive.peers.directory import OriginalFinder, claims_of
from ibi.archive.ports.restoration import UNRECONCILED
from ibi.archive.recovery.concede import Rival, Search, reconcile, rivals
from ibi.archive.recovery.concede import concede as concede_to
from ibi.archive.resolver_links.announcer import CatalogueLinks
from ibi.archive.settings import ArchiveSettings, read_archive
from ibi.archive.wiring.instance import Instance
from ibi.archive.wiring.restored_start import check_restored
from ibi.client.resolver import RemoteResolver
from ibi.errors import ResolverError, StateError
from ibi.foundation.cli.confirmation import confirm, require_confirmation, yes_option
from ibi.foundation.cli.options import is_terminal, json_option, show
from ibi.foundation.system import instance_lock

_SHOWN: Final = 20
"""How many silent archives and resolvers are named; the others are counted."""


@click.command()
@folder_option
@click.option("--dry-run", is_flag=True, help="Only list them.")
@click.option("--claimed", is_flag=True, help="Also those whose claimant no resolver trusts.")
@click.option(
    "--none", "nothing", is_flag=True, help="State that no other Original was given away since."
)
@yes_option
@json_option
def concede(  # noqa: PLR0913  # one argument an option
    folder: Path | None, *, dry_run: bool, claimed: bool, nothing: bool, yes: bool, as_json: bool
) -> None:
    """After a restore, before serving: concede Originals that other archives have.

    The resolvers to which the archive is linked are asked which archive has each Original. An item
    that was transferred after the backup was taken becomes a Copy of the Original there. Before
    this is done, a restored archive gives no Original away.

    A resolver that was not asked for an item since its transfer does not trust the other archive
    while this one is silent. Such items are listed as claimed and stay as they are, and the exit
    code is 1. If you gave these items away, and to that archive, concede them with --claimed.

    What cannot be found out, because an archive or a resolver does not answer or there is none, you
    have to know: with --none you state that no further Original was given away since the backup.

    Example: ibi archive concede --data /srv/archive
    """
    if nothing and (dry_run or claimed):
        raise click.UsageError("--none concedes nothing: it goes with neither of the others.")
    if not dry_run:
        require_confirmation(yes=yes)
    settings = read_archive(folder_of(folder).absolute())
    with instance_lock.held(settings.folder), _opened(settings) as opened:
        if nothing:
            _state_nothing(opened, yes=yes)
            return
        resolvers, silent = _resolvers(opened)
        asked, found = 0, list[Rival]()
        for search in _searches(opened, resolvers):
            asked += 1
            silent |= dict.fromkeys(search.silent)
            found += [search.rival] if search.rival is not None else []
        for rival in found:
            _show(rival, as_json=as_json)
        conceded = [rival for rival in found if rival.is_trusted or claimed]
        left = len(found) - len(conceded)
        if not dry_run:
            if conceded:
                confirm(f"Make Copies of these {len(conceded)} Originals, for good?", yes=yes)
            for rival in conceded:
                concede_to(opened.archive, rival)
            if not left and not silent and _moment(opened):
                reconcile(opened.archive, len(conceded))
        verb = "to concede" if dry_run else "conceded"
        click.echo(f"{asked} Originals, {len(conceded)} {verb}", err=True)
        _report(left, list(silent), _moment(opened))


@contextmanager
def _opened(settings: ArchiveSettings) -> Iterator[Instance]:
    """Open an archive; OtherInstanceError if another instance would be taken for a rival."""
    check_restored(settings, lambda _: None)
    with closing(Instance(settings)) as opened:
        yield opened


def _searches(opened: Instance, resolvers: list[str]) -> Iterator[Search]:
    """Search for a rival of each Original, and show the progress."""
    finder = OriginalFinder(lambda: resolvers)
    claims, own = partial(claims_of, resolvers), opened.settings.address
    with (
        closing(finder),
        click.progressbar(
            rivals(opened.archive, finder, claims, own),
            label="Originals",
            show_pos=True,
            file=sys.stderr,
            hidden=not is_terminal(),
        ) as originals,
    ):
        yield from originals


def _show(rival: Rival, *, as_json: bool) -> None:
    facts = {"label": str(rival.label), "original_at": rival.address}
    words = [*facts.values(), *([] if rival.is_trusted else ["claimed"])]
    show({**facts, "trusted": rival.is_trusted}, "\t".join(words), as_json=as_json)


def _report(left: int, silent: Sequence[str], moment: str) -> None:
    """Tell what remains to be done, and exit with 1 if something does."""
    if left:
        click.echo(f"{left} more are claimed: if you gave them away, use --claimed", err=True)
    for address in silent[:_SHOWN]:
        click.echo(f"{address} does not answer", err=True)
    if len(silent) > _SHOWN:
        click.echo(f"and {len(silent) - _SHOWN} others", err=True)
    if moment and (left or silent):
        text = (
            "The archive gives no Original away until this is settled. If no other was given away "
            f"since {moment}, state that with --none."
        )
        click.echo(text, err=True)
    if left or (moment and silent):
        raise click.exceptions.Exit(1)


def _state_nothing(opened: Instance, *, yes: bool) -> None:
    """Record the word of the administrator that no Original was given away."""
    moment = _moment(opened)
    if not moment:
        click.echo("There is nothing to state: the archive may give its Originals away.", err=True)
        return
    confirm(f"Was no other Original transferred or handed over since {moment}?", yes=yes)
    reconcile(opened.archive, 0)
    click.echo("The archive may give its Originals away again.", err=True)


def _moment(opened: Instance) -> str:
    """Return the time of the backup that the archive is not reconciled with; empty if it is."""
    return opened.catalogue.settings.get(UNRECONCILED)


def _resolvers(opened: Instance) -> tuple[list[str], dict[str, None]]:
    """Return the resolvers that answer, and those that do not; StateError if none does."""
    linked = [link.resolver for link in CatalogueLinks(opened.catalogue.links).all()]
    answering = [resolver for resolver in linked if _answers(resolver)]
    if not answering:
        msg = (
            "No resolver to which the archive is linked answers: Originals cannot be located. If "
            "none was given away since the backup, state that with --none."
        )
        raise StateError(msg)
    return answering, dict.fromkeys(each for each in linked if each not in answering)


def _answers(resolver: str) -> bool:
    try:
        RemoteResolver(resolver, "").ask("GET", "resolver")
    except ResolverError:
        return False
    return True
