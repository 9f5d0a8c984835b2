"""Pages without a mouse, with large text, on a phone, and on paper."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.support.scenes.all_pages import AllPages
from tests.support.scenes.published_items import Published
from tests.support.tools.browsers import Browsers, Visit, Visitor

pytestmark = pytest.mark.browser

_OVERFLOWING = """() => {
  const wide = document.documentElement.scrollWidth > innerWidth;
  const outside = [...document.body.querySelectorAll("*")].filter(each => {
    const box = each.getBoundingClientRect();
    const hides = each.closest(".unseen, .skip, .contours, .excerpt, pre, [hidden]");
    return box.width && box.right > innerWidth + 1 && !hides;
  });
  return wide ? outside.slice(0, 3).map(each => each.outerHTML.slice(0, 200)) : [];
}"""
_FOCUS = """() => {
  const each = document.activeElement;
  const style = getComputedStyle(each);
  const box = each.getBoundingClientRect();
  return {
    html: each.outerHTML.slice(0, 160),
    isBody: each === document.body,
    isSeen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1,
    isOnPage: box.width > 0 && box.height > 0,
    order: [...document.querySelectorAll("*")].indexOf(each),
  };
}"""
_MOST_STOPS = 200
"""Presses of the Tab key after which a page counts as endless."""


def overflowing(page: Page) -> list[str]:
    """Return elements that make the page scroll sideways."""
    found: list[str] = page.evaluate(_OVERFLOWING)
    return found


@pytest.mark.parametrize("language", ["en", "pt"])
def test_no_page_scrolls_sideways_on_a_phone(
    pages: AllPages, browsers: Browsers, language: str
) -> None:
    faults = {}
    with browsers.context(Visitor(language=language, width=390)) as context:
        page = context.new_page()
        for each in pages.kinds(language):
            page.goto(each.url)
            faults[each.url] = overflowing(page)
    assert {url: found for url, found in faults.items() if found} == {}


def test_pages_can_be_read_with_text_of_twice_the_size(pages: AllPages, browsers: Browsers) -> None:
    faults = {}
    with browsers.context(Visitor(width=1280)) as context:
        page = context.new_page()
        for each in pages.kinds("en"):
            page.goto(each.url)
            page.evaluate("document.documentElement.style.fontSize = '200%'")
            faults[each.url] = overflowing(page)
    assert {url: found for url, found in faults.items() if found} == {}


def test_every_page_can_be_used_by_the_keyboard(pages: AllPages, browsers: Browsers) -> None:
    """Every stop of the Tab key shows its focus, and stops follow the order of the page."""
    faults = []
    with browsers.context(Visitor()) as context:
        for each in pages.kinds("en"):
            page = context.new_page()
            page.goto(each.url)
            last = -1
            for _ in range(_MOST_STOPS):
                page.keyboard.press("Tab")
                focus = page.evaluate(_FOCUS)
                if focus["isBody"] or focus["order"] < last:
                    break
                if not (focus["isSeen"] and focus["isOnPage"]):
                    faults.append(f"{each.url}: {focus['html']}")
                last = focus["order"]
            assert last > 0, each.url
            page.close()
    assert faults == []


def test_the_first_stop_skips_to_the_content(library: Published, visit: Visit) -> None:
    visit.open(library.page("report"))
    visit.page.keyboard.press("Tab")
    skip = visit.page.locator("a.skip")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    visit.page.keyboard.press("Enter")
    expect(visit.page.locator("main")).to_be_focused()


def test_citation_styles_are_chosen_by_arrow_keys(library: Published, browsers: Browsers) -> None:
    with browsers.context(Visitor()) as context:
        page = context.new_page()
        page.goto(library.page("report"))
        page.get_by_role("radio", name="ABNT").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator("p.cite:visible")).to_contain_text("Rivera, A. (2023)")


def test_an_item_on_paper_has_its_title_label_and_citation(
    library: Published, browsers: Browsers
) -> None:
    with browsers.context(Visitor(scheme="dark")) as context:
        page = context.new_page()
        page.goto(library.page("report"))
        page.emulate_media(media="print", color_scheme="light")
        for text in ("Sediment of the estuary", library.cited("report"), "RIVERA, A."):
            expect(page.get_by_text(text).first).to_be_visible()
        expect(page.locator(".masthead nav").first).to_be_hidden()
        assert page.pdf().startswith(b"%PDF-")
