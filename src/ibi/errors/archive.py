"""Errors of an archive: requests that it refuses, and failures of its storage."""

from __future__ import annotations

from typing import Final

from ibi.errors.base import IbiError, RequestError, printable, shown
from ibi.errors.sentence import Sentence, either


class ArchiveError(IbiError):
    """The archive refused or failed; nothing was changed."""


class ArchiveRequestError(ArchiveError, RequestError):
    """A deposit, description, setting or operation that no archive can accept."""


class FileNameError(ArchiveRequestError):
    """A path that no file of an item can have."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(path, reason)

    def message(self) -> str:
        """Return the message."""
        return Sentence(
            "%(path)s cannot be the path of a file: %(reason)s.",
            path=shown(self.path),
            reason=self.reason,
        )


class UnpackError(ArchiveRequestError):
    """A zip or tar file that is damaged, hostile or too large."""


class BagError(ArchiveRequestError):
    """A bag is damaged, hostile or was written by another program."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)

    def __str__(self) -> str:
        return f"The bag cannot be used: {self.reason}."


class MetadataError(ArchiveRequestError):
    """The metadata cannot be read."""


class DescriptionError(ArchiveRequestError):
    """The form of a description has faults: fields, which of its name each is, and sentences."""

    def __init__(self, faults: tuple[tuple[str, int, str], ...]) -> None:
        self.faults = faults
        super().__init__(faults)

    def message(self) -> str:
        """Return the message: the first fault."""
        field, _, fault = self.faults[0]
        return Sentence("%(field)s: %(fault)s", field=field, fault=fault)


class HarvestError(ArchiveRequestError):
    """A request of OAI-PMH that the protocol answers with an error of its own."""

    def __init__(self, code: str, reason: str) -> None:
        self.code = code
        self.reason = reason
        super().__init__(code, reason)

    def message(self) -> str:
        """Return the message."""
        return self.reason


class ChecksumError(ArchiveError, ValueError):
    """The checksum of the bytes received is not that of the bytes sent."""

    def __init__(self, path: str, expected: str, found: str) -> None:
        self.path, self.expected, self.found = path, expected, found
        super().__init__(path, expected, found)

    def message(self) -> str:
        """Return the message."""
        return Sentence(
            "%(path)s did not arrive whole: its checksum should be %(expected)s and is %(found)s. "
            "Send it again.",
            path=shown(self.path),
            expected=self.expected,
            found=self.found,
        )


class TooLargeError(ArchiveError):
    """The content exceeds a limit of the archive."""


_THINGS: Final = {
    str(each): each
    for each in (
        Sentence("item"),
        Sentence("file"),
        Sentence("metadata of"),
        Sentence("list of"),
        Sentence("picture of"),
        Sentence("deposit"),
        Sentence("draft"),
        Sentence("task"),
        Sentence("transfer"),
    )
}


class UnknownError(ArchiveError):
    """The archive has no item, file or deposit of this name."""

    def __init__(self, thing: str, name: str) -> None:
        self.thing, self.name = thing, name
        super().__init__(thing, name)

    def message(self) -> str:
        """Return the message."""
        return Sentence(
            "There is no %(thing)s %(name)s in this archive.",
            thing=_THINGS.get(self.thing, self.thing),
            name=shown(self.name),
        )


class NotHeldError(UnknownError):
    """Neither this archive nor, as far as its resolvers know, another one has the item.

    `reason` says what is known instead; `suggestions` are labels of items that exist.
    """

    def __init__(self, name: str, reason: str, suggestions: tuple[str, ...] = ()) -> None:
        self.reason, self.suggestions = reason, suggestions
        super().__init__("item", name)
        self.args = (name, reason, suggestions)

    def message(self) -> str:
        """Return the message."""
        hint: str = ""
        if self.suggestions:
            hint = Sentence(" Did you mean %(near)s?", near=either(self.suggestions))
        return Sentence(
            "There is no item %(name)s: %(reason)s.%(hint)s If the label is right nevertheless, "
            "insist with --unchecked.",
            name=shown(self.name),
            reason=self.reason,
            hint=hint,
        )


class StateError(ArchiveError):
    """The state of an item or deposit forbids the operation."""


class HeldElsewhereError(StateError):
    """Another archive has the item with this label, or had it until it was deleted there."""

    def __init__(self, label: str, service: str, address: str, state: str) -> None:
        self.label, self.service, self.address, self.state = label, service, address, state
        super().__init__(label, service, address, state)

    def message(self) -> str:
        """Return the message."""
        return Sentence(
            "%(label)s is held by another archive: %(state)s at %(address)s (archive %(service)s).",
            label=self.label,
            state=self.state,
            address=self.address,
            service=self.service,
        )


class InProgressError(StateError):
    """Another operation on the same object is in progress; a later attempt may succeed."""


class DraftConflictError(StateError):
    """A draft was changed elsewhere since its form was shown; nothing was saved."""

    def __init__(self, draft: str, version: int) -> None:
        self.draft, self.version = draft, version
        super().__init__(draft, version)

    def message(self) -> str:
        """Return the message."""
        return Sentence(
            "This draft was changed in another window or by another request since you opened it: "
            "version %(version)s is saved here.",
            version=self.version,
        )


class DeletedError(StateError):
    """The item was deleted; its tombstone stays."""

    def __init__(self, label: str) -> None:
        self.label = label
        super().__init__(label)

    def message(self) -> str:
        """Return the message."""
        return Sentence("%(label)s was deleted: its tombstone stays as it is.", label=self.label)


class UnreconciledError(StateError):
    """The archive was restored, and may have Originals that it gave away since the backup."""

    def __init__(self, moment: str) -> None:
        self.moment = moment
        super().__init__(moment)

    def message(self) -> str:
        """Return the message."""
        return Sentence(
            "This archive was restored from a backup of %(moment)s, and may have Originals that it "
            "gave away since: stop it and run 'ibi archive concede' before it gives any away.",
            moment=self.moment,
        )


class TooManyRequestsError(ArchiveError):
    """A client exceeds its rate limit; `retry_after` is in seconds."""

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(retry_after)

    def message(self) -> str:
        """Return the message."""
        return Sentence("Too many requests: try again in %(seconds)s s.", seconds=self.retry_after)


class StorageError(ArchiveError):
    """The disk or the database fails."""

    def __init__(self, place: str, reason: str) -> None:
        self.place, self.reason = place, reason
        super().__init__(place, reason)

    def __str__(self) -> str:
        return f"The storage {self.place} cannot be used: {self.reason}."


class StorageFullError(StorageError):
    """The storage has no free space."""


class SearchTimeoutError(ArchiveError):
    """A search takes longer than the archive allows."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(seconds)

    def message(self) -> str:
        """Return the message."""
        return Sentence(
            "The search took longer than %(seconds)s seconds: search for rarer words, or narrow "
            "the search.",
            seconds=f"{self.seconds:g}",
        )


class DamagedBackupError(ArchiveError):
    """A backup is damaged or was changed; `faults` names each file, and what is wrong with it."""

    def __init__(self, backup: str, faults: tuple[str, ...]) -> None:
        self.backup, self.faults = backup, faults
        super().__init__(backup, faults)

    def __str__(self) -> str:
        return f"{self.backup} is not as it was backed up: {self.faults[0]}."


class WriterUnavailableError(ArchiveError):
    """The process that changes the archive does not answer; the reading processes still do.

    Whether a change that was sent to it has been made is unknown. `retry_after` is in seconds.
    """

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(retry_after)

    def message(self) -> str:
        """Return the message."""
        return Sentence(
            "The archive can be read, but not changed at the moment. Ask again whether it was done."
        )


class InstanceHeldError(ArchiveError):
    """The operation needs a folder that is served, or one that is not, and it is the other."""


class OtherInstanceError(ArchiveError):
    """Another instance of a restored archive answers; both would give out the same labels."""

    def __init__(self, address: str, prefixes: tuple[str, ...]) -> None:
        self.address, self.prefixes = address, prefixes
        super().__init__(address, prefixes)

    def __str__(self) -> str:
        return (
            f"This archive was restored from a backup, and another instance of it answers at "
            f"{printable(self.address)}: both would give out the same labels under "
            f"{' and '.join(self.prefixes)}. Stop the other for good. Only if you cannot, and it "
            "will never mint again, start this one with --original-is-gone."
        )


class ArchiveRefusedError(ArchiveError):
    """An archive refused a request over HTTP; `detail` is the archive's own message."""

    def __init__(self, status: int, detail: str) -> None:
        self.status, self.detail = status, detail
        super().__init__(status, detail)

    def message(self) -> str:
        """Return the message; one that the other archive wrote is in English."""
        return self.detail or Sentence(
            "The archive refused, with status %(status)s.", status=self.status
        )


class ArchiveUnreachableError(ArchiveError):
    """An archive does not answer over HTTP."""

    def __init__(self, address: str, reason: str) -> None:
        self.address, self.reason = address, reason
        super().__init__(address, reason)

    def message(self) -> str:
        """Return the message."""
        return Sentence(
            "The archive at %(address)s does not answer: %(reason)s.",
            address=self.address,
            reason=self.reason,
        )
