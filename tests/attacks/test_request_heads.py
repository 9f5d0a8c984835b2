"""Heads of requests that a proxy and the server may read differently, or that fill the memory.

A head over 64 kB is refused even if all of it is read at once. A request without a valid Host, or
with several, is refused by every program and also by the resolver's fast path (RFC 9112, section
3.2): otherwise a proxy and the server behind it may act on different hosts.
"""

from __future__ import annotations

import asyncio
import random
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from uvicorn.server import ServerState

from ibi.foundation.web import bounded_http
from ibi.foundation.web.bounded_http import LARGEST_HEAD, BoundedHttp
from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked import FULL, connected
from tests.support.servers.attacked_resolver import attacked, label, metric, service_of
from tests.support.servers.program import ProgramServer
from tests.support.waiting import PATIENCE

COUNT: Final = 2_000 if FULL else 40
WITHOUT_HOST_CHECK: Final = """
from ibi.foundation.web import bounded_http
from ibi.resolver.web import fast_redirects

bounded_http.is_host_valid = fast_redirects.is_host_valid = lambda values, **_: True
"""
NONE: Final[list[bytes]] = []
BAD_HOSTS: Final = (
    b"",
    b" ",
    b"a b",
    b"a,b c",
    b"a/b",
    b"a@b",
    b"user:secret@a",
    b"a:b",
    b"a:80:80",
    b"a:123456",
    b"a?b",
    b"a#b",
    b"a\\b",
    b'"a"',
    b"<a>",
    b"[::1",
    b"::1",
    b"[]",
    b"[::1]x",
    b"%",
    b"%zz",
    b"a%2",
    b"\xe1.example",
    b"http://a",
)
GOOD_HOSTS: Final = (
    b"a",
    b"a:80",
    b"A.example.org",
    b"[::1]:8800",
    b"127.0.0.1:1",
    b"a_b",
    b"a%20",
)


def bad_fields() -> list[list[bytes]]:
    """Return the values of the Host fields of requests that must be refused."""
    chance = random.Random(22)  # noqa: S311  # which payloads
    made = [NONE, [b"a", b"a"], [b"a", b"b"], [b"a", b""], *([bad] for bad in BAD_HOSTS)]
    while len(made) < COUNT:
        bad = bytearray(chance.choice(GOOD_HOSTS))
        bad.insert(chance.randint(0, len(bad)), chance.choice(b' /@\\?#"<>^`{|}\x7f\xff'))
        values = [bytes(bad)]
        if chance.random() < 0.5:
            values.insert(chance.randint(0, 1), chance.choice(GOOD_HOSTS))
        # Blanks around a value are no part of it.
        made += [values] if len(values) > 1 or bytes(bad).strip() == bytes(bad) else []
    return made


def request(target: str, hosts: list[bytes], version: bytes = b"1.1") -> bytes:
    """Return a request with these Host fields, in several spellings of the name."""
    names = (b"Host", b"host", b"HOST")
    lines = [b"%b: %b\r\n" % (names[n % 3], host) for n, host in enumerate(hosts)]
    head = b"GET %b HTTP/%b\r\n" % (target.encode(), version)
    return head + b"".join(lines) + b"X-Other: host\r\n\r\n"


def statuses(server: ProgramServer, target: str, fields: list[list[bytes]]) -> Counter[int]:
    """Ask for a target with each of the Host fields; return how often each status came."""
    found: Counter[int] = Counter()
    for hosts in fields:
        with connected(server) as connection:
            connection.socket.sendall(request(target, hosts))
            found[connection.receive().status] += 1
    return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProgramServer]:
    with ArchiveServer(tmp_path_factory.mktemp("heads")) as running:
        yield running


def test_a_request_without_one_valid_host_is_refused(server: ProgramServer) -> None:
    fields = bad_fields()
    assert statuses(server, "/healthz", fields) == {400: len(fields)}
    assert statuses(server, "/healthz", [[good] for good in GOOD_HOSTS]) == {200: len(GOOD_HOSTS)}


def test_a_request_of_http_1_0_needs_no_host(server: ProgramServer) -> None:
    with connected(server) as connection:
        connection.socket.sendall(request("/healthz", NONE, b"1.0"))
        assert connection.receive().status == 200


def warm(folder: Path, without: str = "") -> tuple[Counter[int], int]:
    """Ask a resolver for a warm redirect with bad Host fields; return statuses and warm answers."""
    with (
        attacked(folder, without, hot_seconds=60.0) as resolver,
        ArchiveDouble(service_of(0)) as archive,
    ):
        resolver.include(archive)
        archive.hold(label(0))
        target = f"/{label(0)}"
        good = [[b"a"]] * 2
        assert statuses(resolver, target, good) == {302: len(good)}
        before = metric(resolver, "warm_answers")
        assert before == 1
        found = statuses(resolver, target, bad_fields())
        return found, int(metric(resolver, "warm_answers") - before)


def test_the_fast_path_answers_no_request_without_one_valid_host(tmp_path: Path) -> None:
    assert warm(tmp_path) == ({400: len(bad_fields())}, 0)


def test_the_hosts_bite(tmp_path: Path) -> None:
    """The twin: a resolver that does not check Host redirects, most of them by its fast path."""
    found, given = warm(tmp_path, WITHOUT_HOST_CHECK)
    assert found[302] == given > len(bad_fields()) // 2


# Heads that are too large


def large_heads() -> dict[str, bytes]:
    """Return heads over the limit, each as a whole."""
    filling = LARGEST_HEAD + 1
    begin = b"GET / HTTP/1.1\r\nHost: a\r\n"
    return {
        "one field": begin + b"X: " + b"x" * filling + b"\r\n\r\n",
        "many fields": begin + b"X: y\r\n" * (filling // 6 + 1) + b"\r\n",
        "many short fields": begin + b"X:\r\n" * (filling // 4 + 1) + b"\r\n",
        "a target": b"GET /?" + b"x" * filling + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        "with a body": begin + b"Content-Length: 1\r\nX: " + b"x" * filling + b"\r\n\r\na",
    }


def answered(data: bytes) -> tuple[bytes, int]:
    """Let a server read bytes at once; return its answer, and how often the application ran."""
    ran = 0

    async def respond(_: object) -> PlainTextResponse:
        nonlocal ran
        ran += 1
        return PlainTextResponse("served")

    async def run() -> bytes:
        app = Starlette(routes=[Route("/", respond)])
        config = uvicorn.Config(app, log_config=None, lifespan="off", log_level="critical")
        client, ours = socket.socketpair()
        for end in (client, ours):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * LARGEST_HEAD)
            end.setblocking(False)  # noqa: FBT003
        with client:
            # Before the server begins to read: one read returns everything.
            await asyncio.get_running_loop().sock_sendall(client, data)
            protocol = BoundedHttp(config, ServerState(), {})
            await asyncio.get_running_loop().connect_accepted_socket(lambda: protocol, ours)
            reader, writer = await asyncio.open_connection(sock=client)
            answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
            protocol.transport.close()
            writer.close()
        return answer

    return asyncio.run(run()), ran


@pytest.mark.parametrize("name", large_heads())
def test_a_head_that_is_too_large_is_refused_though_it_is_read_at_once(name: str) -> None:
    answer, ran = answered(large_heads()[name])
    assert (answer.split()[1], ran) == (b"431", 0)


@pytest.mark.parametrize("name", sorted(large_heads().keys() - {"a target"}))
def test_the_large_heads_bite(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: a server with a larger limit gives them to the application.

    A target over 64 kB is refused by the parser of URLs too.
    """
    monkeypatch.setattr(bounded_http, "LARGEST_HEAD", 1 << 20)
    answer, ran = answered(large_heads()[name])
    assert (answer.split()[1], ran) == (b"200", 1)


def test_a_head_below_the_limit_is_served() -> None:
    data = b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * (LARGEST_HEAD - 100) + b"\r\n\r\n"
    answer, ran = answered(data)
    assert (answer.split()[1], ran) == (b"200", 1)
