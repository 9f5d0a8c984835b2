"""A client of the archive on the other side of a transfer, over HTTP."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final
from urllib.parse import quote

import msgspec
from urllib3.exceptions import HTTPError

from ibi.archive.rules.transfer_messages import Commit, Message, TransferOffer, TransferReply, Undo
from ibi.errors import ArchiveRefusedError, ArchiveUnreachableError, Sentence
from ibi.foundation.http_client.api_client import JSON, detail_of, reason_of
from ibi.foundation.http_client.guarded_pool import guarded_pool
from ibi.foundation.http_client.ssrf_guard import OutboundGuard

_LARGEST_ANSWER: Final = 1 << 16
"""Bytes of the largest answer that is read."""
_DECODE: Final = msgspec.json.Decoder(TransferReply).decode


class HttpTransferPeer:
    """Sends messages to one archive with a token that it issued; nothing is sent twice."""

    def __init__(self, address: str, token: str, guard: OutboundGuard) -> None:
        """Connect at the first message, if the guard allows the address."""
        self._address = address
        self._pool = guarded_pool(address, guard, 1)
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Accept": JSON,
            "Accept-Encoding": "identity",
            "Content-Type": JSON,
            "User-Agent": "ibi",
        }

    def say(self, message: Message) -> TransferReply:
        """Send a message, and return the reply.

        Only a message of the protocol is a reply: the refusal of a proxy, or of another service at
        the same address, must not decide which archive has the Original.
        """
        method, path, body = _request(message)
        try:
            answer = self._pool.urlopen(
                method,
                f"/api/v1/incoming/{path}",
                body=None if body is None else msgspec.json.encode(body),
                headers=self._headers,
                redirect=False,
                preload_content=False,
                decode_content=False,
            )
            data = answer.read(_LARGEST_ANSWER)
            answer.close()
        except HTTPError as failure:
            raise ArchiveUnreachableError(self._address, reason_of(failure)) from failure
        except UnicodeError as failure:
            raise ArchiveUnreachableError(
                self._address, Sentence("its name cannot be resolved")
            ) from failure
        if answer.status != HTTPStatus.OK:
            said = detail_of(data) or Sentence("it answered %(status)s.", status=answer.status)
            sentence = Sentence(
                "The archive at %(address)s refuses: %(said)s", address=self._address, said=said
            )
            raise ArchiveRefusedError(answer.status, sentence)
        try:
            return _DECODE(data)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise ArchiveUnreachableError(
                self._address, Sentence("its answer makes no sense")
            ) from None

    def close(self) -> None:
        """Close the connection."""
        self._pool.close()


def _request(message: Message) -> tuple[str, str, dict[str, str] | None]:
    match message:
        case TransferOffer():
            body = {"label": message.label, "source": message.source, "ticket": message.ticket}
            return "PUT", message.id, body
        case Commit():
            body = {"label": message.label, "receipt": message.receipt}
            return "POST", f"{message.id}/acceptance", body
        case Undo():
            pairs = (("label", message.label), ("receipt", message.receipt))
            query = "&".join(f"{name}={quote(value, safe='')}" for name, value in pairs)
            return "DELETE", f"{message.id}?{query}", None
