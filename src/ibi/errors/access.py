"""Errors of access: the caller lacks a token or a scope, or reads from a network that may not."""

from __future__ import annotations

from ibi.errors.base import IbiError, shown
from ibi.errors.sentence import Sentence


class AccessError(IbiError):
    """The caller has no right to what it asked for."""


class UnauthenticatedError(AccessError):
    """The request has no token, or one that is unknown. The message never repeats the token."""

    def message(self) -> str:
        """Return the message."""
        return Sentence("A valid token is needed: send it as 'Authorization: Bearer TOKEN'.")


class ReadersError(AccessError):
    """The files of an item may be read only from the networks of its readers.

    `described_at` is the address of its public page, empty if there is none.
    """

    def __init__(self, label: str, described_at: str) -> None:
        self.label = label
        self.described_at = described_at
        super().__init__(label, described_at)

    def message(self) -> str:
        """Return the message."""
        text = Sentence(
            "The files of %(label)s can be read from the networks of its readers only.",
            label=self.label,
        )
        if not self.described_at:
            return text
        return Sentence(
            "%(refusal)s Its description is public: %(address)s",
            refusal=text,
            address=self.described_at,
        )


class ForbiddenError(AccessError):
    """The token is valid, but lacks the scope that the operation needs."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        super().__init__(scope)

    def message(self) -> str:
        """Return the message."""
        return Sentence("This needs a token with the scope %(scope)s.", scope=shown(self.scope))
