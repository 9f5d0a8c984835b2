"""Three machines on one PostgreSQL: one is killed, all are replaced, and readers do not notice."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from ibi.foundation.sql.postgres import Postgres
from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked_resolver import metric, service_of
from tests.support.servers.cluster import Machine, Readers
from tests.support.servers.postgres import PostgresServer
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

ABSENT = "/8JMKD3MGP7W/3EPGUE5"


@dataclass(frozen=True)
class House:
    """A resolver of three machines, and two archives with an item each."""

    machines: tuple[ResolverServer, ...]
    archives: tuple[ArchiveServer, ...]
    items: tuple[dict[str, Any], ...]
    database: str

    def readers(self) -> Readers:
        """Return readers who ask for both items, and for one that nobody has."""
        expected = {
            f"/{item['ibip']}": (302, f"{archive.address}/")
            for archive, item in zip(self.archives, self.items, strict=True)
        }
        return Readers(self.machines, {**expected, ABSENT: (404, "")})

    def counted(self) -> int:
        """Return how many accesses the archives have counted."""
        return sum(
            archive.api("GET", f"statistics?item={item['rep']}").json()["total"]
            for archive, item in zip(self.archives, self.items, strict=True)
        )

    def wait_until_all_is_told(self) -> None:
        """Wait until no machine has anything to tell an archive, be it of another's."""
        for machine in self.machines:
            wait_until(lambda machine=machine: metric(machine, "accesses_waiting") == 0)  # type: ignore[misc]
        database = Postgres(self.database)
        wait_until(lambda: database.read("SELECT count FROM resolver_acknowledgment") == [])
        database.close()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer) -> Iterator[House]:
    folder, database = tmp_path_factory.mktemp("machines"), postgres.database()
    places = [folder / name for name in ("first", "second", "third", "a", "b")]
    for place in places:
        place.mkdir()
    with ExitStack() as stack:
        first = ResolverServer(places[0], "--database", database)
        others = [Machine(first, place) for place in places[1:3]]
        machines = tuple(stack.enter_context(machine) for machine in (first, *others))
        archives = tuple(
            stack.enter_context(
                ArchiveServer(place, host=f"{place.name}.example.org", ip=f"150.163.34.{number}")
            )
            for number, place in enumerate(places[3:], 1)
        )
        for archive, machine in zip(archives, machines, strict=False):
            key = machine.register(archive.service)
            told = archive.ibi("link", machine.address, "--key", key)
            assert told.returncode == 0, told.stderr
        for archive in archives:
            for machine in machines:
                wait_until(
                    lambda machine=machine, archive=archive: (  # type: ignore[misc]
                        state(machine, archive.service) == "included"
                    )
                )
        items = tuple(archive.deposit({"a.txt": b"a"}) for archive in archives)
        yield House(machines, archives, items, database)


def state(machine: ResolverServer, service: str) -> str:
    return str(machine.archives().get(service, {}).get("state", ""))


def test_what_is_changed_at_one_machine_all_follow(house: House) -> None:
    one, two, three = house.machines
    with ArchiveDouble(service_of(7)) as double:
        key = one.register(double.service)
        # At once, and elsewhere: nobody has to wait for news.
        assert b"included" in two.announce(double, key).body
        for machine in house.machines:
            wait_until(lambda machine=machine: state(machine, double.service) == "included")  # type: ignore[misc]
        assert three.api("POST", f"archives/{double.service}/exclude").status == 200
        for machine in house.machines:
            wait_until(lambda machine=machine: state(machine, double.service) == "excluded")  # type: ignore[misc]
        assert two.api("DELETE", f"archives/{double.service}").status == 204
        for machine in house.machines:
            wait_until(lambda machine=machine: state(machine, double.service) == "")  # type: ignore[misc]


def test_machines_are_replaced_one_by_one_without_a_failed_request(house: House) -> None:
    before = house.counted()
    with house.readers() as readers:
        readers.wait(20)
        for machine in house.machines:
            assert machine.stop() == 0
            readers.wait(20)
            machine.start()
            readers.wait(20)
    assert (readers.wrong, readers.broken, readers.unavailable) == ([], 0, 0)
    house.wait_until_all_is_told()
    assert readers.answers <= house.counted() - before <= readers.answers + readers.unheard


THERE = "SELECT count(*) FROM resolver_process WHERE gone = FALSE"
KEEPERS = "SELECT count(DISTINCT keeper) FROM resolver_acknowledgment"


@pytest.mark.long
def test_one_machine_is_killed_under_load(house: House) -> None:
    before, killed = house.counted(), house.machines[1]
    database = Postgres(house.database)
    with house.readers() as readers:
        for _ in range(2):
            readers.wait(200)
            wait_until(lambda: database.read(KEEPERS) == [(3,)])
            killed.kill()
            readers.wait(200)
            killed.start()
    database.close()
    assert readers.wrong == []
    house.wait_until_all_is_told()
    counted = house.counted() - before
    # Only what the killed one had noted in its last half second is lost.
    assert readers.answers - readers.given[killed.address] <= counted
    assert counted <= readers.answers + readers.unheard


@pytest.mark.long
def test_a_machine_that_sleeps_is_replaced_and_tells_nothing_twice(house: House) -> None:
    before, asleep = house.counted(), house.machines[2]
    assert asleep.process is not None
    database = Postgres(house.database)
    wait_until(lambda: database.read(THERE) == [(3,)])
    with house.readers() as readers:
        readers.wait(200)
        wait_until(lambda: database.read(KEEPERS) == [(3,)])
        asleep.process.send_signal(signal.SIGSTOP)
        readers.leave_out(asleep)
        wait_until(lambda: database.read(THERE) == [(2,)])
        readers.wait(50)
        asleep.process.send_signal(signal.SIGCONT)
        readers.trust()
        wait_until(lambda: database.read(THERE) == [(3,)])
        readers.wait(200)
    database.close()
    assert readers.wrong == []
    house.wait_until_all_is_told()
    assert readers.answers <= house.counted() - before <= readers.answers + readers.unheard
