"""Resumption tokens: they say all that the rest of a list needs, and nothing is stored of them.

A list is continued after a place in the order of changes, not after a number of records. So it has
each item that was in it from the beginning, whatever is added, changed and deleted meanwhile: an
item that changes moves to the end of the order.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass
from typing import Final

import msgspec

from ibi.archive.rules.harvest.request import HarvestRequest, Verb
from ibi.errors import HarvestError

_SEAL: Final = 16
"""Octets of the seal."""
_LONGEST: Final = 3000
"""Characters of a token."""


class _Content(msgspec.Struct, frozen=True, array_like=True):
    verb: Verb
    prefix: str
    set_spec: str
    since: int
    until: int
    stamp: int
    number: int
    sent: int
    last_set: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """The list that a token continues, and from where."""

    request: HarvestRequest
    stamp: int = 0
    number: int = 0
    """The place of the last row that was sent, with its second."""
    sent: int = 0
    """How many records, headers or sets were sent."""
    last_set: str = ""
    """The last set that was sent, of a list of sets."""


class ResumptionTokens:
    """Writes tokens, and reads those that it wrote."""

    def __init__(self, secret: bytes) -> None:
        """Seal tokens with a secret that all processes of the archive share."""
        self._secret = secret

    def write(self, place: Resumption) -> str:
        """Return the token of a place."""
        asked = place.request
        content = msgspec.json.encode(
            _Content(
                asked.verb,
                asked.prefix,
                asked.set_spec,
                asked.since,
                asked.until,
                place.stamp,
                place.number,
                place.sent,
                place.last_set,
            )
        )
        return urlsafe_b64encode(self._seal(content) + content).decode().rstrip("=")

    def read(self, request: HarvestRequest) -> Resumption:
        """Return the place of a token; raise HarvestError if this list did not give it."""
        text = request.token
        content = self._opened(text) if len(text) <= _LONGEST and text.isascii() else None
        if content is None or content.verb != request.verb:
            raise HarvestError(
                "badResumptionToken", "The resumptionToken is not one that this list gave."
            )
        return Resumption(
            request=HarvestRequest(
                verb=content.verb,
                prefix=content.prefix,
                set_spec=content.set_spec,
                since=content.since,
                until=content.until,
                token=text,
                arguments=request.arguments,
            ),
            stamp=content.stamp,
            number=content.number,
            sent=content.sent,
            last_set=content.last_set,
        )

    def _opened(self, text: str) -> _Content | None:
        try:
            octets = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except (ValueError, Base64Error):
            return None
        seal, content = octets[:_SEAL], octets[_SEAL:]
        # What was not sealed here is not even decoded. A token has one spelling.
        if not hmac.compare_digest(seal, self._seal(content)):
            return None
        if urlsafe_b64encode(octets).decode().rstrip("=") != text:
            return None
        return msgspec.json.decode(content, type=_Content)

    def _seal(self, content: bytes) -> bytes:
        return hmac.digest(self._secret, b"oai-pmh\0" + content, "sha256")[:_SEAL]
