"""The start of an archive that was restored from a backup.

The restored archive and the one that was backed up have ledgers of their own, and would give out
the same labels. On one machine the claims on prefixes keep them apart; from another machine they
can only be told apart by asking: before a restored archive listens, each answer for its service,
from a ledger that is not its own, is that of another instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from ibi.archive.peers.about import About, ask_about
from ibi.archive.peers.directory import OriginalFinder
from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.ports.restoration import RESTORED, UNRECONCILED, Restoration
from ibi.archive.resolver_links.announcer import CatalogueLinks
from ibi.archive.settings import ArchiveSettings
from ibi.archive.wiring.instance import service_of
from ibi.archive.wiring.stores import open_catalogue, read_catalogue
from ibi.errors import ArchiveError, LabelError, OtherInstanceError, StateError
from ibi.foundation.http_client.ssrf_guard import OutboundGuard
from ibi.foundation.settings_file import POSTGRESQL
from ibi.identifier.label import parse
from ibi.minting.wiring import open_ledger, subsystem_of
from ibi.model.label_pair import Forms

_EVERYWHERE: Final = OutboundGuard(("0.0.0.0/0", "::/0"))
"""For addresses of the archive's own settings, which may be private."""


def check_restored(
    settings: ArchiveSettings, say: Callable[[str], None], *, original_is_gone: bool = False
) -> None:
    """Raise OtherInstanceError if the archive that was backed up, or another copy of it, answers.

    An archive that was not restored is left alone. So is one whose original is gone for good, by
    the word of its administrator, which is recorded.
    """
    place = settings.place(settings.catalogue)
    if not place.startswith(POSTGRESQL) and not Path(place).exists():
        return  # the start says what to do without a catalogue
    # Only for reading: SQLite rewrites a database when the last writer closes it.
    with closing(read_catalogue(settings)) as catalogue:
        if moment := catalogue.settings.get(UNRECONCILED):
            say(
                f"Restored from a backup of {moment}, and not reconciled: no Original is given "
                "away before 'ibi archive concede' was run."
            )
        record = catalogue.settings.get(RESTORED)
        if not record:
            return
        if not original_is_gone:
            _refuse_other(settings, catalogue, Restoration.read(record), say)
            return
    with closing(open_catalogue(settings)) as catalogue:
        catalogue.settings.drop(RESTORED)


def _refuse_other(
    settings: ArchiveSettings,
    catalogue: Catalogue,
    restoration: Restoration,
    say: Callable[[str], None],
) -> None:
    """Ask for other instances wherever they may answer; raise if there is one."""
    service = service_of(catalogue, settings)
    with closing(open_ledger(settings.minter.place, existing=True)) as ledger:
        own = ledger.identity()
    asked = []
    for address, guard in _addresses(settings, catalogue, restoration, service):
        if _is_other(address, guard, service, own):
            raise OtherInstanceError(address, subsystem_of(settings.minter).prefixes)
        asked.append(address)
    say(
        f"Restored from a backup of {restoration.moment}: no other instance of this archive "
        f"answers at {' or '.join(asked)}. If one runs elsewhere, both give out the same labels."
    )


def _addresses(
    settings: ArchiveSettings, catalogue: Catalogue, restoration: Restoration, service: Forms
) -> Iterator[tuple[str, OutboundGuard]]:
    """Yield where other instances may answer: by the settings, the backup, and the resolvers."""
    own = dict.fromkeys((settings.address, restoration.address))
    yield from ((address, _EVERYWHERE) for address in own)
    guard = OutboundGuard(settings.allowed_networks)
    links = CatalogueLinks(catalogue.links).all()
    found = dict.fromkeys(_located(link.resolver, service) for link in links)
    yield from ((address, guard) for address in found if address and address not in own)


def _located(resolver: str, service: Forms) -> str:
    """Return the address to which a resolver leads for the archive; empty if to none."""
    with closing(OriginalFinder(lambda: [resolver])) as find, suppress(StateError):
        return find(service.label)
    return ""


def _is_other(address: str, guard: OutboundGuard, service: Forms, own: str) -> bool:
    """Return whether an archive with this service and another ledger answers at an address."""
    try:
        about = ask_about(address, guard)
    except ArchiveError:
        return False
    return about.instance != own and _is_of(about, service)


def _is_of(about: About, service: Forms) -> bool:
    for text in (about.service.rep, about.service.ibip):
        with suppress(LabelError):
            if text and parse(text) in tuple(service):
                return True
    return False
