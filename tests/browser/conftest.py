"""An installation with all kinds of items, and browsers that visit it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.scenes.all_pages import AllPages
from tests.support.scenes.published_items import Published, published
from tests.support.tools.browsers import Browsers, Visit, Visitor, browsers

VISITORS = (
    *(
        Visitor(language=language, width=width, script=script)
        for language in ("en", "pt")
        for width in (1280, 390)
        for script in (True, False)
    ),
    Visitor(engine="firefox", language="en", width=1280),
    Visitor(engine="firefox", language="pt", width=390),
    Visitor(engine="firefox", language="en", width=390, script=False),
    Visitor(engine="firefox", language="pt", width=1280, script=False),
)
"""Visitors that try every task: all kinds in Chromium, half of them in Firefox."""


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    """Run one installation for all tests of the folder, which only read."""
    with published(tmp_path_factory.mktemp("library")) as running:
        yield running


# One module at a time has browsers: Playwright occupies the event loop of the thread, which tests
# of other folders need.
@pytest.fixture(name="browsers", scope="module")
def _browsers() -> Iterator[Browsers]:
    with browsers() as running:
        yield running


@pytest.fixture(scope="session")
def pages(library: Published) -> AllPages:
    """Return all pages of the installation."""
    return AllPages(library)


@pytest.fixture(params=VISITORS, ids=str)
def visit(request: pytest.FixtureRequest, browsers: Browsers) -> Iterator[Visit]:
    """Open a fresh browser for each kind of visitor."""
    visitor: Visitor = request.param
    with browsers.context(visitor) as context:
        yield Visit(visitor, context.new_page())
