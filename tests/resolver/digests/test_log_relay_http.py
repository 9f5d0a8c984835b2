"""Digests stand for answers in all processes of a resolver, over HTTP."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

import pytest

from ibi.foundation.sql.postgres import Postgres
from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import Instant
from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.archive import neighbour
from tests.support.servers.attacked_resolver import label, made_at, metric, requests_for, service_of
from tests.support.servers.cluster import Machine
from tests.support.servers.postgres import PostgresServer
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

ARCHIVES: Final = 8
MISSES: Final = 40
MOST: Final = 3
"""Messages that a miss may cost."""
HOLDER: Final = "SELECT holder FROM resolver_duty WHERE name = 'digests'"
ADOPTED: Final = "sid.inpe.br/mtc-m19/2011/01.01.01.01"


@pytest.fixture(scope="module")
def database(postgres: PostgresServer) -> str:
    return postgres.database()


@pytest.fixture(scope="module")
def machines(
    tmp_path_factory: pytest.TempPathFactory, database: str
) -> Iterator[list[ResolverServer]]:
    """Run a resolver of two processes on one database."""
    folders = [tmp_path_factory.mktemp(name) for name in ("first", "second")]
    first = ResolverServer(folders[0], "--database", database)
    first.wanted_workers = ""
    first.set(digest_seconds=3600, hot_seconds=20.0, absent_seconds=0.0)
    with first:
        second = Machine(first, folders[1])
        second.wanted_workers = ""
        with second:
            yield [first, second]


@pytest.fixture(scope="module")
def archives(machines: list[ResolverServer]) -> Iterator[list[ArchiveDouble]]:
    with ExitStack() as stack:
        made = [stack.enter_context(ArchiveDouble(service_of(each))) for each in range(ARCHIVES)]
        for archive in made:
            archive.publish()
            machines[0].include(archive)
        yield made


@pytest.fixture(autouse=True)
def followed(machines: list[ResolverServer], archives: list[ArchiveDouble]) -> None:
    del archives
    wait_until_followed(machines, ARCHIVES)


def wait_until_followed(machines: list[ResolverServer], logs: int) -> None:
    wait_until(lambda: [metric(each, "logs_followed") for each in machines] == [logs, logs])


def statuses(machines: list[ResolverServer], name: str) -> list[int]:
    return [machine.get(f"/{name}").status for machine in machines]


def test_a_miss_costs_three_messages_at_most(
    machines: list[ResolverServer], archives: list[ArchiveDouble]
) -> None:
    for number in range(MISSES):
        assert statuses(machines, label(number)) == [404, 404]
    assert sum(len(requests_for(archive)) for archive in archives) <= MOST * MISSES * len(machines)


def test_an_item_under_a_fresh_label_is_found_whatever_digests_say(
    machines: list[ResolverServer], archives: list[ArchiveDouble]
) -> None:
    now = int(time.time())
    for number, machine in enumerate(machines):
        for instant in (now, now - now % 60):  # its own second, and its minute, as labels are short
            fresh = Ibip.mount(f"203.0.113.{number + 1}", 800, Instant(instant)).canonical
            archives[number].hold(fresh)
            assert machine.get(f"/{fresh}").status == 302


def test_an_item_that_is_adopted_under_an_old_label_is_found_by_all_processes(
    machines: list[ResolverServer], archives: list[ArchiveDouble], tmp_path: Path
) -> None:
    archive = neighbour(tmp_path, 1)
    archive.set(adopts=["sid.inpe.br/mtc-m19"])
    with archive:
        key = machines[0].register(archive.service)
        assert archive.ibi("link", machines[1].address, "--key", key).returncode == 0
        wait_until_followed(machines, ARCHIVES + 1)
        assert statuses(machines, ADOPTED) == [404, 404]
        asked = [requests_for(each).count(ADOPTED) for each in archives]
        table = tmp_path / "items.jsonl"
        table.write_text(json.dumps({"rep": ADOPTED, "title": "An old item"}))
        done = archive.ibi("adopt", str(table))
        assert done.returncode == 0, done.stderr
        wait_until(lambda: statuses(machines, ADOPTED) == [302, 302])
        assert [requests_for(each).count(ADOPTED) for each in archives] == asked
    assert machines[0].api("DELETE", f"archives/{archive.service}").status == 204


def test_no_digest_stands_for_an_answer_while_the_process_sleeps_that_reads_them(
    machines: list[ResolverServer], archives: list[ArchiveDouble], database: str
) -> None:
    asleep, awake = machines  # the one that started first reads digests
    unlisted = label(2_000)
    archives[3].hold(unlisted)
    assert awake.get(f"/{unlisted}").status == 404  # no notice of it was sent
    assert asleep.process is not None
    with closing(Postgres(database)) as stored:
        holder = stored.read(HOLDER)
        asleep.process.send_signal(signal.SIGSTOP)
        try:
            wait_until(lambda: awake.get(f"/{unlisted}").status == 302)
            assert stored.read(HOLDER) == holder  # it has not taken over yet
        finally:
            asleep.process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("number", [0, 1])
def test_an_archive_that_was_silent_once_answers_by_its_digest_in_no_process(
    machines: list[ResolverServer], archives: list[ArchiveDouble], number: int
) -> None:
    archives[0].behaviour = "unavailable"
    assert machines[number].get(f"/{archives[0].service}").status == 503  # it is at home there
    wait_until_followed(machines, ARCHIVES - 1)
    # A label of a host that no archive has would be 404 although an archive is silent.
    assert statuses(machines, made_at("198.51.0.2", 1_000 + number)) == [503, 503]
    archives[0].behaviour = "archive"
    notice = f"archives/{archives[0].service}/changes"
    assert machines[number].api("POST", notice, token="").status == 204
