"""Protocol of the storage of deposits, and their value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Deposit:
    """A deposit of files, to a new item or to an existing one."""

    id: str
    opened: int
    who: str
    request: str
    """What is to be done with the files, as JSON."""
    completed: str = ""
    """The label of the item that received the files; empty while the deposit is open."""


class DepositStore(Protocol):
    """Deposits, open and completed."""

    def open(self, deposit: Deposit) -> None:
        """Store a new deposit."""
        ...

    def get(self, id: str) -> Deposit | None:  # noqa: A002  # what it is called everywhere
        """Return a deposit, open or completed."""
        ...

    def open_before(self, before: int) -> list[Deposit]:
        """Return open deposits that were opened before a time."""
        ...

    def revise(self, id: str, request: str) -> bool:  # noqa: A002
        """Replace the request of an open deposit; return False if there is none."""
        ...

    def drop(self, id: str) -> bool:  # noqa: A002
        """Remove an open deposit; return False if there is none."""
        ...
