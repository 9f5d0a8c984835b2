"""Everything that can go wrong, in one tree.

    IbiError
    ├── ReadingError (also a ValueError)   a text is not what it should be
    │   ├── LabelError                     neither of the forms of an IBI
    │   │   ├── RepositoryNameError        looked like a repository name (003, Table 6.1)
    │   │   ├── IbipError                  looked like an IBIp (003, Table 7.1)
    │   │   └── LegacyLabelError           looked like a label from before 2009
    │   ├── PersistentUrlError             its label is good, what follows is not (004, Table 6.1)
    │   │   └── ModifierOrderError         modifiers or verbs in an order that 004, Table 6.2 lacks
    │   └── LanguageError                  no language, or none that 004, Table A.1 admits
    ├── CheckCharacterError                a label and its check character disagree
    ├── AccessError
    │   ├── UnauthenticatedError           no token, or none that is known
    │   └── ForbiddenError                 a token that is not for this
    └── MintingError                       no label was given out
        ├── MintingRequestError (also a ValueError)   what was asked for cannot be
        │   └── KeyReusedError             an idempotency key came again with another request
        ├── BindingError                   a label cannot be bound to this target
        ├── BusyError                      the waiting room is full, or the wait too long
        │   └── ShareError                 one client takes more of it than its share
        ├── ClockError
        │   ├── ClockBehindError           the clock is behind the last label
        │   └── ClockAheadError            the clock jumped ahead; an operator must confirm it
        ├── LedgerError
        │   ├── LedgerUnavailableError     it cannot be read or written just now
        │   └── LedgerRestoredError        it is older than what this machine saw of it
        ├── MinterUnreachableError         a minter on another machine does not answer
        ├── PrefixHeldError                another ledger mints under this prefix right now
        └── MinterClosedError              it was closed

The facts stand in fields; the sentence is built here, once, so that a command line, a page and
a problem document all say the same.
"""

from ibi.errors.access import AccessError, ForbiddenError, UnauthenticatedError
from ibi.errors.minting import (
    BindingError,
    BusyError,
    ClockAheadError,
    ClockBehindError,
    ClockError,
    KeyReusedError,
    LedgerError,
    LedgerRestoredError,
    LedgerUnavailableError,
    MinterClosedError,
    MinterUnreachableError,
    MintingError,
    MintingRequestError,
    PrefixHeldError,
    ShareError,
)
from ibi.errors.reading import (
    CheckCharacterError,
    IbipError,
    LabelError,
    LanguageError,
    LegacyLabelError,
    ModifierOrderError,
    PersistentUrlError,
    ReadingError,
    RepositoryNameError,
)
from ibi.errors.root import (
    IbiError,
    printable,
    shown,
)

__all__ = [
    "AccessError",
    "BindingError",
    "BusyError",
    "CheckCharacterError",
    "ClockAheadError",
    "ClockBehindError",
    "ClockError",
    "ForbiddenError",
    "IbiError",
    "IbipError",
    "KeyReusedError",
    "LabelError",
    "LanguageError",
    "LedgerError",
    "LedgerRestoredError",
    "LedgerUnavailableError",
    "LegacyLabelError",
    "MinterClosedError",
    "MinterUnreachableError",
    "MintingError",
    "MintingRequestError",
    "ModifierOrderError",
    "PersistentUrlError",
    "PrefixHeldError",
    "ReadingError",
    "RepositoryNameError",
    "ShareError",
    "UnauthenticatedError",
    "printable",
    "shown",
]
