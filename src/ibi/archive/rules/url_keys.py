"""The urlkey of an answer: proof that its bearer got this URL (004, Tables 5.1 and 6.11).

Nothing is stored when a key is issued: the key proves itself. It has the form

    <time>-<nonce><block of the first URL><block of the second>...<seal>

where a block is a keyed digest of every field that an acknowledgment of that URL must repeat, and
the seal is a keyed digest of everything before it. The store of the counts makes sure that a key
counts once, by the time and the nonce (`Issuing`), never by the text of the key. Times are seconds
of POSIX time, because the key shows them.

The number of accesses in an acknowledgment is not sealed: it is not known when the key is issued.
A key alone proves one access; more need the proof of a linked resolver (`wire.access_counts`).
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from ibi.errors import ArchiveRequestError
from ibi.model.archive_record import LONGEST_KEY, UrlKey
from ibi.model.item import ContentType, State
from ibi.model.label_pair import Forms
from ibi.wire.percent_encoding import text_of
from ibi.wire.requests import Acknowledgment

LIFE: Final = 15 * 60
"""Seconds for which a key is valid; a resolver usually acknowledges within seconds."""
SKEW: Final = 5
"""Seconds by which a key may be ahead of the clock, which may have been set back."""
SHORTEST_SECRET: Final = 32

_TIME: Final = 10
_NONCE: Final = 12
_BLOCK: Final = 20
"""Digits of a block: 66 bits, which cannot be guessed within the life of a key."""
NONCES: Final[int] = 10**_NONCE
"""The number of nonces: `secrets.randbelow(NONCES)` returns one."""
MOST_OFFERS: Final = (LONGEST_KEY - 20 - 1 - _NONCE - _BLOCK) // _BLOCK
"""The most URLs in one key, by the longest key that is read; ISO 639-1 has 184 languages."""

_SIGNED: Final = re.compile(rf"([0-9]{{10,20}})-([0-9]{{{_NONCE}}})((?:[0-9]{{{_BLOCK}}})+)")
_MOST_ENCODINGS: Final = 8


@dataclass(frozen=True, slots=True)
class KeyTerms:
    """The fields of one URL that an acknowledgment must repeat."""

    forms: Forms
    url: str
    content: ContentType
    state: State


class Issuing(NamedTuple):
    """The time and the nonce of a key, by which it counts once."""

    time: int
    nonce: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """The content of a valid acknowledgment."""

    issued: Issuing
    offer: KeyTerms


class Refusal(StrEnum):
    """Why an acknowledgment is not counted."""

    FORGED = "forged"
    """The key is not of this archive, or does not match the acknowledgment."""
    EXPIRED = "expired"
    EARLY = "early"
    """The key was issued in the future."""


class UrlKeys:
    """Issues and checks urlkeys."""

    def __init__(self, secret: bytes, life: int = LIFE, *, previous: bytes | None = None) -> None:
        """Issue keys with a secret; keys of the previous secret stay valid for their life."""
        self._secrets = (secret,) if previous is None else (secret, previous)
        if any(len(each) < SHORTEST_SECRET for each in self._secrets):
            msg = f"The secret of the urlkeys needs {SHORTEST_SECRET} bytes or more."
            raise ArchiveRequestError(msg)
        self._life = life

    def issue(
        self, clients: Iterable[str], offers: Iterable[KeyTerms], *, now: int, nonce: int
    ) -> UrlKey:
        """Return the key of an answer: of its distinct terms, MOST_OFFERS at most."""
        head = f"{now:0{_TIME}}-{nonce:0{_NONCE}}"
        client = " ".join(clients)
        blocks = [_block(self._secrets[0], head, client, offer) for offer in offers]
        text = head + "".join(list(dict.fromkeys(blocks))[:MOST_OFFERS])
        return UrlKey(text + _seal(self._secrets[0], text))

    def check(
        self, acknowledgment: Acknowledgment, *, now: int, forms: Iterable[Forms] = ()
    ) -> Receipt | Refusal:
        """Return what is acknowledged, or why nothing is.

        `forms` are all forms of the item, for an acknowledgment that names one of them or none.
        """
        text = acknowledgment.key.text
        match = _SIGNED.fullmatch(text)
        secret = self._sealed_with(text)
        if match is None or secret is None:
            return Refusal.FORGED
        issued = Issuing(int(match[1]), int(match[2]))
        if issued.time > now + SKEW:
            return Refusal.EARLY
        if self.until(issued) < now:
            return Refusal.EXPIRED
        head, blocks = text[: match.start(3)], match[3][:-_BLOCK]
        client = " ".join(acknowledgment.clients)
        for offer in _offers(acknowledgment, forms):
            if _is_among(_block(secret, head, client, offer), blocks):
                return Receipt(issued, offer)
        return Refusal.FORGED

    def until(self, issued: Issuing) -> int:
        """Return the last second at which a key is valid; its use is recorded until then."""
        return issued.time + self._life

    def _sealed_with(self, text: str) -> bytes | None:
        body, seal = text[:-_BLOCK], text[-_BLOCK:]
        for secret in self._secrets:
            if hmac.compare_digest(_seal(secret, body), seal):
                return secret
        return None


def normalised(url: str) -> str:
    """Return a URL without its percent-encoding, however often that was applied.

    The examples of 004 do not encode the URL in an acknowledgment a second time, so it arrives
    decoded.
    """
    if "%" not in url and url.isascii():
        return url
    octets = url.encode("utf-8", "surrogatepass")
    for _ in range(_MOST_ENCODINGS):
        decoded = unquote_to_bytes(octets)
        if decoded == octets:
            break
        octets = decoded
    return text_of(octets)


def _offers(acknowledgment: Acknowledgment, forms: Iterable[Forms]) -> Iterable[KeyTerms]:
    """Yield the terms that an acknowledgment may mean.

    Example 6.9 leaves the state out, and Table 7.4 allows one form of an item that has two.
    """
    given, state = acknowledgment.forms, acknowledgment.state
    states = (State.ORIGINAL, State.COPY) if state is None else (state,)
    meant = forms
    if given is not None:
        meant = (given, *(each for each in forms if all(label in tuple(each) for label in given)))
    for each, how in product(meant, states):
        yield KeyTerms(each, acknowledgment.url, acknowledgment.content, how)


def _block(secret: bytes, head: str, client: str, offer: KeyTerms) -> str:
    labels = (label.canonical for label in offer.forms)
    url = normalised(offer.url)
    return _digest(secret, "url", head, client, url, offer.content, offer.state, *labels)


def _seal(secret: bytes, text: str) -> str:
    return _digest(secret, "seal", text)


def _digest(secret: bytes, *parts: str) -> str:
    """Digest texts to decimal digits; the lengths are included, so that boundaries matter."""
    octets = [part.encode("utf-8", "surrogatepass") for part in parts]
    message = b"".join(b"%d:%b" % (len(each), each) for each in octets)
    return f"{int.from_bytes(hmac.digest(secret, message, 'sha256')) % 10**_BLOCK:0{_BLOCK}}"


def _is_among(block: str, blocks: str) -> bool:
    return any(
        hmac.compare_digest(block, blocks[at : at + _BLOCK]) for at in range(0, len(blocks), _BLOCK)
    )
