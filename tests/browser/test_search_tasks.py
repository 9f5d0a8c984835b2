"""What readers do to find something: search, narrow, sort, turn pages, browse."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.support.scenes.published_items import RESULTS, Published
from tests.support.tools.browsers import Visit

pytestmark = pytest.mark.browser

PAGE = 20
"""Results that a page shows."""
BAY = re.compile("The bay|A baía")
"""The title of the collection, in the languages that it has."""


def search(visit: Visit, words: str) -> None:
    """Write into the search field of the page, and press Enter."""
    field = visit.page.locator("main").get_by_role("searchbox")
    field.fill(words)
    field.press("Enter")


def test_search_in_an_archive(library: Published, visit: Visit) -> None:
    visit.open(f"{library.archive}/")
    search(visit, "bathymetry")
    visit.page.locator(".entries").get_by_role("link", name="Bathymetry of the bay").click()
    expect(visit.heading).to_have_text("Bathymetry of the bay")


def test_search_from_every_other_page(library: Published, visit: Visit) -> None:
    places = ("/statistics", "/browse", "/collections", "/no-such-page")
    for place in (library.page("dataset"), *(f"{library.archive}{each}" for each in places)):
        visit.open(place)
        field = visit.page.get_by_role("banner").get_by_role("searchbox")
        expect(field).to_be_in_viewport()
    field.fill("bathymetry")
    field.press("Enter")
    visit.page.locator(".entries").get_by_role("link", name="Bathymetry of the bay").click()
    expect(visit.heading).to_have_text("Bathymetry of the bay")


def test_turn_the_pages_of_results(library: Published, visit: Visit) -> None:
    visit.open(f"{library.archive}/")
    search(visit, "estuary survey")
    entries = visit.page.locator(".entries > li")
    expect(entries).to_have_count(PAGE)
    visit.link("Next").click()
    expect(entries).to_have_count(RESULTS - PAGE)
    if visit.visitor.engine == "firefox":
        # Debian's Firefox never goes back when Playwright asks it to, whatever the page.
        visit.page.locator(".pages ol a").first.click()
    else:
        visit.page.go_back()
    expect(entries).to_have_count(PAGE)


def test_narrow_and_widen_a_search(library: Published, visit: Visit) -> None:
    visit.open(f"{library.archive}/search?q=estuary")
    if visit.visitor.width < 800:
        visit.link("Narrow").click()
    facet = visit.page.locator("#facets details").filter(
        has=visit.page.get_by_text(visit.visitor.says("Year"), exact=True)
    )
    facet.get_by_role("link", name=re.compile("^2009")).click()
    expect(visit.page.locator(".entries > li")).to_have_count(1)
    visit.page.locator(".tags a").first.click()
    expect(visit.page.locator(".entries > li")).to_have_count(PAGE)


def test_sort_results(library: Published, visit: Visit) -> None:
    visit.open(f"{library.archive}/search?q=estuary+survey")
    first = visit.page.locator(".entries h2, .entries h3").first
    visit.page.get_by_label(visit.visitor.says("Sort by")).select_option("oldest")
    visit.button("Sort").click()
    expect(first).to_contain_text("campaign 1")
    assert "sort=oldest" in visit.page.url


def test_find_nothing_and_go_on(library: Published, visit: Visit) -> None:
    visit.open(f"{library.archive}/search?q=nothingofthekind")
    visit.link("browse the archive").click()
    expect(visit.heading).to_have_text(visit.visitor.says("Browse"))


def test_browse_by_year(library: Published, visit: Visit) -> None:
    visit.open(f"{library.archive}/")
    visit.link("By year").click()
    visit.page.locator("main").get_by_role("link", name="2009", exact=True).click()
    expect(visit.page.locator(".entries")).to_contain_text("campaign 10")


def test_browse_a_collection(library: Published, visit: Visit) -> None:
    visit.open(f"{library.archive}/")
    visit.link("Collections").click()
    visit.page.locator("main").get_by_role("link", name=BAY).first.click()
    expect(visit.heading).to_have_text(BAY)
    expect(visit.page.locator(".entries > li")).to_have_count(3)
    search(visit, "bathymetry")
    visit.page.locator(".entries").get_by_role("link", name="Bathymetry of the bay").click()
    expect(visit.heading).to_have_text("Bathymetry of the bay")


def test_read_the_statistics_of_an_archive(library: Published, visit: Visit) -> None:
    visit.open(f"{library.archive}/")
    visit.link("Statistics").click()
    expect(visit.heading).to_have_text(visit.visitor.says("Statistics"))
    visit.link("As a table").click()
    expect(visit.page.get_by_role("table").first).to_be_in_viewport()


def test_paste_a_label_into_the_search_of_an_archive(library: Published, visit: Visit) -> None:
    visit.open(f"{library.archive}/")
    search(visit, library.labels["dataset"])
    expect(visit.heading).to_have_text("Bathymetry of the bay")


def test_search_all_archives_by_words(library: Published, visit: Visit) -> None:
    visit.open(f"{library.resolver}/")
    search(visit, "bathymetry")
    visit.page.get_by_role("link", name="Bathymetry of the bay").click()
    expect(visit.heading).to_have_text("Bathymetry of the bay")


def test_paste_a_whole_reference_into_the_search_of_the_resolver(
    library: Published, visit: Visit
) -> None:
    visit.open(f"{library.resolver}/")
    search(visit, f"RIVERA, A. Bathymetry. 2021. IBI: {library.labels['dataset']}. Accessed 2026.")
    visit.link("Open it").click()
    expect(visit.heading).to_have_text("Bathymetry of the bay")


def test_find_more_of_the_same_person(library: Published, visit: Visit) -> None:
    visit.open(library.page("dataset"))
    visit.page.locator(".people a").first.click()
    expect(visit.page.locator(".entries > li")).to_have_count(PAGE)


def test_paste_a_persistent_url_into_the_search_of_the_resolver(
    library: Published, visit: Visit
) -> None:
    visit.open(f"{library.resolver}/")
    search(visit, library.cited("dataset"))
    visit.link("Open it").click()
    expect(visit.heading).to_have_text("Bathymetry of the bay")
