"""A digest that lists more names than a resolver allows: what its operator sees, and its cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ibi.wire.digest import DigestPage, encode
from tests.support.doubles.archive import ArchiveDouble
from tests.support.processes.environment import own_environment
from tests.support.processes.fork_server import run
from tests.support.servers.attacked_resolver import metric, service_of
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

REASON = "it lists more names than digest_names allows"


@pytest.fixture
def resolver(tmp_path: Path) -> Iterator[ResolverServer]:
    made = ResolverServer(tmp_path)
    made.wanted_workers = ""  # others read what was fetched some seconds later
    made.set(digest_seconds=3600, digest_names=4)
    with made:
        yield made


class LargeArchive(ArchiveDouble):
    """An archive that lists five names."""

    def __init__(self) -> None:
        """Publish them on one page."""
        super().__init__(service_of(7))
        self.publish()
        self.digest = self._names

    def _names(self, _: dict[str, str]) -> bytes:
        with self._asked:
            self.digest_reads += 1
        return encode(DigestPage("5a" * 16, 0, 7, more=False, held=(1, 2, 3, 4, 5)))


@pytest.fixture
def large(resolver: ResolverServer) -> Iterator[LargeArchive]:
    """Return an archive whose digest is refused."""
    with LargeArchive() as made:
        resolver.include(made)
        wait_until(lambda: _digest(resolver, made).get("refused") == REASON)
        yield made


def _digest(resolver: ResolverServer, archive: ArchiveDouble) -> dict[str, object]:
    found = resolver.archives()[archive.service].get("digest")
    return found if isinstance(found, dict) else {}


def test_the_operator_is_told_which_digest_is_refused_and_why(
    resolver: ResolverServer, large: LargeArchive
) -> None:
    assert _digest(resolver, large) == {
        "whole": False,
        "names": 0,
        "confirmed": "",
        "refused": REASON,
    }
    [row] = resolver.ibi("archives").stdout.splitlines()[1:]
    assert f"refused: {REASON}" in row
    told = run(["doctor", "--json", "--data", str(resolver.data)], own_environment(resolver.folder))
    findings = [json.loads(line) for line in told.stdout.splitlines()]
    [finding] = [each for each in findings if each["check"] == "digests"]
    assert finding["verdict"] == "warning"
    assert finding["text"] == f"that of {large.service} is refused: {REASON}"
    assert "digest_names" in finding["advice"]


def test_notices_do_not_have_a_refused_digest_read_again(
    resolver: ResolverServer, large: LargeArchive
) -> None:
    assert large.digest_reads == 1
    with ArchiveDouble(service_of(8)) as other:
        other.publish()
        resolver.include(other)
        wait_until(lambda: metric(resolver, "logs_followed") == 1)
        for _ in range(2):
            before = other.digest_reads
            for archive in (large, other):
                path = f"archives/{archive.service}/changes"
                assert resolver.api("POST", path, token="").status == 204
            wait_until(lambda before=before: other.digest_reads > before)  # type: ignore[misc]
    assert large.digest_reads == 1
