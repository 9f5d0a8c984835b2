"""The health of a running archive: what `ibi doctor` checks of it, as far as it sees itself.

Whether its public address leads here, only a check from outside tells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.ports.restoration import UNRECONCILED
from ibi.archive.rules.announcement import Link
from ibi.archive.rules.health import (
    LinkFacts,
    ledger_finding,
    link_findings,
    restored_findings,
    upkeep_findings,
)
from ibi.foundation.system.host_checks import disk_findings, folder_findings, name_findings
from ibi.identifier.instant import Instant
from ibi.minting.rules.reservation import ReservationLimits
from ibi.minting.stretch_allocator import MinterHealth
from ibi.model.clock import SECOND, Clock
from ibi.model.finding import Finding, sorted_findings


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where an archive is: its folders and its public names."""

    folder: Path
    root: Path
    """The folder of the files; that of the archive if they are in an object store."""
    address: str
    host: str
    """The host of its labels."""
    ip: str
    settings_file: str
    """The name of the file with the settings, in the folder."""


class Health:
    """Checks one archive."""

    def __init__(
        self,
        places: Places,
        catalogue: Catalogue,
        links: Callable[[], list[Link]],
        minting: Callable[[], MinterHealth],
        clock: Clock,
    ) -> None:
        """`links` returns those to resolvers, `minting` the state of the minter."""
        self.places = places
        self._catalogue = catalogue
        self._links = links
        self._minting = minting
        self._clock = clock

    def findings(self) -> list[Finding]:
        """Check everything, which may take seconds: names are looked up. The worst comes first."""
        places = self.places
        hosts = {urlsplit(places.address).hostname or "", places.host}
        counts = self._catalogue.statistics.maintenance_counts()
        return sorted_findings(
            (
                self._ledger(),
                *upkeep_findings(counts.damaged, counts.missing),
                *restored_findings(self._catalogue.settings.get(UNRECONCILED)),
                *link_findings([_facts(link) for link in self._links()]),
                *disk_findings("archive", {places.folder, places.root}),
                *folder_findings("archive", places.folder, ("token", places.settings_file)),
                *name_findings("archive", hosts, places.ip, places.settings_file),
            )
        )

    def _ledger(self) -> Finding:
        """Check the clock against the ledger, or why the last label could not be minted."""
        health = self._minting()
        trouble = health.trouble
        if trouble is not None and health.clock_distance <= 0:
            return Finding("archive", "ledger", "failure", str(trouble))
        now = self._clock.wall()
        last = now + health.clock_distance
        return ledger_finding(last, now, ReservationLimits().behind)


def _facts(link: Link) -> LinkFacts:
    since = Instant(link.since // SECOND).iso8601
    return LinkFacts(link.resolver, link.state, since, link.reason)
