"""The settings of a minter: a subsystem, and where it keeps its ledger."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ibi.foundation.settings_file import usual_place
from ibi.identifier import ibip, repository_name
from ibi.minting.rules.granularity import AUTO
from ibi.minting.rules.reservation import ReservationLimits


@dataclass(frozen=True, slots=True)
class MinterSettings:
    """A subsystem and where it keeps its ledger."""

    host: str | None = None
    port: int = repository_name.DEFAULT_PORT
    ip: str | None = None
    ip_port: int = ibip.DEFAULT_PORT
    ledger: str = ""
    """The path of a file, or a postgresql:// URL; empty for the usual file."""
    granularity: str = AUTO
    allow_private: bool = False
    limits: ReservationLimits = field(default_factory=ReservationLimits)

    @property
    def place(self) -> str:
        """Where the ledger lies."""
        return self.ledger or str(usual_ledger())


def usual_ledger() -> Path:
    """Return where a ledger lies if no place is named."""
    return usual_place("ledger.sqlite")
