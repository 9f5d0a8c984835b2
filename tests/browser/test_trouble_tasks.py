"""What readers do when something is wrong: removed items, wrong labels, missing pages."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.support.scenes.all_pages import NEVER_MINTED
from tests.support.scenes.published_items import Published
from tests.support.tools.browsers import Visit

pytestmark = pytest.mark.browser


def test_read_a_tombstone_and_go_to_the_replacement(library: Published, visit: Visit) -> None:
    visit.open(f"{library.archive}/{library.labels['withdrawn']}")
    expect(visit.heading).to_have_text("Depths of the bay")
    expect(visit.page.locator("main")).to_contain_text("The depths were wrong.")
    visit.link("Open the replacement").click()
    expect(visit.heading).to_have_text("Bathymetry of the bay")


def test_follow_the_citation_of_a_removed_item(library: Published, visit: Visit) -> None:
    visit.open(library.cited("withdrawn"))
    expect(visit.heading).to_have_text("Depths of the bay")
    expect(visit.page.locator("main")).to_contain_text("The depths were wrong.")
    expect(visit.page.locator("main")).to_contain_text("410")
    visit.link("Open the replacement").click()
    expect(visit.heading).to_have_text("Bathymetry of the bay")


def test_mend_a_mistyped_label(library: Published, visit: Visit) -> None:
    label = library.labels["dataset"]
    visit.open(f"{library.resolver}/{label.replace('/4', '/3')}")
    visit.page.locator("main").get_by_role("link", name=label).first.click()
    expect(visit.heading).to_have_text("Bathymetry of the bay")


def test_read_why_a_label_leads_nowhere(library: Published, visit: Visit) -> None:
    visit.open(f"{library.resolver}/{NEVER_MINTED}")
    expect(visit.page.locator("main")).to_contain_text(visit.visitor.says("What to do next"))
    expect(visit.page.locator("main")).to_contain_text("404")


def test_come_back_from_a_page_that_is_not_there(library: Published, visit: Visit) -> None:
    for address in (library.archive, library.resolver):
        visit.open(f"{address}/no/such/page")
        expect(visit.heading).to_be_visible()
        visit.page.locator(".masthead .archive a").click()
        visit.page.wait_for_url(f"{address}/*")
        expect(visit.page.locator(".find.big")).to_be_visible()


def test_read_how_a_label_is_found(library: Published, visit: Visit) -> None:
    visit.open(f"{library.resolver}/explain?url={library.labels['report']}")
    expect(visit.page.locator("main")).to_contain_text(library.labels["report"])
