"""A resolver and archives that are linked to it, each in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.support.servers.archive import ArchiveServer, neighbour
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until


def link(resolver: ResolverServer, archive: ArchiveServer) -> None:
    """Register an archive, link it, and wait until the resolver includes it."""
    key = resolver.register(archive.service)
    told = archive.api("POST", "resolvers", {"resolver": resolver.address, "key": key})
    assert told.status == 201, told.body
    wait_until(lambda: resolver.archives()[archive.service]["state"] == "included")


@contextmanager
def linked_archives(
    folder: Path, count: int
) -> Iterator[tuple[ResolverServer, list[ArchiveServer]]]:
    """Run a resolver, and so many archives that it includes and that may ask each other."""
    with ExitStack() as stack:
        resolver = stack.enter_context(ResolverServer(folder))
        numbers = range(1, count + 1)
        archives = [stack.enter_context(neighbour(folder, number)) for number in numbers]
        for archive in archives:
            link(resolver, archive)
        yield resolver, archives
