"""What readers do with an item: follow a citation, open, look, cite, go to an edition."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.support.scenes.published_items import EDITIONS, LANGUAGES, Published
from tests.support.tools.browsers import Visit, Visitor

pytestmark = pytest.mark.browser


def test_follow_a_citation_to_something_that_a_browser_cannot_show(
    library: Published, visit: Visit
) -> None:
    visit.open(library.cited("dataset"))
    expect(visit.heading).to_have_text("Bathymetry of the bay")
    expect(visit.page.locator("main")).to_contain_text("Ana Rivera")
    expect(visit.page.locator("main")).to_contain_text(library.cited("dataset"))


def test_follow_a_citation_to_something_that_a_browser_shows(
    library: Published, visit: Visit
) -> None:
    visit.open(library.cited("note"))
    expect(visit.heading).to_have_text("What is an IBI?")
    assert visit.page.url.endswith("/doc/index.html")


def test_open_an_item(library: Published, visit: Visit) -> None:
    visit.open(library.page("note"))
    visit.link("Open").click()
    visit.page.wait_for_url("**/doc/index.html")
    expect(visit.heading).to_have_text("What is an IBI?")


def test_download_an_item(library: Published, visit: Visit) -> None:
    visit.open(library.page("dataset"))
    assert "A1,3.5" in visit.download(visit.link("Download"))


def test_look_at_previews(library: Published, visit: Visit) -> None:
    visit.open(library.page("dataset"))
    shown = visit.page.locator("figure.preview")
    expect(shown.get_by_role("cell", name="3.5")).to_be_visible()
    for name, element in {
        "map.png": "img",
        "README.md": "em",
        "notes.txt": "pre",
        "call.wav": "audio",
        "film.webm": "video",
    }.items():
        row = visit.page.get_by_role("row").filter(has=visit.page.get_by_role("link", name=name))
        row.get_by_role("link", name=visit.visitor.says("preview")).click()
        expect(shown.locator("figcaption")).to_contain_text(name)
        expect(shown.locator(element)).to_be_visible()
    expect(visit.page.locator("iframe, object, embed")).to_have_count(0)


def test_cite_an_item(library: Published, visit: Visit) -> None:
    visit.open(library.page("report"))
    shown = visit.page.locator("p.cite:visible")
    expect(shown).to_have_count(1)
    expect(shown).to_contain_text("RIVERA, A.")
    visit.page.locator("label", has_text="APA").click()
    expect(shown).to_have_count(1)
    expect(shown).to_contain_text("Rivera, A. (2023)")
    expect(shown).to_contain_text(library.cited("report"))
    copy = visit.page.locator("button[data-from]")
    if not visit.visitor.script:
        expect(copy).to_be_hidden()
        return
    if visit.visitor.engine == "chromium":
        visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    text = shown.inner_text()
    copy.click()
    expect(copy).to_have_text(visit.visitor.says("Copied"))
    if visit.visitor.engine == "chromium":
        assert visit.page.evaluate("navigator.clipboard.readText()") == text


def test_save_a_citation_for_a_reference_manager(library: Published, visit: Visit) -> None:
    visit.open(library.page("report"))
    links = visit.page.get_by_role("link")
    assert "Rivera" in visit.download(links.filter(has_text="BibTeX").first)
    assert "AU  - Rivera" in visit.download(links.filter(has_text="RIS").first)


def test_copy_the_label(library: Published, visit: Visit) -> None:
    visit.open(library.page("report"))
    button = visit.page.locator(".pid button.copy")
    if visit.visitor.script:
        button.click()
        expect(button).to_have_text(visit.visitor.says("Copied"))
    else:
        expect(button).to_be_hidden()
    expect(visit.page.locator(".pid")).to_contain_text(library.cited("report"))


def test_go_to_the_newest_edition(library: Published, visit: Visit) -> None:
    visit.open(library.page("first"))
    visit.link("Go to the newest edition").click()
    expect(visit.page.locator("main .kind").first).to_contain_text("2023")
    expect(visit.link("Go to the newest edition")).to_have_count(0)
    current = visit.page.locator(".timeline [aria-current]")
    expect(current).to_have_count(1)
    visit.page.locator(".timeline a").last.click()
    expect(visit.page.locator("main .kind").first).to_contain_text("2019")


def test_look_through_all_editions(library: Published, visit: Visit) -> None:
    visit.open(library.page("tides-0"))
    visit.link("Later editions").click()
    expect(visit.heading).to_contain_text("Tide table, edition 1")
    lines = visit.page.locator(".timeline li")
    expect(lines).to_have_count(EDITIONS)
    expect(lines.first).to_contain_text(visit.visitor.says("newest"))
    expect(visit.page.locator(".timeline [aria-current]")).to_contain_text("edition 1")
    visit.page.get_by_role("link", name="Tide table, edition 9").click()
    expect(visit.heading).to_have_text("Tide table, edition 9")


def test_look_through_all_languages(library: Published, visit: Visit) -> None:
    visit.open(library.page("tongues"))
    expect(visit.page.locator(".tongues [hreflang]")).to_have_count(13)
    visit.link("All languages").click()
    expect(visit.page.locator("main [hreflang]")).to_have_count(len(LANGUAGES) + 1)
    visit.link("Page of this item").click()
    expect(visit.heading).to_have_text("A word of welcome")


def test_see_the_first_page_of_a_pdf(library: Published, visit: Visit) -> None:
    visit.open(library.page("report"))
    picture = visit.page.locator("figure.preview img")
    expect(picture).to_be_visible()
    name = "The first page of %(name)s"
    expect(picture).to_have_attribute("alt", visit.visitor.says(name) % {"name": "report.pdf"})
    width, height = picture.evaluate("image => [image.naturalWidth, image.naturalHeight]")
    assert (width, 1090 < height <= 1100) == (778, True)
    link = visit.page.locator("figure.preview figcaption a")
    expect(link).to_have_text("report.pdf")
    expect(link).to_have_attribute("href", re.compile(r"/doc/report\.pdf$"))


def test_follow_a_citation_to_several_files(library: Published, visit: Visit) -> None:
    visit.open(library.cited("several"))
    expect(visit.heading).to_have_text("Two files of one station")
    visit.link("Choose a file").click()
    visit.page.get_by_role("link", name="notes.txt", exact=True).click()
    expect(visit.page.locator("body")).to_contain_text("Taken at low tide.")


def test_read_a_translation(library: Published, visit: Visit) -> None:
    visit.open(library.page("note"))
    visit.page.locator(".tongues a[hreflang=pt]").click()
    expect(visit.heading).to_have_text("O que é um IBI?")


def test_change_the_language_of_the_pages(library: Published, visit: Visit) -> None:
    other = "pt" if visit.visitor.language == "en" else "en"
    visit.open(f"{library.archive}/")
    visit.page.locator(f".speech a[hreflang={other}]").click()
    expect(visit.page.locator("html")).to_have_attribute("lang", re.compile(f"^{other}"))
    visit.page.locator("nav").get_by_role(
        "link", name=Visitor(language=other).says("Browse")
    ).click()
    expect(visit.page.locator("html")).to_have_attribute("lang", re.compile(f"^{other}"))


def test_find_one_of_many_files(library: Published, visit: Visit) -> None:
    visit.open(library.page("many"))
    folder = visit.page.locator("details.folder").first
    inside = folder.get_by_role("link").first
    expect(inside).to_be_hidden()
    folder.locator("summary").click()
    expect(inside).to_be_visible()


def test_read_about_an_item_with_few_readers(library: Published, visit: Visit) -> None:
    visit.open(library.page("limited"))
    expect(visit.page.locator("main")).to_contain_text(visit.visitor.says("Limited access"))
    visit.open(library.cited("limited"))
    expect(visit.heading).to_be_visible()
    expect(visit.page.locator("body")).not_to_contain_text("Taken at high tide")
