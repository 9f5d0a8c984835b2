"""Answers that last: equal to those of the usual way whatever a reader sends, and soon forgotten.

How soon is shown with a clock of the test in
`tests/resolver/digests/test_lease_properties.py`.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.servers.archive import ArchiveServer, neighbour
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

HOT: Final = 1.0
_DATE: Final = re.compile(rb"date: [^\r]*\r\n")


@dataclass
class Scene:
    """A resolver, and an archive of ours whose log it reads."""

    resolver: ResolverServer
    archive: ArchiveServer
    item: dict[str, Any]
    other: dict[str, Any]

    def metric(self, name: str) -> int:
        """Return a number that the resolver tells of itself."""
        return int(self.resolver.metric(f"ibi_resolver_{name}"))

    def send(self, *pieces: bytes) -> bytes:
        """Send a request in pieces, on a connection of its own; return the answer but its date."""
        port = int(self.resolver.address.rpartition(":")[2])
        with closing(socket.create_connection(("127.0.0.1", port), timeout=60)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for piece in pieces:
                connection.sendall(piece)
            answer = b""
            while b"\r\n\r\n" not in answer:
                answer += connection.recv(65536)
            head, _, body = answer.partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head)
            wanted = 0 if pieces[0].startswith(b"HEAD") or length is None else int(length[1])
            while len(body) < wanted:
                body += connection.recv(65536)
        return _DATE.sub(b"", head + b"\r\n") + b"\r\n" + body


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder: Path = tmp_path_factory.mktemp("lasting")
    resolver = ResolverServer(folder)
    resolver.set(digest_seconds=1, hot_seconds=HOT, trusted_proxies=["127.0.0.0/8"])
    with resolver, neighbour(folder, 1) as archive:
        key = resolver.register(archive.service)
        told = archive.ibi("link", resolver.address, "--key", key)
        assert told.returncode == 0, told.stderr
        item, other = (archive.deposit({"a.txt": text}) for text in (b"a", b"b"))
        made = Scene(resolver, archive, item, other)
        wait_until(lambda: "whole" in resolver.archives()[archive.service].get("digest", {}))
        wait_until(lambda: bool(resolver.archives()[archive.service]["digest"]["whole"]))
        yield made


def _spelled(text: str) -> st.SearchStrategy[str]:
    return st.sampled_from([text, text.lower(), text.upper()])


_HEADERS: Final = st.one_of(
    st.tuples(_spelled("Connection"), st.sampled_from(["keep-alive", "Keep-Alive", "close", ""])),
    st.tuples(_spelled("Accept-Language"), st.sampled_from(["pt", "en;q=0.5, pt-BR", "*"])),
    st.tuples(_spelled("X-Forwarded-For"), st.sampled_from(["192.0.2.7", "192.0.2.7, 10.0.0.1"])),
    st.tuples(_spelled("Content-Length"), st.just("0")),
    st.tuples(st.just("Cookie"), st.text("abc=; ", max_size=20)),
    st.tuples(st.just("Referer"), st.just("http://x.example/\xe9")),
)
_TAILS: Final = st.sampled_from(
    [
        *("", "!", "+", ":", "/", "/a.txt", "?", "?a=b", "?ibiurl.language=pt"),
        *("?ibiurl.requireditemstatus=Original", "?ibiurl.verblist=GetFileList", "%20", "#x"),
    ]
)


@dataclass(frozen=True)
class Asked:
    """A request as a reader may send it, but for the label."""

    method: str
    start: str
    form: str
    is_lower: bool
    tail: str
    headers: list[tuple[str, str]]
    version: str

    def written(self, item: dict[str, Any]) -> bytes:
        """Write it for an item."""
        label = item[self.form].lower() if self.is_lower else item[self.form]
        lines = [f"{self.method} {self.start}{label}{self.tail} HTTP/{self.version}"]
        lines += [f"{name}: {value}" for name, value in (("Host", "localhost"), *self.headers)]
        return "\r\n".join([*lines, "", ""]).encode("iso-8859-1")


_ASKED: Final = st.builds(
    Asked,
    method=st.sampled_from(["GET", "GET", "GET", "HEAD"]),
    start=st.sampled_from(["/", "/ibi/", "/rep/"]),
    form=st.sampled_from(["ibip", "ibip", "rep"]),
    is_lower=st.booleans(),
    tail=st.one_of(st.just(""), _TAILS),
    headers=st.lists(_HEADERS, max_size=4),
    version=st.sampled_from(["1.1", "1.1", "1.1", "1.0"]),
)


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(asked=_ASKED, times=st.integers(1, 3))
def test_what_is_warm_is_what_the_usual_way_says(scene: Scene, asked: Asked, times: int) -> None:
    """A request in two pieces takes the usual way, where one in one piece may be warm."""
    request = asked.written(scene.item)
    usual = scene.send(request[:-2], request[-2:])
    for _ in range(times):
        assert scene.send(request) == usual


def test_an_answer_is_given_for_as_long_as_nothing_changes(scene: Scene) -> None:
    label = scene.other["ibip"]
    wait_until(_LastingAnswer(scene, label).is_given)
    answer = scene.archive.api("POST", f"items/{label}/deletion", {"reason": "It was wrong."})
    assert answer.status == 200, answer.body
    wait_until(lambda: scene.send(_plain(label)).startswith(b"HTTP/1.1 410 "))


class _LastingAnswer:
    """The answer for one label, and how long ago the last search for it was."""

    def __init__(self, scene: Scene, label: str) -> None:
        self._scene = scene
        self._label = label
        self._searches = -1
        self._searched = 0.0

    def is_given(self) -> bool:
        """Ask; return whether it is given at once, though the last search is no longer hot."""
        asked, warm = time.monotonic(), self._scene.metric("warm_answers")
        assert b"302 Found" in self._scene.send(_plain(self._label))
        searches = self._scene.metric("searches")
        if searches != self._searches:
            self._searches, self._searched = searches, time.monotonic()
        is_cold = asked > self._searched + HOT
        return is_cold and self._scene.metric("warm_answers") == warm + 1


def _plain(label: str) -> bytes:
    return f"GET /{label} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
