"""Threats, rows 9 and 10: script in the settings by which a site presents itself.

An operator may take a logo from elsewhere, or let others write the settings. A logo that is opened
by itself in a browser runs nothing; a colour, a contact or an imprint is refused or escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Final

import pytest

from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked import switched_off
from tests.support.tools.chromium import Chromium, chromium

SVG: Final = b"""<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)">
<script>alert(2)</script><foreignObject><body xmlns="http://www.w3.org/1999/xhtml">
<script>alert(3)</script></body></foreignObject></svg>"""
COLOURS: Final = (
    "red; } body { background: url(https://evil.example/)",
    "#fff } * { display: none",
    "#ffffff;",
    "#fff\n@import 'https://evil.example/'",
    "url(https://evil.example/)",
    "</style><script>alert(1)</script>",
    "#\uff11\uff12\uff13",
)
CONTACTS: Final = (
    "javascript:alert(1)",
    "JavaScript:alert(1)//@example.org",
    "data:text/html,<script>alert(1)</script>",
    "mailto:a@example.org",
    "//evil.example",
    'a"onclick="alert(1)@example.org',
    "a@example.org?cc=b@example.org",
    "https://user@evil.example/",
    'https://example.org/" onclick="alert(1)',
)
IMPRINT: Final = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'{{ 7*7 }}"

WITHOUT_POLICY: Final = """
from ibi.foundation.pages import static_files

static_files._HEADERS["Content-Security-Policy"] = "img-src *"
"""
WITHOUT_CHECKS: Final = """
from ibi.archive import settings

settings.identity_checks = lambda _: ()
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with chromium() as started:
        yield started


def dialogs(folder: Path, browser: Chromium, without: str = "") -> int:
    """Open the logo by itself; return how many dialogs it showed."""
    archive = ArchiveServer(folder)
    (archive.data / "logo.svg").write_bytes(SVG)
    archive.set(logo="logo.svg")
    with switched_off(folder, without), archive, browser.page() as page:
        page.open(f"{archive.address}/")
        page.open(f"{archive.address}/static/logo")
        return page.dialogs


def test_no_script_of_a_logo_runs(tmp_path: Path, browser: Chromium) -> None:
    assert dialogs(tmp_path, browser) == 0


def test_the_logo_bites(tmp_path: Path, browser: Chromium) -> None:
    """The twin: the same logo without the policy."""
    assert dialogs(tmp_path, browser, WITHOUT_POLICY) > 0


@pytest.mark.parametrize(
    ("name", "value"),
    [*(("accent", each) for each in COLOURS), *(("contact", each) for each in CONTACTS)],
)
def test_a_colour_or_a_contact_that_says_more_is_refused(
    tmp_path: Path, name: str, value: str
) -> None:
    archive = ArchiveServer(tmp_path)
    archive.set(**{name: value})
    refused = archive.ibi("serve")
    assert refused.returncode == 1
    assert f"{name} = " in refused.stderr


def test_the_colours_and_contacts_bite(tmp_path: Path) -> None:
    """The twin: without the checks they would become rules and addresses."""
    archive = ArchiveServer(tmp_path)
    archive.set(accent=COLOURS[0], contact=CONTACTS[0])
    with switched_off(tmp_path, WITHOUT_CHECKS), archive:
        assert b"evil.example" in archive.get("/static/accent.css").body
        assert b'href="javascript:alert(1)"' in archive.get("/", Accept="text/html").body


def test_an_imprint_is_a_text(tmp_path: Path) -> None:
    archive = ArchiveServer(tmp_path)
    archive.set(imprint=IMPRINT)
    with archive:
        page = archive.get("/imprint", Accept="text/html").body.decode()
        as_text = escape(IMPRINT).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
        assert as_text in page
        assert not re.search(r"<script>|<img|onerror=", page.replace(as_text, ""))
