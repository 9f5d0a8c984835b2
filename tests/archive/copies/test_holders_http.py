"""Where copies are held, on the pages of items: two archives and a resolver tell each other."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Final

import pytest

from tests.support.servers.archive import ArchiveServer
from tests.support.servers.federation import linked_archives
from tests.support.waiting import wait_for

NUMBERS: Final = count()


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[ArchiveServer]]:
    with linked_archives(tmp_path_factory.mktemp("holders"), 2) as (_, archives):
        yield archives


def kept_at(archive: ArchiveServer, item: dict[str, Any]) -> str:
    """Return the part of the page of an item that says where it is kept, made anew."""
    path = f"/col/{item['metadata']['rep']}/doc/metadata?round={next(NUMBERS)}"
    page = archive.get(path).body.decode()
    return page.partition('id="copies"')[2].partition("</section>")[0]


def test_both_archives_show_each_other(archives: list[ArchiveServer]) -> None:
    there, here = archives
    item = there.deposit({"a.txt": b"the file"})
    assert here.address not in kept_at(there, item)
    assert here.ibi("copy", item["rep"], "--from", there.address).returncode == 0
    link = (
        f'<a href="{here.address}/{item["ibip"]}:" rel="nofollow" dir="auto">Arquivo de prova</a>'
    )
    shown = wait_for(lambda: kept_at(there, item), lambda found: link in found)
    assert '<span class="state off">A copy</span> <span class="facts">last seen well' in shown
    assert shown.count("<li>") == 2
    ours = kept_at(here, item)
    origin = f'<a href="{there.address}/{item["ibip"]}:" rel="nofollow" dir="auto">Arquivo de prova'
    assert origin in ours
    assert '<span class="state good">Original</span> <span class="facts">last seen well' in ours
    assert ours.count("<li>") == 2


def test_the_archive_that_has_a_copy_is_not_cited_as_its_publisher(
    archives: list[ArchiveServer],
) -> None:
    there, here = archives
    item = there.deposit({"a.txt": b"published there"}, metadata={"titles": ["Rivers"]})
    assert here.ibi("copy", item["rep"], "--from", there.address).returncode == 0
    for archive, is_publisher in ((there, True), (here, False)):
        cited = archive.get(f"/api/v1/items/{item['rep']}/citation?style=apa").body.decode()
        assert ("Arquivo de prova" in cited) == is_publisher
        bibtex = archive.get(f"/{item['rep']}:(bibtex)").headers["location"]
        written = archive.get(bibtex.removeprefix(archive.address)).body.decode()
        assert ("publisher = {Arquivo de prova}" in written) == is_publisher


def test_the_api_names_the_same_archives(archives: list[ArchiveServer]) -> None:
    there, here = archives
    item = there.deposit({"a.txt": b"another file"})
    assert "holders" not in there.item(item["rep"])
    assert here.ibi("copy", item["rep"], "--from", there.address).returncode == 0
    [copy] = wait_for(lambda: there.item(item["rep"]).get("holders", []), bool)
    [origin] = here.item(item["rep"])["holders"]
    named = {"name": "Arquivo de prova"}
    for found, archive, state in ((copy, here, "Copy"), (origin, there, "Original")):
        seen = datetime.fromisoformat(found.pop("seen"))
        assert abs(datetime.now(UTC) - seen) < timedelta(days=1)
        assert found == {"address": archive.address, "state": state, **named}
    shown = there.ibi("show", item["ibip"]).stdout
    assert f"Copy at {here.address}, last seen well" in shown
    assert "holders" not in there.api("GET", "items?q=title").body.decode()


def test_items_with_limited_readers_name_no_holder(archives: list[ArchiveServer]) -> None:
    there, here = archives
    limited = there.deposit({"a.txt": b"a"}, readers=["127.0.0.0/8"])
    public = there.deposit({"a.txt": b"b"})
    for item in (limited, public):
        assert here.ibi("copy", item["rep"], "--from", there.address).returncode == 0
    # Reports are verified in the order in which they came.
    wait_for(lambda: kept_at(there, public), lambda found: here.address in found)
    assert here.address not in kept_at(there, limited)


def test_a_lost_original_has_no_date(archives: list[ArchiveServer]) -> None:
    there, here = archives
    item = there.deposit({"a.txt": b"a"})
    assert here.ibi("copy", item["rep"], "--from", there.address).returncode == 0
    there.api("POST", f"items/{item['rep']}/deletion", {"reason": "gone"})
    assert here.ibi("copies", "--refresh").returncode == 0
    shown = kept_at(here, item)
    assert "not found there since" in shown
    assert "last seen well" not in shown
