"""The part of the browser suite that `make test` runs: a demonstration, read and visited once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.support.scenes.all_pages import AllPages
from tests.support.scenes.published_items import Published, demonstration
from tests.support.tools import page_judges
from tests.support.tools.browsers import Browsers, Visitor


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    with demonstration(tmp_path_factory.mktemp("demo")) as running:
        yield running


@pytest.mark.parametrize("language", ["en", "pt-BR"])
def test_every_page_is_well_formed(demo: Published, language: str) -> None:
    found = AllPages(demo).of(language)
    assert len(found) > 20
    faults = [fault for page in found for fault in page_judges.parse_errors(page.url, page.text)]
    assert page_judges.report(faults) == ""


def test_malformed_pages_are_found() -> None:
    """The twin: faults that the parser must find."""
    text = "<!doctype html><title>x</title><p id=a><div id=a></p><label for=b>B</label>"
    rules = {each.rule for each in page_judges.parse_errors("page", text)}
    assert rules >= {"unexpected-end-tag", "id that stands twice", "for without its element"}


def check(page: Page) -> None:
    """Let axe judge the page that is shown, which must not scroll sideways."""
    assert page_judges.report(page_judges.axe(page, page.url)) == ""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_reader_finds_an_item_and_its_newest_edition(demo: Published, browsers: Browsers) -> None:
    visitor = Visitor(language="pt", width=390, scheme="dark")
    with browsers.context(visitor) as context:
        page = context.new_page()
        page.goto(f"{demo.archive}/")
        check(page)
        page.get_by_role("searchbox").fill(demo.labels["note"])
        page.keyboard.press("Enter")
        page.wait_for_url("**/doc/**")
        page.goto(demo.page("note"))
        expect(page.locator("html")).to_have_attribute("lang", "pt-BR")
        check(page)
        page.get_by_role("link", name=visitor.says("Go to the newest edition")).click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Third edition")
        check(page)


def test_a_reader_opens_a_label_at_the_resolver(demo: Published, browsers: Browsers) -> None:
    visitor = Visitor()
    with browsers.context(visitor) as context:
        page = context.new_page()
        page.goto(f"{demo.resolver}/")
        check(page)
        page.get_by_role("searchbox").or_(page.get_by_role("textbox")).fill(demo.labels["draft"])
        page.keyboard.press("Enter")
        page.get_by_role("link", name=visitor.says("Open it")).click()
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        check(page)
