"""Judges that this project did not write find nothing in any page.

Each finding is reported with its page, its rule and its element.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Page, Response

from tests.support.scenes.all_pages import AllPages
from tests.support.scenes.published_items import Published
from tests.support.tools import page_judges
from tests.support.tools.browsers import Browsers, Scheme, Visitor

pytestmark = pytest.mark.browser

LANGUAGES: Final = ("en", "pt-BR")
WIDTHS: Final = (1280, 390)
SCHEMES: Final[tuple[Scheme, ...]] = ("light", "dark")
MOST_BYTES: Final = 100_000
"""Of a page with its style sheet, script and pictures, but without the content of the item."""
LEAST_SCORE: Final = 95
"""In each category of Lighthouse, in percent."""
CATEGORIES: Final = ("performance", "accessibility", "best-practices", "seo")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_is_valid_html(pages: AllPages, language: str, tmp_path: Path) -> None:
    found = pages.of(language)
    assert len(found) > 30
    texts = {page.url: page.text for page in found}
    assert page_judges.report(page_judges.vnu(texts, tmp_path)) == ""


def test_invalid_html_is_found(tmp_path: Path) -> None:
    """The twin: faults that the judge must find."""
    text = "<!doctype html><html lang='en'><title>x</title><table role='row'><td id='a' id='a'>"
    found = page_judges.vnu({"page": text}, tmp_path)
    assert len(found) > 1
    assert {each.page for each in found} == {"page"}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("language", ["en", "pt"])
def test_axe_finds_nothing(
    pages: AllPages, browsers: Browsers, language: str, scheme: Scheme, width: int
) -> None:
    visitor = Visitor(language=language, width=width, scheme=scheme)
    findings = []
    with browsers.context(visitor) as context:
        page = context.new_page()
        for each in pages.kinds(language):
            page.goto(each.url)
            findings += page_judges.axe(page, f"{each.url} ({visitor})")
    assert page_judges.report(findings) == ""


def test_faults_of_accessibility_are_found(browsers: Browsers) -> None:
    """The twin: faults that axe must find."""
    with browsers.context(Visitor()) as context:
        page = context.new_page()
        page.set_content("<title>x</title><img src='x.png'><p style='color:#ccc'>Pale.</p>")
        rules = {each.rule for each in page_judges.axe(page, "page")}
    assert rules >= {"axe image-alt", "axe color-contrast", "axe html-has-lang"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_pa11y_finds_nothing(pages: AllPages, language: str) -> None:
    visits = [
        {
            "name": f"{page.url} ({language} {width} {scheme})",
            "url": page.url,
            "language": language,
            "width": width,
            "scheme": scheme,
        }
        for page in pages.kinds(language)
        for width in WIDTHS
        for scheme in SCHEMES
    ]
    assert page_judges.report(page_judges.pa11y(visits)) == ""


def named_pages(library: Published) -> dict[str, str]:
    """Return the pages that Lighthouse judges."""
    return {
        "home": f"{library.archive}/",
        "search": f"{library.archive}/search?q=estuary",
        "item": library.page("report"),
        "file list": f"{library.archive}/displaydoccontent.cgi/{library.labels['many']}"
        "?displaytype=FileList",
        "resolver": f"{library.resolver}/",
    }


def test_lighthouse_gives_at_least_95(library: Published, pages: AllPages) -> None:
    judged = named_pages(library)
    indexed = {page.url: page.is_indexed for page in pages.kinds("en")}
    scores = page_judges.lighthouse(list(judged.values()))
    low = {
        (name, category): found
        for name, url in judged.items()
        for category in CATEGORIES
        if (found := scores[url][category])["score"] < LEAST_SCORE
        and not (category == "seo" and not indexed.get(url, True))
    }
    assert low == {}


def test_every_page_is_small(pages: AllPages, browsers: Browsers) -> None:
    with browsers.context(Visitor()) as context:
        sizes = {each.url: size_of(context.new_page(), each.url) for each in pages.kinds("en")}
    assert {url: size for url, size in sizes.items() if size > MOST_BYTES} == {}
    assert max(sizes.values()) > 20_000


def size_of(page: Page, url: str) -> int:
    """Return the bytes of a page with all that it loads, uncompressed."""
    answers: list[Response] = []

    def remember(answer: Response) -> None:
        answers.append(answer)

    page.on("response", remember)
    page.goto(url, wait_until="networkidle")
    size = sum(len(each.body()) for each in answers if is_own(each.url, url) and each.ok)
    page.close()
    return size


def is_own(url: str, page: str) -> bool:
    """Tell what belongs to a page from the content of an item that it shows."""
    return url == page or "/doc/" not in url


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_can_be_read_in_lynx(pages: AllPages, language: str, tmp_path: Path) -> None:
    for each in pages.kinds(language):
        shown = page_judges.lynx(each.url, language, tmp_path)
        assert each.heading in " ".join(shown.split()), each.url
        assert "References" in shown, each.url
