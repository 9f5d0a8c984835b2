"""Registration that is open to strangers who prove control of a host: by the API, and on a page."""

from __future__ import annotations

from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request

from ibi.errors import ResolverRequestError, shown
from ibi.identifier.label import parse
from ibi.model.archive_record import RegistrationKey
from ibi.model.registration import RegisteredArchive
from ibi.ports import Challenge
from ibi.resolver.domain_proof import DomainProof
from ibi.resolver.registry import Registry
from ibi.web.resolver_door import ResolverDoor


class OpenRegistration:
    """Challenges strangers, and registers the archives of those who meet a challenge."""

    def __init__(
        self, registry: Registry, proof: DomainProof, door: ResolverDoor, *, is_open: bool
    ) -> None:
        """Let nobody in unless the operator opened it."""
        self._registry = registry
        self._proof = proof
        self._door = door
        self.is_open = is_open

    def admit(self, request: Request) -> None:
        """Let a stranger in, if it is open, and not too much is already from there."""
        if not self.is_open:
            msg = "Registration is not open at this resolver: ask its operator for a key."
            raise HTTPException(HTTPStatus.FORBIDDEN, msg)
        self._door.admit_registration(request)

    async def begin(self, service_ibi: str, administrator: str) -> Challenge:
        """Challenge whoever says that a host is theirs."""
        service = parse(service_ibi)
        # Told now: after the proof it would be a pity.
        known = self._registry.find_service(service)
        if known is not None and known.confirmed:
            msg = f"The archive {shown(known.id)} is registered already: ask the operator."
            raise ResolverRequestError(msg)
        return await self._proof.begin(service, administrator)

    async def find(self, token: str) -> Challenge:
        """Return a challenge that can still be met."""
        return await self._proof.find(token)

    async def complete(self, token: str) -> tuple[RegisteredArchive, RegistrationKey]:
        """Look at the proof, and register the archive."""
        met = await self._proof.complete(token)
        return await self._registry.register(
            parse(met.service), None, met.administrator, (), "domain", f"host {met.host}"
        )
