"""What readers do when something is wrong: removed items, wrong labels, missing pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.support.scenes.all_pages import NEVER_MINTED
from tests.support.scenes.published_items import Published
from tests.support.scenes.troubled_resolver import (
    CONTESTED,
    ONE,
    ORIGINAL,
    OTHER,
    TroubledResolver,
    troubled_resolver,
)
from tests.support.tools.browsers import Visit

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def trouble(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TroubledResolver]:
    with troubled_resolver(tmp_path_factory.mktemp("trouble")) as running:
        yield running


def check_page(visit: Visit, heading: str, advice: str, status: int) -> None:
    """Check that a page says what happened, what to do next, and its status."""
    expect(visit.heading).to_have_text(visit.visitor.says(heading))
    main = visit.page.locator("main")
    expect(main).to_contain_text(visit.visitor.says("What to do next"))
    expect(main).to_contain_text(visit.visitor.says(advice))
    expect(main).to_contain_text(visit.visitor.says("Status %(status)s", status=str(status)))


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


def test_take_the_metadata_in_a_format_that_there_is(library: Published, visit: Visit) -> None:
    visit.open(f"{library.resolver}/{library.labels['dataset']}:(marc)")
    check_page(
        visit,
        "The item does not have what was asked for",
        "Ask for the item itself, or for its metadata.",
        406,
    )
    name = visit.visitor.says("Metadata as %(format)s", format="bibtex")
    expect(visit.page.get_by_role("link", name=name)).to_be_visible()
    visit.link("Open its metadata").click()
    expect(visit.heading).to_have_text("Bathymetry of the bay")


def test_read_a_contested_item_nevertheless(trouble: TroubledResolver, visit: Visit) -> None:
    visit.open(f"{trouble.resolver.address}/{CONTESTED}{ORIGINAL}")
    check_page(
        visit,
        "Archives disagree about who has the Original",
        "The conflict is on record for the operator of this resolver. Until it is settled, ask "
        "for the item without requiring the Original.",
        409,
    )
    for archive in trouble.rivals:
        expect(visit.page.locator("main")).to_contain_text(archive.service)
    visit.link("Open the item itself").click()
    visit.page.wait_for_url(f"**/col/{CONTESTED}/a.html*")


def test_try_again_when_an_archive_has_not_answered(
    trouble: TroubledResolver, visit: Visit
) -> None:
    awaited = trouble.fall_silent()
    visit.open(f"{trouble.other.address}/{awaited}")
    check_page(
        visit,
        "Not all archives have answered",
        "The item may be in an archive that did not answer. Try again in a moment.",
        503,
    )
    expect(visit.page.locator("main")).to_contain_text(trouble.silent.service)
    trouble.answer_again(awaited)
    visit.link("Try again").click()
    visit.page.wait_for_url(f"http://{trouble.silent.address}/**")


def test_open_one_item_of_a_circle(trouble: TroubledResolver, visit: Visit) -> None:
    visit.open(f"{trouble.resolver.address}/{ONE}!")
    check_page(
        visit,
        "This identifier leads in a circle",
        "Open one of the items by itself, and tell the archives that keep them.",
        508,
    )
    visit.page.locator("main").get_by_role("link", name=OTHER, exact=True).click()
    visit.page.wait_for_url(f"**/col/{OTHER}/a.html*")
