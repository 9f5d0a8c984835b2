"""The API of a resolver for whoever wants an archive registered: by proof, or by e-mail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from http import HTTPStatus
from io import BytesIO
from typing import BinaryIO

from starlette.responses import Response

from ibi.errors import MailError, ResolverRequestError, shown
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
    """Challenges strangers, and registers the archives of those who meet a challenge."""

    def __init__(self, registry: Registry, proof: DomainProof, *, is_open: bool) -> None:
        """Let nobody in unless the operator opened it."""
        self._registry = registry
        self._proof = proof
        self.is_open = is_open

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

    def __init__(  # what it acts on
        self,
        registry: Registry,
        opening: OpenRegistration,
        notices: AdministratorNotices,
        read_mail: ReadMail,
        about: messages.ResolverAnswer,
    ) -> None:
        """Act on a registry; strangers may begin only if registration is open."""
        self._registry = registry
        self._opening = opening
        self._notices = notices
        self._read_mail = read_mail
        self._about = about

    async def begin(self, request: AuthorizedRequest) -> Response:
        """Challenge whoever says that a host is theirs."""
        wanted = await request.read(messages.OpenRegistrationRequest)
        challenge = await self._opening.begin(wanted.service_ibi, wanted.administrator)
        answer = answers.challenge_answer(challenge, self._about.address)
        return json_answer(answer, HTTPStatus.ACCEPTED)

    async def complete(self, request: AuthorizedRequest) -> Response:
        """Look at the proof, and register the archive."""
        # In the body: what stands in a path stands in the log, and the token gets the key.
        shown = await request.read(messages.ProofRequest)
        archive, key = await self._opening.complete(shown.token)
        answer = messages.KeyAnswer(archive.service.spelling, str(key))
        return json_answer(answer, HTTPStatus.CREATED)

    async def take_mail(self, request: AuthorizedRequest) -> Response:
        """Take an e-mail that registers an archive (004, Example 5.1); the operator confirms it."""
        body = await request.read_bytes()
        found = await asyncio.to_thread(list, self._read_mail(BytesIO(body)))
        if not found:
            msg = "A program sent this message on its own: nobody asks for anything by it."
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
