"""Registration by whoever controls the domain name that the service's label names.

The standard has an operator judge who registers. A label says more: its prefix is the name of a
host, and whoever can put a text there speaks for it. As for certificates (RFC 8555, 8.3 and 8.4),
the text is fetched from a fixed place on that host, or looked up in the domain name system:

    http://<host>/.well-known/ibi-registration/<proof>   is   <proof>.<service>
    _ibi-registration.<host>   has the TXT record   ibi-registration=<proof>

The proof is a digest of the token. All the world can read it, and the key goes to whoever comes
with the token: that stays with whoever began. This draws random tokens, and waits for the world.
"""

from __future__ import annotations

import asyncio
import secrets
from base64 import urlsafe_b64encode
from hashlib import sha256
from ipaddress import ip_address
from typing import Final, NamedTuple

from ibi.errors import NotOnRecordError, OverloadError, ProofError, ResolverRequestError
from ibi.identifier.ibip import Ibip
from ibi.identifier.label import Label
from ibi.identifier.repository_name import DEFAULT_PORT, RepositoryName
from ibi.model.clock import Clock
from ibi.resolver.ports.outbound import ArchiveClient, TextRecords
from ibi.resolver.ports.store import Challenge, ChallengeStore
from ibi.wire.mail_address import is_mail_address

MOST_OPEN: Final = 1000
"""Challenges at one time: there are not so many new archives in an hour."""
LIFE: Final = 3600
"""Seconds of a challenge."""
PATIENCE: Final = 10.0
"""Seconds for the host, and as many for the name servers."""
_SECOND: Final = 1_000_000_000
_WELL_KNOWN: Final = "/.well-known/ibi-registration/"
_TEXT_NAME: Final = "_ibi-registration."
# Names that mean something else in every network (RFC 6761, 6762 and its appendix G, 8375).
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


class Proof(NamedTuple):
    """What shows control of a host: a text, and where it is looked for."""

    place: str
    text: str


def host_of(service: Label) -> str:
    """Return host and port of the subsystem that a label names, without a port if it is 80.

    A label from before 2009 is decoded only by guess, which proves nothing.
    """
    if isinstance(service, RepositoryName):
        host = service.host
    elif isinstance(service, Ibip):
        host = f"[{service.ip}]" if ":" in service.ip else service.ip
    else:
        raise ResolverRequestError(
            "The label names no host: expected a repository name or an IBIp."
        )
    return host if service.port == DEFAULT_PORT else f"{host}:{service.port}"


def http_proof(challenge: Challenge) -> Proof:
    """Return what the host may show, and at which URL."""
    proof = _digest(challenge.token)
    place = f"http://{challenge.host}{_WELL_KNOWN}{proof}"
    return Proof(place, f"{proof}.{challenge.service}")


def text_proof(challenge: Challenge) -> Proof | None:
    """Return the TXT record that the domain name may have instead; an IP address has none."""
    name = _name(challenge.host)
    if _is_ip(name):
        return None
    return Proof(_TEXT_NAME + name, f"ibi-registration={_digest(challenge.token)}")


class DomainProof:
    """Gives out challenges, and sees whether they are met; for one event loop."""

    def __init__(
        self,
        store: ChallengeStore,
        client: ArchiveClient,
        texts: TextRecords,
        clock: Clock,
        *,
        allow_private: bool = False,
    ) -> None:
        """Take names and addresses that are not public only if `allow_private`."""
        self._store = store
        self._client = client
        self._texts = texts
        self._clock = clock
        self._allow_private = allow_private
        self._begins = asyncio.Lock()

    async def begin(self, service: Label, administrator: str) -> Challenge:
        """Return a new challenge, for as many as come: who meets one shows it for that one."""
        host = host_of(service)
        if not self._allow_private and not _is_public(_name(host)):
            raise ResolverRequestError(
                f"The host {host} is not public: expected a label on a domain name, or on an IP "
                "address, that is the same everywhere."
            )
        if not is_mail_address(administrator):
            raise ResolverRequestError(
                "The administrator cannot be reached: expected an e-mail address."
            )
        now = self._clock.wall()
        until = now + LIFE * _SECOND
        token = secrets.token_urlsafe(32)
        challenge = Challenge(token, service.canonical, host, administrator, now, until)
        async with self._begins:
            if await asyncio.to_thread(self._store.forget_challenges, now) >= MOST_OPEN:
                raise OverloadError(LIFE)
            await asyncio.to_thread(self._store.keep_challenge, challenge)
        return challenge

    async def find(self, token: str) -> Challenge:
        """Return a challenge that can still be met."""
        challenge = await asyncio.to_thread(self._store.challenge, token)
        if challenge is None or challenge.until < self._clock.wall():
            raise NotOnRecordError("challenge", token)
        return challenge

    async def complete(self, token: str) -> Challenge:
        """Return a challenge that is met, and forget it.

        ProofError says what was looked for, where, and what was found there. The challenge can
        then be tried again, for as long as it lives.
        """
        challenge = await self.find(token)
        lack = await self._lack_at_host(challenge)
        if lack:
            lack_in_names = await self._lack_in_names(challenge)
            if lack_in_names:
                raise ProofError(
                    f"Control of {challenge.host} was not shown. {lack} {lack_in_names}"
                )
        # Of many who come with one token, one gets it.
        taken = await asyncio.to_thread(self._store.take_challenge, token)
        if taken is None:
            raise NotOnRecordError("challenge", token)
        return taken

    async def _lack_at_host(self, challenge: Challenge) -> str:
        """Say what is not there; empty if the proof is."""
        place, expected = http_proof(challenge)
        try:
            path = _WELL_KNOWN + _digest(challenge.token)
            found = await self._client.challenge(challenge.host, path, PATIENCE)
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
            found = await self._texts.texts(proof.place, PATIENCE)
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
    """Tell names and addresses that are the same everywhere; the client checks where it connects.

    So this is for a clear word at the beginning, and lest the name servers of the house be asked.
    """
    if _is_ip(name):
        return ip_address(name).is_global
    return "." in name and not any(
        name == private or name.endswith(f".{private}") for private in _PRIVATE
    )
