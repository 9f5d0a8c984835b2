"""The API of a resolver for whoever wants an archive registered: by proof, or by e-mail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from http import HTTPStatus
from io import BytesIO
from typing import BinaryIO, Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.errors import MailError, ResolverRequestError, shown
from ibi.foundation.web.json_response import by_method, json_answer
from ibi.foundation.web.request_body import body_of, decoded
from ibi.identifier.label import Label, parse
from ibi.model.archive_record import RegistrationKey
from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.outbound import Mailer
from ibi.resolver.ports.store import Challenge
from ibi.resolver.registry.domain_proof import DomainProof
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules import registration_mail
from ibi.resolver.web import messages
from ibi.resolver.web import responses as answers
from ibi.resolver.web.authorization import ResolverAuthorizer


class OpenRegistration:
    """Challenges strangers, and registers the archives of those who meet a challenge."""

    def __init__(
        self, registry: Registry, proof: DomainProof, door: ResolverAuthorizer, *, is_open: bool
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


LARGEST_MESSAGE: Final = 2 << 20
"""Bytes of a request with an e-mail: whoever reads it takes fewer, and says so in its own words."""
_DECODE_REGISTRATION: Final = msgspec.json.Decoder(messages.OpenRegistrationRequest).decode
_DECODE_PROOF: Final = msgspec.json.Decoder(messages.ProofRequest).decode

ReadMail = Callable[[BinaryIO], Iterator[tuple[str, str, str]]]
"""Reads a message as it came: subject, sender and text; nothing of one that a program sent."""


class AdministratorNotices:
    """Messages to administrators, of which the answer says whether they were sent."""

    def __init__(self, mailer: Mailer, address: str) -> None:
        """Write in the name of the resolver at an address."""
        self._mailer = mailer
        self._address = address

    async def pending(self, archive: RegisteredArchive) -> messages.NoticeAnswer:
        """Tell that a registration waits for the operator."""
        return await self._send(archive, registration_mail.pending_notice)

    async def confirmed(self, archive: RegisteredArchive) -> messages.NoticeAnswer:
        """Tell that an archive is registered (004, section 5.2)."""
        return await self._send(archive, registration_mail.confirmation)

    async def _send(
        self, archive: RegisteredArchive, write: Callable[[Label, str], tuple[str, str]]
    ) -> messages.NoticeAnswer:
        recipient, reason = archive.administrator, ""
        if recipient:
            message = write(archive.service, self._address)
            try:
                await asyncio.to_thread(self._mailer.send, recipient, *message)
            except MailError as failure:
                reason = failure.reason
        else:
            reason = "no address of its administrator is on record"
        return messages.NoticeAnswer(
            archive.service.spelling, str(archive.state), recipient, not reason, reason
        )


class RegistrationsApi:
    """Its handlers."""

    def __init__(  # noqa: PLR0913, PLR0917  # what it acts on
        self,
        registry: Registry,
        opening: OpenRegistration,
        door: ResolverAuthorizer,
        notices: AdministratorNotices,
        read_mail: ReadMail,
        about: messages.ResolverAnswer,
    ) -> None:
        """Act on a registry; strangers may begin only if registration is open."""
        self._registry = registry
        self._opening = opening
        self._door = door
        self._notices = notices
        self._read_mail = read_mail
        self._about = about

    @property
    def routes(self) -> list[Route]:
        """Where they answer."""
        return [
            by_method("/api/v1/registrations", POST=self.begin),
            by_method("/api/v1/registrations/mail", POST=self.take_mail),
            by_method("/api/v1/registrations/proof", POST=self.complete),
        ]

    async def begin(self, request: Request) -> Response:
        """Challenge whoever says that a host is theirs."""
        self._opening.admit(request)
        wanted = decoded(_DECODE_REGISTRATION, await body_of(request))
        challenge = await self._opening.begin(wanted.service_ibi, wanted.administrator)
        answer = answers.challenge_answer(challenge, self._about.address)
        return json_answer(answer, HTTPStatus.ACCEPTED)

    async def complete(self, request: Request) -> Response:
        """Look at the proof, and register the archive."""
        self._opening.admit(request)
        # In the body: what stands in a path stands in the log, and the token gets the key.
        shown = decoded(_DECODE_PROOF, await body_of(request))
        archive, key = await self._opening.complete(shown.token)
        answer = messages.KeyAnswer(archive.service.spelling, str(key))
        return json_answer(answer, HTTPStatus.CREATED)

    async def take_mail(self, request: Request) -> Response:
        """Take an e-mail that registers an archive (004, Example 5.1); the operator confirms it."""
        who = await self._door.admit(request, "operate")
        body = await body_of(request, LARGEST_MESSAGE)
        found = await asyncio.to_thread(list, self._read_mail(BytesIO(body)))
        if not found:
            msg = "A program sent this message on its own: nobody asks for anything by it."
            raise ResolverRequestError(msg)
        [message] = found
        wanted = registration_mail.read(*message)
        archive, _ = await self._registry.register(
            wanted.service, wanted.key, wanted.administrator, (), "mail", who, pending=True
        )
        return json_answer(await self._notices.pending(archive), HTTPStatus.ACCEPTED)
