"""The judge: holds what resolvers say against the truth, whenever they say something."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from ibi.identifier.fingerprint import fingerprint
from ibi.identifier.label import Label
from ibi.model.item import State
from ibi.model.registration import RegisteredArchive
from ibi.model.relation import Relation
from ibi.resolver.ports.outbound import ArchiveReply
from ibi.resolver.rules.decision import Redirect
from ibi.resolver.rules.redirect_entry import CachedRedirect
from ibi.resolver.rules.resolution import Resolution
from ibi.wire.requests import UrlRequest
from tests.simulation.judge.access_counts import Reader
from tests.simulation.judge.ground_truth import Truth
from tests.simulation.programs.resolver_host import FOLLOW, HOT
from tests.simulation.world.machines import SECOND, START

if TYPE_CHECKING:
    from tests.simulation.programs.archive_host import ArchiveHost
    from tests.simulation.programs.resolver_host import ResolverHost
    from tests.simulation.world.world import World

STALENESS: Final = HOT + FOLLOW + 3.0
"""Seconds for which a reader may be sent to a place that an item has left: as long as an answer is
remembered, as it takes to hear of what another process knows, and as it takes to ask."""
_NEWS: Final = FOLLOW + 3.0
"""Seconds in which each process of a resolver hears of what stands on its record."""
READ: Final = "SELECT archive FROM resolver_digest WHERE archive <> '' AND whole"
"""Archives whose digests a resolver knows whole."""
_LISTED: Final = (
    "SELECT d.archive FROM resolver_holding h JOIN resolver_digest d ON d.number = h.digest "
    "WHERE h.fingerprint = $1 AND d.archive <> ''"
)
"""Archives that have an item by their digests, as a resolver has read them."""
_NOT_OLD: Final = 6000.0
"""Seconds for which a digest that was confirmed counts, and some less."""
_MARGIN: Final = 60.0
"""Seconds for which an archive must have been included before it had to be asked."""


class Judge(Truth):
    """Judges one world."""

    def __init__(self, world: World) -> None:
        """Have heard nothing yet."""
        super().__init__(world)
        self._claims: defaultdict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
        self._asked: defaultdict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
        self._owners: dict[tuple[str, str], tuple[str, float]] = {}
        """On record at a resolver, by its address and by label, and since when at the latest."""
        self.well_read: set[str] = set()
        """Databases of resolvers that know every digest, while all is well."""

    def asked(self, resolver: ResolverHost, archive: str, request: UrlRequest) -> None:
        """Remember who was asked."""
        key = resolver.name, request.label.canonical
        self._asked[key].append((self._world.loop.now, archive))

    def heard(self, resolver: ResolverHost, answer: ArchiveReply, request: UrlRequest) -> None:
        """Remember who claimed an Original, to whom."""
        listed = answer.listed
        itself = None if listed is None else listed.related.get(Relation())
        if itself is not None and itself.state is State.ORIGINAL:
            key = resolver.name, request.label.canonical
            self._claims[key].append((self._world.loop.now, answer.archive))

    def redirected(  # noqa: PLR0913  # what was asked, and what was said
        self,
        resolver: ResolverHost,
        label: Label,
        known: CachedRedirect,
        location: str,
        *,
        original: bool,
        reader: Reader | None,
    ) -> None:
        """Judge where a resolver sends a reader; nobody reads if it is only looked for."""
        self.checks += 1
        name = label.canonical
        resolver.say(f"says of {self.name(name)}: {location}")
        host = self._world.archive_of(known.terms.archive)
        if reader is not None:
            self.accesses.send(resolver.base, host, name, reader)
        self._judge_place(resolver, name, host, location)
        if original:
            self._judge_original(resolver, name, host)

    def questioned(self, resolver: ResolverHost, label: str) -> None:
        """Remember who is on record as the owner of what a reader asks for, and since when."""
        rows = resolver.database.look("SELECT archive FROM resolver_owner WHERE label = $1", label)
        key, owner = (resolver.base, label), rows[0][0] if rows else ""
        if self._owners.get(key, ("", 0.0))[0] != owner:
            self._owners[key] = owner, self._world.loop.now

    def replied(self, resolver: ResolverHost, label: Label, resolution: Resolution) -> None:
        """Judge what a resolver says that sends a reader nowhere."""
        self.checks += 1
        outcome, name = type(resolution.outcome).__name__, label.canonical
        resolver.say(f"says of {self.name(name)}: {outcome}")
        if outcome == "NotFound":
            self._judge_absence(resolver, name, resolution.began)
        if outcome == "Gone" and name not in self.doomed:
            self._violate(f"{resolver.name} says that {self.name(name)} was deleted: nobody did")

    def resolved(self, resolver: ResolverHost, resolution: Resolution) -> None:
        """Where two claimed the Original that somebody wants, nobody is sent to either."""
        self.checks += 1
        label = resolution.question.label.canonical
        if resolver.database.name in self.well_read:
            self._judge_likely(resolver, resolution)
        is_taken = isinstance(resolution.outcome, Redirect)
        if not is_taken or not resolution.question.original_required:
            return
        began = resolution.last.began
        claims = self._claims[resolver.name, label]
        claimants = {archive for at, archive in claims if at >= began}
        if (resolver.base, label) in self.settling:
            return
        self._judge_asked(resolver, label, began)
        if len(claimants) > 1:
            both = " and ".join(sorted(self._world.archive_of(each).name for each in claimants))
            self._violate(
                f"{resolver.name} heard {both} claim {self.name(label)}, and alerted nobody"
            )

    def look_at_digests(self) -> None:
        """See which resolvers have read the digests of all archives."""
        self.well_read = {
            resolver.database.name for resolver in self._world.resolvers if self._has_read(resolver)
        }

    def _has_read(self, resolver: ResolverHost) -> bool:
        # What was confirmed by a clock which was wrong may be taken for too old.
        is_right = not any(
            each.clock.was_set
            for each in self._world.resolvers
            if each.database is resolver.database
        )
        since = self._wall(self._world.loop.now - _NOT_OLD)
        rows = resolver.database.look(f"{READ} AND confirmed > $1", since)
        return is_right and len(rows) == len(self._world.archives)

    def _judge_likely(self, resolver: ResolverHost, resolution: Resolution) -> None:
        """Who has not said that he has an item, and never had it, is asked after all who have.

        Nor does a reader wait for him, if it is known who has the Original.
        """
        question, label = resolution.question, resolution.question.label.canonical
        owner = self.original(label)
        if question.original_required or not owner:
            return
        rows = resolver.database.look("SELECT archive FROM resolver_owner WHERE label = $1", label)
        is_known = rows == [(self._world.archive(owner).id,)]
        holders = {self._world.archive(name).id for name in self.holdings[label]}
        rows = resolver.database.look(_LISTED, fingerprint(label))
        if {archive for (archive,) in rows} != holders or not self._has_read(resolver):
            return
        likely = holders | resolver.registry.homes(question.label)
        began = resolution.last.began
        asked = {each: at for at, each in self._asked[resolver.name, label] if at >= began}
        first = max((asked.get(each, began) for each in holders), default=began)
        for archive, at in asked.items():
            if archive not in likely and (is_known or at <= first):
                name = self._world.archive_of(archive).name
                self._violate(
                    f"{resolver.name} asked {name} for {self.name(label)} while a reader waited, "
                    "and knew that it is elsewhere"
                )

    def _judge_asked(self, resolver: ResolverHost, label: str, began: float) -> None:
        """Whoever claims an Original that somebody wants is asked, unless it is down."""
        asked = {archive for at, archive in self._asked[resolver.name, label] if at >= began}
        for host, holding in self.holdings[label].items():
            archive = self._world.archive(host)
            known = resolver.registry.find(archive.id)
            if holding.state is not State.ORIGINAL or holding.since > began or known is None:
                continue
            is_asked = archive.id in asked or known.inclusion is None or known.outage is not None
            if not is_asked and known.inclusion and known.inclusion.since < self._wall(began):
                self._violate(
                    f"{resolver.name} did not ask {host}, which claims {self.name(label)}, "
                    "for its Original"
                )

    @staticmethod
    def _wall(at: float) -> int:
        return START + int((at - _MARGIN) * SECOND)

    def _judge_place(
        self, resolver: ResolverHost, label: str, host: ArchiveHost, location: str
    ) -> None:
        oldest = self._world.loop.now - STALENESS
        holding = self.holdings[label].get(host.name)
        is_there = holding is not None and holding.state is not State.DELETED
        if not is_there and self._left.get((label, host.name), -1.0) < oldest:
            self._violate(
                f"{resolver.name} sends to {host.name} for {self.name(label)}, "
                "which was not there for longer than an answer may be remembered"
            )
        place = urlsplit(location).netloc
        if place != host.address and host.addresses.get(place, -1.0) < oldest:
            self._violate(f"{resolver.name} sends to {place}, where {host.name} is not")

    def _judge_original(self, resolver: ResolverHost, label: str, host: ArchiveHost) -> None:
        holding = self.holdings[label].get(host.name)
        until = -1.0 if holding is None else holding.original_until
        is_original = holding is not None and holding.state is State.ORIGINAL
        left = self._left.get((label, host.name), -1.0)
        if not is_original and max(until, left) < self._world.loop.now - STALENESS:
            self._violate(f"{resolver.name} takes {host.name} for the Original of a Copy")
        self._judge_belief(resolver, label, host)
        self._judge_settled(resolver, label, host)

    def _judge_settled(self, resolver: ResolverHost, label: str, host: ArchiveHost) -> None:
        """For whom an operator has settled it is believed, once all processes have heard of it."""
        name, at = self.settled.get((resolver.base, label), (host.name, 0.0))
        holding = self.holdings[label].get(name)
        is_there = holding is not None and holding.state is State.ORIGINAL
        if name != host.name and is_there and at < self._world.loop.now - STALENESS:
            self._violate(
                f"{resolver.name} sends to {host.name} for the Original of {self.name(label)}, "
                f"which was settled for {name}"
            )

    def _judge_belief(self, resolver: ResolverHost, label: str, host: ArchiveHost) -> None:
        """Whoever is known to have the Original is not left for one who only says so."""
        rows = resolver.database.look("SELECT archive FROM resolver_owner WHERE label = $1", label)
        owner = rows[0][0] if rows else ""
        # Who answers where a label was made is at home there (ibi.resolver.rules.archive_roster).
        domain, name, *_ = label.split("/")
        is_home = label.startswith(f"{host.subsystem.rep_prefix}/") or (
            f"{name}.{domain}" in {host.address, *host.addresses}
        )
        if label in self.forged and not is_home and owner not in {"", host.id}:
            rightful = self._world.archive_of(owner)
            holding = self.holdings[label].get(rightful.name)
            if host.name == self.forged[label] and holding and holding.state is State.ORIGINAL:
                self._violate(
                    f"{resolver.name} knows that {rightful.name} has {self.name(label)}, and "
                    f"sends to {host.name}, which only says so"
                )

    def _judge_absence(self, resolver: ResolverHost, label: str, began: float) -> None:
        """Whoever is included has to be heard, however silent; and so has an owner that is off."""
        owner, since = self._owners.get((resolver.base, label), ("", 0.0))
        on_record = [owner] if owner and since <= began else []
        for each in (*self.inclusions.since(resolver.database, began - _NEWS), *on_record):
            host = self._world.archive_of(each)
            holding = self.holdings[label].get(host.name)
            if holding is not None and holding.since < began:
                self._violate(
                    f"{resolver.name} says that nobody has {self.name(label)}, "
                    f"and {host.name} has it"
                )

    def shown(
        self, resolver: ResolverHost, archive: RegisteredArchive, before: dict[str, int]
    ) -> None:
        """What a process takes for what is on record is never older than what it took before."""
        self.checks += 1
        version = self.inclusions.version(resolver.database, archive)
        if version < before.get(archive.id, -1):
            name = self._world.archive_of(archive.id).name
            self._violate(f"{resolver.name} shows {name} as it was before what it showed already")
        before[archive.id] = version

    def included(self, resolver: ResolverHost) -> None:
        """Only the archive itself, which has the key, says where it is."""
        self.checks += 1
        for each in resolver.registry.all():
            host = self._world.archive_of(each.id)
            if each.inclusion is not None and each.inclusion.address not in {
                host.address,
                *host.addresses,
            }:
                address = each.inclusion.address
                self._violate(f"{resolver.name} takes {address} for the place of {host.name}")
