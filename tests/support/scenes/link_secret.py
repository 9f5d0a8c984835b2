"""An archive that is linked to a resolver whose secret the test knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.support.doubles.resolver import ResolverDouble
from tests.support.servers.archive import ArchiveServer
from tests.support.waiting import wait_until

SECRET: Final = "5e" * 32
KEY: Final = "0123456789-0123456789"


@contextmanager
def linked(archive: ArchiveServer) -> Iterator[ResolverDouble]:
    """Link an archive to a resolver that gives it the secret."""
    with ResolverDouble({archive.service: KEY}) as resolver:
        resolver.further = f" linksecret {SECRET}"
        told = archive.api("POST", "resolvers", {"resolver": resolver.address, "key": KEY})
        assert told.status == 201, told.body
        wait_until(lambda: states(archive)[resolver.address] == "included")
        yield resolver


def states(archive: ArchiveServer) -> dict[str, str]:
    """Return the states of the archive's links by resolver."""
    found = archive.api("GET", "resolvers").json()["links"]
    return {each["resolver"]: each["state"] for each in found}
