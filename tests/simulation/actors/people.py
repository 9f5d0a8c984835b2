"""People: what they do in a scenario, wherever they may."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial, singledispatchmethod
from typing import TYPE_CHECKING, Any, Final

from ibi.errors import IbiError
from ibi.identifier.label import Label
from ibi.model.change import ItemChange
from ibi.model.item import State
from tests.simulation.actors.copier import copying
from tests.simulation.actors.depositor import deposit
from tests.simulation.actors.impostors import Strangers
from tests.simulation.judge.ground_truth import Kept
from tests.simulation.programs.archive_host import TOKEN, ArchiveHost
from tests.simulation.programs.archive_transport import as_resolver
from tests.simulation.scenarios import events
from tests.simulation.world.machines import Host
from tests.simulation.world.network import UnreachableError
from tests.simulation.world.virtual_time import strand

if TYPE_CHECKING:
    from tests.simulation.world.world import World

FILE: Final = "report.txt"
_PATIENCE: Final = 60.0


class People:
    """All people of a world."""

    def __init__(self, world: World) -> None:
        """Live in a world."""
        self._world = world
        self._judge = world.judge
        self._strangers = Strangers(world)
        self._items: dict[int, Label] = {}
        self._moves = 0
        self.has_swapped = False
        """Whether somebody ever was where another had been."""
        self.depositing: set[int] = set()
        """Items of which nobody was told yet that they are kept."""
        self._revisions = 0
        self._undone: set[str] = set()
        self.forced: set[str] = set()
        """Transfers whose givers were told not to wait for the other side."""

    @singledispatchmethod
    def act(self, event: events.Event) -> None:
        """Let somebody do something."""
        raise NotImplementedError(event)

    def known(self, item: int) -> Kept | None:
        """Return an item, if its deposit took place."""
        label = self._items.get(item)
        return None if label is None else self._judge.known[label.canonical]

    def _do(self, host: Host, what: str, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Have something done on a machine, if anybody is there."""
        if not host.is_up:
            self._world.trace.say("people", f"{what}: {host.name} does not answer")
            return
        assert host.process is not None
        self._world.trace.say("people", what)
        host.process.spawn(self._done(host, what, work))

    async def _done(
        self, host: Host, what: str, work: Callable[[], Coroutine[Any, Any, object]]
    ) -> None:
        try:
            await work()
        except IbiError as refusal:
            host.say(f"refuses ({what}): {refusal}")

    def _owner(self, known: Kept) -> ArchiveHost | None:
        name = self._judge.original(known.label.canonical)
        return self._world.archive(name) if name else None

    @act.register
    def _(self, event: events.Deposit) -> None:
        host = self._world.archives[event.archive]
        content = f"item {event.item}, as it was deposited at {host.name}".encode()

        async def work() -> None:
            label = await deposit(host, FILE, content, f"Item {event.item}")
            self._judge.acknowledged(host, event.item, label, content)
            self._items[event.item] = label
            self.depositing.discard(event.item)

        self.depositing.add(event.item)
        self._world.trace.say("people", f"deposit item {event.item} at {host.name}")
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
            await strand(host.revise, known.label, FILE, content)
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
            self._judge.doomed.add(known.label.canonical)
            await strand(host.archive.delete, known.label, "me", "Nobody wants it.")
            self._judge.deleted(known.label.canonical)

        self._do(host, f"delete item {event.item} at {host.name}", work)

    @act.register
    def _(self, event: events.Copy) -> None:
        known, host = self.known(event.item), self._world.archives[event.archive]
        if known is not None:
            holdings = self._judge.holdings[known.label.canonical]
            others = [self._world.archive(name).base for name in holdings if name != host.name]
            what = f"copy item {event.item} to {host.name}"
            work = copying(host, known.label, holdings.get(host.name), others)
            self._do(host, what, lambda: strand(work))

    @act.register
    def _(self, event: events.Drop) -> None:
        known, host = self.known(event.item), self._world.archives[event.archive]
        if known is not None:
            what = f"let {host.name} drop item {event.item}"
            self._do(host, what, lambda: strand(host.copies.drop, known.label, "me"))

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
        self._do(host, what, lambda: strand(offer))

    @act.register
    def _(self, event: events.Undo) -> None:
        known = self.known(event.item)
        if known is None:
            return
        role = "receiving" if event.receiving else "giving"
        for host in self._world.archives:
            rows = host.catalogue_disk.look(
                "SELECT id FROM archive_exchange WHERE label = $1 AND role = $2 AND state = $3",
                known.label.canonical,
                role,
                "open",
            )
            for (id_,) in rows:
                # Undone a second time, it is over for the giver, though nobody there heard of it.
                self.forced |= {id_} & self._undone if role == "giving" else set()
                self._undone.add(id_)
                what = f"undo the transfer of item {event.item} at {host.name}, {role}"
                self._do(host, what, partial(strand, host.transfers.undo, id_, "me"))

    @act.register
    def _(self, event: events.Read) -> None:
        known = self.known(event.item)
        if known is not None:
            for _ in range(event.times):
                self._world.outside.spawn(
                    self.read(known.label, event.resolver, event.reader, original=event.original)
                )

    async def read(self, label: Label, number: int, reader: int, *, original: bool) -> str:
        """Read an item by a resolver; return what became of it."""
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
        host = self._world.presses[event.press]
        what = f"mint {event.count} at {host.name}"
        self._do(host, what, lambda: strand(host.mint, event.count))

    @act.register
    def _(self, event: events.Forge) -> None:
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

        self._do(host, f"forge item {event.item} at {host.name}", lambda: strand(forge))

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
    def _(self, event: events.Stranger) -> None:
        self._strangers.usurp(event)

    @act.register
    def _(self, event: events.Pretender) -> None:
        self._strangers.pretend(event)

    @act.register
    def _(self, event: events.Readdress) -> None:
        swapped = event.archive if event.swapped == events.NOBODY else event.swapped
        host, other = self._world.archives[event.archive], self._world.archives[swapped]
        self._world.outside.spawn(self._readdress(host, other))

    async def _readdress(self, host: ArchiveHost, other: ArchiveHost) -> None:
        self._moves += 1
        self._world.trace.say("people", f"{host.name} moves")
        for each in {host.name: host, other.name: other}.values():
            await each.stop()
        if other is host:
            host.move(f"{host.name}-{self._moves}.example.org")
        else:
            self.has_swapped = True
            mine, its = host.address, other.address
            host.move(its)
            other.move(mine)
        for each in {host.name: host, other.name: other}.values():
            each.say(f"is at {each.address}")
            each.start_after(0.0)
