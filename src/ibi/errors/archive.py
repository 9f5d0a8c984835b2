"""What an archive refuses, and what fails under it."""

from __future__ import annotations

from ibi.errors.base import IbiError, RequestError, shown


class ArchiveError(IbiError):
    """The archive did not do what was asked; nothing was changed."""


class ArchiveRequestError(ArchiveError, RequestError):
    """A deposit, a description, a setting or an act that no archive can take."""


class FileNameError(ArchiveRequestError):
    """A path that no file of an item can have."""

    def __init__(self, path: str, reason: str) -> None:
        """Keep the path and what is wrong with it."""
        self.path = path
        self.reason = reason
        super().__init__(path, reason)

    def __str__(self) -> str:
        """Say which path, and why."""
        return f"{shown(self.path)} cannot be the path of a file: {self.reason}."


class UnpackError(ArchiveRequestError):
    """A zip or tar file that is damaged, hostile or too large."""


class BagError(ArchiveRequestError):
    """A bag that is damaged, hostile or of another program."""

    def __init__(self, reason: str) -> None:
        """Keep what is wrong with it."""
        self.reason = reason
        super().__init__(reason)

    def __str__(self) -> str:
        """Say it."""
        return f"The bag cannot be used: {self.reason}."


class MetadataError(ArchiveRequestError):
    """Metadata that cannot be read."""


class ChecksumError(ArchiveError, ValueError):
    """What came is not what was sent."""

    def __init__(self, path: str, expected: str, found: str) -> None:
        """Keep both sums."""
        self.path, self.expected, self.found = path, expected, found
        super().__init__(path, expected, found)

    def __str__(self) -> str:
        """Say both."""
        return (
            f"{shown(self.path)} did not arrive whole: its checksum should be {self.expected} "
            f"and is {self.found}. Send it again."
        )


class TooLargeError(ArchiveError):
    """More than the archive takes."""


class UnknownError(ArchiveError):
    """The archive has no such thing."""

    def __init__(self, thing: str, name: str) -> None:
        """Keep what was looked for."""
        self.thing, self.name = thing, name
        super().__init__(thing, name)

    def __str__(self) -> str:
        """Say what is not here."""
        return f"There is no {self.thing} {shown(self.name)} in this archive."


class StateError(ArchiveError):
    """The state of the thing forbids the act."""


class AtWorkError(StateError):
    """Somebody else is at it just now: a moment later it may be done."""


class DeletedError(StateError):
    """The item was deleted; its tombstone stays."""

    def __init__(self, label: str) -> None:
        """Keep which."""
        self.label = label
        super().__init__(label)

    def __str__(self) -> str:
        """Say it."""
        return f"{self.label} was deleted: its tombstone stays as it is."


class TooManyRequestsError(ArchiveError):
    """One client asks more than its share."""

    def __init__(self, retry_after: int) -> None:
        """Keep when to come again, in seconds."""
        self.retry_after = retry_after
        super().__init__(retry_after)

    def __str__(self) -> str:
        """Say when to come again."""
        return f"Too many requests: try again in {self.retry_after} s."


class StorageError(ArchiveError):
    """The disk or the database does not do what it should."""

    def __init__(self, place: str, reason: str) -> None:
        """Keep where and why."""
        self.place, self.reason = place, reason
        super().__init__(place, reason)

    def __str__(self) -> str:
        """Say both."""
        return f"The storage {self.place} cannot be used: {self.reason}."


class StorageFullError(StorageError):
    """There is no room."""


class KeeperAwayError(ArchiveError):
    """The process that changes the archive does not answer; others do, who read."""

    def __init__(self, retry_after: int) -> None:
        """Keep when to come again, in seconds."""
        self.retry_after = retry_after
        super().__init__(retry_after)

    def __str__(self) -> str:
        """Say that nobody knows more."""
        return (
            "The archive can be read, but not changed at the moment. Ask again whether it was done."
        )


class InstanceHeldError(ArchiveError):
    """A folder is not as an act needs it: another process serves it, or none does."""


class ArchiveRefusedError(ArchiveError):
    """An archive that was asked over HTTP said no; the sentence is its own."""

    def __init__(self, status: int, detail: str) -> None:
        """Keep both."""
        self.status, self.detail = status, detail
        super().__init__(status, detail)

    def __str__(self) -> str:
        """Repeat what the archive said."""
        return self.detail or f"The archive refused, with status {self.status}."


class ArchiveUnreachableError(ArchiveError):
    """An archive does not answer over HTTP."""

    def __init__(self, address: str, reason: str) -> None:
        """Keep where and why."""
        self.address, self.reason = address, reason
        super().__init__(address, reason)

    def __str__(self) -> str:
        """Say both."""
        return f"The archive at {self.address} does not answer: {self.reason}."
