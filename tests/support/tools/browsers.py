"""Real browsers that tests drive as people do: Debian's Chromium and Firefox, by Playwright."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

from babel.messages.pofile import read_po
from playwright.sync_api import Browser, BrowserContext, Playwright, sync_playwright

import ibi
from tests.support.tools.debian import program

Engine = Literal["chromium", "firefox"]
Scheme = Literal["light", "dark"]

_CATALOGUE: Final = Path(ibi.__file__).parent / "foundation/pages/locale/pt.po"
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
        self._started: dict[tuple[Engine, bool, Scheme], Browser] = {}

    @contextmanager
    def context(self, visitor: Visitor) -> Iterator[BrowserContext]:
        """Open a fresh profile for a visitor: no cookies, an empty cache."""
        browser = self._browser(visitor)
        # Firefox gets its colour scheme, and whether it runs script, from its preferences.
        chromium = visitor.engine == "chromium"
        context = browser.new_context(
            viewport={"width": visitor.width, "height": 800},
            locale=_LOCALES[visitor.language],
            color_scheme=visitor.scheme if chromium else None,
            java_script_enabled=visitor.script if chromium else None,
            accept_downloads=True,
        )
        try:
            yield context
        finally:
            context.close()

    def _browser(self, visitor: Visitor) -> Browser:
        if visitor.engine == "chromium":
            key: tuple[Engine, bool, Scheme] = ("chromium", True, "light")
        else:
            key = ("firefox", visitor.script, visitor.scheme)
        if key not in self._started:
            browser = self._chromium() if key[0] == "chromium" else self._firefox(*key[1:])
            self._stack.callback(browser.close)
            self._started[key] = browser
        return self._started[key]

    def _chromium(self) -> Browser:
        where = program("chromium", "chromium", _WHY)
        return self._playwright.chromium.launch(executable_path=where)

    def _firefox(self, script: bool, scheme: Scheme) -> Browser:  # noqa: FBT001  # of the visitor
        # Playwright drives a Firefox that it did not build by WebDriver BiDi.
        return self._playwright.firefox.launch(
            executable_path=program("firefox-esr", "firefox-esr", _WHY),
            channel="moz-firefox",
            firefox_user_prefs={
                "javascript.enabled": script,
                "ui.systemUsesDarkTheme": int(scheme == "dark"),
                "pdfjs.disabled": False,
            },
        )


@contextmanager
def browsers() -> Iterator[Browsers]:
    """Drive browsers; all are closed at the end."""
    with sync_playwright() as playwright, ExitStack() as stack:
        yield Browsers(playwright, stack)
