"""Judges that this project did not write find nothing in any page for people with accounts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import BrowserContext

from tests.support.scenes.people_pages import PeoplePages, people_pages
from tests.support.tools import page_judges
from tests.support.tools.browsers import Browsers, Scheme, Visitor

pytestmark = pytest.mark.browser

WIDTHS: Final = (1280, 390)
SCHEMES: Final[tuple[Scheme, ...]] = ("light", "dark")
LEAST_SCORE: Final = 95
"""In each category of Lighthouse, in percent."""


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeoplePages]:
    with people_pages(tmp_path_factory.mktemp("people")) as running:
        yield running


@pytest.mark.parametrize("language", ["en", "pt-BR"])
def test_every_page_is_valid_html(people: PeoplePages, language: str, tmp_path: Path) -> None:
    texts = {page.url: page.text for page in people.of(language)}
    assert len(texts) > 40
    assert page_judges.report(page_judges.vnu(texts, tmp_path)) == ""


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("language", ["en", "pt"])
def test_axe_finds_nothing(
    people: PeoplePages, browsers: Browsers, language: str, scheme: Scheme
) -> None:
    findings = []
    kinds = people.kinds(language)
    for width in WIDTHS:
        visitor = Visitor(language=language, width=width, scheme=scheme)
        with browsers.context(visitor) as context:
            sign_in(context, people)
            page = context.new_page()
            for each in kinds:
                page.goto(each.url)
                findings += page_judges.axe(page, f"{each.url} ({visitor})")
                wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                if wide > 0:
                    findings.append(
                        page_judges.Finding(each.url, f"{wide} px too wide", f"{width}")
                    )
    assert page_judges.report(findings) == ""


def sign_in(context: BrowserContext, people: PeoplePages) -> None:
    """Give a browser the sessions of the administrators."""
    for each in people.administrators:
        for name, value in each.cookies.items():
            context.add_cookies([{"name": name, "value": value, "url": each.address}])


@pytest.mark.parametrize("language", ["en", "pt-BR"])
def test_pa11y_finds_nothing(people: PeoplePages, language: str) -> None:
    visits = [
        {
            "name": f"{page.url} ({language} {width} {scheme})",
            "url": page.url,
            "language": language,
            "width": width,
            "scheme": scheme,
            "cookie": people.cookies[page.url.split("/")[2]],
        }
        for page in people.kinds(language)
        for width in WIDTHS
        for scheme in SCHEMES
    ]
    assert page_judges.report(page_judges.pa11y(visits)) == ""


def test_lighthouse_gives_at_least_95(people: PeoplePages) -> None:
    archive, resolver = people.archive.address, people.resolver.address
    judged = {
        f"{archive}/": ["deposit", f"deposit/{people.drafts[2]}", "curate", "admin", "account"],
        f"{resolver}/": ["admin", "admin/conflicts"],
    }
    for site, paths in judged.items():
        urls = [f"{site}{path}" for path in paths]
        scores = page_judges.lighthouse(urls, people.cookies[site.split("/")[2]])
        low = {
            (url, category): found
            for url, by_category in scores.items()
            for category, found in by_category.items()
            if category in {"accessibility", "best-practices"} and found["score"] < LEAST_SCORE
        }
        assert low == {}
