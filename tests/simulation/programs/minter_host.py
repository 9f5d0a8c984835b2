"""A minter of the simulated world; two of them share a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ibi.errors import IbiError
from ibi.minting.minter import Minter
from ibi.minting.rules.subsystem import Subsystem
from ibi.minting.storage.ledger import SqlLedger
from tests.simulation.world.disks import MemoryDatabase
from tests.simulation.world.machines import Host
from tests.simulation.world.virtual_time import run_blocking

if TYPE_CHECKING:
    from tests.simulation.world.world import World

SUBSYSTEM: Final = Subsystem(host="press.example.org", ip="150.163.34.200")


class MinterHost(Host):
    """A machine with a minter, whose ledger is on a shared database server."""

    def __init__(self, world: World, number: int, server: MemoryDatabase) -> None:
        """Use the database of `server` as ledger."""
        super().__init__(world, f"p{number}", f"p{number}.example.org")
        self._server = server

    def open(self) -> None:
        """Open the ledger."""
        ledger = SqlLedger(self._server)
        self.minter = Minter(SUBSYSTEM, ledger, self.clock, self.memory)

    async def begin(self) -> None:
        """Do nothing: a minter only answers requests."""

    async def end(self) -> None:
        """Release the unused part of the stretch."""
        await run_blocking(self.minter.close)

    async def confirm(self) -> None:
        """Confirm the ledger, as an operator does."""
        try:
            await run_blocking(self.minter.confirm)
        except IbiError as refusal:
            self.log(f"refuses (confirm): {refusal}")

    def mint(self, count: int) -> None:
        """Mint labels; it blocks, so it runs in a greenlet."""
        minted = self.minter.mint_many(count, 30.0)
        labels = [label for each in minted for label in (each.rep, each.ibip) if label]
        self.world.judge.check_minted(self.name, labels)
