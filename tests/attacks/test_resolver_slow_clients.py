"""Threats, row 14: clients that take their time on purpose, and a restart in the middle of it.

A thousand of them send nothing, half a request, a byte now and then, or never take an answer.
Whoever reads as people and programs do is served meanwhile; and after a restart, orderly or not,
a resolver serves the same answers, whoever is still there.
"""

from __future__ import annotations

import resource
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import cycle
from pathlib import Path
from threading import Event, Thread
from typing import Final

from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.attacked import FULL, connected
from tests.support.servers.attacked_resolver import at_once, attacked, label, service_of
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import PATIENCE, wait_until

SLOW: Final = 1_000 if FULL else 100
ITEMS: Final = 20
READERS: Final = 4
ROOM: Final = 8192
"""Files that a process may have; a test has both ends of each connection to pay for."""
USUAL: Final = SLOW // 2
"""What a system gives to a process that does not ask for more: often 1024, and here still fewer."""
RUDE: Final = (
    b"",
    b"G",
    b"GET /%s HTTP/1.1\r\nHost: x\r\n" % label(0).encode(),
    b"GET /%s HTTP/1.1\r\nHost: x\r\nX: " % label(0).encode() + b"x" * 4000,
    b"POST /api/v1/registrations HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{",
    b"POST /api/v1/registrations HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 200,
    b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n" % label(0).encode() * 200,
    b"\r\n" * 100,
)
"""What slow clients begin with; none of them ever reads an answer."""

WITHOUT_PATIENCE: Final = """
from ibi.foundation.processes import server

server.MOST_CONNECTIONS = 50
"""


@contextmanager
def room() -> Iterator[None]:
    """Have sockets enough for the crowd."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, ROOM)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def scene(
    folder: Path, without: str = "", files: int = ROOM
) -> Iterator[tuple[ResolverServer, dict[str, str]]]:
    """Run a resolver and an archive; yield where its items are."""
    with ExitStack() as stack:
        stack.enter_context(room())
        resolver = stack.enter_context(attacked(folder, without, files, hot_seconds=0.0))
        archive = stack.enter_context(ArchiveDouble(service_of(0)))
        resolver.include(archive)
        for number in range(ITEMS):
            archive.hold(label(number))
        yield resolver, {name: pairs["url"] for name, pairs in archive.items.items()}


class Crowd:
    """Clients that take their time."""

    def __init__(self, resolver: ResolverServer, count: int) -> None:
        """Come, all of them."""
        host, _, port = resolver.address.removeprefix("http://").partition(":")
        self._sockets = []
        self._is_over = Event()
        for begun, _ in zip(cycle(RUDE), range(count), strict=False):
            client = socket.create_connection((host, int(port)), timeout=PATIENCE)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(0)
            with suppress(OSError):
                client.send(begun)
            self._sockets.append(client)
        self._thread = Thread(target=self._drip)

    def _drip(self) -> None:
        while not self._is_over.wait(0.2):
            for client in self._sockets[::3]:
                with suppress(OSError):
                    client.send(b"x")

    def __enter__(self) -> None:
        """Begin to drip."""
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        """Go, all of them."""
        self._is_over.set()
        self._thread.join()
        for client in self._sockets:
            client.close()


def read(resolver: ResolverServer, right: dict[str, str], rounds: int) -> Counter[str]:
    """Read all items as people do; return what was not as it should be."""

    def act(_: int) -> Counter[str]:
        wrong: Counter[str] = Counter()
        for _ in range(rounds):
            with connected(resolver) as reader:
                for name, place in right.items():
                    answer = reader.ask(f"/{name}")
                    got = dict(answer.headers).get("location", f"status {answer.status}")
                    wrong[got] += got != place
                assert reader.ask("/").status == 200
        return +wrong

    return sum(at_once(READERS, act, range(READERS)), Counter())


def test_readers_are_served_beside_slow_clients(tmp_path: Path) -> None:
    with scene(tmp_path) as (resolver, right), Crowd(resolver, SLOW):
        assert read(resolver, right, 5) == Counter()
        assert resolver.process is not None
        assert resolver.process.poll() is None


def test_a_process_asks_for_the_files_that_it_needs(tmp_path: Path) -> None:
    with scene(tmp_path, files=USUAL) as (resolver, right), Crowd(resolver, SLOW):
        assert read(resolver, right, 1) == Counter()


def test_restarts_under_load(tmp_path: Path) -> None:
    with scene(tmp_path) as (resolver, right):
        answers: Counter[str] = Counter()
        is_over = Event()

        def hammer() -> None:
            while not is_over.is_set():
                try:
                    with connected(resolver) as reader:
                        for name, place in right.items():
                            answer = reader.ask(f"/{name}")
                            got = dict(answer.headers).get("location", str(answer.status))
                            answers["right" if got == place else got] += 1
                except (OSError, EOFError):
                    answers["no answer"] += 1

        hammers = [Thread(target=hammer) for _ in range(READERS)]
        with ExitStack() as stack:
            stack.enter_context(Crowd(resolver, SLOW // 2))
            for each in hammers:
                stack.callback(each.join, PATIENCE)
            stack.callback(is_over.set)
            for each in hammers:
                each.start()
            wait_until(lambda: answers["right"] > ITEMS)
            for is_killed in (False, True):
                if is_killed:
                    resolver.kill()
                else:
                    assert resolver.stop() == 0
                resolver.start()
                before = answers["right"]
                wait_until(lambda: answers["right"] > before + ITEMS)  # noqa: B023  # at once
                assert read(resolver, right, 1) == Counter()
        # Whoever asked in between was told to come again, or nothing: nobody was sent elsewhere.
        assert set(answers) <= {"right", "no answer", "503"}


def test_the_crowd_bites(tmp_path: Path) -> None:
    """The twin: a resolver with room for fewer connections turns readers away."""
    with (
        scene(tmp_path, WITHOUT_PATIENCE) as (resolver, right),
        Crowd(resolver, 100),
        connected(resolver) as reader,
    ):
        assert reader.ask(f"/{next(iter(right))}").status == 503
