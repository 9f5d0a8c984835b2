"""Threats, row 23: an archive on another port of a host passes for the home of its labels.

Victim and rogue are on one host, and at one address: any user of a machine may listen at some port
of it. The rogue was registered first, confirms its inclusion there, and claims whatever it is asked
for. Items of both forms of label, which nobody asked for before, go to the victim; while it is
silent, to nobody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import Instant
from ibi.identifier.repository_name import RepositoryName
from tests.support.doubles.archive import ArchiveDouble, ClaimingArchive
from tests.support.processes.fork_server import BEFORE_IMPORTS
from tests.support.servers.attacked import FULL
from tests.support.servers.attacked_resolver import at_once, attacked
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

ITEMS: Final = 200 if FULL else 4
"""Items of each form of label, in each of the situations."""
READERS: Final = 8
HOST: Final = "victim.example"
NAMES: Final = f"""
import socket

real = socket.getaddrinfo

def looked_up(host, *args, **options):
    return real("127.0.0.1" if host == "{HOST}" else host, *args, **options)

socket.getaddrinfo = looked_up
"""
"""The host has the address of this machine."""
WITHOUT_PORTS: Final = (
    BEFORE_IMPORTS
    + f"""{NAMES}
from ibi.resolver.rules import home_places

home_places.proved_at = home_places.proved_by_name
"""
)


class Scene:
    """A victim and a rogue on one host."""

    def __init__(self, resolver: ResolverServer, stack: ExitStack) -> None:
        """Register the rogue first, and include both."""
        self.resolver = resolver
        self.rogue = stack.enter_context(ClaimingArchive())
        self.victim = stack.enter_context(ArchiveDouble())
        for archive in (self.rogue, self.victim):
            archive.address = f"{HOST}:{archive.port}"
            archive.service = self.made(archive, 0)[0]
            resolver.include(archive)
        self.given = 0

    @staticmethod
    def made(archive: ArchiveDouble, number: int) -> tuple[str, str]:
        """Return both forms of a label that was made where an archive is."""
        instant = Instant(1_500_000_000 + number)
        return (
            RepositoryName.mount(HOST, archive.port, instant).canonical,
            Ibip.mount("127.0.0.1", archive.port, instant).canonical,
        )

    def sent(self) -> Counter[str]:
        """Let readers ask for new items of the victim; return where they were sent."""
        names = [
            name
            for number in range(ITEMS)
            for name in self.made(self.victim, self.given + number + 1)
        ]
        self.given += ITEMS
        for name in names:
            self.victim.hold(name)
        return Counter(at_once(READERS, self._read, names))

    def _read(self, name: str) -> str:
        answer = self.resolver.get(f"/{name}")
        location = answer.headers.get("location", "")
        if location:
            return next(
                each
                for each, archive in (("victim", self.victim), ("rogue", self.rogue))
                if location == archive.items[name]["url"]
            )
        assert answer.status == 503, answer.body
        assert self.victim.service in answer.json()["archives"]
        return "nowhere"

    def switch(self, behaviour: str, state: str) -> None:
        """Let the victim stop or answer again, and wait until the resolver has noticed."""
        self.victim.behaviour = behaviour
        wait_until(lambda: self.resolver.archives()[self.victim.service]["state"] == state)


@contextmanager
def scene(folder: Path, lines: str) -> Iterator[Scene]:
    with ExitStack() as stack:
        resolver = stack.enter_context(attacked(folder, lines, hot_seconds=0.0))
        yield Scene(resolver, stack)


def test_no_port_of_a_host_is_the_home_of_another_ports_labels(tmp_path: Path) -> None:
    with scene(tmp_path, NAMES) as all_of_it:
        assert all_of_it.sent() == Counter(victim=2 * ITEMS)
        all_of_it.victim.behaviour = "hang up"
        assert all_of_it.sent() == Counter(nowhere=2 * ITEMS)
        all_of_it.switch("archive", "included")
        assert all_of_it.sent() == Counter(victim=2 * ITEMS)
        all_of_it.resolver.restart()
        assert all_of_it.sent() == Counter(victim=2 * ITEMS)
        all_of_it.resolver.api("POST", f"archives/{all_of_it.victim.service}/exclude")
        assert all_of_it.sent() == Counter(nowhere=2 * ITEMS)


def test_the_other_port_bites(tmp_path: Path) -> None:
    """The twin: who takes a proof at some port for one of the whole host sends to the rogue."""
    with scene(tmp_path, WITHOUT_PORTS) as all_of_it:
        assert all_of_it.sent()["rogue"] == 2 * ITEMS
