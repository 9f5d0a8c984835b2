"""Errors of a minter: why no label was issued."""

from __future__ import annotations

from typing import ClassVar, Final

from ibi.errors.base import IbiError, RequestError, shown

_NANO: Final = 1_000_000_000


class MintingError(IbiError):
    """No label was issued; the message says why, and what would help."""


class MintingRequestError(MintingError, RequestError):
    """A host, address, port, granularity, count or key that no label can be minted with."""


class KeyReusedError(MintingRequestError):
    """An idempotency key was sent again, with a different request."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(key)

    def __str__(self) -> str:
        return f"The key {shown(self.key)} was used for another request: take a new key."


class BindingError(MintingError):
    """A label cannot be bound: it is bound to something else, or was not reserved here.

    `bound_to` is empty if the label was never reserved.
    """

    def __init__(self, label: str, bound_to: str = "") -> None:
        self.label = label
        self.bound_to = bound_to
        super().__init__(label, bound_to)

    def __str__(self) -> str:
        if self.bound_to:
            return f"{shown(self.label)} is already bound to {shown(self.bound_to)}, for good."
        return f"{shown(self.label)} was not reserved in this ledger, so it cannot be bound here."


class LabelInUseError(MintingError):
    """A label cannot be adopted: the ledger has issued labels of its time, or still may."""

    def __init__(self, label: str) -> None:
        self.label = label
        super().__init__(label)

    def __str__(self) -> str:
        return (
            f"{shown(self.label)} cannot be adopted: its instant lies in the time in which this "
            "ledger issues labels itself, so that another item may have the label, or get it."
        )


class BusyError(MintingError):
    """More labels are wanted than time allows; `retry_after` is in whole seconds.

    `waiting` is the number of callers in the waiting room, 0 if the wait is too long instead.
    """

    def __init__(self, retry_after: int, waiting: int = 0) -> None:
        self.retry_after = retry_after
        self.waiting = waiting
        super().__init__(retry_after, waiting)

    def __str__(self) -> str:
        crowd = f"{self.waiting} callers wait already" if self.waiting else "The wait is too long"
        unit = "second" if self.retry_after == 1 else "seconds"
        return f"{crowd}: try again in {self.retry_after} {unit}."


class ShareError(BusyError):
    """One client has as many requests waiting as one client may have."""


class ClockError(MintingError):
    """The clock cannot be trusted; no label is issued meanwhile.

    `distance` is how far off the clock is, `limit` how far it may be, both in nanoseconds.
    """

    def __init__(self, distance: int, limit: int) -> None:
        self.distance = distance
        self.limit = limit
        super().__init__(distance, limit)


class ClockBehindError(ClockError):
    """The clock is further behind the last label than the minter waits for."""

    def __str__(self) -> str:
        return (
            f"The clock is {_duration(self.distance)} behind the last label, more than the "
            f"{_duration(self.limit)} that are waited for: set the clock right."
        )


class ClockAheadError(ClockError):
    """The clock is further ahead of its last reading than time can have passed."""

    def __str__(self) -> str:
        return (
            f"The clock jumped {_duration(self.distance)} ahead of where it was last seen (limit "
            f"{_duration(self.limit)}): set it right, or confirm it with 'ibi minter confirm'."
        )


class LedgerError(MintingError):
    """The ledger does not allow a label to be issued."""

    def __init__(self, ledger: str, reason: str) -> None:
        self.ledger = ledger
        self.reason = reason
        super().__init__(ledger, reason)


class LedgerUnavailableError(LedgerError):
    """The ledger cannot be read or written now; minting resumes when it can."""

    FULL: ClassVar[str] = "the disk is full"
    """The reason that ends by itself when there is room again."""

    @property
    def is_full(self) -> bool:
        """Whether there is no room to write."""
        return self.reason == self.FULL

    def __str__(self) -> str:
        return f"The ledger {shown(self.ledger)} cannot be used, nothing was minted: {self.reason}."


class LedgerRestoredError(LedgerError):
    """The ledger is older than this machine has seen it: an old copy was restored."""

    def __str__(self) -> str:
        return (
            f"The ledger {shown(self.ledger)} is an old copy ({self.reason}), and would give "
            "labels twice: put the newest back, or go on after now with 'ibi minter confirm'."
        )


class PrefixHeldError(MintingError):
    """Another minter on this machine mints under this prefix, with a ledger of its own."""

    def __init__(self, prefix: str, holder: str) -> None:
        self.prefix = prefix
        self.holder = holder
        super().__init__(prefix, holder)

    def __str__(self) -> str:
        return (
            f"The prefix {shown(self.prefix)} is held by {self.holder}: use the same ledger, or "
            "another host name, address or port."
        )


class MinterUnreachableError(MintingError):
    """A minter on another machine did not answer, or not with a valid response."""

    def __init__(self, address: str, reason: str) -> None:
        self.address = address
        self.reason = reason
        super().__init__(address, reason)

    def __str__(self) -> str:
        return f"The minter at {shown(self.address)} cannot be used: {self.reason}."


class MinterClosedError(MintingError):
    """The minter was closed and issues no more labels."""

    def __str__(self) -> str:
        return "This minter was closed."


def _duration(nanoseconds: int) -> str:
    """Return a length of time in the largest unit of which it has two or more."""
    seconds = nanoseconds // _NANO
    for unit, length in (("years", 31_557_600), ("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{nanoseconds / _NANO:.3f}".rstrip("0").rstrip(".") + " seconds"
