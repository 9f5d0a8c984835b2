"""Threats, row 29: script in what archives answer, shown to operators as evidence of a conflict.

An archive claims an Original with an address that runs script, and with text that is one. The page
of the conflict shows both as text.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

import pytest
from jinja2 import Environment

from ibi.foundation.pages.administration import ADMIN, Frame
from ibi.foundation.pages.identity import SiteIdentity
from ibi.foundation.pages.links import Links
from ibi.identifier.language_preference import LanguagePreference
from ibi.model.conflict import Claim, Conflict
from ibi.resolver.web.admin.decisions import ConflictView
from ibi.resolver.web.pages import ResolverPages

SCRIPT: Final = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
ADDRESSES: Final = (
    "javascript:alert(1)",
    "JavaScript:alert(1)//http://example.org",
    "data:text/html,<script>alert(1)</script>",
    "//evil.example",
)


def page(address: str) -> str:
    """Return the page of a conflict with a hostile claim."""
    claim = Claim(
        archive="8JMKD3MGP8W/34PHP47",
        address=f"evil.example{SCRIPT}",
        url=address,
        timestamp=SCRIPT,
        first_seen=1,
        last_seen=2,
        answer=SCRIPT,
    )
    conflict = Conflict(
        id=1, label="8JMKD3MGP7W/3EPGUE5", claims=(claim,), opened=1, last_seen=2, note=SCRIPT
    )
    view = ConflictView(conflict=conflict, archives={}, filled={"note": SCRIPT})
    pages = ResolverPages(SiteIdentity(name="Resolver"), "http://resolver.example.org")
    frame = Frame(view, (), ADMIN, may_administer=True, now=3)
    return pages.page("admin_conflict.html", frame, LanguagePreference(), "/admin/conflicts/1").html


def scripts(text: str) -> int:
    """Return how many scripts a page has that are not its own file."""
    return len(re.findall(r"<script>|<img src=x", text))


def targets(text: str) -> list[str]:
    """Return where links lead that are not on this site."""
    return [each for each in re.findall(r'href="([^"]*)"', text) if not each.startswith(("/", "#"))]


@pytest.mark.parametrize("address", ADDRESSES)
def test_evidence_is_text(address: str) -> None:
    text = page(address)
    assert scripts(text) == 0
    assert escape(SCRIPT) in text or "&lt;script&gt;" in text
    assert all(each.startswith("http://resolver.example.org") for each in targets(text))


def test_a_web_address_is_a_link() -> None:
    assert "https://archive.example.org/file" in targets(page("https://archive.example.org/file"))


def test_twin_without_escaping(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Environment.__init__

    def unescaped(self: Environment, **options: object) -> None:
        made(self, **{**options, "autoescape": False})  # type: ignore[arg-type]  # as given

    monkeypatch.setattr(Environment, "__init__", unescaped)
    assert scripts(page(ADDRESSES[0])) > 0


def test_twin_that_trusts_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Links, "found_in", lambda _, text: text)
    assert ADDRESSES[0] in targets(page(ADDRESSES[0]))
