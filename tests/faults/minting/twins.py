"""Twins: minters with one safeguard switched off, whose violations the suite must find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ibi.foundation.sql.database import Database
from ibi.minting.ports import Commitment, Entry, Machine, PrefixClaim, Witness
from ibi.minting.storage.ledger import SqlLedger

UNDURABLE, FORGETFUL = "undurable", "forgetful"


class UndurableLedger(SqlLedger):
    """Reports every step as durable, and stores only the first one."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._remembered: Entry | None = None

    def settle(
        self, prefixes: Sequence[str], boot: str, decide: Callable[[Entry], Commitment | None]
    ) -> Entry:
        """Settle in memory, except for the first time."""
        entry = self._remembered
        if entry is None:
            self._remembered = super().settle(prefixes, boot, decide)
            return self._remembered
        commitment = decide(entry)
        if commitment is not None:
            self._remembered = Entry(
                ledger=entry.ledger,
                generation=commitment.generation,
                mark=commitment.mark,
                seen=commitment.reading,
                last_seen=commitment.reading.wall,
            )
        return self._remembered or entry


class ForgetfulLedger(SqlLedger):
    """Hides the mark from a new minter, which then relies on the clock alone."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._is_new = True

    def settle(
        self, prefixes: Sequence[str], boot: str, decide: Callable[[Entry], Commitment | None]
    ) -> Entry:
        """Settle, the first time without the mark."""

        def forget(entry: Entry) -> Commitment | None:
            return decide(replace(entry, mark=None, seen=None) if self._is_new else entry)

        entry = super().settle(prefixes, boot, forget)
        self._is_new = False
        return entry


class ForgetfulMachine:
    """Has a witness of the ledger, but without generation and mark."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def claim(self, prefixes: Sequence[str], ledger: str, place: str) -> PrefixClaim:
        """Claim the prefixes, with an empty witness."""
        return _ForgetfulClaim(self._machine.claim(prefixes, ledger, place), ledger)


class _ForgetfulClaim:
    def __init__(self, claim: PrefixClaim, ledger: str) -> None:
        self._claim = claim
        self._ledger = ledger
        self.release = claim.release

    def witness(self) -> Witness | None:
        return Witness(self._ledger, 0, 0)

    def note(self, witness: Witness) -> None:
        """Store nothing."""


LEDGERS: Final[dict[str, type[SqlLedger]]] = {
    UNDURABLE: UndurableLedger,
    FORGETFUL: ForgetfulLedger,
}
MACHINES: Final[dict[str, Callable[[Machine], Machine]]] = {
    UNDURABLE: ForgetfulMachine,
    FORGETFUL: ForgetfulMachine,
}
