"""Where people and programs land that follow a label: on the page of the item, or in its file."""

from __future__ import annotations

import re
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
    "a fetch of what it is": PERSON | {"Accept": "application/zip"},
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


@pytest.mark.parametrize("headers", [PERSON, TYPED, OWN, {}], ids=["followed", "typed", "own", ""])
def test_a_file_that_is_asked_for_by_its_path_is_the_file(
    landing: Landing, headers: dict[str, str]
) -> None:
    answer = landing.get(f"/{landing.packed['ibip']}/data.zip", headers)
    assert answer.status == 302
    path = answer.headers["location"].removeprefix(landing.archive.address)
    assert landing.get(path, headers).body == ZIP


def test_people_get_what_browsers_show(landing: Landing) -> None:
    target = landing.file(landing.shown, "a.txt")
    answer = landing.get(f"/{landing.shown['ibip']}", PERSON)
    assert answer.headers["location"] == landing.archive.address + target
    assert answer.headers["vary"] == "Accept"
    assert landing.get(target, PERSON).body == b"a text"


def test_people_land_on_the_page_of_several_files_without_a_chosen_target(
    landing: Landing,
) -> None:
    archive = landing.archive
    several = archive.deposit({"b.txt": b"second", "a.txt": b"first"})
    target = landing.file(several, "a.txt")
    for path in (f"/{several['ibip']}", landing.file(several, ""), target):
        assert landing.get(path, PERSON).headers["location"] == landing.page(several)
    for path in (f"/{several['ibip']}", landing.file(several, "")):
        answer = landing.get(path, {})
        assert (answer.headers["location"], answer.headers["vary"]) == (
            archive.address + target,
            VARY,
        )
    assert landing.get(target, {}).body == b"first"
    other = landing.get(landing.file(several, "b.txt"), PERSON)
    assert other.body == b"second"
    page = landing.get(f"/col/{several['metadata']['rep']}/doc/metadata", OWN).body.decode()
    assert 'class="act main big" href="#files"' in page
    assert archive.item(several["rep"])["target_chosen"] is False
    chosen = archive.api("PATCH", f"items/{several['rep']}", {"target": "a.txt"})
    assert "target_chosen" not in chosen.json()
    answer = landing.get(f"/{several['ibip']}", PERSON)
    assert answer.headers["location"] == archive.address + target


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


def chain(archive: ArchiveServer, count: int) -> list[dict[str, Any]]:
    """Deposit so many editions; return the first first."""
    found: list[dict[str, Any]] = []
    for number in range(count):
        wanted = {"edition_of": found[-1]["rep"]} if found else {}
        named = {"titles": [f"Edition {number}"]}
        found.append(archive.deposit({"a.txt": b"a"}, metadata=named, **wanted))
    return found


def listed(page: str) -> list[int]:
    """Return the numbers of the editions of a page, in its order."""
    timeline = page.partition('<ol class="timeline')[2].partition("</ol>")[0]
    return [int(each) for each in re.findall(r">Edition (\d+)</(?:a|b)>", timeline)]


def follow(landing: Landing, page: str, relation: str) -> str:
    """Return the page that a link of this relation leads to."""
    found = re.search(f'rel="{relation}" href="([^"]+)"', page)
    assert found is not None, relation
    answer = landing.get(found[1], OWN)
    path = answer.headers["location"].removeprefix(landing.archive.address)
    return landing.get(path, OWN).body.decode()


def test_all_editions_are_on_pages_of_a_list(landing: Landing) -> None:
    editions = chain(landing.archive, 120)
    middle = f"/col/{editions[60]['metadata']['rep']}/doc/metadata"
    assert f"{middle}?list=editions" in landing.get(middle, OWN).body.decode()
    page = landing.get(f"{middle}?list=editions", OWN).body.decode()
    assert listed(page) == list(range(85, 34, -1))
    assert '<li aria-current="true"><b dir="auto">Edition 60</b>' in page
    assert "newest</span>" not in page
    later = follow(landing, page, "prev")
    assert listed(later) == list(range(119, 68, -1))
    assert 'rel="prev"' not in later
    assert "newest" in later
    earlier = follow(landing, page, "next")
    assert listed(earlier) == list(range(50, -1, -1))
    assert 'rel="next"' not in earlier
    newest = f"/col/{editions[-1]['metadata']['rep']}/doc/metadata?list=editions"
    assert listed(landing.get(newest, OWN).body.decode()) == list(range(119, 68, -1))
    # The address of the list below the label is stable too.
    short = landing.get(f"/{editions[60]['ibip']}:?list=editions", OWN)
    assert short.headers["location"] == f"{landing.archive.address}{middle}?list=editions"


def test_a_short_list_of_editions_is_one_page(landing: Landing) -> None:
    editions = chain(landing.archive, 3)
    for edition in editions:
        address = f"/col/{edition['metadata']['rep']}/doc/metadata?list=editions"
        page = landing.get(address, OWN).body.decode()
        assert listed(page) == [2, 1, 0]
        assert 'rel="next"' not in page
        assert 'rel="prev"' not in page
    landing.archive.api("POST", f"items/{editions[1]['rep']}/deletion", {"reason": "wrong"})
    gone = f"/col/{editions[1]['metadata']['rep']}/doc/metadata?list=editions"
    assert landing.get(gone, OWN).status in {404, 410}


CODES: Final = (
    "aa ab af ak am ar as av ay az ba be bg bh bm bn bo br bs ca ce ch co cs cu cv cy da de dv dz "
    "ee el eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi hr ht hu hy"
)


def test_many_translations_are_on_pages_of_a_list(landing: Landing) -> None:
    archive, codes = landing.archive, CODES.split()
    item = archive.deposit({"a.txt": b"a"}, language="en", metadata={"titles": ["A word"]})
    archive.deposit(
        {"a.txt": b"a"},
        language="pt",
        translation_of=item["rep"],
        metadata={"titles": ["Uma palavra"]},
    )
    elsewhere = {
        language: f"example.org/elsewhere/2020/01.01.00.{number:02}"
        for number, language in enumerate(codes)
    }
    for label in (item["rep"], item["metadata"]["rep"]):
        wanted = {"translations": elsewhere, "unchecked": True}
        changed = archive.api("PATCH", f"items/{label}", wanted)
        assert changed.status == 200, changed.body
    address = f"/col/{item['metadata']['rep']}/doc/metadata"
    page = landing.get(address, OWN).body.decode()
    tongues = page.partition('class="tongues"')[2].partition("</nav>")[0]
    assert tongues.count("hreflang") == 13
    assert f'{address}?list=translations">All languages' in tongues
    assert f'{address}?list=metadata">All languages' in page
    first = landing.get(f"{address}?list=translations", OWN).body.decode()
    assert f"{len(codes) + 2} languages" in first
    following = re.search(r'rel="next" href="([^"]+)"', first)
    assert following is not None
    onward = following[1].replace("&amp;", "&").removeprefix(archive.address)
    second = landing.get(onward, OWN).body.decode()
    assert 'rel="next"' not in second
    lists = [
        each.partition('<ul class="lines">')[2].partition("</ul>")[0] for each in (first, second)
    ]
    tags = [re.findall(r'hreflang="(\w+)"', each) for each in lists]
    assert len(tags[0]) == 50
    assert [*tags[0], *tags[1]] == sorted([*codes, "en", "pt"])
    assert '<span dir="auto" lang="en">A word</span>' in first
    assert '<span dir="auto" lang="pt">Uma palavra</span>' in second
    metadata = landing.get(f"{address}?list=metadata", OWN).body.decode()
    assert "Metadata of A word in other languages" in metadata
    assert metadata.count("/example.org/elsewhere/") == 49
