"""Threats, row 10: metadata that end the data block with the description of an item.

Within a script element `</script>` ends it, also in a string of JSON, and `<!--<script>` begins
what swallows the rest of the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import html5rdf
import pytest

from tests.attacks.test_archive_metadata_scripts import printable, record
from tests.support.hostile.script_payloads import payloads
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked import FULL
from tests.support.servers.attacked_archive import attacked
from tests.support.tools.chromium import Chromium, Page, chromium

COUNT: Final = 1000 if FULL else 4
BREAKS: Final = (
    "</script><script>alert(1)</script>",
    "</SCRIPT\t><img src=x onerror=alert(1)>",
    "<!--<script>",
    "--></script><!-- \\u003c/script> &lt;/script> ]]> \u2028 '\"\\",
)
WITHOUT_ESCAPING: Final = """
import json

from markupsafe import Markup

from ibi.archive.web.item import json_ld

json_ld.htmlsafe_json_dumps = lambda value: Markup(json.dumps(value))
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with chromium() as started:
        yield started


def texts() -> Iterator[str]:
    yield from (each for each in BREAKS if "\t" not in each and "\u2028" not in each)
    yield from ("".join(filter(str.isprintable, each)) for each in BREAKS[1::2])
    yield from filter(printable, payloads(COUNT))


def scripts(html: str) -> list[Any]:
    """Return the script elements that a page has for a browser."""
    return list(html5rdf.parse(html, namespaceHTMLElements=False).iter("script"))


def trouble(archive: ArchiveServer, page: Page, text: str) -> list[str]:
    """Describe an item by a text in every field; return what is wrong with its page."""
    item = archive.deposit({"a.txt": b"a"}, metadata=record(text, text))
    path = f"/col/{item['metadata']['rep']}/doc/metadata"
    found = []
    elements = scripts(archive.get(path).body.decode())
    blocks = [each for each in elements if each.get("type") == "application/ld+json"]
    if len(elements) != 2 or len(blocks) != 1:
        found.append(f"{len(elements)} scripts, {len(blocks)} data blocks")
    try:
        value = json.loads("".join(blocks[0].itertext()))
        assert text in value["name"]
    except (ValueError, IndexError) as fault:
        found.append(repr(fault))
    page.open(archive.address + path)
    found += page.violations
    found += ["a dialog"] * page.dialogs
    return found


def test_no_text_ends_a_data_block(tmp_path: Path, browser: Chromium) -> None:
    with attacked(tmp_path) as archive, browser.page() as page:
        for text in texts():
            assert trouble(archive, page, text) == [], text


def test_the_breaks_bite(tmp_path: Path, browser: Chromium) -> None:
    """The twin: the same descriptions as plain JSON."""
    with attacked(tmp_path, WITHOUT_ESCAPING) as archive, browser.page() as page:
        found = trouble(archive, page, BREAKS[0])
        assert any("scripts" in each for each in found)
        assert any("Content Security Policy" in each for each in found)
        assert trouble(archive, page, BREAKS[2])
