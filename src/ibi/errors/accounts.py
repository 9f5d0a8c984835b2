"""Errors of accounts of people: names, passwords, links, and forms that another site sent."""

from __future__ import annotations

from ibi.errors.access import AccessError
from ibi.errors.base import IbiError, RequestError, printable, shown
from ibi.errors.sentence import Sentence


class FieldError(RequestError):
    """A field of a form that cannot be accepted; the page shows the message beside it."""

    def __init__(self, field: str, sentence: Sentence) -> None:
        self.field = field
        self.sentence = sentence
        super().__init__(field, sentence)

    def message(self) -> str:
        """Return the message."""
        return self.sentence


class SignInError(AccessError):
    """Name and password do not belong to an active account; the message never says which."""

    def message(self) -> str:
        """Return the message."""
        return Sentence("The name or the password is wrong.")


class RoleError(AccessError):
    """The person is signed in, but the role of the account lacks the scope."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        super().__init__(scope)

    def message(self) -> str:
        """Return the message."""
        return Sentence(
            "Your account lacks the right %(scope)s. An administrator can give you another role.",
            scope=shown(self.scope),
        )


class ForgeryError(AccessError):
    """A form or a request with a session did not come from a page of this site."""

    def message(self) -> str:
        """Return the message."""
        return Sentence("This was not sent by a page of this site: open the page here again.")


class OpenIdError(AccessError):
    """The sign-in at an OpenID provider failed; `reason` is for the log of the operator."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)

    def message(self) -> str:
        """Return the message."""
        return printable(self.reason)


class AccountError(IbiError):
    """An act on an account that cannot be done."""


class NoAccountError(AccountError):
    """There is no such account, session, invitation or link."""

    def __init__(self, kind: Sentence) -> None:
        self.kind = kind
        super().__init__(kind)

    def message(self) -> str:
        """Return the message."""
        return self.kind


class LastAdministratorError(AccountError):
    """The act would leave no account of an administrator."""

    def message(self) -> str:
        """Return the message."""
        return Sentence("This is the last administrator: make another one first.")
