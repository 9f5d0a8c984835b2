"""The API to register an archive without the operator's token: by proof, or by e-mail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from http import HTTPStatus
from io import BytesIO
from typing import BinaryIO

from starlette.responses import Response

from ibi.errors import MailError, ResolverRequestError, Sentence, shown
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest
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


class OpenRegistration:
    """Issues challenges to clients, and registers the archives whose challenges are met."""

    def __init__(self, registry: Registry, proof: DomainProof, *, is_open: bool) -> None:
        """Refuse every client unless the operator opened registration."""
        self._registry = registry
        self._proof = proof
        self.is_open = is_open

    async def begin(self, service_ibi: str, administrator: str) -> Challenge:
        """Begin a challenge for a host."""
        service = parse(service_ibi)
        # Refused before the proof, which would be in vain.
        known = self._registry.find_service(service)
        if known is not None and known.confirmed:
            msg = Sentence(
                "The archive %(id)s is registered already: ask the operator.", id=shown(known.id)
            )
            raise ResolverRequestError(msg)
        return await self._proof.begin(service, administrator)

    async def find(self, token: str) -> Challenge:
        """Return a challenge that can still be met."""
        return await self._proof.find(token)

    async def complete(
        self, token: str, signature: str = ""
    ) -> tuple[RegisteredArchive, RegistrationKey]:
        """Check the proof, and register the archive."""
        met = await self._proof.complete(token, signature)
        challenge = met.challenge
        return await self._registry.register(
            parse(challenge.service),
            None,
            challenge.administrator,
            (),
            "domain",
            f"host {challenge.host}",
            proofs=(met.place,),
        )


ReadMail = Callable[[BinaryIO], Iterator[tuple[str, str, str]]]
"""Parses messages: subject, sender and text; yields nothing for one that a program sent."""


class AdministratorNotices:
    """Messages to administrators; the answer contains whether they were sent."""

    def __init__(self, mailer: Mailer, address: str) -> None:
        """Write in the name of the resolver at an address."""
        self._mailer = mailer
        self._address = address

    async def pending(self, archive: RegisteredArchive) -> messages.NoticeAnswer:
        """Notify that a registration waits for the operator."""
        return await self._send(archive, registration_mail.pending_notice)

    async def confirmed(self, archive: RegisteredArchive) -> messages.NoticeAnswer:
        """Notify that an archive is registered (004, section 5.2)."""
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
    """Handlers of the registration operations."""

    def __init__(  # its collaborators
        self,
        registry: Registry,
        opening: OpenRegistration,
        notices: AdministratorNotices,
        read_mail: ReadMail,
        about: messages.ResolverAnswer,
    ) -> None:
        """Act on a registry; clients may begin only if registration is open."""
        self._registry = registry
        self._opening = opening
        self._notices = notices
        self._read_mail = read_mail
        self._about = about

    async def begin(self, request: AuthorizedRequest) -> Response:
        """Begin a challenge for a host."""
        wanted = await request.read(messages.OpenRegistrationRequest)
        challenge = await self._opening.begin(wanted.service_ibi, wanted.administrator)
        answer = answers.challenge_answer(challenge, self._about.address)
        return json_answer(answer, HTTPStatus.ACCEPTED)

    async def complete(self, request: AuthorizedRequest) -> Response:
        """Check the proof, and register the archive."""
        # In the body: a path is logged, and the token is exchanged for the key.
        shown = await request.read(messages.ProofRequest)
        archive, key = await self._opening.complete(shown.token, shown.signature)
        answer = messages.KeyAnswer(archive.service.spelling, str(key))
        return json_answer(answer, HTTPStatus.CREATED)

    async def take_mail(self, request: AuthorizedRequest) -> Response:
        """Accept an e-mail that registers an archive (004, Example 5.1), as a pending request."""
        body = await request.read_bytes()
        found = await asyncio.to_thread(list, self._read_mail(BytesIO(body)))
        if not found:
            msg = Sentence(
                "A program sent this message on its own: nobody asks for anything by it."
            )
            raise ResolverRequestError(msg)
        [message] = found
        wanted = registration_mail.read(*message)
        archive, _ = await self._registry.register(
            wanted.service,
            wanted.key,
            wanted.administrator,
            (),
            "mail",
            request.caller,
            pending=True,
        )
        return json_answer(await self._notices.pending(archive), HTTPStatus.ACCEPTED)
