"""Who may not."""

from __future__ import annotations

from ibi.errors.root import IbiError, shown


class AccessError(IbiError):
    """Somebody wanted something that they have no right to."""


class UnauthenticatedError(AccessError):
    """There is no token, or none that is known."""

    def __str__(self) -> str:
        """Say how a token is sent; which one was sent is nobody's business."""
        return "A valid token is needed: send it as 'Authorization: Bearer TOKEN'."


class ForbiddenError(AccessError):
    """The token is known, and not for this."""

    def __init__(self, scope: str) -> None:
        """Keep what the token would have to be for."""
        self.scope = scope
        super().__init__(scope)

    def __str__(self) -> str:
        """Say what is needed."""
        return f"This needs a token with the scope {shown(self.scope)}."
