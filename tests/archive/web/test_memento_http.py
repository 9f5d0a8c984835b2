"""Editions as Memento has versions (RFC 7089), as the library `memento_client` asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest
from memento_client import MementoClient

from tests.support.servers.archive import ArchiveServer

LABELS = (
    "sid.inpe.br/mtc-m19/2008/01.02.03.04.05",
    "sid.inpe.br/mtc-m19/2010/06.07.08.09.10",
    "sid.inpe.br/mtc-m19/2013/09.04.12.27.57",
)
TIMES = (
    datetime(2008, 1, 2, 3, 4, 5),  # noqa: DTZ001  # as the library has times
    datetime(2010, 6, 7, 8, 9, 10),  # noqa: DTZ001
    datetime(2013, 9, 4, 12, 27, 57),  # noqa: DTZ001
)
LATER = "Wed, 01 Jan 2020 00:00:00 GMT"


@dataclass(frozen=True)
class Shelf:
    """An archive with an item of three editions, and one that has no other."""

    archive: ArchiveServer
    single: dict[str, Any]

    def url(self, number: int) -> str:
        """Return the persistent URL of an edition."""
        return f"{self.archive.address}/{LABELS[number]}"

    def at(self, number: int, moment: str) -> str:
        """Ask the TimeGate by an edition; return where it leads."""
        answer = self.archive.get(f"/timegate/{LABELS[number]}", accept_datetime=moment)
        assert answer.status == 302
        assert answer.headers["vary"].lower() == "accept-datetime"
        assert "memento-datetime" not in answer.headers
        return answer.headers["location"]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    archive = ArchiveServer(tmp_path_factory.mktemp("editions"))
    archive.set(adopts=["sid.inpe.br/mtc-m19"])
    with archive:
        before = ""
        for number, label in enumerate(LABELS):
            archive.deposit(
                {"a.txt": b"a"},
                adoption={"labels": [label]},
                edition_of=before,
                metadata={"titles": [f"Edition {number + 1}"]},
            )
            before = label
        yield Shelf(archive, archive.deposit({"a.txt": b"a"}))


def test_a_client_finds_the_edition_of_a_moment(shelf: Shelf) -> None:
    client = MementoClient(f"{shelf.archive.address}/timegate/", check_native_timegate=False)
    for number, asked in enumerate(TIMES):
        found = client.get_memento_info(shelf.url(0), asked.replace(month=12, day=31))
        told = found["mementos"]
        assert told["closest"]["datetime"] == asked
        assert told["closest"]["uri"][0].endswith(f"/col/{LABELS[number]}/doc/a.txt")
        assert told["first"] == {"datetime": TIMES[0], "uri": [shelf.url(0)]}
        assert told["last"] == {"datetime": TIMES[2], "uri": [shelf.url(2)]}
    assert MementoClient.is_timegate(f"{shelf.archive.address}/timegate/{LABELS[1]}")
    assert MementoClient.is_memento(shelf.url(1))
    assert client.get_original_uri(shelf.url(1)) == f"{shelf.url(1)}!"


def test_the_gate_leads_as_the_standard_has_it(shelf: Shelf) -> None:
    for number in range(3):  # from whichever edition one comes
        assert shelf.at(number, LATER) == shelf.url(2)
        assert shelf.at(number, "") == shelf.url(2)
        assert shelf.at(number, "Sat, 01 Jan 2000 00:00:00 GMT") == shelf.url(0)
        assert shelf.at(number, "Mon, 07 Jun 2010 08:09:10 GMT") == shelf.url(1)
        assert shelf.at(number, "Mon, 07 Jun 2010 08:09:09 GMT") == shelf.url(0)
    gate = f"/timegate/{LABELS[1]}"
    assert shelf.archive.get(gate, accept_datetime="yesterday").status == 400
    assert shelf.archive.ask("HEAD", gate, token="").status == 302
    single = shelf.archive.get(f"/timegate/{shelf.single['ibip']}", accept_datetime=LATER)
    assert single.headers["location"] == shelf.single["persistent_url"]
    for path in ("/timegate/", "/timegate/example.org/x/2020/01.01.00.00", "/timemap/nothing"):
        assert shelf.archive.get(path).status == 404


def test_the_map_has_all_editions(shelf: Shelf) -> None:
    answer = shelf.archive.get(f"/timemap/{LABELS[1]}")
    assert answer.headers["content-type"] == "application/link-format"
    links = MementoClient.parse_link_header(answer.body.decode().replace("\n", " "))
    dated = {uri: each["datetime"][0] for uri, each in links.items() if "datetime" in each}
    assert dated == {
        shelf.url(n): MementoClient.convert_to_http_datetime(TIMES[n]) for n in range(3)
    }
    assert links[shelf.url(0)]["rel"] == ["first", "memento"]
    assert links[shelf.url(2)]["rel"] == ["last", "memento"]
    assert links[f"{shelf.url(1)}!"]["rel"] == ["original"]
    assert links[f"{shelf.archive.address}/timegate/{LABELS[1]}"]["rel"] == ["timegate"]


def test_editions_say_their_time_and_others_do_not(shelf: Shelf) -> None:
    item = shelf.archive.item(LABELS[1])
    page = f"/col/{item['metadata']['rep']}/doc/metadata"
    for path in (page, f"/{LABELS[1]}", f"/col/{LABELS[1]}/doc/a.txt"):
        answer = shelf.archive.ask("HEAD", path, token="")
        assert answer.headers["memento-datetime"] == "Mon, 07 Jun 2010 08:09:10 GMT", path
        for relation in ("original", "timegate", "timemap", "cite-as"):
            assert f'rel="{relation}"' in answer.headers["link"], path
    newest = shelf.archive.get(f"/{LABELS[1]}!")
    assert newest.status == 302
    assert "memento-datetime" not in newest.headers
    assert 'rel="timegate"' in newest.headers["link"]
    for path in (f"/{shelf.single['ibip']}", f"/col/{shelf.single['rep']}/doc/a.txt"):
        answer = shelf.archive.get(path)
        assert "memento-datetime" not in answer.headers
        assert "timegate" not in answer.headers["link"]


def test_a_deleted_edition_is_no_memento(shelf: Shelf) -> None:
    path = f"items/{LABELS[1].replace('/', '%2F')}/deletion"
    assert shelf.archive.api("POST", path, {"reason": "Wrong."}).status == 200
    assert shelf.at(0, "Mon, 07 Jun 2010 08:09:10 GMT") == shelf.url(0)
    assert shelf.at(1, LATER) == shelf.url(2)
    assert LABELS[1] not in shelf.archive.get(f"/timemap/{LABELS[0]}").body.decode()
