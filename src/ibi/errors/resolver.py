"""Errors of a resolver: requests that it refuses, and failures of mail and network."""

from __future__ import annotations

from typing import Final

from ibi.errors.base import IbiError, RequestError, shown
from ibi.errors.sentence import Sentence


class ResolverError(IbiError):
    """The resolver refused or failed; nothing was changed."""


class ResolverRequestError(ResolverError, RequestError):
    """A registration, setting or operation that no resolver can accept."""


_THINGS: Final = {
    str(each): each for each in (Sentence("archive"), Sentence("challenge"), Sentence("conflict"))
}


class NotOnRecordError(ResolverError):
    """The resolver has no such archive, conflict or challenge on record."""

    def __init__(self, thing: str, name: str) -> None:
        self.thing, self.name = thing, name
        super().__init__(thing, name)

    def message(self) -> str:
        """Return the message."""
        return Sentence(
            "There is no %(thing)s %(name)s on record at this resolver.",
            thing=_THINGS.get(self.thing, self.thing),
            name=shown(self.name),
        )


class RegistrationKeyError(ResolverError):
    """The archive is not registered, or not by this key.

    The message does not tell which of the two, because that would help to guess keys.
    """

    def message(self) -> str:
        """Return the message."""
        return Sentence(
            "The archive is not registered here, or not by this key: register it, or take the key "
            "that was given out then."
        )


class OverloadError(ResolverError):
    """The resolver is at its limit of concurrent work; `retry_after` is in seconds."""

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(retry_after)

    def message(self) -> str:
        """Return the message."""
        return Sentence(
            "Too much is asked of this resolver at once: try again in %(seconds)s s.",
            seconds=self.retry_after,
        )


class ProofError(ResolverError):
    """Control of a domain name was not proved."""


class MailError(ResolverError):
    """The mail server did not accept a message."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)

    def message(self) -> str:
        """Return the message."""
        return Sentence("The message was not sent: %(reason)s.", reason=self.reason)


class ResolverRefusedError(ResolverError):
    """A resolver refused a request over HTTP; `detail` is the resolver's own message."""

    def __init__(self, status: int, detail: str) -> None:
        self.status, self.detail = status, detail
        super().__init__(status, detail)

    def __str__(self) -> str:
        return self.detail or f"The resolver refused, with status {self.status}."


class ResolverUnreachableError(ResolverError):
    """A resolver does not answer over HTTP."""

    def __init__(self, address: str, reason: str) -> None:
        self.address, self.reason = address, reason
        super().__init__(address, reason)

    def __str__(self) -> str:
        return f"The resolver at {self.address} does not answer: {self.reason}."
