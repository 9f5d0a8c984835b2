"""Outbound port of a resolver, over the simulated network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ibi.errors import IbiError, ProofError
from ibi.identifier.label import Label
from ibi.model.registration import RegisteredArchive
from ibi.resolver.peers.archive_client import _url_list
from ibi.resolver.peers.bounded_response import NoAnswerError, RefusalError
from ibi.resolver.ports.outbound import ArchiveReply, NoReply, Reply
from ibi.wire import responses
from ibi.wire.digest import DigestPage, decode
from ibi.wire.requests import Acknowledgment, InclusionConfirmationRequest, UrlRequest, encode
from ibi.wire.responses import Confirmation, Notice, Response
from tests.simulation.programs.archive_transport import as_archive
from tests.simulation.world.network import Network, UnreachableError

if TYPE_CHECKING:
    from tests.simulation.programs.resolver_host import ResolverHost
    from tests.simulation.world.machines import Host

_OK: Final = 200
_REFUSED: Final = range(400, 500)
_NOT_FOUND: Final = 404


class SimulatedArchives:
    """Sends the requests of a resolver to archives."""

    def __init__(self, network: Network[Host], own: ResolverHost) -> None:
        self._network = network
        self._own = own

    async def ask(self, archive: RegisteredArchive, request: UrlRequest, seconds: float) -> Reply:
        """Send urlRequest."""
        if not archive.address:
            return NoReply(archive.id, "it is not included", asked=False)
        self._own.world.judge.note_asked(self._own, archive.id, request)
        try:
            said, personal = await self._said(
                archive.address, archive.service, encode(request), request.subject, seconds
            )
            listed = _url_list(said)
        except (UnreachableError, NoAnswerError) as fault:
            return NoReply(archive.id, str(fault), alive=isinstance(fault, RefusalError))
        heard = ArchiveReply(archive.id, listed, personal=personal)
        self._own.world.judge.note_reply(self._own, heard, request)
        return heard

    async def confirm(self, address: str, service: Label, seconds: float) -> str:
        """Send inclusionConfirmationRequest."""
        query = encode(InclusionConfirmationRequest())
        return await self._expect(Confirmation, address, service, query, seconds)

    async def denies(self, address: str, service: Label, seconds: float) -> bool:
        """Send inclusionConfirmationRequest for an archive that is elsewhere."""
        query = encode(InclusionConfirmationRequest())
        try:
            said, _ = await self._said(address, service, query, Confirmation.__name__, seconds)
        except (UnreachableError, NoAnswerError) as fault:
            return isinstance(fault, RefusalError)
        return not isinstance(said, Confirmation)

    async def acknowledge(
        self, archive: RegisteredArchive, request: Acknowledgment, seconds: float
    ) -> str:
        """Send an acknowledgment."""
        query = encode(request)
        return await self._expect(Notice, archive.address, archive.service, query, seconds)

    async def digest(
        self, archive: RegisteredArchive, epoch: str, after: int, seconds: float
    ) -> DigestPage | NoReply | None:
        """Fetch the page of a digest after a cursor."""
        try:
            status, body = await self._network.call(
                self._own.name,
                archive.address,
                "a request for the digest",
                lambda host: as_archive(host).digest_page(epoch, after),
                seconds,
            )
        except UnreachableError as fault:
            return NoReply(archive.id, str(fault))
        if status == _NOT_FOUND:
            return None
        return decode(body) if status == _OK else NoReply(archive.id, f"it answered {status}")

    async def challenge(self, host: str, path: str, seconds: float) -> str:
        """Raise ProofError: no archive proves its host here."""
        del host, path, seconds
        raise ProofError("Nobody is there.")

    async def close(self) -> None:
        """Do nothing: there is no connection to close."""

    async def _expect(
        self,
        expected: type[Confirmation | Notice],
        address: str,
        service: Label,
        query: str,
        seconds: float,
    ) -> str:
        try:
            said, _ = await self._said(address, service, query, expected.__name__, seconds)
        except (UnreachableError, NoAnswerError) as fault:
            return str(fault)
        return "" if isinstance(said, expected) else "its answer makes no sense"

    async def _said(
        self, address: str, service: Label, query: str, what: str, seconds: float
    ) -> tuple[Response | None, bool]:
        status, body, personal = await self._network.call(
            self._own.name,
            address,
            what,
            lambda host: as_archive(host).answer_resolver(service.spelling, query),
            seconds,
        )
        if status != _OK:
            raise (RefusalError if status in _REFUSED else NoAnswerError)(f"it answered {status}")
        try:
            return responses.decode(body), personal
        except IbiError:
            raise NoAnswerError("its answer makes no sense") from None
