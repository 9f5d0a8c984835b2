"""The health of a running archive: what `ibi doctor` checks of it, as far as it sees itself.

Whether its public address leads here, only a check from outside tells. The functions at the end say
what a state means; `ibi doctor` applies them to what it sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.ports.restoration import UNRECONCILED
from ibi.archive.rules.announcement import Link
from ibi.errors import Sentence
from ibi.foundation.system.host_checks import disk_findings, folder_findings, name_findings
from ibi.identifier.instant import Instant
from ibi.minting.rules.reservation import ReservationLimits
from ibi.minting.stretch_allocator import MinterHealth
from ibi.model.clock import SECOND, Clock
from ibi.model.finding import Finding, sorted_findings

_PART: Final = "archive"
STATES: Final = {
    "pending": Sentence("pending"),
    "included": Sentence("included"),
    "unconfirmed": Sentence("unconfirmed"),
    "refused": Sentence("refused"),
    "excluded": Sentence("excluded"),
    "unreachable": Sentence("unreachable"),
    "leaving": Sentence("leaving"),
}
"""The states of a link, for people."""


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
        self._names: tuple[Finding, ...] = ()

    def findings(self, *, looks_up: bool = True) -> list[Finding]:
        """Check everything; the worst comes first.

        Names are looked up, which may take seconds. If they are not to be, what was found when
        they were looked up last is repeated.
        """
        places = self.places
        if looks_up:
            hosts = {urlsplit(places.address).hostname or "", places.host}
            named = name_findings("archive", hosts, places.ip, places.settings_file)
            self._names = tuple(named)
        counts = self._catalogue.statistics.maintenance_counts()
        return sorted_findings(
            (
                self._ledger(),
                *upkeep_findings(counts.damaged, counts.missing),
                *restored_findings(self._catalogue.settings.get(UNRECONCILED)),
                *link_findings([_facts(link) for link in self._links()]),
                *disk_findings("archive", {places.folder, places.root}),
                *folder_findings("archive", places.folder, ("token", places.settings_file)),
                *self._names,
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


@dataclass(frozen=True, slots=True)
class LinkFacts:
    """The link to one resolver."""

    resolver: str
    state: str
    since: str
    """An instant, as ISO 8601 writes it."""
    reason: str = ""


def ledger_finding(mark: int, now: int, behind: int) -> Finding:
    """Check the clock against the ledger; `behind` is how far it may be behind the last label.

    All are nanoseconds.
    """
    if mark - now > behind:
        text = Sentence(
            "the clock is %(seconds)s s behind the last label", seconds=round((mark - now) / SECOND)
        )
        advice = Sentence("set the clock: nothing is minted")
        return Finding(_PART, "ledger", "failure", text, advice)
    return Finding(_PART, "ledger", "ok", Sentence("the last label is not ahead of the clock"))


def restored_findings(moment: str) -> Iterator[Finding]:
    """Check an archive from a backup of a moment; "" for one whose Originals are conceded."""
    if moment:
        text = Sentence(
            "from a backup of %(moment)s: Originals that it gave away since are not conceded",
            moment=moment,
        )
        advice = Sentence(
            "stop it and run 'ibi archive concede': until then it gives no Original away"
        )
        yield Finding(_PART, "restore", "warning", text, advice)


def link_findings(links: Sequence[LinkFacts]) -> Iterator[Finding]:
    """Check whether resolvers include the archive."""
    if not links:
        advice = "'ibi archive link RESOLVER'"
        yield Finding(_PART, "link", "warning", Sentence("to no resolver"), advice)
    for link in links:
        text: str = Sentence(
            "%(resolver)s: %(state)s since %(since)s",
            resolver=link.resolver,
            state=STATES.get(link.state, link.state),
            since=link.since,
        )
        if link.state == "included":
            yield Finding(_PART, "link", "ok", text)
            continue
        if link.reason:
            text = Sentence("%(text)s, %(reason)s", text=text, reason=link.reason)
        yield Finding(_PART, "link", "warning", text, _advice(link.state))


def _advice(state: str) -> str:
    if state == "refused":
        return Sentence("its operator has to register the archive: 'ibi archive link' shows what")
    return Sentence("look at both addresses, and at what is between them")


def upkeep_findings(damaged: int, missing: int) -> Iterator[Finding]:
    """Check what is recorded about damaged files, and about Originals that are not found."""
    if damaged:
        text = Sentence("damaged: %(count)s", count=damaged)
        advice = Sentence("'ibi archive audit --repair' mends them from a copy elsewhere")
        yield Finding(_PART, "files", "failure", text, advice)
    else:
        yield Finding(_PART, "files", "ok", Sentence("none is known to be damaged"))
    if missing:
        text = Sentence("the Original cannot be found of %(count)s", count=missing)
        advice = Sentence("'ibi archive copies --faulty' says why")
        yield Finding(_PART, "copies", "warning", text, advice)
