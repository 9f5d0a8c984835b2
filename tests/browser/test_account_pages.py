"""Judges that this project did not write find nothing in the pages for people with accounts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support.scenes.account_pages import AccountPage, account_pages
from tests.support.tools import page_judges
from tests.support.tools.browsers import Browsers, Visitor

pytestmark = pytest.mark.browser

LEAST_SCORE: Final = 95
"""In each category of Lighthouse, in percent."""
JUDGED: Final = frozenset(
    {
        "archive /deposit",
        "archive /deposit/whole",
        "archive /deposit/faulty?check=1",
        "archive /curate/waiting",
        "archive /admin",
        "resolver /admin",
        "resolver /admin/conflicts/1",
    }
)
VISITORS = (
    Visitor(),
    Visitor(language="pt", width=390),
    Visitor(language="pt", scheme="dark"),
    Visitor(width=390, scheme="dark"),
)


@pytest.fixture(name="pages", scope="module")
def _pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[AccountPage]]:
    with account_pages(tmp_path_factory.mktemp("accounts")) as found:
        yield found


@pytest.mark.parametrize("language", ["en", "pt-BR"])
def test_every_page_is_valid_html(pages: list[AccountPage], language: str, tmp_path: Path) -> None:
    texts = {each.name: each.text(language) for each in pages}
    assert page_judges.report(page_judges.vnu(texts, tmp_path)) == ""


@pytest.mark.parametrize("visitor", VISITORS, ids=str)
def test_axe_finds_nothing_and_nothing_is_cut_off(
    pages: list[AccountPage], browsers: Browsers, visitor: Visitor
) -> None:
    findings, wide = [], []
    with browsers.context(visitor) as context:
        page = context.new_page()
        for each in pages:
            each.enter(context)
            page.goto(each.url)
            name = f"{each.name} ({visitor})"
            findings += page_judges.axe(page, name)
            if page.evaluate("document.documentElement.scrollWidth") > visitor.width:
                wide.append(name)
    assert page_judges.report(findings) == ""
    assert wide == []


@pytest.mark.parametrize("language", ["en", "pt-BR"])
def test_pa11y_finds_nothing(pages: list[AccountPage], language: str) -> None:
    visits = [
        {
            "name": f"{page.name} ({language} {width} {scheme})",
            "url": page.url,
            "language": language,
            "width": width,
            "scheme": scheme,
            "cookie": page.cookie,
        }
        for page in pages
        for width, scheme in ((1280, "light"), (390, "dark"))
    ]
    assert page_judges.report(page_judges.pa11y(visits)) == ""


def test_lighthouse_gives_at_least_95(pages: list[AccountPage]) -> None:
    low = {}
    for page in pages:
        if page.name in JUDGED:
            [scores] = page_judges.lighthouse([page.url], page.cookie).values()
            for category in ("accessibility", "best-practices"):
                if scores[category]["score"] < LEAST_SCORE:
                    low[page.name, category] = scores[category]
    assert low == {}
