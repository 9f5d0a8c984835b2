"""The judge: compares every answer of a resolver with the true state of the world."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from ibi.identifier.label import Label
from ibi.model.item import State
from ibi.model.registration import RegisteredArchive
from ibi.model.relation import Relation
from ibi.resolver.ports.outbound import ArchiveReply
from ibi.resolver.rules.decision import Gone, NotFound, Redirect, Unserved
from ibi.resolver.rules.redirect_entry import CachedRedirect
from ibi.resolver.rules.resolution import Resolution
from ibi.wire.digest import fingerprint
from ibi.wire.requests import UrlRequest
from tests.simulation.judge.access_counts import DisclosedAddresses
from tests.simulation.judge.ground_truth import GroundTruth, Holding
from tests.simulation.programs.resolver_host import CACHE_SECONDS, FEED_INTERVAL
from tests.simulation.world.machines import SECOND, START

if TYPE_CHECKING:
    from tests.simulation.programs.archive_host import ArchiveHost
    from tests.simulation.programs.resolver_host import ResolverHost
    from tests.simulation.world.world import World

STALENESS: Final = CACHE_SECONDS + FEED_INTERVAL + 3.0
"""Seconds for which a reader may be redirected to an archive that an item has left: the time for
which a redirect is cached, the interval of the change feed, and the duration of a request."""
_NEWS: Final = FEED_INTERVAL + 3.0
"""Seconds in which each process of a resolver learns of a change of its database."""
READ: Final = "SELECT archive FROM resolver_digest WHERE archive <> '' AND whole"
"""Selects the archives whose digests a resolver has read completely."""
_LISTED: Final = (
    "SELECT d.archive FROM resolver_holding h JOIN resolver_digest d ON d.number = h.digest "
    "WHERE h.fingerprint = $1 AND d.archive <> ''"
)
"""Selects the archives whose digests list an item, as a resolver has read them."""
_NUMBERS: Final = "SELECT digest FROM resolver_holding WHERE fingerprint = $1"
"""Selects the numbers of the digests that list an item."""
_NOT_OLD: Final = 6000.0
"""Seconds for which a confirmed digest is certainly valid."""
_MARGIN: Final = 60.0
"""Seconds that an archive must have been included before a resolver must ask it."""


class Judge(GroundTruth):
    """Judges the answers of all resolvers of one world."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._claims: defaultdict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
        self._asked: defaultdict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
        self._owners: dict[tuple[str, str], tuple[str, float]] = {}
        """The recorded owner and since when at the latest, by address of resolver and label."""
        self._listed: dict[tuple[str, str], dict[str, float]] = {}
        """The archives whose digests list an item and since when at the latest, by process and
        label."""
        self._notices: dict[tuple[str, str], float] = {}
        """When archives last notified a resolver of changes, by its address and the archive."""
        self.well_read: set[str] = set()
        """Databases of resolvers that have read every digest, once no faults occur."""

    def note_asked(self, resolver: ResolverHost, archive: str, request: UrlRequest) -> None:
        """Note that an archive was asked for an item."""
        key = resolver.name, request.label.canonical
        self._asked[key].append((self._world.loop.now, archive))

    def note_reply(self, resolver: ResolverHost, answer: ArchiveReply, request: UrlRequest) -> None:
        """Note a claim of an archive to an Original."""
        listed = answer.listed
        itself = None if listed is None else listed.related.get(Relation())
        if itself is not None and itself.state is State.ORIGINAL:
            key = resolver.name, request.label.canonical
            self._claims[key].append((self._world.loop.now, answer.archive))

    def note_notice(self, resolver: ResolverHost, archive: str) -> None:
        """Note that an archive has notified a resolver of changes."""
        self._notices[resolver.base, archive] = self._world.loop.now

    def check_redirect(  # noqa: PLR0913  # what was asked, and what was said
        self,
        resolver: ResolverHost,
        label: Label,
        known: CachedRedirect,
        location: str,
        *,
        original: bool,
        reader: DisclosedAddresses | None,
    ) -> None:
        """Check a redirect; `reader` is None for a request that is not counted."""
        self.checks += 1
        name = label.canonical
        resolver.log(f"says of {self.name(name)}: {location}")
        host = self._world.archive_of(known.terms.archive)
        if reader is not None:
            self.accesses.note_redirect(resolver.base, host, name, reader)
        self._check_place(resolver, name, host, location)
        if original:
            self._check_original(resolver, name, host)

    def note_question(self, resolver: ResolverHost, label: str) -> None:
        """Note the recorded owner of an item that a reader asks for."""
        rows = resolver.database.inspect(
            "SELECT archive FROM resolver_owner WHERE label = $1", label
        )
        key, owner = (resolver.base, label), rows[0][0] if rows else ""
        if self._owners.get(key, ("", 0.0))[0] != owner:
            self._owners[key] = owner, self._world.loop.now
        self._note_listed(resolver, label)

    def _note_listed(self, resolver: ResolverHost, label: str) -> None:
        """Note the archives whose digests list an item, as far as the process knows of them."""
        known, now = self._listed.get((resolver.name, label), {}), self._world.loop.now
        rows = resolver.database.inspect(_NUMBERS, fingerprint(label))
        self._listed[resolver.name, label] = {
            each.archive: known.get(each.archive, now)
            for each in resolver.locations.digests()
            if (each.number,) in rows
        }

    def check_reply(self, resolver: ResolverHost, label: Label, resolution: Resolution) -> None:
        """Check an answer that is no redirect."""
        self.checks += 1
        outcome, name = type(resolution.outcome).__name__, label.canonical
        resolver.log(f"says of {self.name(name)}: {outcome}")
        if outcome == "NotFound":
            self._check_absence(resolver, name, resolution.began)
        if outcome == "Gone" and name not in self.deletion_requested:
            self._violate(
                f"{resolver.name} says that {self.name(name)} was deleted, which it was not"
            )

    def check_resolution(self, resolver: ResolverHost, resolution: Resolution) -> None:
        """Check that a reader is not redirected to one of two rival claimants of an Original."""
        self.checks += 1
        label = resolution.question.label.canonical
        if resolver.database.name in self.well_read:
            self._check_likely(resolver, resolution)
        self._check_digests(resolver, resolution)
        if isinstance(resolution.outcome, Unserved) and resolution.question.original_required:
            self._check_original_absence(resolver, label, resolution.last.began)
        if not isinstance(resolution.outcome, Redirect):
            return
        self._check_claimant(resolver, resolution, resolution.outcome.answer.archive)
        if not resolution.question.original_required:
            return
        began = resolution.last.began
        claims = self._claims[resolver.name, label]
        claimants = {archive for at, archive in claims if at >= began}
        if (resolver.base, label) in self.settling:
            return
        self._check_asked(resolver, label, began)
        if len(claimants) > 1:
            both = " and ".join(sorted(self._world.archive_of(each).name for each in claimants))
            self._violate(
                f"{resolver.name} heard {both} claim {self.name(label)}, and gave no alert"
            )

    def _check_claimant(self, resolver: ResolverHost, resolution: Resolution, archive: str) -> None:
        """Check that a forged Original is not trusted rather than one that comes before it.

        The true one is in an archive at home where the label was made, or whose digest lists it,
        whether that archive answers or not; of two archives whose digests list it the senior one
        comes first (docs/adr/0018).
        """
        label, began = resolution.question.label.canonical, resolution.last.began
        host, key = self._world.archive_of(archive), (resolver.base, label)
        owner, _ = self._owners.get(key, ("", 0.0))
        is_trusted = owner == archive or key in self.settling or self._is_home(host, label)
        if self.forged.get(label) != host.name or is_trusted:
            return
        listed = self._listed.get((resolver.name, label), {})
        ranks = resolver.registry.ranks()
        for name, holding in self.holdings[label].items():
            true = self._world.archive(name)
            is_true = holding.state is State.ORIGINAL and true is not host
            is_before = archive not in listed or ranks[true.id] < ranks[archive]
            is_listed = true.id in listed and listed[true.id] <= began and is_before
            is_home = label.startswith(f"{true.subsystem.rep_prefix}/")
            if is_true and holding.since < began and (is_home or is_listed):
                self._violate(
                    f"{resolver.name} sends to {host.name} for {self.name(label)}, which only says "
                    f"that it has the Original, and {name} has it"
                )

    @staticmethod
    def _is_home(host: ArchiveHost, label: str) -> bool:
        """Return whether an archive is, or was, where a label was made (rules.home_places)."""
        domain, name, *_ = label.split("/")
        return label.startswith(f"{host.subsystem.rep_prefix}/") or (
            f"{name}.{domain}" in {host.address, *host.addresses}
        )

    def note_digests_read(self) -> None:
        """Note which resolvers have read the digests of all archives."""
        self.well_read = {
            resolver.database.name for resolver in self._world.resolvers if self._has_read(resolver)
        }

    def _has_read(self, resolver: ResolverHost) -> bool:
        # A digest that was confirmed by a wrong clock may count as too old.
        is_right = not any(
            each.clock.was_set
            for each in self._world.resolvers
            if each.database is resolver.database
        )
        since = self._wall(self._world.loop.now - _NOT_OLD)
        rows = resolver.database.inspect(f"{READ} AND confirmed > $1", since)
        return is_right and len(rows) == len(self._world.archives)

    def _check_likely(self, resolver: ResolverHost, resolution: Resolution) -> None:
        """Check that archives whose digests do not list an item are asked after those that do.

        If the owner is recorded, a reader does not wait for them at all.
        """
        question, label = resolution.question, resolution.question.label.canonical
        owner = self.holder_of_original(label)
        if question.original_required or not owner:
            return
        rows = resolver.database.inspect(
            "SELECT archive FROM resolver_owner WHERE label = $1", label
        )
        is_known = rows == [(self._world.archive(owner).id,)]
        holders = {self._world.archive(name).id for name in self.holdings[label]}
        rows = resolver.database.inspect(_LISTED, fingerprint(label))
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

    def _check_asked(self, resolver: ResolverHost, label: str, began: float) -> None:
        """Check that every claimant of a required Original is asked, unless it is down.

        A digest that was read just before the item came may stand for the answer of its archive.
        """
        asked = {archive for at, archive in self._asked[resolver.name, label] if at >= began}
        for host, holding in self.holdings[label].items():
            archive = self._world.archive(host)
            known = resolver.registry.find(archive.id)
            if holding.state is not State.ORIGINAL or holding.since > began or known is None:
                continue
            is_asked = archive.id in asked or known.inclusion is None or known.outage is not None
            if is_asked or self._may_be_unread(resolver, archive.id, holding.since, began):
                continue
            if known.inclusion and known.inclusion.since < self._wall(began):
                self._violate(
                    f"{resolver.name} did not ask {host}, which claims {self.name(label)}, "
                    "for its Original"
                )

    @staticmethod
    def _wall(at: float) -> int:
        return START + int((at - _MARGIN) * SECOND)

    def _check_place(
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

    def _check_original(self, resolver: ResolverHost, label: str, host: ArchiveHost) -> None:
        holding = self.holdings[label].get(host.name)
        until = -1.0 if holding is None else holding.original_until
        is_original = holding is not None and holding.state is State.ORIGINAL
        left = self._left.get((label, host.name), -1.0)
        if not is_original and max(until, left) < self._world.loop.now - STALENESS:
            self._violate(f"{resolver.name} takes {host.name} for the Original of a Copy")
        self._check_belief(resolver, label, host)
        self._check_settled(resolver, label, host)

    def _check_settled(self, resolver: ResolverHost, label: str, host: ArchiveHost) -> None:
        """Check that a settled owner is trusted, once all processes have learned of it."""
        name, at = self.settled.get((resolver.base, label), (host.name, 0.0))
        holding = self.holdings[label].get(name)
        is_there = holding is not None and holding.state is State.ORIGINAL
        if name != host.name and is_there and at < self._world.loop.now - STALENESS:
            self._violate(
                f"{resolver.name} sends to {host.name} for the Original of {self.name(label)}, "
                f"which was settled for {name}"
            )

    def _check_belief(self, resolver: ResolverHost, label: str, host: ArchiveHost) -> None:
        """Check that a recorded owner is not left for an archive that only claims the Original."""
        rows = resolver.database.inspect(
            "SELECT archive FROM resolver_owner WHERE label = $1", label
        )
        owner = rows[0][0] if rows else ""
        if label in self.forged and not self._is_home(host, label) and owner not in {"", host.id}:
            rightful = self._world.archive_of(owner)
            holding = self.holdings[label].get(rightful.name)
            if host.name == self.forged[label] and holding and holding.state is State.ORIGINAL:
                self._violate(
                    f"{resolver.name} knows that {rightful.name} has {self.name(label)}, and "
                    f"sends to {host.name}, which only says so"
                )

    def _check_absence(self, resolver: ResolverHost, label: str, began: float) -> None:
        """Check that no archive has an item that is not found."""
        for host, holding, is_excused in self._unfound(resolver, label, began):
            if holding.since < began and not is_excused:
                self._violate(
                    f"{resolver.name} says that no archive has {self.name(label)}, "
                    f"and {host} has it"
                )

    def _check_original_absence(self, resolver: ResolverHost, label: str, began: float) -> None:
        """Check that no archive that was not asked has an Original that is not found."""
        for host, holding, is_excused in self._unfound(resolver, label, began):
            is_asked = self._is_asked(resolver, label, self._world.archive(host).id, began)
            is_held = holding.state is State.ORIGINAL and holding.since < began
            if is_held and not is_asked and not is_excused:
                self._violate(
                    f"{resolver.name} says that no archive has the Original of "
                    f"{self.name(label)}, and did not ask {host}, which has it"
                )

    def _unfound(
        self, resolver: ResolverHost, label: str, began: float
    ) -> Iterator[tuple[str, Holding, bool]]:
        """Yield where an item is of which a resolver must know, and whether it is excused.

        It must know of included archives and of the recorded owner. It is excused if a digest that
        stands for the answer may lack the item.
        """
        owner, since = self._owners.get((resolver.base, label), ("", 0.0))
        on_record = [owner] if owner and since <= began else []
        for each in (*self.inclusions.since(resolver.database, began - _NEWS), *on_record):
            host = self._world.archive_of(each)
            holding = self.holdings[label].get(host.name)
            if holding is None:
                continue
            is_asked = self._is_asked(resolver, label, each, began)
            is_unread = self._may_be_unread(resolver, each, holding.since, began)
            yield host.name, holding, not is_asked and is_unread

    def _check_digests(self, resolver: ResolverHost, resolution: Resolution) -> None:
        """Check that no digest stands for an answer that has changed since.

        For these outcomes each included archive was asked, or its digest stands for its answer.
        """
        if not isinstance(resolution.outcome, NotFound | Unserved | Gone):
            return
        label, began = resolution.last.question.label.canonical, resolution.last.began
        for host, holding in self.holdings[label].items():
            archive = self._world.archive(host).id
            known = resolver.registry.find(archive)
            if known is None or known.inclusion is None or known.outage is not None:
                continue
            if self._is_asked(resolver, label, archive, began):
                continue
            is_included = known.inclusion.since < self._wall(holding.since)
            if is_included and not self._may_be_unread(resolver, archive, holding.since, began):
                self._violate(
                    f"{resolver.name} takes an old digest for the answer of {host}, which has "
                    f"{self.name(label)}"
                )

    def _is_asked(self, resolver: ResolverHost, label: str, archive: str, began: float) -> bool:
        asked = self._asked[resolver.name, label]
        return any(at >= began and each == archive for at, each in asked)

    def _may_be_unread(
        self, resolver: ResolverHost, archive: str, since: float, began: float
    ) -> bool:
        """Tell whether the digest of an archive that was not asked may lack an item.

        The process that searched follows its log, and the archive has not notified the resolver of
        the item yet, or only just.
        """
        if resolver.followed.found_at.get(archive, -1.0) < began:
            return False
        notice = self._notices.get((resolver.base, archive), -1.0)
        return notice < since or notice > began - STALENESS

    def check_registry_view(
        self, resolver: ResolverHost, archive: RegisteredArchive, before: dict[str, int]
    ) -> None:
        """Check that a process never uses an older record of an archive than before."""
        self.checks += 1
        version = self.inclusions.version(resolver.database, archive)
        if version < before.get(archive.id, -1):
            name = self._world.archive_of(archive.id).name
            self._violate(f"{resolver.name} shows {name} as it was before what it showed already")
        before[archive.id] = version

    def check_inclusions(self, resolver: ResolverHost) -> None:
        """Check that every archive is recorded at an address that it announced itself."""
        self.checks += 1
        for each in resolver.registry.all():
            host = self._world.archive_of(each.id)
            if each.inclusion is not None and each.inclusion.address not in {
                host.address,
                *host.addresses,
            }:
                address = each.inclusion.address
                self._violate(f"{resolver.name} takes {address} for the place of {host.name}")
