"""Items for some readers, through a resolver that discloses networks only, as it is shipped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support.clients.local_address import read_from
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.federation import linked_archives
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

READER: Final = "127.0.7.7"
NEIGHBOUR: Final = "127.0.7.8"
"""A reader in the network of the other one."""

Federation = tuple[ResolverServer, list[ArchiveServer]]


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    with linked_archives(tmp_path_factory.mktemp("readers"), 2) as started:
        yield started


def limited(archive: ArchiveServer, *networks: str) -> dict[str, Any]:
    """Deposit an item that readers of these networks may read."""
    return archive.deposit({"book.txt": b"a book"}, readers=list(networks))


def place(resolver: ResolverServer, item: dict[str, Any], reader: str) -> str:
    """Return where the resolver sends a reader."""
    answer = read_from(reader, resolver.address, f"/{item['ibip']}")
    assert answer.status == 302, answer.body
    return answer.headers["location"]


def test_a_reader_at_the_one_address_of_an_item_gets_the_file(federation: Federation) -> None:
    resolver, [archive, _] = federation
    item = limited(archive, f"{READER}/32")
    for _ in range(2):  # from the archive, and from the cache
        found = place(resolver, item, READER)
        assert found == item["url"]
        assert read_from(READER, archive.address, found).body == b"a book"
        page = place(resolver, item, NEIGHBOUR)
        assert page != found
        assert item["metadata"]["rep"] in page
    wait_until(lambda: counted(archive, item) == 4)


def counted(archive: ArchiveServer, item: dict[str, Any]) -> int:
    total: int = archive.api("GET", f"statistics?item={item['rep']}").json()["total"]
    return total


def test_readers_of_a_network_get_the_file_as_before(federation: Federation) -> None:
    resolver, [_, archive] = federation
    item = limited(archive, "127.0.7.0/24")
    for reader in (READER, NEIGHBOUR):
        assert place(resolver, item, reader) == item["url"]
    assert place(resolver, item, "127.0.8.8") != item["url"]


@pytest.mark.parametrize(("setting", "is_file"), [("full", True), ("none", False)])
def test_a_setting_discloses_more_or_less(
    federation: Federation, setting: str, *, is_file: bool
) -> None:
    resolver, [archive, _] = federation
    item = limited(archive, f"{READER}/32")
    resolver.stop()
    resolver.set(client_address=setting)
    resolver.start()
    try:
        wait_until(lambda: resolver.archives()[archive.service]["state"] == "included")
        assert (place(resolver, item, READER) == item["url"]) == is_file
    finally:
        resolver.stop()
        resolver.set(client_address="network")
        resolver.start()
