"""The spatial distributor: many subsystems as one (003, chapter 5, the function g).

Each subsystem has prefixes of its own, so none needs to know of the others. Requests go round; a
subsystem that cannot serve is left alone for a while.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from threading import Lock
from typing import Final, Protocol

from ibi.errors import BusyError, MinterClosedError, MintingError, MintingRequestError
from ibi.minting.rules.granularity import SECOND
from ibi.minting.rules.label_generator import Minted
from ibi.model.clock import Clock

REST: Final = 5 * SECOND
"""How long a subsystem that failed is left alone, unless all have."""


class Member(Protocol):
    """A minter, in this process or on another machine."""

    def mint_many(self, count: int, timeout: float | None = None) -> list[Minted]:
        """Give out labels."""
        ...

    def close(self) -> None:
        """Let go of whatever it holds."""
        ...


class Pool(AbstractContextManager["Pool"]):
    """Spreads requests over subsystems, and goes on when some are down."""

    def __init__(self, members: Sequence[Member], clock: Clock) -> None:
        """Take at least one member."""
        if not members:
            msg = "A pool needs at least one minter."
            raise MintingRequestError(msg)
        self._members = list(members)
        self._clock = clock
        self._lock = Lock()
        self._next = 0
        self._resting = dict.fromkeys(range(len(members)), 0)

    def mint(self, timeout: float | None = None) -> Minted:
        """Give out one label of some subsystem."""
        return self.mint_many(1, timeout)[0]

    def mint_many(self, count: int, timeout: float | None = None) -> list[Minted]:
        """Give out labels, all of one subsystem; the error of the last one if none can."""
        failure: MintingError = MinterClosedError()
        for index in self._order():
            try:
                labels = self._members[index].mint_many(count, timeout)
            except MintingRequestError as error:
                failure = error  # another may have a finer granularity
            except MintingError as error:
                failure = error
                rest = error.retry_after * SECOND if isinstance(error, BusyError) else REST
                self._resting[index] = self._clock.uptime() + min(rest, REST)
            else:
                self._resting[index] = 0
                return labels
        raise failure

    def _order(self) -> list[int]:
        """Return whom to ask, one after the other: those who rest come last."""
        now = self._clock.uptime()
        with self._lock:
            first = self._next
            self._next = (first + 1) % len(self._members)
        ring = [(first + i) % len(self._members) for i in range(len(self._members))]
        return sorted(ring, key=lambda index: max(self._resting[index] - now, 0))

    def __exit__(self, *_: object) -> None:
        """Close all members."""
        self.close()

    def close(self) -> None:
        """Close all members."""
        for member in self._members:
            member.close()
