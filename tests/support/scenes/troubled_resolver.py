"""A resolver whose archives contradict each other, lead in a circle, or do not answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final

from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.attacked_resolver import label, service_of
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

CONTESTED, ONE, OTHER = map(label, range(1, 4))
"""An item of two archives, and two items that lead to each other."""
ORIGINAL: Final = "?ibiurl.requireditemstatus=Original"


@dataclass(frozen=True)
class TroubledResolver:
    """A resolver with two archives that answer, and one with an archive that may be silent."""

    resolver: ResolverServer
    rivals: tuple[ArchiveDouble, ArchiveDouble]
    other: ResolverServer
    silent: ArchiveDouble
    numbers: Iterator[int] = field(default_factory=lambda: count(10))

    def fall_silent(self) -> str:
        """Let the archive of the other resolver fail; return an item of it that no cache has."""
        awaited = label(next(self.numbers))
        self.silent.hold(awaited)
        self.silent.behaviour = "unavailable"
        return awaited

    def answer_again(self, awaited: str) -> None:
        """Let that archive answer, until the resolver finds the item."""
        self.silent.behaviour = "archive"
        wait_until(lambda: self.other.get(f"/{awaited}").status == 302)


@contextmanager
def troubled_resolver(folder: Path) -> Iterator[TroubledResolver]:
    """Run the resolvers and the archives."""
    places = [folder / name for name in ("resolver", "other")]
    for place in places:
        place.mkdir()
    with (
        ArchiveDouble(service_of(0)) as first,
        ArchiveDouble(service_of(1)) as second,
        ArchiveDouble(service_of(2)) as silent,
        ResolverServer(places[0]) as resolver,
        ResolverServer(places[1]) as other,
    ):
        for archive in (first, second):
            archive.hold(CONTESTED)
            resolver.include(archive)
        for here, there in ((ONE, OTHER), (OTHER, ONE)):
            first.hold(here, **{"ibi.nextedition": f"ibip {there}"})
        other.include(silent)
        yield TroubledResolver(resolver, (first, second), other, silent)
