"""A resolver leads each client to the form of an item that it prefers, also from its caches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.resolver import ResolverServer

LABEL: Final = "8JMKD3MGP7W/3EPGUE5"
POOR: Final = "8JMKD3MGP8W/35MMLL8"
BROWSER: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
BIBTEX: Final = "application/x-bibtex"


@pytest.fixture(scope="module")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResolverServer]:
    folder: Path = tmp_path_factory.mktemp("resolver")
    server = ResolverServer(folder)
    server.set(hot_seconds=60.0)
    server.wanted_workers = ""  # what is warm is so in one process
    with ArchiveDouble() as archive, server:
        for label in (LABEL, POOR):
            archive.hold(label, url=f"http://{archive.address}/file")
        for name in ("bibtex", "oai_dc", "bibliography"):
            archive.items[LABEL] |= {
                f"ibi.metadata({name})": "rep example.org/banon/2003/01.02.03.05",
                f"url.metadata({name})": f"http://{archive.address}/m?choice={name}",
                f"contenttype.metadata({name})": "Metadata",
                f"state.metadata({name})": "Original",
            }
        server.include(archive)
        yield server


def place(resolver: ResolverServer, path: str, accept: str) -> str:
    """Return where a client is sent, without the address of the archive."""
    answer = resolver.get(path, Accept=accept)
    assert answer.status == 302, answer.body
    assert answer.headers["vary"] == "Accept"
    return "/" + answer.headers["location"].split("/", 3)[3]


def test_caches_never_mix_the_forms_of_an_item_up(resolver: ResolverServer) -> None:
    wanted = {BROWSER: "/file", BIBTEX: "/m?choice=bibtex", "application/xml": "/m?choice=oai_dc"}
    before = int(resolver.metric("ibi_resolver_warm_answers"))
    for _ in range(4):
        for accept, path in wanted.items():
            assert place(resolver, f"/{LABEL}", accept) == path
        assert place(resolver, f"/{LABEL}", "*/*") == "/file"
        assert place(resolver, f"/{LABEL}:(bibtex)", BROWSER) == "/m?choice=bibtex"
    warm = int(resolver.metric("ibi_resolver_warm_answers")) - before
    assert warm >= 3 * 2  # browsers and programs that take anything, after the first time


def test_the_order_of_the_client_decides_among_what_there_is(resolver: ResolverServer) -> None:
    preferred = "application/vnd.datacite.datacite+xml, application/x-bibtex;q=0.5"
    assert place(resolver, f"/{LABEL}", preferred) == "/m?choice=bibtex"
    assert place(resolver, f"/{POOR}", f"{BIBTEX}, */*;q=0.1") == "/file"
    # Whether it takes the file is known to the archive alone.
    assert place(resolver, f"/{POOR}", "application/pdf") == "/file"
    cited = "text/x-bibliography; style=apa; locale=pt-BR"
    assert place(resolver, f"/{LABEL}", cited) == "/m?choice=bibliography&style=apa&locale=pt-BR"


def test_nothing_that_fits_is_a_refusal_with_the_list(resolver: ResolverServer) -> None:
    answer = resolver.get(f"/{POOR}", Accept=BIBTEX)
    assert (answer.status, answer.headers["content-type"]) == (406, "application/problem+json")
    assert {"oai_dc", "bibtex", "datacite", "bibliography"} <= set(answer.json()["formats"])
    assert "Accept" in answer.headers["vary"]
    unknown = resolver.get("/8JMKD3MGP8W/35MMLA8", Accept=BIBTEX)
    assert unknown.status == 404
