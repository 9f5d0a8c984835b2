"""Registration by proof of control of the domain name in the service's label.

The standard leaves it to an operator to judge a registration. A label says more: its prefix is the
name of a host, and a party that can publish a text there controls it. As for certificates (RFC
8555, 8.3 and 8.4), the text is fetched from a fixed place on that host, or looked up in the DNS:

    http://<host>/.well-known/ibi-registration/<proof>   is   <proof>.<service>
    _ibi-registration.<host>   has the TXT record   ibi-registration=<proof>

Or the domain name tells its archive once and for all resolvers, with a key (`wire/domain_record`):
then the client presents, beside the token, the proof signed with that key.

The proof is a digest of the token. The proof is public, and the key is returned to the client that
presents the token, which only the client that began has. This module draws random tokens, and
waits for hosts and name servers.
"""

from __future__ import annotations

import asyncio
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import ip_address
from typing import Final, NamedTuple, TypeAlias

from ibi.errors import NotOnRecordError, OverloadError, ProofError, ResolverRequestError, Sentence
from ibi.identifier.ibip import Ibip
from ibi.identifier.label import Label, parse
from ibi.identifier.repository_name import DEFAULT_PORT, RepositoryName
from ibi.model.clock import SECOND, Clock
from ibi.model.registration import ProvedPlace
from ibi.resolver.ports.outbound import ArchiveClient, TextRecords
from ibi.resolver.ports.store import Challenge, ChallengeStore
from ibi.resolver.rules.home_places import proved_at, proved_by_name
from ibi.wire import domain_record
from ibi.wire.addresses import is_mail_address

MAX_CHALLENGES: Final = 1000
"""Open challenges at one time: there are fewer new archives in an hour."""
CHALLENGE_SECONDS: Final = 3600
"""Seconds for which a challenge can be met."""
TIMEOUT_SECONDS: Final = 10.0
"""Seconds for the reply of the host, and as many for the name servers."""
_WELL_KNOWN: Final = "/.well-known/ibi-registration/"
_TEXT_NAME: Final = "_ibi-registration."
# Names that have another meaning in each network (RFC 6761, 6762 and its appendix G, 8375).
_PRIVATE: Final = (
    "localhost",
    "local",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "home.arpa",
)


IsSigned: TypeAlias = Callable[[str, bytes, str], bool]
"""Verifies the signature of a text by a public key: key, text and signature, both hexadecimal."""


class Proof(NamedTuple):
    """A text that proves control of a host, and the place where it is looked for."""

    place: str
    text: str


def host_of(service: Label) -> str:
    """Return host and port of the subsystem that a label names, without a port if it is 80.

    A label from before 2009 can only be decoded by guess, which proves nothing.
    """
    if isinstance(service, RepositoryName):
        host = service.host
    elif isinstance(service, Ibip):
        host = f"[{service.ip}]" if ":" in service.ip else service.ip
    else:
        raise ResolverRequestError(
            Sentence("The label names no host: expected a repository name or an IBIp.")
        )
    return host if service.port == DEFAULT_PORT else f"{host}:{service.port}"


def http_proof(challenge: Challenge) -> Proof:
    """Return the text that the host may serve, and its URL."""
    proof = _digest(challenge.token)
    place = f"http://{challenge.host}{_WELL_KNOWN}{proof}"
    return Proof(place, f"{proof}.{challenge.service}")


def text_proof(challenge: Challenge) -> Proof | None:
    """Return the TXT record that the domain name may have instead; None for an IP address."""
    name = _name(challenge.host)
    if _is_ip(name):
        return None
    return Proof(_TEXT_NAME + name, f"ibi-registration={_digest(challenge.token)}")


def key_proof(challenge: Challenge) -> Proof | None:
    """Return the proof to be signed, and the name whose record has the key; None for an address."""
    name = _name(challenge.host)
    if _is_ip(name):
        return None
    return Proof(domain_record.NAME + name, _digest(challenge.token))


@dataclass(frozen=True, slots=True)
class MetChallenge:
    """A challenge that was met, and the place of which control was proved."""

    challenge: Challenge
    place: ProvedPlace


class DomainProof:
    """Issues challenges, and checks whether they are met; for one event loop."""

    def __init__(  # noqa: PLR0913  # its collaborators
        self,
        store: ChallengeStore,
        client: ArchiveClient,
        texts: TextRecords,
        clock: Clock,
        *,
        resolver: str = "",
        is_signed: IsSigned = lambda key, text, signature: False,  # noqa: ARG005
        allow_private: bool = False,
    ) -> None:
        """Prove at the address of a `resolver`; `is_signed` verifies signatures.

        Names and addresses that are not public are accepted only if `allow_private`.
        """
        self._resolver = resolver
        self._is_signed = is_signed
        self._store = store
        self._client = client
        self._texts = texts
        self._clock = clock
        self._allow_private = allow_private
        self._begins = asyncio.Lock()

    async def begin(self, service: Label, administrator: str) -> Challenge:
        """Return a new challenge; a service may have several, and each is met by its own proof."""
        host = host_of(service)
        if not self._allow_private and not _is_public(_name(host)):
            raise ResolverRequestError(
                Sentence(
                    "The host %(host)s is not public: expected a label on a domain name, or on "
                    "an IP address, that is the same everywhere.",
                    host=host,
                )
            )
        if not is_mail_address(administrator):
            raise ResolverRequestError(
                Sentence("The administrator cannot be reached: expected an e-mail address.")
            )
        now = self._clock.wall()
        until = now + CHALLENGE_SECONDS * SECOND
        token = secrets.token_urlsafe(32)
        challenge = Challenge(token, service.canonical, host, administrator, now, until)
        async with self._begins:
            if await asyncio.to_thread(self._store.forget_challenges, now) >= MAX_CHALLENGES:
                raise OverloadError(CHALLENGE_SECONDS)
            await asyncio.to_thread(self._store.keep_challenge, challenge)
        return challenge

    async def find(self, token: str) -> Challenge:
        """Return a challenge that can still be met; raise NotOnRecordError if there is none."""
        challenge = await asyncio.to_thread(self._store.challenge, token)
        if challenge is None or challenge.until < self._clock.wall():
            raise NotOnRecordError("challenge", token)
        return challenge

    async def complete(self, token: str, signature: str = "") -> MetChallenge:
        """Return a challenge that is met, and delete it.

        With a signature, only the record of the domain name counts, which has the key.

        Raises ProofError, which says what was looked for, where, and what was found there. The
        challenge can then be tried again, until it ends.
        """
        challenge = await self.find(token)
        if signature:
            await self._check_signature(challenge, signature)
            return await self._taken(token, proved_by_name(challenge.host))
        place = proved_at(challenge.host)
        lack = await self._lack_at_host(challenge)
        if lack:
            place = proved_by_name(challenge.host)
            lack_in_names = await self._lack_in_names(challenge)
            if lack_in_names:
                raise ProofError(
                    Sentence(
                        "Control of %(host)s was not shown. %(lack)s %(names)s",
                        host=challenge.host,
                        lack=lack,
                        names=lack_in_names,
                    )
                )
        return await self._taken(token, place)

    async def _taken(self, token: str, place: ProvedPlace) -> MetChallenge:
        # Of several requests with one token, one gets the challenge.
        taken = await asyncio.to_thread(self._store.take_challenge, token)
        if taken is None:
            raise NotOnRecordError("challenge", token)
        return MetChallenge(taken, place)

    async def _check_signature(self, challenge: Challenge, signature: str) -> None:
        """Raise ProofError unless the key that the domain name tells has signed the proof."""
        proof = key_proof(challenge)
        if proof is None:
            raise ProofError("An IP address has no texts in the domain name system.")
        service = parse(challenge.service)
        found = await self._texts.texts(proof.place, TIMEOUT_SECONDS)
        try:
            record = domain_record.record_of(service, found)
        except ProofError as fault:
            raise ProofError(f"At {proof.place}: {fault}") from None
        text = domain_record.signed_text(self._resolver, service, proof.text)
        if not self._is_signed(record.key, text, signature):
            raise ProofError(
                f"The proof was not signed, for {self._resolver}, with the key that {proof.place} "
                "tells."
            )

    async def _lack_at_host(self, challenge: Challenge) -> str:
        """Return what is missing on the host; empty if the proof is there."""
        place, expected = http_proof(challenge)
        try:
            path = _WELL_KNOWN + _digest(challenge.token)
            found = await self._client.challenge(challenge.host, path, TIMEOUT_SECONDS)
        except ProofError as fault:
            return f"At {place} the text {expected} was looked for. {fault}"
        if found.strip() == expected:
            return ""
        return f"At {place} the text {expected} was looked for, and another was found."

    async def _lack_in_names(self, challenge: Challenge) -> str:
        proof = text_proof(challenge)
        if proof is None:
            return "An IP address has no texts in the domain name system."
        asked = f"A TXT record {proof.text} of {proof.place} was looked for"
        try:
            found = await self._texts.texts(proof.place, TIMEOUT_SECONDS)
        except ProofError as fault:
            return f"{asked}. {fault}"
        if proof.text in (text.strip() for text in found):
            return ""
        return (
            f"{asked}, and others were found: {len(found)}." if found else f"{asked}; it has none."
        )


def _digest(token: str) -> str:
    return urlsafe_b64encode(sha256(token.encode()).digest()).rstrip(b"=").decode()


def _name(host: str) -> str:
    """Return a host without its port, and an IPv6 address without its brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _is_ip(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _is_public(name: str) -> bool:
    """Return whether a name or address is the same everywhere.

    The client checks the address to which it connects. This check only gives a clear error early,
    and keeps private names from the local name servers.
    """
    if _is_ip(name):
        return ip_address(name).is_global
    return "." in name and not any(
        name == private or name.endswith(f".{private}") for private in _PRIVATE
    )
