"""Errors of access: the caller lacks a token or a scope, or reads from a network that may not."""

from __future__ import annotations

from ibi.errors.base import IbiError, shown


class AccessError(IbiError):
    """The caller has no right to what it asked for."""


class UnauthenticatedError(AccessError):
    """The request has no token, or one that is unknown. The message never repeats the token."""

    def __str__(self) -> str:
        return "A valid token is needed: send it as 'Authorization: Bearer TOKEN'."


class ReadersError(AccessError):
    """The files of an item may be read only from the networks of its readers.

    `described_at` is the address of its public page, empty if there is none.
    """

    def __init__(self, label: str, described_at: str) -> None:
        self.label = label
        self.described_at = described_at
        super().__init__(label, described_at)

    def __str__(self) -> str:
        text = f"The files of {self.label} can be read from the networks of its readers only."
        page = f" Its description is public: {self.described_at}"
        return text + page if self.described_at else text


class ForbiddenError(AccessError):
    """The token is valid, but lacks the scope that the operation needs."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        super().__init__(scope)

    def __str__(self) -> str:
        return f"This needs a token with the scope {shown(self.scope)}."
