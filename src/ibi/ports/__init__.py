"""What the rules need of the world: each a small interface, with adapters behind it.

Times are whole nanoseconds: `wall` of POSIX time, `uptime` since the machine was started.
"""

from ibi.ports.archive import (
    Access,
    Accesses,
    Catalogue,
    Deposit,
    Held,
    HistoryEntry,
    Reservation,
    StoredChange,
)
from ibi.ports.file_store import FileStore, Sink, Staged
from ibi.ports.minting import (
    Claim,
    Clock,
    Commitment,
    Entry,
    Issue,
    LabelRecord,
    Ledger,
    Machine,
    Reading,
    Token,
    TokenStore,
    Witness,
)

__all__ = [
    "Access",
    "Accesses",
    "Catalogue",
    "Claim",
    "Clock",
    "Commitment",
    "Deposit",
    "Entry",
    "FileStore",
    "Held",
    "HistoryEntry",
    "Issue",
    "LabelRecord",
    "Ledger",
    "Machine",
    "Reading",
    "Reservation",
    "Sink",
    "Staged",
    "StoredChange",
    "Token",
    "TokenStore",
    "Witness",
]
