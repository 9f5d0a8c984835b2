"""Minters with one safeguard switched off: on them the suite must find what it looks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ibi.foundation.sql.database import Database
from ibi.minting.ports import Commitment, Entry, Machine, PrefixClaim, Witness
from ibi.minting.storage.ledger import SqlLedger

UNDURABLE, FORGETFUL = "undurable", "forgetful"


class UndurableLedger(SqlLedger):
    """Says that a step is durable when it only remembers it: the database keeps the first one."""

    def __init__(self, database: Database) -> None:
        """Remember nothing yet."""
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
    """Does not tell a newcomer up to where labels were given: it has to trust the clock alone."""

    def __init__(self, database: Database) -> None:
        """Expect a newcomer."""
        super().__init__(database)
        self._is_new = True

    def settle(
        self, prefixes: Sequence[str], boot: str, decide: Callable[[Entry], Commitment | None]
    ) -> Entry:
        """Settle, the first time as if nobody had been there before."""

        def forget(entry: Entry) -> Commitment | None:
            return decide(replace(entry, mark=None, seen=None) if self._is_new else entry)

        entry = super().settle(prefixes, boot, forget)
        self._is_new = False
        return entry


class ForgetfulMachine:
    """Knows that the prefix was used with this ledger, but not how often nor up to where."""

    def __init__(self, machine: Machine) -> None:
        """Stand before the real one."""
        self._machine = machine

    def claim(self, prefixes: Sequence[str], ledger: str, place: str) -> PrefixClaim:
        """Claim the prefixes, without a memory."""
        return _ForgetfulClaim(self._machine.claim(prefixes, ledger, place), ledger)


class _ForgetfulClaim:
    def __init__(self, claim: PrefixClaim, ledger: str) -> None:
        self._claim = claim
        self._ledger = ledger
        self.release = claim.release

    def witness(self) -> Witness | None:
        return Witness(self._ledger, 0, 0)

    def note(self, witness: Witness) -> None:
        """Forget it."""


LEDGERS: Final[dict[str, type[SqlLedger]]] = {
    UNDURABLE: UndurableLedger,
    FORGETFUL: ForgetfulLedger,
}
MACHINES: Final[dict[str, Callable[[Machine], Machine]]] = {
    UNDURABLE: ForgetfulMachine,
    FORGETFUL: ForgetfulMachine,
}
