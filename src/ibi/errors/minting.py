"""Errors of a minter: why no label was issued."""

from __future__ import annotations

from typing import ClassVar, Final

from ibi.errors.base import IbiError, RequestError, shown
from ibi.errors.sentence import Sentence

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

    def message(self) -> str:
        """Return the message."""
        return Sentence(
            "The key %(key)s was used for another request: take a new key.", key=shown(self.key)
        )


class BindingError(MintingError):
    """A label cannot be bound: it is bound to something else, or was not reserved here.

    `bound_to` is empty if the label was never reserved.
    """

    def __init__(self, label: str, bound_to: str = "") -> None:
        self.label = label
        self.bound_to = bound_to
        super().__init__(label, bound_to)

    def message(self) -> str:
        """Return the message."""
        if self.bound_to:
            return Sentence(
                "%(label)s is already bound to %(target)s, for good.",
                label=shown(self.label),
                target=shown(self.bound_to),
            )
        return Sentence(
            "%(label)s was not reserved in this ledger, so it cannot be bound here.",
            label=shown(self.label),
        )


class LabelInUseError(MintingError):
    """A label cannot be adopted: the ledger has issued labels of its time, or still may."""

    def __init__(self, label: str) -> None:
        self.label = label
        super().__init__(label)

    def message(self) -> str:
        """Return the message."""
        return Sentence(
            "%(label)s cannot be adopted: its instant lies in the time in which this ledger issues "
            "labels itself, so that another item may have the label, or get it.",
            label=shown(self.label),
        )


class BusyError(MintingError):
    """More labels are wanted than time allows; `retry_after` is in whole seconds.

    `waiting` is the number of callers in the waiting room, 0 if the wait is too long instead.
    """

    def __init__(self, retry_after: int, waiting: int = 0) -> None:
        self.retry_after = retry_after
        self.waiting = waiting
        super().__init__(retry_after, waiting)

    def message(self) -> str:
        """Return the message."""
        one, many = Sentence("%(number)s second"), Sentence("%(number)s seconds")
        pause = Sentence(one if self.retry_after == 1 else many, number=self.retry_after)
        if self.waiting:
            return Sentence(
                "%(waiting)s callers wait already: try again in %(pause)s.",
                waiting=self.waiting,
                pause=pause,
            )
        return Sentence("The wait is too long: try again in %(pause)s.", pause=pause)


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

    def message(self) -> str:
        """Return the message."""
        return Sentence(
            "The clock is %(distance)s behind the last label, more than the %(limit)s that are "
            "waited for: set the clock right.",
            distance=_duration(self.distance),
            limit=_duration(self.limit),
        )


class ClockAheadError(ClockError):
    """The clock is further ahead of its last reading than time can have passed."""

    def message(self) -> str:
        """Return the message."""
        return Sentence(
            "The clock jumped %(distance)s ahead of where it was last seen (limit %(limit)s): set "
            "it right, or confirm it with 'ibi minter confirm'.",
            distance=_duration(self.distance),
            limit=_duration(self.limit),
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

    def message(self) -> str:
        """Return the message."""
        return Sentence(
            "The prefix %(prefix)s is held by %(holder)s: use the same ledger, or another host "
            "name, address or port.",
            prefix=shown(self.prefix),
            holder=self.holder,
        )


class MinterUnreachableError(MintingError):
    """A minter on another machine did not answer, or not with a valid response."""

    def __init__(self, address: str, reason: str) -> None:
        self.address = address
        self.reason = reason
        super().__init__(address, reason)

    def message(self) -> str:
        """Return the message."""
        return Sentence(
            "The minter at %(address)s cannot be used: %(reason)s.",
            address=shown(self.address),
            reason=self.reason,
        )


class MinterClosedError(MintingError):
    """The minter was closed and issues no more labels."""

    def message(self) -> str:
        """Return the message."""
        return Sentence("This minter was closed.")


_UNITS: Final = (
    (Sentence("%(number)s years"), 31_557_600),
    (Sentence("%(number)s days"), 86_400),
    (Sentence("%(number)s hours"), 3600),
    (Sentence("%(number)s minutes"), 60),
)
"""Units of time, and their seconds."""


def _duration(nanoseconds: int) -> str:
    """Return a length of time in the largest unit of which it has two or more."""
    seconds = nanoseconds // _NANO
    for unit, length in _UNITS:
        if seconds >= 2 * length:
            return Sentence(unit, number=seconds // length)
    number = f"{nanoseconds / _NANO:.3f}".rstrip("0").rstrip(".")
    return Sentence("%(number)s seconds", number=number)
