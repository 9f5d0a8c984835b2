"""Threats, row 5, through the doors of a running archive.

Keys come by urlRequest and go back by acknowledgment, many at once, and the archive is killed in
the midst of it. What counts is what the API tells.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Final, Self

from ibi.identifier.label import parse
from ibi.identifier.verbs import GetMetadata
from ibi.model.relation import Relation
from ibi.wire import responses
from ibi.wire.requests import Acknowledgment, UrlRequest, encode
from ibi.wire.responses import UrlList
from tests.attacks.test_acknowledgments import HONEST, TIMES, attack
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked_archive import attacked

ITEMS: Final = 20
"""Neighbours among the keys are of different items, or nothing would be altered by altering."""
AT_ONCE: Final = 4
RECEIVED: Final = b"notice {acknowledgment received}"

# Every acknowledgment seems to bring a key that was never used.
WITHOUT_SINGLE_USE: Final = """
import dataclasses, secrets
from ibi.archive.ports.statistics import Access
from ibi.archive.web import protocol

def unused(item, day, time, nonce, until):
    return Access(item, day, time, secrets.randbelow(10**12), until)

protocol.Access = unused
"""


class Running:
    """Counts by a running archive, which is killed once, half-way."""

    def __init__(self, archive: ArchiveServer, kill_after: int) -> None:
        """Put some items into it."""
        self._archive = archive
        self._labels = [
            str(archive.deposit({f"Relatório {number}.txt": b"x"})["rep"])
            for number in range(ITEMS)
        ]
        self._kill_after = kill_after
        self._sent = 0
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._waiting: list[Future[bytes]] = []

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the threads."""
        self._pool.shutdown()

    def _ask(self, query: str) -> bytes:
        answer = self._archive.get(f"/{self._archive.service}?{query}")
        assert answer.status == 200, answer.body
        return answer.body

    def issue(self, number: int) -> Acknowledgment:
        """Ask for an item, or its metadata, as a resolver; return what it then acknowledges."""
        label = self._labels[number % ITEMS]
        clients = (f"150.163.{number // 250 % 250}.{number % 250}", "150.163.68.1")
        verbs = (GetMetadata(),) if number % 2 else ()
        found = responses.decode(self._ask(encode(UrlRequest(clients, parse(label), verbs))))
        assert isinstance(found, UrlList)
        assert found.key
        related = found.related[Relation(verbs)]
        assert related.content
        return Acknowledgment(
            clients=clients,
            content=related.content,
            url=related.url,
            persistent_url=f"http://urlib.net/{label}",
            key=found.key,
            forms=related.forms,
            state=related.state,
        )

    def count(self, query: str) -> None:
        """Send an acknowledgment; kill the archive when it is time."""
        self._waiting.append(self._pool.submit(self._ask, query))
        self._sent += 1
        if self._sent == self._kill_after:
            self._finish()
            self._archive.kill()
            self._archive.start()

    def _finish(self) -> None:
        wait(self._waiting)
        assert {answer.result() for answer in self._waiting} == {RECEIVED}
        self._waiting.clear()

    def counted(self) -> int:
        """Ask how many were counted."""
        self._finish()
        total: int = self._archive.api("GET", "statistics").json()["total"]
        return total


def counted(folder: Path, honest: int, without: str = "") -> int:
    with (
        attacked(folder, without) as archive,
        Running(archive, kill_after=3 * honest) as counter,
    ):
        attack(counter, honest)
        return counter.counted()


def test_the_archive_counts_exactly_what_was_issued_and_acknowledged(tmp_path: Path) -> None:
    assert counted(tmp_path, HONEST) == HONEST


def test_twin_without_single_use_each_counts_whenever_it_comes(tmp_path: Path) -> None:
    assert counted(tmp_path, 30, WITHOUT_SINGLE_USE) == TIMES * 30
