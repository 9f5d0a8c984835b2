"""People: the actions of a scenario that are not faults."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial, singledispatchmethod
from typing import TYPE_CHECKING, Any, Final

from ibi.errors import IbiError
from ibi.identifier.label import Label
from ibi.model.change import ItemChange
from ibi.model.item import State
from tests.simulation.actors.depositor import deposit
from tests.simulation.actors.impostors import Impostors
from tests.simulation.judge.ground_truth import AcknowledgedItem, Holding
from tests.simulation.programs.archive_host import TOKEN, ArchiveHost
from tests.simulation.programs.archive_transport import as_resolver
from tests.simulation.scenarios import events
from tests.simulation.world.machines import Host
from tests.simulation.world.network import UnreachableError
from tests.simulation.world.virtual_time import run_blocking

if TYPE_CHECKING:
    from tests.simulation.world.world import World

FILE: Final = "report.txt"
_PATIENCE: Final = 60.0


class People:
    """Performs the actions of depositors, readers, administrators and operators."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._judge = world.judge
        self._impostors = Impostors(world)
        self._items: dict[int, Label] = {}
        self._moves = 0
        self.has_swapped = False
        """Whether two archives ever swapped their addresses."""
        self.depositing: set[int] = set()
        """Numbers of items whose deposit is not yet acknowledged."""
        self._revisions = 0
        self._undone: set[str] = set()
        self.forced: set[str] = set()
        """Ids of transfers whose sender was told not to wait for the receiver."""

    @singledispatchmethod
    def act(self, event: events.Event) -> None:
        """Perform the action of an event."""
        raise NotImplementedError(event)

    def known(self, item: int) -> AcknowledgedItem | None:
        """Return an item, or None if its deposit was not acknowledged."""
        label = self._items.get(item)
        return None if label is None else self._judge.items[label.canonical]

    def _do(self, host: Host, what: str, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Run something on a machine, if its program is up."""
        if not host.is_up:
            self._world.trace.log("people", f"{what}: {host.name} does not answer")
            return
        assert host.process is not None
        self._world.trace.log("people", what)
        host.process.spawn(self._done(host, what, work))

    async def _done(
        self, host: Host, what: str, work: Callable[[], Coroutine[Any, Any, object]]
    ) -> None:
        try:
            await work()
        except IbiError as refusal:
            host.log(f"refuses ({what}): {refusal}")

    def _owner(self, known: AcknowledgedItem) -> ArchiveHost | None:
        name = self._judge.holder_of_original(known.label.canonical)
        return self._world.archive(name) if name else None

    @act.register
    def _(self, event: events.Deposit) -> None:
        host = self._world.archives[event.archive]
        content = f"item {event.item}, as it was deposited at {host.name}".encode()

        async def work() -> None:
            label = await deposit(host, FILE, content, f"Item {event.item}")
            self._judge.check_deposit(host, event.item, label, content)
            self._items[event.item] = label
            self.depositing.discard(event.item)

        self.depositing.add(event.item)
        self._world.trace.log("people", f"deposit item {event.item} at {host.name}")
        self._world.outside.spawn(work())

    @act.register
    def _(self, event: events.Revise) -> None:
        known = self.known(event.item)
        host = None if known is None else self._owner(known)
        if known is None or host is None:
            return
        self._revisions += 1
        content = f"item {event.item}, revision {self._revisions}".encode()

        async def work() -> None:
            known.contents.add(content)
            await run_blocking(host.revise, known.label, FILE, content)
            known.contents.clear()
            known.contents.add(content)

        self._do(host, f"revise item {event.item} at {host.name}", work)

    @act.register
    def _(self, event: events.Delete) -> None:
        known = self.known(event.item)
        host = None if known is None else self._owner(known)
        if known is None or host is None:
            return

        async def work() -> None:
            self._judge.deletion_requested.add(known.label.canonical)
            await run_blocking(host.archive.delete, known.label, "me", "Nobody wants it.")
            self._judge.check_deleted(known.label.canonical)

        self._do(host, f"delete item {event.item} at {host.name}", work)

    @act.register
    def _(self, event: events.Copy) -> None:
        known, host = self.known(event.item), self._world.archives[event.archive]
        if known is not None:
            holdings = self._judge.holdings[known.label.canonical]
            others = [self._world.archive(name).base for name in holdings if name != host.name]
            what = f"copy item {event.item} to {host.name}"
            work = _copy_work(host, known.label, holdings.get(host.name), others)
            self._do(host, what, lambda: run_blocking(work))

    @act.register
    def _(self, event: events.Drop) -> None:
        known, host = self.known(event.item), self._world.archives[event.archive]
        if known is not None:
            what = f"let {host.name} drop item {event.item}"
            self._do(host, what, lambda: run_blocking(host.copies.drop, known.label, "me"))

    @act.register
    def _(self, event: events.Transfer) -> None:
        known = self.known(event.item)
        host = None if known is None else self._owner(known)
        to = self._world.archives[event.archive]
        if known is None or host is None or host is to:
            return

        def offer() -> None:
            host.transfers.offer([str(known.label)], to.base, TOKEN, "me")

        what = f"transfer item {event.item} from {host.name} to {to.name}"
        self._do(host, what, lambda: run_blocking(offer))

    @act.register
    def _(self, event: events.Undo) -> None:
        known = self.known(event.item)
        if known is None:
            return
        role = "receiving" if event.receiving else "giving"
        for host in self._world.archives:
            rows = host.catalogue_database.inspect(
                "SELECT id FROM archive_exchange WHERE label = $1 AND role = $2 AND state = $3",
                known.label.canonical,
                role,
                "open",
            )
            for (id_,) in rows:
                # The second undo ends it for the sender, even if the receiver did not learn of it.
                self.forced |= {id_} & self._undone if role == "giving" else set()
                self._undone.add(id_)
                what = f"undo the transfer of item {event.item} at {host.name}, {role}"
                self._do(host, what, partial(run_blocking, host.transfers.undo, id_, "me"))

    @act.register
    def _(self, event: events.Read) -> None:
        known = self.known(event.item)
        if known is not None:
            for _ in range(event.times):
                self._world.outside.spawn(
                    self.read(known.label, event.resolver, event.reader, original=event.original)
                )

    async def read(self, label: Label, number: int, reader: int, *, original: bool) -> str:
        """Read an item by a resolver; return the name of the outcome."""
        at = self._world.resolvers[number]
        try:
            reply = await self._world.network.call(
                f"reader{reader}",
                at.address,
                "a question",
                lambda host: as_resolver(host).read(label, f"198.51.{reader}.1", original=original),
                _PATIENCE,
            )
        except UnreachableError as fault:
            return str(fault)
        return reply.outcome

    @act.register
    def _(self, event: events.Mint) -> None:
        host = self._world.minters[event.minter]
        what = f"mint {event.count} at {host.name}"
        self._do(host, what, lambda: run_blocking(host.mint, event.count))

    @act.register
    def _(self, event: events.ForgeOriginal) -> None:
        known, host = self.known(event.item), self._world.archives[event.archive]
        if known is None or host.name in self._judge.holdings[known.label.canonical]:
            return
        owner = self._owner(known)
        if owner is None or not owner.is_up:
            return

        def forge() -> None:
            held = owner.catalogue.items.find(known.label.canonical)
            if held is None or held.item.transfer is not None:
                return
            self._judge.contested.add(known.label.canonical)
            self._judge.forged[known.label.canonical] = host.name
            false = replace(
                held.item, state=State.ORIGINAL, runs_at="http://elsewhere.example.com/", target=""
            )
            archive = host.archive
            change = archive.change(
                "import", "me", known.label, [ItemChange(item=false)], host.clock.wall()
            )
            archive.make(change)

        self._do(host, f"forge item {event.item} at {host.name}", lambda: run_blocking(forge))

    @act.register
    def _(self, event: events.Settle) -> None:
        known, host = self.known(event.item), self._world.resolvers[event.resolver]
        owner = None if known is None else self._owner(known)
        if known is None or owner is None:
            return
        label = known.label.canonical

        async def work() -> None:
            self._judge.settling.add((host.base, label))
            self._judge.settled.pop((host.base, label), None)
            await host.conflicts.settle(label, owner.id, "operator", "looked into")
            self._judge.settled[host.base, label] = owner.name, self._world.loop.now

        self._do(host, f"settle item {event.item} at {host.name} for {owner.name}", work)

    @act.register
    def _(self, event: events.ForgeInclusion) -> None:
        self._impostors.forge_inclusion(event)

    @act.register
    def _(self, event: events.ForgeAcknowledgment) -> None:
        self._impostors.forge_acknowledgment(event)

    @act.register
    def _(self, event: events.Readdress) -> None:
        swap_with = event.archive if event.swap_with == events.NO_ARCHIVE else event.swap_with
        host, other = self._world.archives[event.archive], self._world.archives[swap_with]
        self._world.outside.spawn(self._readdress(host, other))

    async def _readdress(self, host: ArchiveHost, other: ArchiveHost) -> None:
        self._moves += 1
        self._world.trace.log("people", f"{host.name} moves")
        both = {host.name: host, other.name: other}.values()
        while any(each.is_up for each in both):  # the end of a fault may start one meanwhile
            for each in both:
                await each.stop()
        if other is host:
            host.move(f"{host.name}-{self._moves}.example.org")
        else:
            self.has_swapped = True
            mine, its = host.address, other.address
            host.move(its)
            other.move(mine)
        for each in both:
            each.log(f"is at {each.address}")
            each.start_after(0.0)


def _copy_work(
    host: ArchiveHost, label: Label, here: Holding | None, others: Sequence[str]
) -> Callable[[], object]:
    """Return a function that copies an item, refreshes a Copy, or tries to replace the Original."""
    if here is None:
        return lambda: host.copy(label)
    if here.state is State.COPY:
        return lambda: host.refresh(label)
    return lambda: host.copy(label, others[0] if others else "")
