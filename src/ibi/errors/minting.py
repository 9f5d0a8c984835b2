"""Why no label was given out."""

from __future__ import annotations

from typing import Final

from ibi.errors.base import IbiError, RequestError, shown

_NANO: Final = 1_000_000_000


class MintingError(IbiError):
    """No label was given out; the sentence says why, and what would help."""


class MintingRequestError(MintingError, RequestError):
    """A host, address, port, granularity, count or key that no label can be minted with."""


class KeyReusedError(MintingRequestError):
    """An idempotency key came again, with another request than the first time."""

    def __init__(self, key: str) -> None:
        """Keep the key."""
        self.key = key
        super().__init__(key)

    def __str__(self) -> str:
        """Say what to do."""
        return f"The key {shown(self.key)} was used for another request: take a new key."


class BindingError(MintingError):
    """A label cannot be bound: it is bound to something else, or was not reserved here."""

    def __init__(self, label: str, bound_to: str = "") -> None:
        """Keep the label and what it is bound to, empty if it was never reserved."""
        self.label = label
        self.bound_to = bound_to
        super().__init__(label, bound_to)

    def __str__(self) -> str:
        """Say what stands in the way."""
        if self.bound_to:
            return f"{shown(self.label)} is already bound to {shown(self.bound_to)}, for good."
        return f"{shown(self.label)} was not reserved in this ledger, so it cannot be bound here."


class BusyError(MintingError):
    """More labels are wanted than time allows; `retry_after` is in whole seconds."""

    def __init__(self, retry_after: int, waiting: int = 0) -> None:
        """Keep when to come again, and how many wait."""
        self.retry_after = retry_after
        self.waiting = waiting
        super().__init__(retry_after, waiting)

    def __str__(self) -> str:
        """Say when to come again."""
        crowd = f"{self.waiting} callers wait already" if self.waiting else "The wait is too long"
        unit = "second" if self.retry_after == 1 else "seconds"
        return f"{crowd}: try again in {self.retry_after} {unit}."


class ShareError(BusyError):
    """One client has as much waiting as one client may."""


class ClockError(MintingError):
    """The clock cannot be trusted; nothing is given out meanwhile."""

    def __init__(self, distance: int, limit: int) -> None:
        """Keep how far off the clock is, and how far it may be, in nanoseconds."""
        self.distance = distance
        self.limit = limit
        super().__init__(distance, limit)


class ClockBehindError(ClockError):
    """The clock is behind the last label by more than is waited for."""

    def __str__(self) -> str:
        """Say how far behind, and that time or a right clock mends it."""
        return (
            f"The clock is {_duration(self.distance)} behind the last label, more than the "
            f"{_duration(self.limit)} that are waited for: set the clock right."
        )


class ClockAheadError(ClockError):
    """The clock is further ahead of where it was last seen than time can have passed."""

    def __str__(self) -> str:
        """Say how far ahead, and who can mend it."""
        return (
            f"The clock jumped {_duration(self.distance)} ahead of where it was last seen (limit "
            f"{_duration(self.limit)}): set it right, or confirm it with 'ibi minter confirm'."
        )


class LedgerError(MintingError):
    """The ledger does not allow a label to be given out."""

    def __init__(self, ledger: str, reason: str) -> None:
        """Keep which ledger, and what it said."""
        self.ledger = ledger
        self.reason = reason
        super().__init__(ledger, reason)


class LedgerUnavailableError(LedgerError):
    """The ledger cannot be read or written just now; minting goes on when it can."""

    def __str__(self) -> str:
        """Say that nothing was given out."""
        return f"The ledger {shown(self.ledger)} cannot be used, nothing was minted: {self.reason}."


class LedgerRestoredError(LedgerError):
    """The ledger is older than what was seen of it: an old copy was put back."""

    def __str__(self) -> str:
        """Say why that is dangerous and who can mend it."""
        return (
            f"The ledger {shown(self.ledger)} is an old copy ({self.reason}), and would give "
            "labels twice: put the newest back, or go on after now with 'ibi minter confirm'."
        )


class PrefixHeldError(MintingError):
    """Another minter mints under this prefix on this machine, with a ledger of its own."""

    def __init__(self, prefix: str, holder: str) -> None:
        """Keep the prefix, and who holds it."""
        self.prefix = prefix
        self.holder = holder
        super().__init__(prefix, holder)

    def __str__(self) -> str:
        """Name the holder."""
        return (
            f"The prefix {shown(self.prefix)} is held by {self.holder}: use the same ledger, or "
            "another host name, address or port."
        )


class MinterUnreachableError(MintingError):
    """A minter on another machine did not answer as one does."""

    def __init__(self, address: str, reason: str) -> None:
        """Keep where it should be, and what happened."""
        self.address = address
        self.reason = reason
        super().__init__(address, reason)

    def __str__(self) -> str:
        """Say where and what."""
        return f"The minter at {shown(self.address)} cannot be used: {self.reason}."


class MinterClosedError(MintingError):
    """The minter was closed, and gives nothing out any more."""

    def __str__(self) -> str:
        """Say so."""
        return "This minter was closed."


def _duration(nanoseconds: int) -> str:
    """Write a length of time as a person would say it."""
    seconds = nanoseconds // _NANO
    for unit, length in (("years", 31_557_600), ("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{nanoseconds / _NANO:.3f}".rstrip("0").rstrip(".") + " seconds"
