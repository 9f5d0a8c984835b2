"""Checks after the last event: without faults, everything that was begun must come to its end.

Clocks are right, disks and the network work, every program runs, and administrators tell their
archives the present addresses of the others. Then every transfer and deposit must end, every item
must be found, and every access must be acknowledged and counted.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import TYPE_CHECKING, Final

from ibi.errors import IbiError
from ibi.model.item import State
from ibi.model.registration import ArchiveState
from tests.simulation.actors.people import FILE
from tests.simulation.judge.access_counts import Counts
from tests.simulation.judge.judge import READ
from tests.simulation.programs.archive_host import ArchiveHost
from tests.simulation.programs.archive_transport import netloc_of
from tests.simulation.programs.resolver_host import CACHE_SECONDS, ResolverHost
from tests.simulation.world.network import Conditions
from tests.simulation.world.virtual_time import LATENCY, run_blocking

if TYPE_CHECKING:
    from tests.simulation.judge.ground_truth import AcknowledgedItem
    from tests.simulation.world.world import World

_ROUND: Final = 120.0
_KNOWN_TO_ALL: Final = 15.0
"""Seconds in which all processes of a resolver learn of the digests that one has read."""
_PATIENT: Final = 10
"""Rounds after which an administrator abandons transfers that make no progress."""
_MOST: Final = 90
"""Rounds after which an unmet condition is a violation."""


class FinalChecks:
    """Ends all faults, waits until all conditions are met, and checks every item."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._judge = world.judge

    async def run(self) -> None:
        """End all faults, wait, and check."""
        self._heal()
        for round_ in range(_MOST):
            await asyncio.sleep(_ROUND)
            await self._readdress()
            if round_ > _PATIENT:
                await self._abandon()
            unmet = self._unmet()
            if not unmet:
                break
            if round_ == _MOST - 1:
                self._world.violate(f"it never becomes so that {unmet[0]}")
                return
        sent, told, counted = self._accesses()
        await self._read_all()
        await asyncio.sleep(_ROUND)
        self._check_counts(sent, told, counted)
        for label, known in self._judge.items.items():
            if label not in self._judge.contested:
                self._check_owner(known)

    def _heal(self) -> None:
        world = self._world
        world.trace.log("JUDGE", "no fault any more")
        world.network.conditions = Conditions()
        world.network.cut_off = frozenset()
        for host in world.hosts.values():
            host.disk.is_broken = False
            host.disk.writes_left = None
            host.clock.error = 0
            host.latency = LATENCY
            host.start_after(0.0)

    async def _readdress(self) -> None:
        """Tell archives with open transfers the present addresses of the receivers."""
        for host in self._world.archives:
            if host.process is None:
                continue
            for id_, peer in host.catalogue_database.inspect(
                "SELECT id, peer FROM archive_exchange WHERE state = 'open' AND role = 'giving'"
            ):
                to = self._now_at(host, id_, peer)
                if to:
                    host.log(f"is told that {peer} is {to}")
                    await host.process.spawn(self._resume(host, id_, to))

    def _now_at(self, host: ArchiveHost, id_: str, peer: str) -> str:
        """Return the address of the receiver of a transfer, or "" if it has not changed.

        Several archives may have had the old address, and have heard of the transfer: the one that
        issued the receipt of the sender comes first, then one that knows the transfer.
        """
        place = netloc_of(peer)
        issuer = _receipt(host, id_).rpartition("@")[2]
        heard = "SELECT id FROM archive_exchange WHERE id = $1 AND role = 'receiving'"
        archives = sorted(self._world.archives, key=lambda each: each.id != issuer)
        for other in archives:
            if other.catalogue_database.inspect(heard, id_):
                return other.base if place != other.address else ""
        for other in self._world.archives:
            if other is not host and place in other.addresses and place != other.address:
                return other.base
        return ""

    async def _abandon(self) -> None:
        """Undo open transfers at receivers that no sender continues.

        There are such only if archives have swapped addresses, or if a sender was told not to wait
        until the receiver had learned of the undo.
        """
        people = self._world.people
        inspect = "SELECT id FROM archive_exchange WHERE state = 'open' AND role = $1"
        archives = self._world.archives
        given = {
            id_
            for host in archives
            for (id_,) in host.catalogue_database.inspect(inspect, "giving")
        }
        for host in archives:
            for (id_,) in host.catalogue_database.inspect(inspect, "receiving"):
                is_known = people.has_swapped or id_ in people.forced
                if is_known and id_ not in given and host.process is not None:
                    host.log(f"is told that nothing will come of transfer {id_[:6]}")
                    await host.process.spawn(self._undo(host, id_))

    @staticmethod
    async def _undo(host: ArchiveHost, id_: str) -> None:
        try:
            await run_blocking(host.transfers.undo, id_, "me")
        except IbiError as fault:
            host.log(f"refuses (undo): {fault}")

    @staticmethod
    async def _resume(host: ArchiveHost, id_: str, to: str) -> None:
        try:
            await run_blocking(host.transfers.resume, id_, "", to)
        except IbiError as fault:
            host.log(f"refuses (resume): {fault}")

    def _unmet(self) -> list[str]:
        """Return the conditions that are not met yet."""
        world = self._world
        down = [f"{host.name} is up" for host in world.hosts.values() if not host.is_up]
        if down:
            return down
        unmet = [f"item {each} is kept" for each in sorted(world.people.depositing)]
        for host in world.archives:
            [(count,)] = host.catalogue_database.inspect(
                "SELECT count(*) FROM archive_exchange WHERE state = 'open'"
            )
            if count:
                unmet.append(f"{host.name} has ended its {count} open transfers")
        for resolver in world.resolvers:
            for host in world.archives:
                known = resolver.registry.find(host.id)
                if known is None or known.state is not ArchiveState.INCLUDED:
                    unmet.append(f"{resolver.name} has {host.name} included")
                elif known.address != host.address:
                    unmet.append(f"{resolver.name} knows where {host.name} is")
            read = resolver.database.inspect(READ)
            unmet += [
                f"{resolver.name} has read the digest of {host.name}"
                for host in world.archives
                if host.publishes and (host.id,) not in read
            ]
            [(rows,)] = resolver.database.inspect("SELECT count(*) FROM resolver_acknowledgment")
            waiting = max(rows, resolver.acknowledging.waiting)
            if waiting:
                unmet.append(f"{resolver.name} has told of {waiting} accesses, or given them up")
        return unmet

    async def _read_all(self) -> None:
        """Check that every item is found, with its content."""
        for host in self._world.archives:
            self._judge.check_files(host)
        self._judge.note_digests_read()
        await asyncio.sleep(CACHE_SECONDS + _KNOWN_TO_ALL)
        for label, known in self._judge.items.items():
            if label in self._judge.contested:
                await self._read_contested(known)
            else:
                self._check_content(known)
                await self._read(known)

    def _accesses(self) -> tuple[Counts, Counts, Counts]:
        """Return the counts of redirects, acknowledged accesses and counted accesses."""
        accesses = self._judge.accesses
        counted: Counts = Counter()
        for host in self._world.archives:
            counted += accesses.counted(host)
        return accesses.sent.copy(), accesses.told.copy(), counted

    def _check_counts(self, *before: Counts) -> None:
        """Check that without faults every access is acknowledged and counted exactly once."""
        sent, told, counted = (
            after - since for after, since in zip(self._accesses(), before, strict=True)
        )
        for (host, label), count in sent.items():
            what = f"{count} readers were sent to {host} for {self._judge.name(label)}"
            for act, found in (("was told of", told), ("counted", counted)):
                if found[host, label] != count:
                    self._world.violate(
                        f"all is well, and {what}, which {act} {found[host, label]}"
                    )

    async def _read(self, known: AcknowledgedItem) -> None:
        owner = self._judge.holder_of_original(known.label.canonical)
        deleted = [
            host
            for host, each in self._judge.holdings[known.label.canonical].items()
            if each.state is State.DELETED
        ]
        expected = {"Redirect"} if owner else {"Gone"}
        if deleted and not owner:
            expected = {"Gone", "Redirect"}  # a Copy of it may be anywhere
        for number, resolver in enumerate(self._world.resolvers):
            for original in (False, True):
                outcome = await self._world.people.read(known.label, number, 0, original=original)
                if outcome == "Alert" and self._is_settled_otherwise(resolver, known):
                    continue
                if outcome not in expected:
                    which = "the Original of " if original else ""
                    self._world.violate(
                        f"all is well, and {resolver.name} says of {which}item {known.number}: "
                        f"{outcome}"
                    )

    def _is_settled_otherwise(self, resolver: ResolverHost, known: AcknowledgedItem) -> bool:
        """Tell whether an operator settled for an archive that has transferred the Original since.

        Only another decision of the operator changes that (docs/adr/0018).
        """
        label = known.label.canonical
        settled, _ = self._judge.settled.get((resolver.base, label), ("", 0.0))
        is_settled = (resolver.base, label) in self._judge.settling
        return is_settled and settled != self._judge.holder_of_original(label)

    async def _read_contested(self, known: AcknowledgedItem) -> None:
        label = known.label.canonical
        holdings = self._judge.holdings[label].items()
        originals = [host for host, each in holdings if each.state is State.ORIGINAL]
        is_deleted = any(each.state is State.DELETED for _, each in holdings)
        for number, resolver in enumerate(self._world.resolvers):
            outcome = await self._world.people.read(known.label, number, 0, original=True)
            settled, _ = self._judge.settled.get((resolver.base, label), ("", 0.0))
            expected = {"Alert"} if len(originals) > 1 else {outcome}
            if is_deleted:  # no claim is an answer while the owner says so (docs/adr/0018)
                expected.add("Gone")
            if settled in originals:
                expected = {"Redirect"}
            elif (resolver.base, label) in self._judge.settling:
                expected = {outcome}  # perhaps for an archive that has it no longer
            if outcome not in expected:
                self._world.violate(
                    f"all is well, {' and '.join(originals)} claim item {known.number}, and "
                    f"{resolver.name} says of its Original: {outcome}"
                )
            await asyncio.sleep(5.0)
            on_record = resolver.database.inspect(
                "SELECT count(*) FROM resolver_conflict WHERE label = $1", label
            )
            if len(originals) > 1 and on_record == [(0,)]:
                both = " and ".join(originals)
                self._world.violate(
                    f"{both} claim item {known.number}, and {resolver.name} has no record of it"
                )

    def _check_owner(self, known: AcknowledgedItem) -> None:
        """Check that every resolver has recorded the owner of an Original that was required."""
        owner = self._judge.holder_of_original(known.label.canonical)
        for resolver in self._world.resolvers if owner else ():
            rows = resolver.database.inspect(
                "SELECT archive FROM resolver_owner WHERE label = $1", known.label.canonical
            )
            is_on_record = rows == [(self._world.archive(owner).id,)]
            if not rows and self._is_unknown_at_home(resolver, known, owner):
                continue
            if not is_on_record and not self._is_settled_otherwise(resolver, known):
                self._world.violate(
                    f"{resolver.name} does not have on record that {owner} has item {known.number}"
                )

    def _is_unknown_at_home(
        self, resolver: ResolverHost, known: AcknowledgedItem, owner: str
    ) -> bool:
        """Tell whether the homes of a label have nothing of its item, which is in another archive.

        A resolver records no first owner then: the home may deposit the item later
        (docs/adr/0018).
        """
        homes = resolver.registry.homes(known.label)
        holders = {
            self._world.archive(name).id for name in self._judge.holdings[known.label.canonical]
        }
        return bool(homes) and self._world.archive(owner).id not in homes and not homes & holders

    def _check_content(self, known: AcknowledgedItem) -> None:
        label = known.label.canonical
        owner = self._judge.holder_of_original(label)
        if owner:
            files = self._world.archive(owner).tree.items.get(known.label.spelling, {})
            stored = files.get(FILE)
            if stored is None or stored.octets not in known.contents:
                self._world.violate(f"{owner} has item {known.number}, and not what it was")


def _receipt(host: ArchiveHost, id_: str) -> str:
    """Return the receipt by which the item of a transfer was handed over; "" before that."""
    rows = host.catalogue_database.inspect(
        "SELECT i.document FROM archive_exchange e JOIN archive_name n ON n.name = e.label "
        "JOIN archive_item i ON i.id = n.item WHERE e.id = $1",
        id_,
    )
    transfers = [json.loads(document).get("transfer") or {} for (document,) in rows]
    return "".join(str(each.get("receipt", "")) for each in transfers)
