"""A client of archives whose requests all fail: base of doubles that answer some of them."""

from __future__ import annotations

from ibi.identifier.label import Label
from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.outbound import NoReply, Reply
from ibi.wire.digest import DigestPage
from ibi.wire.requests import Acknowledgment, UrlRequest


class UnusedArchiveClient:
    """Raises on every request that a double does not override."""

    async def ask(self, archive: RegisteredArchive, request: UrlRequest, seconds: float) -> Reply:
        """Send urlRequest."""
        raise NotImplementedError

    async def confirm(self, address: str, service: Label, seconds: float) -> str:
        """Send inclusionConfirmationRequest."""
        raise NotImplementedError

    async def denies(self, address: str, service: Label, seconds: float) -> bool:
        """Send inclusionConfirmationRequest for an archive that is elsewhere."""
        raise NotImplementedError

    async def acknowledge(
        self, archive: RegisteredArchive, request: Acknowledgment, seconds: float
    ) -> str:
        """Send an acknowledgment."""
        raise NotImplementedError

    async def digest(
        self, archive: RegisteredArchive, epoch: str, after: int, seconds: float
    ) -> DigestPage | NoReply | None:
        """Fetch a page of a digest."""
        raise NotImplementedError

    async def challenge(self, host: str, path: str, seconds: float) -> str:
        """Look at a host."""
        raise NotImplementedError

    async def close(self) -> None:
        """Have nothing to close."""
