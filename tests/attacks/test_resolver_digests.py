"""Threats, row 13, by way of the digest: archives that hang, flood or lie where they publish it.

Whatever comes from there costs a bounded time and a bounded number of octets. The archive counts
as publishing none, and is asked like all who do not; nothing else suffers.
"""

from __future__ import annotations

import asyncio
import random
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

import pytest

from ibi.foundation.http_client.ssrf_guard import OutboundGuard
from ibi.identifier.label import parse
from ibi.model.registration import Inclusion, RegisteredArchive
from ibi.resolver.peers.archive_client import HttpArchiveClient
from ibi.resolver.ports.outbound import NoReply
from ibi.wire.digest import (
    FINGERPRINT_END,
    MAX_FINGERPRINTS,
    MAX_PAGE,
    MEDIA_TYPE,
    DigestPage,
    encode,
)
from tests.support.doubles.archive import BEHAVIOURS, ENDLESS, SERVICE, ArchiveDouble
from tests.support.doubles.faulty_servers import CannedServer, EndlessServer, Listener

ENOUGH: Final = 60.0
"""Seconds: nobody who answers at all takes that long."""
SHORT: Final = 0.3
KIND: Final = f"Content-Type: {MEDIA_TYPE}"
EPOCH: Final = "00112233445566778899aabbccddeeff"


def archive_at(address: str) -> RegisteredArchive:
    inclusion = Inclusion(
        address=address, ip="", platform_version="ibi-1", administrator="", since=1, seen=1
    )
    return RegisteredArchive(service=parse(SERVICE), key="", confirmed=1, inclusion=inclusion)


async def fetched(
    client: HttpArchiveClient, address: str, seconds: float = ENOUGH
) -> DigestPage | NoReply | None:
    return await client.digest(archive_at(address.removeprefix("http://")), EPOCH, 7, seconds)


def fetch(address: str, seconds: float = ENOUGH) -> DigestPage | NoReply | None:
    """Fetch a page by a client of its own."""

    async def act() -> DigestPage | NoReply | None:
        client = HttpArchiveClient(OutboundGuard(["127.0.0.0/8"]))
        try:
            return await fetched(client, address, seconds)
        finally:
            await client.close()

    return asyncio.run(act())


@pytest.mark.parametrize("behaviour", sorted(BEHAVIOURS))
def test_no_archive_says_anything_that_is_taken_for_a_page(behaviour: str) -> None:
    with ArchiveDouble() as double:
        double.behaviour = behaviour
        heard = fetch(double.address, SHORT if behaviour in ENDLESS else ENOUGH)
    if behaviour == "not found":
        assert heard is None
    else:
        assert isinstance(heard, NoReply)
        assert heard.reason


def whole() -> bytes:
    """Return the largest page that there can be, or nearly."""
    names = sorted(random.Random(7).sample(range(FINGERPRINT_END), MAX_FINGERPRINTS))  # noqa: S311  # the same each time
    return encode(DigestPage(EPOCH, 7, 8, more=True, held=tuple(names)))


def test_the_largest_page_is_taken() -> None:
    with CannedServer("200 OK", KIND, body=whole()) as server:
        heard = fetch(server.address)
    assert isinstance(heard, DigestPage)
    assert len(heard.held) == MAX_FINGERPRINTS


def bodies() -> Iterator[tuple[str, bytes]]:
    page = bytearray(whole())
    yield "too long", bytes(page) + bytes(MAX_PAGE - len(page) + 1)
    yield "one more", bytes(page) + b"\0"
    yield "cut", bytes(page[:-1])
    yield "many", bytes(page[:38]) + (2**32 - 1).to_bytes(4) + bytes(1000)
    yield "zeros", bytes(MAX_PAGE)
    yield "ones", bytes(page[:38]) + MAX_FINGERPRINTS.to_bytes(4) + b"\xff" * 300_000
    yield "nothing", b""
    count = 1
    quotients = bytes(300_000) + b"\1"
    far = count.to_bytes(4) + bytes(6) + len(quotients).to_bytes(4) + quotients + bytes(4)
    yield "far", bytes(page[:38]) + far
    still = bytearray(encode(DigestPage(EPOCH, 7, 7, more=False)))
    still[5] = 1
    yield "never ends", bytes(still)


@pytest.mark.parametrize("name", [name for name, _ in bodies()])
def test_what_only_resembles_a_page_is_refused(name: str) -> None:
    with CannedServer("200 OK", KIND, body=dict(bodies())[name]) as server:
        heard = fetch(server.address)
    assert isinstance(heard, NoReply)
    assert heard.reason in {"its digest makes no sense", "its answer is too long"}


def test_what_is_compressed_is_not_unpacked() -> None:
    bomb = zlib.compress(bytes(20 << 20), 9)
    with CannedServer("200 OK", KIND, "Content-Encoding: deflate", body=bomb) as server:
        heard = fetch(server.address)
    assert isinstance(heard, NoReply)
    assert "compressed" in heard.reason


def test_who_never_ends_and_who_hangs_takes_nothing_from_the_others() -> None:
    async def act(hostile: list[Listener], honest: str) -> list[DigestPage | NoReply | None]:
        client = HttpArchiveClient(OutboundGuard(["127.0.0.0/8"]))
        try:
            async with asyncio.TaskGroup() as group:
                bad = [group.create_task(fetched(client, each.address)) for each in hostile]
                good = [group.create_task(fetched(client, honest)) for _ in range(4)]
            assert all(isinstance(task.result(), NoReply) for task in bad)
            return [task.result() for task in good]
        finally:
            await client.close()

    head = f"HTTP/1.1 200 OK\r\n{KIND}\r\n".encode()
    with ExitStack() as stack:
        hostile: list[Listener] = [
            stack.enter_context(EndlessServer(head + b"\r\n" + bytes(100_000))),
            stack.enter_context(EndlessServer(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)),
            stack.enter_context(
                EndlessServer(head + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 10_000)
            ),
        ]
        honest = stack.enter_context(CannedServer("200 OK", KIND, body=whole()))
        heard = asyncio.run(act(hostile, honest.address))
    assert [type(each) for each in heard] == [DigestPage] * 4
