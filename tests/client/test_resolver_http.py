"""A resolver, from Python."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ibi import Client, PersistentUrl, ResolverRefusedError, ResolverUnreachableError, parse
from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.port_reservation import reserved_port
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

LABEL = "8JMKD3MGP7W/3EPGUE5"


@pytest.fixture(scope="module")
def federation(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[ResolverServer, ArchiveDouble]]:
    with ArchiveDouble() as archive, ResolverServer(tmp_path_factory.mktemp("client")) as resolver:
        archive.hold(LABEL)
        resolver.include(archive)
        yield resolver, archive


def test_a_label_in_any_form_leads_to_its_url(
    federation: tuple[ResolverServer, ArchiveDouble],
) -> None:
    resolver, archive = federation
    client = Client(resolver.address)
    url = archive.items[LABEL]["url"]
    # One worker was told of the archive; others soon know.
    wait_until(lambda: [each["state"] for each in client.archives()] == ["included"])
    assert client.resolve(LABEL) == url
    assert client.resolve(parse(LABEL)) == url
    assert client.resolve(PersistentUrl.parse(f"{LABEL}?a=b")) == f"{url}?a=b"
    assert client.resolve(f"http://urlib.net/{LABEL}", language="pt") == url
    assert client.explain(LABEL)["location"] == url
    assert [each["service_ibi"] for each in client.archives()] == [archive.service]
    # Whoever only wants to know is no reader.
    assert not archive.acknowledged


def test_what_leads_nowhere_says_why(federation: tuple[ResolverServer, ArchiveDouble]) -> None:
    client = Client(federation[0].address)
    with pytest.raises(ResolverRefusedError, match="none has the item") as refused:
        client.resolve("8JMKD3MGP8W/35MMLL8")
    assert refused.value.status == 404
    with pytest.raises(ResolverRefusedError) as refused:
        client.resolve("no label")
    assert refused.value.status == 400
    with pytest.raises(ResolverUnreachableError):
        Client(f"http://127.0.0.1:{reserved_port()}").resolve(LABEL)
