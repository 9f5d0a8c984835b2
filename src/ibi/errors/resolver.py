"""What a resolver refuses, and what fails under it."""

from __future__ import annotations

from ibi.errors.base import IbiError, RequestError, shown


class ResolverError(IbiError):
    """The resolver did not do what was asked; nothing was changed."""


class ResolverRequestError(ResolverError, RequestError):
    """A registration, a setting or an act that no resolver can take."""


class NotOnRecordError(ResolverError):
    """The resolver has no such archive, conflict or challenge on record."""

    def __init__(self, thing: str, name: str) -> None:
        """Keep what was looked for."""
        self.thing, self.name = thing, name
        super().__init__(thing, name)

    def __str__(self) -> str:
        """Say what is not here."""
        return f"There is no {self.thing} {shown(self.name)} on record at this resolver."


class RegistrationKeyError(ResolverError):
    """The registration key is not that of the archive; which part is wrong is not said."""

    def __str__(self) -> str:
        """Say what to do, and nothing that helps to guess."""
        return (
            "The archive is not registered here, or not by this key: register it, or take the key "
            "that was given out then."
        )


class OverloadError(ResolverError):
    """More is asked than this resolver can do at once; later it can again."""

    def __init__(self, retry_after: int) -> None:
        """Keep when to come again, in seconds."""
        self.retry_after = retry_after
        super().__init__(retry_after)

    def __str__(self) -> str:
        """Say when to come again."""
        return f"Too much is asked of this resolver at once: try again in {self.retry_after} s."


class ProofError(ResolverError):
    """Control of a domain name was not shown."""


class MailError(ResolverError):
    """A message was not taken by the mail server."""

    def __init__(self, reason: str) -> None:
        """Keep why."""
        self.reason = reason
        super().__init__(reason)

    def __str__(self) -> str:
        """Say it."""
        return f"The message was not sent: {self.reason}."


class ResolverRefusedError(ResolverError):
    """A resolver that was asked over HTTP said no; the sentence is its own."""

    def __init__(self, status: int, detail: str) -> None:
        """Keep both."""
        self.status, self.detail = status, detail
        super().__init__(status, detail)

    def __str__(self) -> str:
        """Repeat what the resolver said."""
        return self.detail or f"The resolver refused, with status {self.status}."


class ResolverUnreachableError(ResolverError):
    """A resolver does not answer over HTTP."""

    def __init__(self, address: str, reason: str) -> None:
        """Keep where and why."""
        self.address, self.reason = address, reason
        super().__init__(address, reason)

    def __str__(self) -> str:
        """Say both."""
        return f"The resolver at {self.address} does not answer: {self.reason}."
