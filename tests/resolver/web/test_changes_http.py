"""Notices of archives that their digests have changed, over HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.attacked_resolver import label, metric, requests_for
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until


@pytest.fixture
def resolver(tmp_path: Path) -> Iterator[ResolverServer]:
    made = ResolverServer(tmp_path)
    made.wanted_workers = ""  # only the process that fetches digests takes them for answers
    made.set(digest_seconds=3600)
    with made:
        yield made


@pytest.fixture
def archive(resolver: ResolverServer) -> Iterator[ArchiveDouble]:
    with ArchiveDouble() as made:
        made.publish()
        resolver.include(made)
        wait_until(lambda: metric(resolver, "logs_followed") == 1)
        yield made


def notify(resolver: ResolverServer, service: str) -> int:
    return resolver.api("POST", f"archives/{service}/changes", token="").status


def test_a_notice_has_the_digest_read_again(
    resolver: ResolverServer, archive: ArchiveDouble
) -> None:
    before = archive.digest_reads
    assert notify(resolver, archive.service) == 204
    wait_until(lambda: archive.digest_reads > before)
    wait_until(lambda: metric(resolver, "logs_followed") == 1)
    assert resolver.get(f"/{label(7)}").status == 404
    assert requests_for(archive) == []


def test_notices_of_strangers_are_few_and_name_an_archive(
    resolver: ResolverServer, archive: ArchiveDouble
) -> None:
    assert notify(resolver, label(7)) == 404
    assert notify(resolver, "nothing-of-ours") == 400
    found: Counter[int] = Counter()
    while not found[429]:
        found[notify(resolver, archive.service)] += 1
    assert set(found) == {204, 429}
    assert resolver.get(f"/{label(7)}").status == 404
    assert requests_for(archive) == []


def test_an_archive_that_is_silent_does_not_answer_by_its_digest(
    resolver: ResolverServer, archive: ArchiveDouble
) -> None:
    at_home = archive.service  # the label of its own service is at home there
    archive.behaviour = "unavailable"
    assert resolver.get(f"/{at_home}").status == 503
    assert metric(resolver, "logs_followed") == 0
    resolver.get(f"/{label(7)}")
    assert label(7) in requests_for(archive)
