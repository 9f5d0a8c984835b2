"""The API of an archive: its record in the DNS, and what it signs to register at a resolver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
from starlette.responses import Response

from ibi.archive.rules.scopes import ADMINISTER, READ
from ibi.errors import ArchiveRequestError, Sentence
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest, Operation
from ibi.identifier.repository_name import RepositoryName
from ibi.model.label_pair import Forms
from ibi.wire.addresses import is_web_address
from ibi.wire.domain_record import NAME, DomainRecord, signed_text

_LONGEST_PROOF: Final = 200
"""Characters of a proof, which is a digest."""


class DomainRecordAnswer(msgspec.Struct, frozen=True):
    """The TXT record by which a domain name tells its archive."""

    service_ibi: str
    name: str
    text: str


class SignatureRequest(msgspec.Struct, forbid_unknown_fields=True):
    """What a resolver asks of an archive that registers itself."""

    resolver: str
    proof: str


class SignatureAnswer(msgspec.Struct, frozen=True):
    """The signature of the proof, in hexadecimal."""

    service_ibi: str
    signature: str


class DomainRegistrationApi:
    """Handlers of the operations on the record and on signatures."""

    def __init__(
        self, address: str, service: Forms, key: Callable[[], str], sign: Callable[[bytes], str]
    ) -> None:
        """Sign for the archive at an address; `key` returns the public key."""
        self._address = address
        self._service = service
        self._key = key
        self._sign = sign

    async def record(self, _: AuthorizedRequest) -> Response:
        """Answer with the record that the domain name should have."""
        service = self._named()
        text = str(DomainRecord(service, self._address, self._key()))
        return json_answer(DomainRecordAnswer(service.spelling, NAME + service.host, text))

    async def sign(self, request: AuthorizedRequest) -> Response:
        """Sign a proof for one resolver, and for nothing else."""
        wanted = await request.read(SignatureRequest)
        resolver = wanted.resolver.rstrip("/")
        is_proof = wanted.proof.isascii() and wanted.proof.isprintable()
        if not is_web_address(resolver) or not is_proof or len(wanted.proof) > _LONGEST_PROOF:
            raise ArchiveRequestError(
                Sentence("Expected the address of a resolver, and the proof that it asks for.")
            )
        service = self._named()
        signature = self._sign(signed_text(resolver, service, wanted.proof))
        return json_answer(SignatureAnswer(service.spelling, signature))

    def _named(self) -> RepositoryName:
        service = self._service.rep
        if service is None:
            raise ArchiveRequestError(
                Sentence("This archive has no label with a domain name, which could tell its key.")
            )
        return service


# fmt: off
DOMAIN_OPERATIONS: Final = (
    Operation("GET", "/api/v1/domain-record", READ, DomainRegistrationApi.record,
        "The TXT record by which the domain name tells its archive",
        answer=DomainRecordAnswer),
    Operation("POST", "/api/v1/registration-signatures", ADMINISTER, DomainRegistrationApi.sign,
        "Sign the proof by which the archive registers at a resolver",
        request=SignatureRequest, answer=SignatureAnswer, problems=(413,)),
)
# fmt: on
