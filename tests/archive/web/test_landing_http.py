"""Where people and programs land that follow a label: on the page of the item, or in its file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.clients.http import Answer
from tests.support.servers.archive import ArchiveServer

PERSON: Final = {
    "Accept": "text/html,application/xhtml+xml",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-Site": "cross-site",
}
"""The headers of a browser that follows a link of another site."""
OWN: Final = PERSON | {"Sec-Fetch-Site": "same-origin"}
TYPED: Final = PERSON | {"Sec-Fetch-Site": "none"}
PROGRAMS: Final[dict[str, dict[str, str]]] = {
    "nothing": {},
    "anything": {"Accept": "*/*"},
    "an older browser": {"Accept": "text/html"},
    "an image": {"Accept": "image/*", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
    "a frame": PERSON | {"Sec-Fetch-Dest": "iframe"},
    "a fetch of JSON": PERSON | {"Accept": "application/json"},
}
ZIP: Final = b"PK\x05\x06" + bytes(18)
VARY: Final = "Accept, Sec-Fetch-Mode, Sec-Fetch-Site"


@dataclass(frozen=True)
class Landing:
    """An archive with an item whose target browsers do not show, and one whose target they do."""

    archive: ArchiveServer
    packed: dict[str, Any]
    shown: dict[str, Any]

    def get(self, path: str, headers: dict[str, str]) -> Answer:
        """Ask for a path, as a person or a program does."""
        return self.archive.get(path, **headers)

    def page(self, item: dict[str, Any]) -> str:
        """Return the address of the page of an item."""
        return f"{self.archive.address}/col/{item['metadata']['rep']}/doc/metadata"

    def file(self, item: dict[str, Any], path: str) -> str:
        """Return the path of a file of an item."""
        return f"/col/{item['rep']}/doc/{path}"


def landing_of(folder: Path, **settings: object) -> Iterator[Landing]:
    archive = ArchiveServer(folder)
    archive.set(**settings)
    with archive:
        packed = archive.deposit({"data.zip": ZIP, "more.zip": ZIP}, target="data.zip")
        shown = archive.deposit({"a.txt": b"a text"})
        yield Landing(archive, packed, shown)


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Landing]:
    yield from landing_of(tmp_path_factory.mktemp("archive"))


@pytest.mark.parametrize("headers", [PERSON, TYPED], ids=["followed", "typed"])
@pytest.mark.parametrize("place", ["label", "folder", "target"])
def test_people_land_on_the_page_of_what_browsers_do_not_show(
    landing: Landing, place: str, headers: dict[str, str]
) -> None:
    packed = landing.packed
    path = {
        "label": f"/{packed['ibip']}",
        "folder": landing.file(packed, ""),
        "target": landing.file(packed, "data.zip"),
    }[place]
    answer = landing.get(path, headers)
    assert (answer.status, answer.headers["location"]) == (302, landing.page(packed))
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["vary"] == VARY
    page = landing.get(f"/{packed['ibip']}:", headers)
    assert page.headers["location"] == landing.page(packed)


@pytest.mark.parametrize("headers", PROGRAMS.values(), ids=list(PROGRAMS))
def test_programs_get_the_file(landing: Landing, headers: dict[str, str]) -> None:
    packed = landing.packed
    target = landing.file(packed, "data.zip")
    for path in (f"/{packed['ibip']}", landing.file(packed, "")):
        answer = landing.get(path, headers)
        assert (answer.status, answer.headers["vary"]) == (302, VARY)
        assert answer.headers["location"] == landing.archive.address + target
    answer = landing.get(target, headers)
    assert (answer.status, answer.body, answer.headers["vary"]) == (200, ZIP, VARY)


def test_links_of_the_archive_itself_lead_to_the_file(landing: Landing) -> None:
    target = landing.file(landing.packed, "data.zip")
    assert landing.get(target, OWN).body == ZIP
    page = landing.get(f"/col/{landing.packed['metadata']['rep']}/doc/metadata", OWN)
    assert f'class="act main big" href="{target}" download' in page.body.decode()
    assert landing.get(f"/{landing.packed['ibip']}", OWN).headers["location"] == landing.page(
        landing.packed
    )


def test_other_files_are_always_files(landing: Landing) -> None:
    other = landing.file(landing.packed, "more.zip")
    assert landing.get(other, PERSON).body == ZIP
    answer = landing.get(f"/{landing.packed['ibip']}/more.zip", PERSON)
    assert answer.headers["location"] == landing.archive.address + other


def test_people_get_what_browsers_show(landing: Landing) -> None:
    target = landing.file(landing.shown, "a.txt")
    answer = landing.get(f"/{landing.shown['ibip']}", PERSON)
    assert answer.headers["location"] == landing.archive.address + target
    assert "vary" not in answer.headers
    assert landing.get(target, PERSON).body == b"a text"


def test_an_archive_may_always_show_the_file(tmp_path: Path) -> None:
    for landing in landing_of(tmp_path, landing="standard"):
        target = landing.file(landing.packed, "data.zip")
        answer = landing.get(f"/{landing.packed['ibip']}", PERSON)
        assert answer.headers["location"] == landing.archive.address + target
        assert landing.get(target, PERSON).body == ZIP


def test_an_archive_may_always_show_the_page(tmp_path: Path) -> None:
    for landing in landing_of(tmp_path, landing="page"):
        for item, name in ((landing.packed, "data.zip"), (landing.shown, "a.txt")):
            target = landing.file(item, name)
            for path in (f"/{item['ibip']}", target):
                answer = landing.get(path, PERSON)
                assert answer.headers["location"] == landing.page(item)
                assert landing.get(path, {}).headers.get("location", target).endswith(target)
            assert landing.get(target, OWN).status == 200


def test_the_page_of_an_item_shows_its_editions_and_its_public_history(landing: Landing) -> None:
    archive = landing.archive
    first = archive.deposit({"a.txt": b"1"}, metadata={"titles": ["The first"]})
    newest = first
    for number in range(8):
        named = {"titles": [f"Edition {number}"]}
        newest = archive.deposit({"a.txt": b"2"}, edition_of=newest["rep"], metadata=named)
    page = archive.get(f"/col/{first['metadata']['rep']}/doc/metadata", **PERSON).body.decode()
    assert "A newer edition exists." in page
    assert "Edition 4</a>" in page
    assert "Edition 5</a>" not in page
    assert "Later editions" in page
    assert "<span>Deposited</span>" in page
    last = archive.get(f"/col/{newest['metadata']['rep']}/doc/metadata", **PERSON).body.decode()
    assert "A newer edition exists." not in last
    assert "Edition 2</a>" in last
    assert "The first" not in last
    assert "Earlier editions" in last
