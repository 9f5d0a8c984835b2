"""Real browsers that tests drive as people do: Debian's Chromium and Firefox, by Playwright."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

from babel.messages.pofile import read_po
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Playwright, sync_playwright

import ibi
from tests.support.tools.debian import program

Engine = Literal["chromium", "firefox"]
Scheme = Literal["light", "dark"]

_CATALOGUE: Final = Path(ibi.__file__).parent / "foundation/translation/locale/pt.po"
_LOCALES: Final = {"en": "en-US", "pt": "pt-BR"}
_WHY: Final = "These tests open pages in real browsers"


@dataclass(frozen=True, slots=True)
class Visitor:
    """A person with a browser: its engine, its languages, its width, and whether it runs script."""

    engine: Engine = "chromium"
    language: str = "en"
    width: int = 1280
    script: bool = True
    scheme: Scheme = "light"

    def __str__(self) -> str:
        """Name the visitor in a report."""
        script = "script" if self.script else "plain"
        return f"{self.engine}-{self.language}-{self.width}-{script}-{self.scheme}"

    def says(self, text: str, **values: str) -> str:
        """Return a text of the pages in the language of the visitor; it must be translated."""
        found = _translations()[text] if self.language == "pt" else text
        return found % values if values else found


@dataclass(frozen=True, slots=True)
class Visit:
    """A page that a visitor looks at."""

    visitor: Visitor
    page: Page

    def open(self, url: str) -> None:
        """Type an address."""
        self.page.goto(url)

    def link(self, text: str) -> Locator:
        """Find the first link with a text of the pages, in the language of the visitor."""
        return self.page.get_by_role("link", name=self.visitor.says(text)).first

    def button(self, text: str) -> Locator:
        """Find the first button with a text of the pages."""
        return self.page.get_by_role("button", name=self.visitor.says(text)).first

    @property
    def heading(self) -> Locator:
        """The heading of the page."""
        return self.page.get_by_role("heading", level=1)

    def download(self, link: Locator) -> str:
        """Click a link that saves a file; return its text."""
        with self.page.expect_download() as begun:
            link.click()
        return Path(begun.value.path()).read_text("utf-8")


@cache
def _translations() -> dict[str, str]:
    with _CATALOGUE.open("rb") as file:
        catalogue = read_po(file, locale="pt")
    return {_first(message.id): _first(message.string) for message in catalogue}


def _first(text: str | Sequence[str] | None) -> str:
    """Return a text, or the singular of one that has several forms."""
    return text if isinstance(text, str) else (text or [""])[0]


class Browsers:
    """Browsers that are started when the first visitor needs one."""

    def __init__(self, playwright: Playwright, stack: ExitStack) -> None:
        """Start browsers by Playwright; `stack` closes them."""
        self._playwright = playwright
        self._stack = stack
        self._started: dict[Engine, Browser] = {}

    @contextmanager
    def context(self, visitor: Visitor) -> Iterator[BrowserContext]:
        """Open a fresh profile for a visitor: no cookies, an empty cache."""
        chromium = visitor.engine == "chromium"
        assert chromium or visitor.scheme == "light", "Firefox cannot be told its colour scheme"
        context = self._browser(visitor.engine).new_context(
            viewport={"width": visitor.width, "height": 800},
            locale=_LOCALES[visitor.language],
            color_scheme=visitor.scheme if chromium else None,
            java_script_enabled=visitor.script if chromium else None,
            accept_downloads=True,
        )
        if not (chromium or visitor.script):
            # Without its JavaScript Firefox cannot be driven: the script of the pages is blocked.
            context.route("**/*.js*", lambda route: route.abort())
        try:
            yield context
        finally:
            context.close()

    def _browser(self, engine: Engine) -> Browser:
        if engine not in self._started:
            browser = self._chromium() if engine == "chromium" else self._firefox()
            self._stack.callback(browser.close)
            self._started[engine] = browser
        return self._started[engine]

    def _chromium(self) -> Browser:
        where = program("chromium", "chromium", _WHY)
        return self._playwright.chromium.launch(executable_path=where)

    def _firefox(self) -> Browser:
        # Playwright drives a Firefox that it did not build by WebDriver BiDi.
        where = program("firefox-esr", "firefox-esr", _WHY)
        return self._playwright.firefox.launch(executable_path=where, channel="moz-firefox")


@contextmanager
def browsers() -> Iterator[Browsers]:
    """Drive browsers; all are closed at the end."""
    with sync_playwright() as playwright, ExitStack() as stack:
        yield Browsers(playwright, stack)
