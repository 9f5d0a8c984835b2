"""The settings of a minter: its subsystem, and the place of its ledger."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ibi.foundation.settings_file import usual_place
from ibi.identifier import ibip, repository_name
from ibi.minting.rules.granularity import AUTO
from ibi.minting.rules.reservation import ReservationLimits


@dataclass(frozen=True, slots=True)
class MinterSettings:
    """A subsystem, its ledger and its limits."""

    host: str | None = None
    port: int = repository_name.DEFAULT_PORT
    ip: str | None = None
    ip_port: int = ibip.DEFAULT_PORT
    ledger: str = ""
    """The path of a file, or a postgresql:// URL; empty for the default file."""
    granularity: str = AUTO
    allow_private: bool = False
    limits: ReservationLimits = field(default_factory=ReservationLimits)

    @property
    def place(self) -> str:
        """The path or URL of the ledger."""
        return self.ledger or str(usual_ledger())


def usual_ledger() -> Path:
    """Return the path of the ledger if none is set."""
    return usual_place("ledger.sqlite")
