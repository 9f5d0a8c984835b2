"""All errors that this library raises on purpose, in one tree.

    IbiError
    ├── ReadingError (also a ValueError)   a text does not follow its grammar
    │   ├── LabelError                     the text has none of the forms of an IBI
    │   │   ├── RepositoryNameError        it resembles a repository name (003, Table 6.1)
    │   │   ├── IbipError                  it resembles an IBIp (003, Table 7.1)
    │   │   └── LegacyLabelError           it resembles a label from before 2009
    │   ├── PersistentUrlError             the label is valid, what follows is not (004, Table 6.1)
    │   │   └── ModifierOrderError         modifiers or verbs in an order that 004, Table 6.2 lacks
    │   ├── LanguageError                  not a language that 004, Table A.1 admits
    │   └── PairListError                  not a pair list (004, Table 4.2)
    │       └── RelationError              not a relation (004, Table 7.5)
    ├── CheckCharacterError                a label and its check character do not match
    ├── AccessError                        the caller lacks a right
    │   ├── UnauthenticatedError           the token is missing or unknown
    │   ├── ReadersError                   files that only other networks may read
    │   ├── ForbiddenError                 the token lacks a scope
    │   ├── SignInError                    name and password belong to no active account
    │   ├── OpenIdError                    a sign-in at an OpenID provider failed
    │   ├── RoleError                      the role of an account lacks a scope
    │   └── ForgeryError                   a form was not sent by a page of this site
    ├── AccountError                       an act on an account that cannot be done
    │   ├── NoAccountError                 there is no such account, session or link
    │   └── LastAdministratorError         no administrator would be left
    ├── KeyTextError (also a ValueError)   not a registration key or urlkey (004, Table 5.1)
    ├── MessageError (also a ValueError)   a request or answer of the protocol is not valid
    ├── RequestError (also a ValueError)   a request that no service of its kind can serve
    │   └── FieldError                     a field of a form that cannot be accepted
    ├── ArchiveError                       the archive refused or failed; nothing was changed
    │   ├── ArchiveRequestError (also a RequestError)   no archive can serve the request
    │   │   ├── FileNameError              a path that no file of an item can have
    │   │   ├── UnpackError                a zip or tar file is damaged, hostile or too large
    │   │   ├── BagError                   a bag is damaged, hostile or of another program
    │   │   ├── MetadataError              metadata that cannot be read
    │   │   ├── DescriptionError           faults in the fields of a form
    │   │   └── HarvestError               an error of OAI-PMH, with its code
    │   ├── ChecksumError (also a ValueError)   the bytes received differ from the bytes sent
    │   ├── TooLargeError                  the content exceeds a limit of the archive
    │   ├── UnknownError                   the archive has no such item, file or deposit
    │   │   └── NotHeldError               no archive that is known has the item either
    │   ├── StateError                     the state of an item or deposit forbids the operation
    │   │   ├── HeldElsewhereError         another archive has the item with this label
    │   │   ├── DraftConflictError         a draft was changed elsewhere meanwhile
    │   │   ├── InProgressError            another operation on the same object is in progress
    │   │   ├── DeletedError               the item was deleted
    │   │   └── UnreconciledError          a restored archive may not give Originals away yet
    │   ├── TooManyRequestsError           a client exceeds its rate limit
    │   ├── StorageError                   the disk or the database fails
    │   │   └── StorageFullError           the storage is full
    │   ├── SearchTimeoutError             a search takes longer than the archive allows
    │   ├── DamagedBackupError             a backup is damaged, or was changed
    │   ├── WriterUnavailableError         the archive can be read, but not changed
    │   ├── InstanceHeldError              another process serves this folder, or none does
    │   ├── OtherInstanceError             another instance of a restored archive runs
    │   ├── ArchiveRefusedError            an archive refused a request over HTTP
    │   └── ArchiveUnreachableError        an archive does not answer over HTTP
    ├── ResolverError                      the resolver refused or failed; nothing was changed
    │   ├── ResolverRequestError (also a RequestError)   no resolver can serve the request
    │   ├── NotOnRecordError               no such archive, conflict or challenge
    │   ├── RegistrationKeyError           the archive is not registered, or has another key
    │   ├── OverloadError                  the resolver is at its limit of concurrent work
    │   ├── ProofError                     control of a domain name was not proved
    │   ├── MailError                      the mail server did not accept a message
    │   ├── ResolverRefusedError           a resolver refused a request over HTTP
    │   └── ResolverUnreachableError       a resolver does not answer over HTTP
    └── MintingError                       no label was issued
        ├── MintingRequestError (also a RequestError)   no label can be minted with it
        │   └── KeyReusedError             an idempotency key came with a different request
        ├── BindingError                   a label cannot be bound to this target
        ├── LabelInUseError                a label of the ledger's own time cannot be adopted
        ├── BusyError                      the waiting room is full, or the wait too long
        │   └── ShareError                 one client exceeds its share of the waiting room
        ├── ClockError                     the clock cannot be trusted
        │   ├── ClockBehindError           the clock is behind the last label
        │   └── ClockAheadError            the clock jumped ahead; an operator must confirm it
        ├── LedgerError                    the ledger does not allow minting
        │   ├── LedgerUnavailableError     it cannot be read or written just now
        │   └── LedgerRestoredError        it is older than this machine has seen it
        ├── MinterUnreachableError         a minter on another machine does not answer
        ├── PrefixHeldError                another ledger mints under this prefix right now
        └── MinterClosedError              the minter was closed

The facts are fields of the error. Its class builds the message, once, so that a command line, a
page and a problem document all print the same sentence. What readers of pages may see is a
`Sentence`, which a page translates.
"""

from ibi.errors.access import AccessError, ForbiddenError, ReadersError, UnauthenticatedError
from ibi.errors.accounts import (
    AccountError,
    FieldError,
    ForgeryError,
    LastAdministratorError,
    NoAccountError,
    OpenIdError,
    RoleError,
    SignInError,
)
from ibi.errors.archive import (
    ArchiveError,
    ArchiveRefusedError,
    ArchiveRequestError,
    ArchiveUnreachableError,
    BagError,
    ChecksumError,
    DamagedBackupError,
    DeletedError,
    DescriptionError,
    DraftConflictError,
    FileNameError,
    HarvestError,
    HeldElsewhereError,
    InProgressError,
    InstanceHeldError,
    MetadataError,
    NotHeldError,
    OtherInstanceError,
    SearchTimeoutError,
    StateError,
    StorageError,
    StorageFullError,
    TooLargeError,
    TooManyRequestsError,
    UnknownError,
    UnpackError,
    UnreconciledError,
    WriterUnavailableError,
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
    LabelInUseError,
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
from ibi.errors.sentence import Sentence
from ibi.errors.wire import KeyTextError, MessageError, PairListError, RelationError

__all__ = [
    "AccessError",
    "AccountError",
    "ArchiveError",
    "ArchiveRefusedError",
    "ArchiveRequestError",
    "ArchiveUnreachableError",
    "BagError",
    "BindingError",
    "BusyError",
    "CheckCharacterError",
    "ChecksumError",
    "ClockAheadError",
    "ClockBehindError",
    "ClockError",
    "DamagedBackupError",
    "DeletedError",
    "DescriptionError",
    "DraftConflictError",
    "FieldError",
    "FileNameError",
    "ForbiddenError",
    "ForgeryError",
    "HarvestError",
    "HeldElsewhereError",
    "IbiError",
    "IbipError",
    "InProgressError",
    "InstanceHeldError",
    "KeyReusedError",
    "KeyTextError",
    "LabelError",
    "LabelInUseError",
    "LanguageError",
    "LastAdministratorError",
    "LedgerError",
    "LedgerRestoredError",
    "LedgerUnavailableError",
    "LegacyLabelError",
    "MailError",
    "MessageError",
    "MetadataError",
    "MinterClosedError",
    "MinterUnreachableError",
    "MintingError",
    "MintingRequestError",
    "ModifierOrderError",
    "NoAccountError",
    "NotHeldError",
    "NotOnRecordError",
    "OpenIdError",
    "OtherInstanceError",
    "OverloadError",
    "PairListError",
    "PersistentUrlError",
    "PrefixHeldError",
    "ProofError",
    "ReadersError",
    "ReadingError",
    "RegistrationKeyError",
    "RelationError",
    "RepositoryNameError",
    "RequestError",
    "ResolverError",
    "ResolverRefusedError",
    "ResolverRequestError",
    "ResolverUnreachableError",
    "RoleError",
    "SearchTimeoutError",
    "Sentence",
    "ShareError",
    "SignInError",
    "StateError",
    "StorageError",
    "StorageFullError",
    "TooLargeError",
    "TooManyRequestsError",
    "UnauthenticatedError",
    "UnknownError",
    "UnpackError",
    "UnreconciledError",
    "WriterUnavailableError",
    "printable",
    "shown",
]
