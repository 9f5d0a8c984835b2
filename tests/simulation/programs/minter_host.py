"""Two minters of one subsystem that share a ledger, and whoever wants labels of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ibi.errors import IbiError
from ibi.minting.minter import Minter
from ibi.minting.rules.subsystem import Subsystem
from ibi.minting.storage.ledger import SqlLedger
from tests.simulation.world.disks import MemoryDatabase
from tests.simulation.world.machines import Host
from tests.simulation.world.virtual_time import strand

if TYPE_CHECKING:
    from tests.simulation.world.world import World

SUBSYSTEM: Final = Subsystem(host="press.example.org", ip="150.163.34.200")


class PressHost(Host):
    """A machine that mints, by a ledger on a server that all presses use."""

    def __init__(self, world: World, number: int, server: MemoryDatabase) -> None:
        """Stand there."""
        super().__init__(world, f"p{number}", f"p{number}.example.org")
        self._server = server

    def open(self) -> None:
        """Open the ledger."""
        ledger = SqlLedger(self._server)
        self.minter = Minter(SUBSYSTEM, ledger, self.clock, self.memory)

    async def begin(self) -> None:
        """Wait for whoever wants labels."""

    async def end(self) -> None:
        """Give back what is not used."""
        await strand(self.minter.close)

    async def confirm(self) -> None:
        """Take the operator's word for the ledger."""
        try:
            await strand(self.minter.confirm)
        except IbiError as refusal:
            self.say(f"refuses (confirm): {refusal}")

    def mint(self, count: int) -> None:
        """Give out labels, in a strand."""
        minted = self.minter.mint_many(count, 30.0)
        labels = [label for each in minted for label in (each.rep, each.ibip) if label]
        self.world.judge.minted(self.name, labels)
