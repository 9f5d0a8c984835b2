"""What depositors do: files and a form in any order, over connections that break."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.support.clients.browser import PASSWORD
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.cutting_proxy import CuttingProxy
from tests.support.tools.browsers import Browsers, Visitor
from tests.support.waiting import wait_until

pytestmark = pytest.mark.browser

LARGE: Final = 40 << 20
"""Bytes of a file that is sent in three parts."""
VISITORS: Final = (
    Visitor(),
    Visitor(language="pt", width=390),
    Visitor(engine="firefox"),
)


class Depositor:
    """A person with an account, in one browser."""

    def __init__(self, site: Site, context: BrowserContext, visitor: Visitor) -> None:
        self.site = site
        self.context = context
        self.visitor = visitor
        self.page = context.new_page()
        self.name = site.new_name()

    def sign_up(self) -> None:
        """Accept an invitation."""
        made = self.site.archive.api("POST", "invitations", {"role": "depositor"})
        self.page.goto(self.site.proxy.address + urlsplit(made.json()["link"]).path)
        self.page.fill("#name", self.name)
        self.page.fill("#full_name", "Renata Vilela")
        self.page.fill("#password", PASSWORD)
        self.page.fill("#repeated", PASSWORD)
        self.page.locator("main button.main").click()
        self.page.wait_for_url(lambda url: "/invitation/" not in url)

    def sign_in(self, page: Page) -> None:
        """Sign in on a page that asks for it."""
        page.fill("#name", self.name)
        page.fill("#password", PASSWORD)
        page.locator("main button.main").first.click()

    def begin(self) -> str:
        """Open a draft; return its address."""
        self.page.goto(f"{self.site.proxy.address}/deposit")
        self.page.locator("main button.main").click()
        self.page.wait_for_url(re.compile("/deposit/draft"))
        return self.page.url

    def describe(self) -> None:
        """Fill in what is needed."""
        self.page.fill("#title-0", "Soil moisture")
        self.page.select_option("#type-0", "Dataset")
        self.page.fill("#year-0", "2026")
        self.page.fill("#creator-0", "Vilela, Renata Campos")

    def expect_saved(self) -> None:
        """Wait until the form has saved itself."""
        said = self.visitor.says("Saved at %(time)s", time="")
        expect(self.page.locator("#saved")).to_contain_text(said.strip(), timeout=60_000)

    def expect_done(self, path: Path) -> None:
        """Wait until a file is whole, with the checksum that it has."""
        sum_ = hashlib.sha256(path.read_bytes()).hexdigest()
        expect(self.row(path.name).locator("code")).to_contain_text(sum_, timeout=120_000)

    def row(self, name: str) -> Locator:
        """Find the row of a file."""
        return self.page.locator("#file-table tr").filter(has_text=name)

    def click(self, name: str, text: str) -> None:
        """Click a button in the row of a file."""
        said = self.visitor.says(text)
        self.row(name).locator("button", has_text=said).click(timeout=60_000)

    def drop(self, folder: Path) -> None:
        """Drop a folder on the page, as from a window of files."""
        box = self.page.locator("#drop").bounding_box()
        assert box is not None
        session = self.context.new_cdp_session(self.page)
        place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        data = {"items": [], "files": [str(folder)], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            session.send("Input.dispatchDragEvent", {"type": kind, **place, "data": data})

    def publish(self) -> str:
        """Publish by two pages; return the label."""
        said = self.visitor.says("Publish …")
        self.page.locator("#checks button.main", has_text=said).click()
        self.page.wait_for_url(re.compile("/publish"))
        self.page.locator("main form button.main").click()
        expect(self.page.locator(".notice.good")).to_be_visible()
        return self.page.locator("code.label").inner_text().partition("://")[2].partition("/")[2]


class Site:
    """An archive behind a proxy that cuts."""

    def __init__(self, archive: ArchiveServer, proxy: CuttingProxy) -> None:
        self.archive = archive
        self.proxy = proxy
        self._count = 0

    def new_name(self) -> str:
        """Return a name that no account has."""
        self._count += 1
        return f"person{self._count}"

    def items(self) -> int:
        """Return how many items there are."""
        return len(self.archive.api("GET", "items?kind=data&limit=1000").json()["items"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    archive = ArchiveServer(tmp_path_factory.mktemp("deposit"))
    with CuttingProxy() as proxy:
        archive.set(address=proxy.address)
        place = urlsplit(archive.address)
        proxy.target = (str(place.hostname), int(place.port or 0))
        with archive as started:
            yield Site(started, proxy)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("files") / "large.bin"
    path.write_bytes(random.Random(1).randbytes(LARGE))  # noqa: S311  # any bytes
    return path


@pytest.fixture(params=VISITORS, ids=str)
def person(request: pytest.FixtureRequest, site: Site, browsers: Browsers) -> Iterator[Depositor]:
    site.proxy.reopen()
    with browsers.context(request.param) as context:
        found = Depositor(site, context, request.param)
        found.sign_up()
        yield found


def test_deposit_files_and_description_in_any_order(
    person: Depositor, large: Path, tmp_path: Path
) -> None:
    small = tmp_path / "Relatório ção.txt"
    small.write_text("small")
    person.begin()
    person.page.set_input_files("#pick", [str(large), str(small)])
    person.describe()
    person.expect_saved()
    person.expect_done(large)
    person.expect_done(small)
    label = person.publish()
    assert person.site.archive.item(label)["state"] == "Original"


def test_a_connection_that_is_cut_goes_on(person: Depositor, large: Path) -> None:
    person.begin()
    person.site.proxy.cut_after(LARGE // 2)
    before = person.site.proxy.sent
    person.page.set_input_files("#pick", str(large))
    person.expect_done(large)
    assert person.site.proxy.has_cut
    assert person.site.proxy.sent - before < LARGE + (LARGE // 2) + (1 << 20)


def test_after_a_reload_the_same_file_goes_on(person: Depositor, large: Path) -> None:
    address = person.begin()
    before = person.site.proxy.sent
    person.page.set_input_files("#pick", str(large))
    wait_until(lambda: person.site.proxy.sent - before > LARGE // 2)
    person.site.proxy.close()
    person.page.once("dialog", lambda dialog: dialog.accept())
    person.site.proxy.reopen()
    person.page.goto(address)
    person.page.set_input_files("#pick", str(large))
    person.expect_done(large)
    assert person.site.proxy.sent - before < 2 * LARGE


def test_two_windows_do_not_overwrite_each_other(person: Depositor) -> None:
    address = person.begin()
    other = person.context.new_page()
    other.goto(address)
    person.page.fill("#title-0", "From one")
    person.expect_saved()
    other.fill("#title-0", "From two")
    expect(other.locator(".notice.bad")).to_be_visible(timeout=60_000)
    other.locator("aside button[value=save]").click()
    expect(other.locator(".elsewhere").first).to_contain_text("From one")
    expect(other.locator("#title-0")).to_have_value("From two")
    other.locator("aside button[value=save]").click()
    expect(other.locator("h1")).to_contain_text("From two")


def test_a_session_that_ends_loses_nothing(person: Depositor, tmp_path: Path) -> None:
    late = tmp_path / "late.txt"
    late.write_text("chosen after the session had ended")
    address = person.begin()
    person.page.fill("#title-0", "Before")
    person.expect_saved()
    person.context.clear_cookies()
    person.page.fill("#abstract-0", "Typed after the session had ended")
    person.page.set_input_files("#pick", str(late))
    link = person.page.locator(".notice.bad a")
    expect(link).to_be_visible(timeout=60_000)
    with person.context.expect_page() as opened:
        link.click()
    person.sign_in(opened.value)
    expect(person.page.locator(".notice.bad")).to_be_hidden(timeout=60_000)
    person.expect_saved()
    person.expect_done(late)
    again = person.context.new_page()
    again.goto(address)
    expect(again.locator("#abstract-0")).to_have_value("Typed after the session had ended")


def test_a_double_click_publishes_one_item(person: Depositor) -> None:
    person.begin()
    person.describe()
    person.expect_saved()
    before = person.site.items()
    person.page.locator("#checks button.main").click()
    person.page.wait_for_url(re.compile("/publish"))
    person.page.locator("main form button.main").dblclick()
    expect(person.page.locator(".notice.good")).to_be_visible()
    assert person.site.items() == before + 1


def test_a_file_is_stopped_gone_on_with_and_removed(
    person: Depositor, large: Path, tmp_path: Path
) -> None:
    first = tmp_path / "first.txt"
    first.write_text("first")
    address = person.begin()
    person.page.set_input_files("#pick", str(first))
    person.expect_done(first)
    person.site.proxy.close()
    person.page.set_input_files("#pick", str(large))
    person.click(large.name, "Stop")
    person.site.proxy.reopen()
    person.click(large.name, "Go on")
    person.expect_done(large)
    person.click(large.name, "Remove")
    expect(person.row(large.name)).to_have_count(0)
    person.page.goto(address)
    person.expect_done(first)
    expect(person.row(large.name)).to_have_count(0)


@pytest.mark.parametrize("person", VISITORS[:2], ids=str, indirect=True)
def test_a_folder_is_dropped_with_all_that_is_in_it(person: Depositor, tmp_path: Path) -> None:
    """Chromium alone can be told to drop a folder of the disk."""
    folder = tmp_path / "Medições"
    files = [folder / "a.txt", folder / "2025" / "b.txt", folder / "2025" / "c" / "estação.txt"]
    for each in files:
        each.parent.mkdir(parents=True, exist_ok=True)
        each.write_text(each.name)
    address = person.begin()
    person.drop(folder)
    for each in files:
        person.expect_done(each)
    person.page.goto(address)
    for each in files:
        expect(person.row(each.relative_to(tmp_path).as_posix())).to_have_count(1)


@pytest.mark.parametrize(
    "visitor", [Visitor(script=False), Visitor(language="pt", width=390, script=False)], ids=str
)
def test_without_script_a_plain_form_works(
    site: Site, browsers: Browsers, tmp_path: Path, visitor: Visitor
) -> None:
    small = tmp_path / "a.txt"
    small.write_text("small")
    with browsers.context(visitor) as context:
        person = Depositor(site, context, visitor)
        person.sign_up()
        person.begin()
        person.describe()
        person.page.set_input_files("#pick", str(small))
        person.page.locator("button[value=upload]").click()
        person.expect_done(small)
        expect(person.page.locator("#title-0")).to_have_value("Soil moisture")
        label = person.publish()
        assert site.archive.item(label)["state"] == "Original"
