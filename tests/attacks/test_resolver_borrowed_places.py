"""Threats, row 37: an archive announces itself where another archive confirms for it.

The archive of other software confirms under every label, so that the confirmation does not say
which archive is there. A rogue that was registered before it announces the victim's address as its
own, lets readers be led through it, then moves to its own address and claims the items; or is
switched off there, and counts as their silent home.
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
from tests.support.servers.attacked import FULL
from tests.support.servers.attacked_resolver import at_once, attacked
from tests.support.servers.resolver import ResolverServer

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
WITHOUT_STRANGERS: Final = f"""{NAMES}
from ibi.resolver.registry.inclusion import InclusionService

async def is_particular(self, place, record):
    return bool(place)

InclusionService._is_particular = is_particular
"""


class Scene:
    """A rogue that was registered first, and a victim that confirms under every label."""

    def __init__(self, resolver: ResolverServer, stack: ExitStack) -> None:
        """Register the rogue first, and include the victim."""
        self.resolver = resolver
        self.rogue = stack.enter_context(ClaimingArchive())
        self.victim = stack.enter_context(ArchiveDouble())
        self.victim.confirms_every_label = True
        self.victim.address = f"{HOST}:{self.victim.port}"
        self.rogue.service = self.made(self.rogue, 0)[0]
        self.victim.service = self.made(self.victim, 0)[0]
        self.own_address = self.rogue.address
        self.key = resolver.register(self.rogue.service)
        resolver.include(self.victim)
        self.given = 0

    @staticmethod
    def made(archive: ArchiveDouble, number: int) -> tuple[str, str]:
        """Return both forms of a label that was made where an archive is."""
        instant = Instant(1_500_000_000 + number)
        return (
            RepositoryName.mount(HOST, archive.port, instant).canonical,
            Ibip.mount("127.0.0.1", archive.port, instant).canonical,
        )

    def new_items(self) -> list[str]:
        """Let the victim have new items, and return their labels."""
        numbers = range(self.given + 1, self.given + ITEMS + 1)
        names = [name for number in numbers for name in self.made(self.victim, number)]
        self.given += ITEMS
        for name in names:
            self.victim.hold(name)
        return names

    def announce(self, address: str, subject: str = "inclusionRequest") -> None:
        """Announce the rogue at an address."""
        self.rogue.address = address
        answer = self.resolver.announce(self.rogue, self.key, subject)
        assert answer.status == 200, answer.body

    def sent(self, names: list[str]) -> Counter[str]:
        """Let readers ask for items; return where they were sent."""
        return Counter(at_once(READERS, self._read, names))

    def _read(self, name: str) -> str:
        answer = self.resolver.get(f"/{name}")
        location = answer.headers.get("location", "")
        if not location:
            assert answer.status == 503, answer.body
            return "nowhere"
        return "victim" if location == self.victim.items[name]["url"] else "rogue"


@contextmanager
def scene(folder: Path, lines: str) -> Iterator[Scene]:
    with ExitStack() as stack:
        resolver = stack.enter_context(attacked(folder, lines, hot_seconds=0.0))
        yield Scene(resolver, stack)


def after_a_move(folder: Path, lines: str) -> Counter[str]:
    """Let the rogue be where the victim is while readers come, and move; return where they go."""
    with scene(folder, lines) as all_of_it:
        names = all_of_it.new_items()
        all_of_it.announce(all_of_it.victim.address)
        assert all_of_it.sent(names) == Counter(victim=2 * ITEMS)
        all_of_it.announce(all_of_it.own_address)
        return all_of_it.sent(names)


def after_a_switch_off(folder: Path, lines: str) -> Counter[str]:
    """Let the rogue be where the victim is, and switch it off; return where readers go."""
    with scene(folder, lines) as all_of_it:
        all_of_it.announce(all_of_it.victim.address)
        all_of_it.announce(all_of_it.victim.address, "exclusionRequest")
        return all_of_it.sent(all_of_it.new_items())


def test_an_archive_that_moves_takes_no_items_along(tmp_path: Path) -> None:
    assert after_a_move(tmp_path, NAMES) == Counter(victim=2 * ITEMS)


def test_an_archive_that_is_switched_off_closes_no_other_archive(tmp_path: Path) -> None:
    assert after_a_switch_off(tmp_path, NAMES) == Counter(victim=2 * ITEMS)


def test_an_archive_that_moves_bites(tmp_path: Path) -> None:
    """The twin: where every confirmation proves the place, all items go along."""
    assert after_a_move(tmp_path, WITHOUT_STRANGERS) == Counter(rogue=2 * ITEMS)


def test_an_archive_that_is_switched_off_bites(tmp_path: Path) -> None:
    """The twin: where every confirmation proves the place, the victim's readers go nowhere."""
    assert after_a_switch_off(tmp_path, WITHOUT_STRANGERS) == Counter(nowhere=2 * ITEMS)
