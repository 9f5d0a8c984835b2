"""The spatial distributor: many subsystems used as one (003, chapter 5, the function g).

Each subsystem has prefixes of its own, so that they need no coordination. Requests go round robin;
a subsystem that fails is skipped for a while.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from threading import Lock
from typing import Final, Protocol

from ibi.errors import BusyError, MinterClosedError, MintingError, MintingRequestError
from ibi.minting.rules.label_generator import Minted
from ibi.model.clock import SECOND, Clock

SKIP_NANOSECONDS: Final = 5 * SECOND
"""Nanoseconds for which a subsystem that failed is skipped, unless all have failed."""


class Member(Protocol):
    """A minter, in this process or on another machine."""

    def mint_many(self, count: int, timeout: float | None = None) -> list[Minted]:
        """Return new labels."""
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


class Pool(AbstractContextManager["Pool"]):
    """Spreads requests over subsystems, and continues when some are down."""

    def __init__(self, members: Sequence[Member], clock: Clock) -> None:
        if not members:
            msg = "A pool needs at least one minter."
            raise MintingRequestError(msg)
        self._members = list(members)
        self._clock = clock
        self._lock = Lock()
        self._next = 0
        self._resting = dict.fromkeys(range(len(members)), 0)

    def mint(self, timeout: float | None = None) -> Minted:
        """Return one new label of any subsystem."""
        return self.mint_many(1, timeout)[0]

    def mint_many(self, count: int, timeout: float | None = None) -> list[Minted]:
        """Return new labels, all of one subsystem; raise the last error if all subsystems fail."""
        failure: MintingError = MinterClosedError()
        for index in self._order():
            try:
                labels = self._members[index].mint_many(count, timeout)
            except MintingRequestError as error:
                failure = error  # another member may have a finer granularity
            except MintingError as error:
                failure = error
                rest = (
                    error.retry_after * SECOND if isinstance(error, BusyError) else SKIP_NANOSECONDS
                )
                self._resting[index] = self._clock.uptime() + min(rest, SKIP_NANOSECONDS)
            else:
                self._resting[index] = 0
                return labels
        raise failure

    def _order(self) -> list[int]:
        """Return the order in which to try the members: those being skipped come last."""
        now = self._clock.uptime()
        with self._lock:
            first = self._next
            self._next = (first + 1) % len(self._members)
        ring = [(first + i) % len(self._members) for i in range(len(self._members))]
        return sorted(ring, key=lambda index: max(self._resting[index] - now, 0))

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all members."""
        for member in self._members:
            member.close()
