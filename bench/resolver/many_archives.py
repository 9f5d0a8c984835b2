"""Hundreds of archives in one process, each at a port of its own, at the cost of next to nothing.

Each has a few items and answers as 004 says; some publish a digest. They can be made to hang.
Started as `python many_archives.py FOLDER`, where `federation.json` says which they are; in
`ports.json` it says where they listen.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import parse_qs, urlsplit

import uvloop

from ibi.identifier.label import parse
from ibi.wire.digest import MEDIA_TYPE, DigestPage, encode, fingerprint

EPOCH = "0123456789abcdef" * 2
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n"
_ABSENT = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"


@dataclass
class Archive:
    """One of them."""

    service: str
    labels: set[str]
    publishes: bool
    port: int = 0
    hangs: bool = False
    fetched: bool = False

    @property
    def address(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self.port}"

    def digest(self, after: int) -> bytes:
        """Return its only page, or that there is nothing new."""
        count = len(self.labels)
        self.fetched = self.fetched or after == count
        if after == count:
            return encode(DigestPage(EPOCH, count, count, more=False))
        held = tuple(sorted(fingerprint(parse(label).canonical) for label in self.labels))
        return encode(DigestPage(EPOCH, 0, count, more=False, held=held))

    def listed(self, label: str, number: int) -> str:
        """Return its answer to urlRequest."""
        if label not in self.labels:
            return ""
        return (
            f"archiveaddress {self.address} ibi.archiveservice {{rep {self.service}}} "
            f"ibi.platformsoftware {{}} ibi {{rep {label}}} "
            f"urlkey 1424636122-{number:016} url http://{self.address}/col/{label}/doc/f.txt "
            "contenttype Data state Original timestamp 2020-01-02T03:04:05Z"
        )


@dataclass
class Archives:
    """All of them, and how often they were asked for an item."""

    all: list[Archive]
    asked: int = 0

    def control(self, act: str) -> str:
        """Let some hang, or tell how things stand."""
        if act.startswith("/hang/"):
            for archive in self.all[: int(act.removeprefix("/hang/"))]:
                archive.hangs = True
        return json.dumps({"asked": self.asked, "fetched": sum(each.fetched for each in self.all)})


class Connection(asyncio.Protocol):
    """One connection to an archive, or by none to all of them."""

    def __init__(self, archives: Archives, archive: Archive | None) -> None:
        """Serve this archive."""
        self._archives = archives
        self._archive = archive
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Get ready."""
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer every request that has come as a whole."""
        *requests, self._data = (self._data + data).split(b"\r\n\r\n")
        for request in requests:
            target = request.split(b" ", 2)[1].decode()
            if self._archive is None:
                body = self._archives.control(target).encode()
                self._transport.write(_HEAD % (b"application/json", len(body)) + body)
            else:
                self._answer(self._archive, target)

    def _answer(self, archive: Archive, target: str) -> None:
        parts = urlsplit(target)
        pairs = {name: values[0] for name, values in parse_qs(parts.query).items()}
        subject = pairs.get("servicesubject")
        self._archives.asked += subject == "urlRequest"
        if archive.hangs:
            return
        kind = b"text/plain"
        if parts.path == "/api/v1/digest":
            if not archive.publishes:
                self._transport.write(_ABSENT)
                return
            kind, body = MEDIA_TYPE.encode(), archive.digest(int(pairs.get("after", "0")))
        elif subject == "inclusionConfirmationRequest":
            body = b"confirmation yes"
        elif subject == "acknowledgment":
            body = b"notice {acknowledgment received}"
        else:
            body = archive.listed(pairs["parsedibiurl.ibi"], self._archives.asked).encode()
        self._transport.write(_HEAD % (kind, len(body)) + body)


async def _serve(folder: Path) -> None:
    described = json.loads((folder / "federation.json").read_bytes())
    loop = asyncio.get_running_loop()
    publishes = described["publish"]
    archives = Archives(
        [Archive(each["service"], set(each["labels"]), publishes) for each in described["archives"]]
    )
    # Taken first, or one of hundreds of archives might be given this port; answers come last.
    control = await loop.create_server(
        lambda: Connection(archives, None),
        "127.0.0.1",
        described["control"],
        start_serving=False,
    )
    for archive in archives.all:
        server = await loop.create_server(
            lambda archive=archive: Connection(archives, archive),  # type: ignore[misc]  # mypy cannot infer the default
            "127.0.0.1",
        )
        archive.port = server.sockets[0].getsockname()[1]
    ports = json.dumps([archive.port for archive in archives.all])
    (folder / "ports.json").write_text(ports, encoding="ascii")
    await control.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve(Path(sys.argv[1])))
