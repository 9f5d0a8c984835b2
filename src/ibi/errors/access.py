"""Who may not."""

from __future__ import annotations

from ibi.errors.base import IbiError, shown


class AccessError(IbiError):
    """Somebody wanted something that they have no right to."""


class UnauthenticatedError(AccessError):
    """There is no token, or none that is known."""

    def __str__(self) -> str:
        """Say how a token is sent; which one was sent is nobody's business."""
        return "A valid token is needed: send it as 'Authorization: Bearer TOKEN'."


class LicenceError(AccessError):
    """The files of an item are for readers in other networks."""

    def __init__(self, label: str, described_at: str) -> None:
        """Keep which item, and where everybody may read what describes it."""
        self.label = label
        self.described_at = described_at
        super().__init__(label, described_at)

    def __str__(self) -> str:
        """Say who may, and what everybody may."""
        text = f"The files of {self.label} can be read from the network of its licensee only."
        page = f" What describes it is for everybody: {self.described_at}"
        return text + page if self.described_at else text


class ForbiddenError(AccessError):
    """The token is known, and not for this."""

    def __init__(self, scope: str) -> None:
        """Keep what the token would have to be for."""
        self.scope = scope
        super().__init__(scope)

    def __str__(self) -> str:
        """Say what is needed."""
        return f"This needs a token with the scope {shown(self.scope)}."
