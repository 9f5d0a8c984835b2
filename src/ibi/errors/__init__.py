"""Everything that can go wrong, in one tree.

    IbiError
    ├── ReadingError (also a ValueError)   a text is not what it should be
    │   ├── LabelError                     neither of the forms of an IBI
    │   │   ├── RepositoryNameError        looked like a repository name (003, Table 6.1)
    │   │   ├── IbipError                  looked like an IBIp (003, Table 7.1)
    │   │   └── LegacyLabelError           looked like a label from before 2009
    │   ├── PersistentUrlError             its label is good, what follows is not (004, Table 6.1)
    │   │   └── ModifierOrderError         modifiers or verbs in an order that 004, Table 6.2 lacks
    │   ├── LanguageError                  no language, or none that 004, Table A.1 admits
    │   └── PairListError                  no pair list (004, Table 4.2)
    │       └── RelationError              no relation (004, Table 7.5)
    ├── CheckCharacterError                a label and its check character disagree
    ├── AccessError
    │   ├── UnauthenticatedError           no token, or none that is known
    │   ├── LicenceError                   files that are for readers in other networks
    │   └── ForbiddenError                 a token that is not for this
    ├── KeyTextError (also a ValueError)   no registration key or urlkey (004, Table 5.1)
    ├── MessageError (also a ValueError)   a request or answer of the protocol cannot be served
    ├── RequestError (also a ValueError)   what was asked for cannot be, of whichever service
    ├── ArchiveError                       the archive did not do it; nothing was changed
    │   ├── ArchiveRequestError (also a RequestError)   no archive can take it
    │   │   ├── FileNameError              a path that no file of an item can have
    │   │   ├── UnpackError                a zip or tar file damaged, hostile or too large
    │   │   ├── BagError                   a bag damaged, hostile or of another program
    │   │   └── MetadataError              metadata that cannot be read
    │   ├── ChecksumError (also a ValueError)   what came is not what was sent
    │   ├── TooLargeError                  more than the archive takes
    │   ├── UnknownError                   the archive has no such thing
    │   ├── StateError                     the state of the thing forbids the act
    │   │   ├── AtWorkError                somebody else is at it just now
    │   │   └── DeletedError               the item was deleted
    │   ├── TooManyRequestsError           one client asks more than its share
    │   ├── StorageError                   disk or database do not do what they should
    │   │   └── StorageFullError           there is no room
    │   ├── KeeperAwayError                it can be read, but not changed just now
    │   ├── InstanceHeldError              another process serves this folder, or none does
    │   ├── ArchiveRefusedError            an archive asked over HTTP said no
    │   └── ArchiveUnreachableError        an archive does not answer over HTTP
    ├── ResolverError                      the resolver did not do it; nothing was changed
    │   ├── ResolverRequestError (also a RequestError)   no resolver can take it
    │   ├── NotOnRecordError               no such archive, conflict or challenge
    │   ├── RegistrationKeyError           an archive is not registered, or not by this key
    │   ├── OverloadError                  more is asked of it than it can do at once
    │   ├── ProofError                     control of a domain name was not shown
    │   ├── MailError                      a message was not taken by the mail server
    │   ├── ResolverRefusedError           a resolver asked over HTTP said no
    │   └── ResolverUnreachableError       a resolver does not answer over HTTP
    └── MintingError                       no label was given out
        ├── MintingRequestError (also a RequestError)   no label can be minted with it
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

from ibi.errors.access import AccessError, ForbiddenError, LicenceError, UnauthenticatedError
from ibi.errors.archive import (
    ArchiveError,
    ArchiveRefusedError,
    ArchiveRequestError,
    ArchiveUnreachableError,
    AtWorkError,
    BagError,
    ChecksumError,
    DeletedError,
    FileNameError,
    InstanceHeldError,
    KeeperAwayError,
    MetadataError,
    StateError,
    StorageError,
    StorageFullError,
    TooLargeError,
    TooManyRequestsError,
    UnknownError,
    UnpackError,
)
from ibi.errors.base import IbiError, RequestError, printable, shown
from ibi.errors.labels import (
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
from ibi.errors.resolver import (
    MailError,
    NotOnRecordError,
    OverloadError,
    ProofError,
    RegistrationKeyError,
    ResolverError,
    ResolverRefusedError,
    ResolverRequestError,
    ResolverUnreachableError,
)
from ibi.errors.wire import KeyTextError, MessageError, PairListError, RelationError

__all__ = [
    "AccessError",
    "ArchiveError",
    "ArchiveRefusedError",
    "ArchiveRequestError",
    "ArchiveUnreachableError",
    "AtWorkError",
    "BagError",
    "BindingError",
    "BusyError",
    "CheckCharacterError",
    "ChecksumError",
    "ClockAheadError",
    "ClockBehindError",
    "ClockError",
    "DeletedError",
    "FileNameError",
    "ForbiddenError",
    "IbiError",
    "IbipError",
    "InstanceHeldError",
    "KeeperAwayError",
    "KeyReusedError",
    "KeyTextError",
    "LabelError",
    "LanguageError",
    "LedgerError",
    "LedgerRestoredError",
    "LedgerUnavailableError",
    "LegacyLabelError",
    "LicenceError",
    "MailError",
    "MessageError",
    "MetadataError",
    "MinterClosedError",
    "MinterUnreachableError",
    "MintingError",
    "MintingRequestError",
    "ModifierOrderError",
    "NotOnRecordError",
    "OverloadError",
    "PairListError",
    "PersistentUrlError",
    "PrefixHeldError",
    "ProofError",
    "ReadingError",
    "RegistrationKeyError",
    "RelationError",
    "RepositoryNameError",
    "RequestError",
    "ResolverError",
    "ResolverRefusedError",
    "ResolverRequestError",
    "ResolverUnreachableError",
    "ShareError",
    "StateError",
    "StorageError",
    "StorageFullError",
    "TooLargeError",
    "TooManyRequestsError",
    "UnauthenticatedError",
    "UnknownError",
    "UnpackError",
    "printable",
    "shown",
]
