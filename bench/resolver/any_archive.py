"""An archive that has every item it is asked for, at the cost of next to nothing.

It answers as 004 says, publishes a digest of the labels in a file, and never changes. Started as
`python any_archive.py PORT SERVICE LABELS`.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import cast
from urllib.parse import parse_qs, urlsplit

import uvloop

from ibi.wire.digest import MAX_FINGERPRINTS, MEDIA_TYPE, DigestPage, encode, fingerprint

EPOCH = "0123456789abcdef" * 2
_PLAIN = b"text/plain"


class AnyArchive(asyncio.Protocol):
    """One connection."""

    address = ""
    service = ""
    labels: list[str]
    """In their canonical spelling."""
    keys = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Get ready."""
        self._transport = cast("asyncio.WriteTransport", transport)
        self._data = b""

    def data_received(self, data: bytes) -> None:
        """Answer every request that has come as a whole."""
        self._data += data
        while (request := self._whole()) is not None:
            kind, body = self._answer(request)
            head = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n"
            self._transport.write(head % (kind, len(body)) + body)

    def _whole(self) -> str | None:
        """Take the next request off what has come; its body stands in the place of a query."""
        head, found, rest = self._data.partition(b"\r\n\r\n")
        if not found:
            return None
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
        if len(rest) < length:
            return None
        self._data = rest[length:]
        target = head.split(b" ", 2)[1]
        return (target + b"?" + rest[:length] if length else target).decode()

    def _answer(self, target: str) -> tuple[bytes, bytes]:
        parts = urlsplit(target)
        pairs = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/api/v1/digest":
            return MEDIA_TYPE.encode(), self._page(int(pairs.get("after", "0")))
        match pairs.get("servicesubject"):
            case "inclusionConfirmationRequest":
                return _PLAIN, b"confirmation yes"
            case "acknowledgment":
                return _PLAIN, b"notice {acknowledgment received}"
        return _PLAIN, self._listed(pairs["parsedibiurl.ibi"]).encode()

    def _page(self, after: int) -> bytes:
        count = len(self.labels)
        end = min(after + MAX_FINGERPRINTS, count)
        held = tuple(sorted({fingerprint(label) for label in self.labels[after:end]}))
        return encode(DigestPage(EPOCH, after, end, more=end < count, held=held))

    def _listed(self, label: str) -> str:
        AnyArchive.keys += 1
        return (
            f"archiveaddress {self.address} ibi.archiveservice {{ibip {self.service}}} "
            f"ibi.platformsoftware {{}} ibi {{ibip {label}}} "
            f"urlkey 1424636122-{self.keys:016} url http://{self.address}/col/{label}/doc/f.txt "
            "contenttype Data state Original timestamp 2020-01-02T03:04:05Z"
        )


async def _serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(AnyArchive, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    AnyArchive.address = f"127.0.0.1:{sys.argv[1]}"
    AnyArchive.service = sys.argv[2]
    AnyArchive.labels = Path(sys.argv[3]).read_text(encoding="ascii").split()
    uvloop.run(_serve(int(sys.argv[1])))
