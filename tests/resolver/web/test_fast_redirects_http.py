"""Answers that are given again before the application is asked are those that it would give."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import product
from pathlib import Path
from typing import Final

import pytest

from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.resolver import ResolverServer

LABEL: Final = "8JMKD3MGP7W/3EPGUE5"
TRANSLATED: Final = "8JMKD3MGP8W/3C9EP6P"
UNASKED: Final = tuple(f"8JMKD3MGP8W/35MML{letter}8" for letter in "ABCDEFGH")
"""Labels for one test each: redirects of earlier tests may end between two requests."""
_DATE: Final = re.compile(rb"date: [^\r]*\r\n")
BROWSER: Final = (
    b"User-Agent: Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0\r\n"
    b"Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\n"
    b"Accept-Language: pt-BR,pt;q=0.9\r\nConnection: keep-alive\r\n"
    b"Upgrade-Insecure-Requests: 1\r\n"
)


class Reader:
    """One connection."""

    def __init__(self, port: int) -> None:
        """Connect."""
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)

    def close(self) -> None:
        """Hang up."""
        self.socket.close()

    def send(self, request: bytes) -> bytes:
        """Send bytes, and return the answer but for its date."""
        self.socket.sendall(request)
        return self.receive()

    def receive(self) -> bytes:
        """Return the next answer, but for its date."""
        answer = b""
        while b"\r\n\r\n" not in answer:
            chunk = self.socket.recv(65536)
            if not chunk:
                return answer
            answer += chunk
        head, _, body = answer.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        while length and len(body) < int(length[1]):
            body += self.socket.recv(65536)
        return _DATE.sub(b"", head + b"\r\n\r\n") + body

    def is_ended(self) -> bool:
        """Tell whether the server has hung up; wait for it."""
        return self.socket.recv(1) == b""


@pytest.fixture(scope="module")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResolverServer]:
    folder: Path = tmp_path_factory.mktemp("warm")
    server = ResolverServer(folder)
    server.set(hot_seconds=60.0)
    server.wanted_workers = ""  # what is warm is so in one process
    with ArchiveDouble() as archive, server:
        for label in (LABEL, "8JMKD3MGP8W/35MMLL8", *UNASKED):
            archive.hold(label)
        url = f"http://{archive.address}/col/{TRANSLATED}/pt.html"
        archive.hold(TRANSLATED)
        archive.items[TRANSLATED] |= {
            "ibi.translation(pt)": f"ibip {TRANSLATED}",
            "url.translation(pt)": url,
            "contenttype.translation(pt)": "Data",
            "state.translation(pt)": "Original",
        }
        server.include(archive)
        yield server


@contextmanager
def reader(resolver: ResolverServer) -> Iterator[Reader]:
    with closing(Reader(int(resolver.address.rpartition(":")[2]))) as opened:
        yield opened


def given(resolver: ResolverServer) -> int:
    """Return how many answers were warm."""
    return int(resolver.metric("ibi_resolver_warm_answers"))


def plain(target: str, more: bytes = b"", version: bytes = b"1.1", method: bytes = b"GET") -> bytes:
    return (
        method + b" " + target.encode() + b" HTTP/" + version + b"\r\nHost: localhost\r\n" + more
    ) + b"\r\n"


TARGETS: Final = (
    "/{}",
    "/ibi/{}",
    "/{}?ibiurl.requireditemstatus=Original",
    "/{}?ibiurl.language=pt",
)


@pytest.mark.parametrize(
    ("label", "target", "more"),
    [
        (label, target, more)
        for label, (target, more) in zip(UNASKED, product(TARGETS, (b"", BROWSER)), strict=True)
    ],
)
def test_warm_and_cold_answers_are_the_same(
    resolver: ResolverServer, label: str, target: str, more: bytes
) -> None:
    with reader(resolver) as first, reader(resolver) as second:
        # Asked as no plain reader does, it takes the usual way: its line ends in two pieces.
        request = plain(target.format(label), more)
        first.socket.sendall(request[:-2])
        cold = first.send(request[-2:])
        before = given(resolver)
        warm = [second.send(request) for _ in range(3)]
        assert cold.startswith(b"HTTP/1.1 302 Found\r\n")
        assert warm == [cold] * 3
        assert given(resolver) == before + 3


UNUSUAL: Final = {
    "HEAD": plain(f"/{LABEL}", method=b"HEAD"),
    "HTTP/1.0": plain(f"/{LABEL}", version=b"1.0"),
    "it wants the connection closed": plain(f"/{LABEL}", b"Connection: close\r\n"),
    "a body": plain(f"/{LABEL}", b"Content-Length: 1\r\n") + b"x",
    "a body in chunks": plain(f"/{LABEL}", b"Transfer-Encoding: chunked\r\n") + b"0\r\n\r\n",
    "an expectation": plain(f"/{LABEL}", b"Expect: 100-continue\r\nContent-Length: 0\r\n"),
    "an upgrade": plain(f"/{LABEL}", b"Connection: upgrade\r\nUpgrade: websocket\r\n"),
    "another spelling of a header": plain(f"/{LABEL}", b"CONTENT-length: 0\r\n"),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_what_is_not_plain_takes_the_usual_way(resolver: ResolverServer, name: str) -> None:
    with reader(resolver) as first, reader(resolver) as second:
        first.send(plain(f"/{LABEL}"))
        before = given(resolver)
        answer = second.send(UNUSUAL[name])
        assert b"302 Found" in answer or b"100 Continue" in answer
        assert given(resolver) == before


def test_several_requests_at_once_are_answered_in_order(resolver: ResolverServer) -> None:
    other = "8JMKD3MGP8W/35MMLL8"
    with reader(resolver) as opened:
        opened.send(plain(f"/{LABEL}"))
        opened.send(plain(f"/{other}"))
        opened.socket.sendall(plain(f"/{other}") + plain(f"/{LABEL}") + plain("/healthz"))
        received = b""
        while received.count(b"\r\n\r\n") < 3 or not received.endswith(b"alive\n"):
            received += opened.socket.recv(65536)
        assert received.index(other.encode()) < received.index(LABEL.encode())


def test_a_warm_connection_serves_cold_requests_too(resolver: ResolverServer) -> None:
    with reader(resolver) as opened:
        first = opened.send(plain(f"/{LABEL}"))
        assert opened.send(plain("/healthz")).endswith(b"alive\n")
        assert opened.send(plain(f"/{LABEL}")) == first
        assert opened.send(plain("/nothing")).startswith(b"HTTP/1.1 400")
        assert opened.send(plain(f"/{LABEL}")) == first


def test_a_warm_connection_that_is_idle_is_ended(resolver: ResolverServer) -> None:
    with reader(resolver) as opened:
        opened.send(plain(f"/{LABEL}"))
        opened.send(plain(f"/{LABEL}"))
        assert opened.is_ended()


def test_pairs_that_belong_to_the_item_fill_no_memory(resolver: ResolverServer) -> None:
    with reader(resolver) as opened:
        before = given(resolver)
        for _ in range(3):
            assert b"?a=b\r\n" in opened.send(plain(f"/{LABEL}?a=b"))
        assert given(resolver) == before


def test_what_stands_within_another_request_is_no_request(resolver: ResolverServer) -> None:
    """The end of one message and the beginning of the next may come in one piece."""
    with reader(resolver) as opened:
        opened.send(plain(f"/{LABEL}"))
        before = given(resolver)
        opened.socket.sendall(plain("/healthz") + b"GET /robots.txt HTTP/1.1\r\nX-Note: ")
        assert opened.receive().endswith(b"alive\n")
        answer = opened.send(plain(f"/{LABEL}"))
        assert answer.endswith(b"Disallow: /explain\nDisallow: /search\n")
        assert LABEL.encode() not in answer
        assert given(resolver) == before


def test_answers_that_depend_on_the_reader_are_never_warm(resolver: ResolverServer) -> None:
    with reader(resolver) as opened:
        before = given(resolver)
        for _ in range(3):
            answer = opened.send(plain(f"/{TRANSLATED}+", BROWSER))
            assert answer.startswith(b"HTTP/1.1 302 Found")
            assert b"vary: Accept, Accept-Language\r\n" in answer
        assert given(resolver) == before


def test_nothing_is_warm_after_an_archive_went(tmp_path: Path) -> None:
    server = ResolverServer(tmp_path)
    server.set(hot_seconds=60.0)
    server.wanted_workers = ""
    with ArchiveDouble() as archive, server:
        archive.hold(LABEL)
        key = server.include(archive)
        with reader(server) as opened:
            opened.send(plain(f"/{LABEL}"))
            assert opened.send(plain(f"/{LABEL}")).startswith(b"HTTP/1.1 302")
            server.announce(archive, key, "exclusionRequest")
            answer = opened.send(plain(f"/{LABEL}"))
            assert answer.startswith(b"HTTP/1.1 503")  # its owner is switched off
