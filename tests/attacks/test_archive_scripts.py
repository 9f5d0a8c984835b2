"""Threats, row 9: files that are opened in a real browser, at the address of the archive.

Script that runs marks its document, changes the title, opens a dialog, or calls a canary: one at
another address, and one at the archive's own, which its log would show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

from tests.support.hostile.html_files import MARK, Hostile, Scripts
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked import FULL
from tests.support.servers.attacked_archive import attacked
from tests.support.servers.threaded import QuietHandler, QuietHttpServer, ThreadedServer
from tests.support.tools.chromium import Chromium, Page, chromium
from tests.support.waiting import wait_until

MOMENT: Final = 0.15 if FULL else 0.0
"""Seconds in which a page that was shown goes on to do what it does.

The files of the quick count act before they are shown.
"""
BITING: Final = {
    *("page-script", "page-image", "svg-script", "xml-xhtml", "as-html", "frame-frame"),
}
"""Files that run without the policy, and are waited for."""
COUNT: Final = None if FULL else 10
"""How many are opened; None: all."""

WITHOUT_POLICY: Final = """
from ibi.archive.web.delivery import file_delivery

file_delivery._SANDBOX = file_delivery._PDF = "img-src *"
"""


class Canary(ThreadedServer):
    """A server that remembers who called."""

    def __init__(self) -> None:
        """Listen."""
        self.hits: set[str] = set()
        canary = self

        class Handler(QuietHandler):
            def do_GET(self) -> None:  # a name of the library
                canary.hits.add(self.path)
                self.send_response(204)
                self.end_headers()

        super().__init__(QuietHttpServer(("127.0.0.1", 0), Handler))
        self.address = f"http://127.0.0.1:{self.port}"


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with chromium() as started:
        yield started


def deposited(archive: ArchiveServer, files: list[Hostile]) -> dict[str, Any]:
    """Deposit all of them as one item."""
    id_ = archive.open_deposit(target=files[0].name)
    for each in files:
        named = {"content_type": each.declared} if each.declared else {}
        assert archive.send(id_, each.name, each.content.encode(), **named).status == 201
        folder = each.name.partition("/")[0]
        for name, content in each.beside.items():
            assert archive.send(id_, f"{folder}/{name}", content.encode()).status == 201
    return archive.complete(id_)


def ran(
    browser: Chromium, page: Page, url: str, has_called: Callable[[], bool], *, is_awaited: bool
) -> bool:
    """Open a file and click into it; tell whether anything of it ran, and wait if it has to."""

    def is_seen() -> bool:
        browser.wait_for(lambda _: False, MOMENT)
        return (
            has_called()
            or page.dialogs > 0
            or f'"{MARK}", "' in page.dom()
            or any(each["title"] == "ran" for each in browser.targets())
        )

    before = {each["targetId"] for each in browser.targets()}
    page.open(url)
    seen = is_seen()
    if not seen:
        page.click()
        seen = is_seen()
    if is_awaited and not seen:
        wait_until(is_seen)
        seen = True
    for each in browser.targets():
        if each["targetId"] not in before and each["type"] == "page":
            browser.ask("Target.closeTarget", targetId=each["targetId"])
    return seen


def all_that_ran(folder: Path, browser: Chromium, without: str = "") -> tuple[set[str], int]:
    """Open all files; return those of which script ran, and how many were opened."""
    with Canary() as canary, attacked(folder, without) as archive:
        files = list(Scripts(canary.address).all())[:COUNT]
        item = deposited(archive, files)
        found = set()
        with browser.page() as page:
            for each in files:
                name = each.name.partition("/")[0]
                url = f"{archive.address}/col/{item['rep']}/doc/{quote(each.name)}"

                def has_called(path: str = f"/{name}") -> bool:
                    return path in canary.hits

                if ran(browser, page, url, has_called, is_awaited=bool(without) and name in BITING):
                    found.add(name)
        lines = archive.log()
        for each in files:
            name = each.name.partition("/")[0]
            if f"/{name}" in canary.hits or f'"/ran/{name}"' in lines:
                found.add(name)
        assert f"/doc/{quote(files[-1].name)}" in lines, "the browser did not come"
        return found, len(files)


def test_no_script_of_a_file_runs(tmp_path: Path, browser: Chromium) -> None:
    found, count = all_that_ran(tmp_path, browser)
    assert found == set()
    assert count >= (60 if FULL else 10)


def test_the_files_bite(tmp_path: Path, browser: Chromium) -> None:
    """The twin: the same files without the policy."""
    found, count = all_that_ran(tmp_path, browser, WITHOUT_POLICY)
    assert found >= BITING
    assert len(found) > count / 2
