"""How many octets a question, an acknowledgment and a look at a digest are on the wire.

A real archive, our own client, and between them somebody who counts.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from bench.support.nginx import reserved_port, running
from ibi.foundation.http_client.ssrf_guard import OutboundGuard
from ibi.identifier.label import parse
from ibi.model.item import ContentType
from ibi.model.registration import Inclusion, RegisteredArchive
from ibi.resolver.peers.archive_client import HttpArchiveClient
from ibi.resolver.ports.outbound import ArchiveReply
from ibi.wire.access_counts import proof
from ibi.wire.digest import DigestPage
from ibi.wire.requests import Acknowledgment, UrlRequest, encode

CLIENT = "192.0.2.0"
PATIENCE = 10.0


@dataclass(frozen=True)
class Sizes:
    """Octets of HTTP there and back, over a connection that is open already."""

    question: int
    """urlRequest, and an answer with a URL."""
    denial: int
    """urlRequest, and the answer that the item is not here."""
    acknowledgment: int
    no_news: int
    """A look at a digest of which nothing has changed."""


class _Counting:
    """Passes everything on, and counts it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._octets = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        onward_reader, onward = await asyncio.open_connection("127.0.0.1", self._port)
        # Whoever ends the measurement hangs up in the midst of it.
        with suppress(asyncio.CancelledError):
            await asyncio.gather(self._pass(reader, onward), self._pass(onward_reader, writer))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                self._octets += len(data)
                writer.write(data)
                await writer.drain()
        writer.close()

    def taken(self) -> int:
        octets, self._octets = self._octets, 0
        return octets


def measured() -> Sizes:
    """Measure them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        port = reserved_port()
        at = f"127.0.0.1:{port}"
        data = ["--data", str(folder / "archive")]
        made = _ibi("init", *data, "--address", f"http://{at}", "--listen", at, "--json")
        serve = [sys.executable, "-m", "ibi", "archive", "serve", *data]
        with running(serve, port, -1):
            while not (folder / "archive" / "serving").exists():
                time.sleep(0.05)
            file = folder / "report.pdf"
            file.write_bytes(b"%PDF-1.7")
            wanted = (
                "--title",
                "A report",
                "--creator",
                "INPE",
                "--date",
                "2026",
                "--type",
                "Text",
            )
            label = _ibi("deposit", str(file), *wanted, *data, "--json")["rep"]
            return asyncio.run(_measure(port, made["service"], label))


def _ibi(*arguments: str) -> dict[str, str]:
    command = [sys.executable, "-m", "ibi", "archive", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    found: dict[str, str] = json.loads(done.stdout)
    return found


async def _measure(port: int, service: str, label: str) -> Sizes:
    counting = _Counting(port)
    server = await asyncio.start_server(counting.serve, "127.0.0.1", 0)
    place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    archive = RegisteredArchive(
        service=parse(service),
        key="",
        administrator="",
        origin="operator",
        registered=1,
        confirmed=1,
        inclusion=Inclusion(
            address=place,
            ip="127.0.0.1",
            platform_version="ibi-1",
            administrator="",
            since=1,
            seen=1,
            confirmed=True,
        ),
    )
    client = HttpArchiveClient(OutboundGuard(["127.0.0.0/8"]))
    try:
        asked = UrlRequest((CLIENT,), parse(label))
        await client.ask(archive, asked, PATIENCE)  # opens the connection
        counting.taken()
        heard = await client.ask(archive, asked, PATIENCE)
        question = counting.taken()
        nobody = UrlRequest((CLIENT,), parse("archive.example.org/x/2001/01.01.01.01.01"))
        await client.ask(archive, nobody, PATIENCE)
        denial = counting.taken()
        if not isinstance(heard, ArchiveReply) or heard.listed is None or heard.listed.key is None:
            raise SystemExit(f"the archive did not answer: {heard}")
        url = next(iter(heard.listed.related.values())).url
        told = Acknowledgment(
            (CLIENT,), ContentType.DATA, url, f"http://{urlsplit(url).netloc}/{label}",
            heard.listed.key,
        )  # fmt: skip
        fault = await client.acknowledge(archive, told, PATIENCE)
        if fault:
            raise SystemExit(fault)
        # Many accesses at once need a link, and its proof: the pairs that this adds are computed.
        many = replace(told, accesses=1000, proof=proof("0" * 64, told.key.text, 1000, ()))
        acknowledgment = counting.taken() + len(encode(many)) - len(encode(told))
        page = await client.digest(archive, "", 0, PATIENCE)
        counting.taken()
        if not isinstance(page, DigestPage):
            raise SystemExit(f"the archive publishes no digest: {page}")
        await client.digest(archive, page.epoch, page.last, PATIENCE)
        return Sizes(question, denial, acknowledgment, counting.taken())
    finally:
        await client.close()
        server.close()


if __name__ == "__main__":
    print(measured())
