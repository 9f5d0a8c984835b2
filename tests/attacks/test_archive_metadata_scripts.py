"""Threats, row 10: script in every field of metadata and in queries, on all pages of an archive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

from tests.support.hostile.script_payloads import VECTORS, payloads
from tests.support.processes.fork_server import BEFORE_IMPORTS
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked import FULL
from tests.support.servers.attacked_archive import attacked
from tests.support.tools.chromium import Chromium, chromium

COUNT: Final = 2000 if FULL else 20
"""Payloads in queries; a tenth as many items have them in every field."""
WORD: Final = "zebra"
"""A word that finds all items of the attack."""

WITHOUT_ESCAPING: Final = (
    BEFORE_IMPORTS
    + """
import jinja2

class Plain(jinja2.Environment):
    def __init__(self, **options):
        super().__init__(**{**options, "autoescape": False})

jinja2.Environment = Plain
from ibi.foundation.pages import response

response.PAGE_HEADERS["Content-Security-Policy"] = "img-src *"
"""
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with chromium() as started:
        yield started


def identifier(text: str) -> str:
    """Return a text as an identifier, which has no blanks."""
    return "/".join(text.split()) or "-"


def record(text: str, kind: str) -> dict[str, Any]:
    """Return metadata with a text in every field that takes one."""
    value = {"value": f"{WORD} {text}"}
    return {
        "titles": [value, value],
        "creators": [text, {"family": text, "given": text, "affiliation": text}],
        "contributors": [text, {"name": text, "role": "Editor", "affiliation": text}],
        "funding": [{"funder": text, "funder_id": text, "award": text, "title": text}],
        "related": [{"relation": "Cites", "scheme": "RRID", "identifier": identifier(text)}],
        "publishers": [text],
        "subjects": [value],
        "descriptions": [value],
        "types": [kind, text],
        "formats": [text],
        "sources": [text],
        "relations": [text],
        "coverages": [value],
        "rights": [value],
        "identifiers": [text],
    }


def deposit(archive: ArchiveServer, text: str) -> Iterator[str]:
    """Deposit an item, a collection with it, and one that is deleted; yield their pages."""
    item = archive.deposit({"a.txt": text.encode()}, metadata=record(text, text))
    whole = archive.deposit({}, metadata=record(text, "Collection"))
    added = archive.api("PATCH", f"collections/{whole['rep']}", {"add": [item["rep"]]})
    assert added.status == 200, added.body
    gone = archive.deposit({"a.txt": b"a"}, metadata=record(text, text))
    ended = archive.api("POST", f"items/{quote(gone['rep'], safe='')}/deletion", {"reason": text})
    assert ended.status == 200, ended.body
    yield f"/{item['rep']}:"
    yield f"/{item['rep']}:?preview={quote(text)}"
    yield f"/{whole['rep']}:"
    yield f"/collections/{whole['rep']}"
    yield f"/{gone['rep']}"


def printable(text: str) -> bool:
    """Tell texts that metadata may have from those that are refused."""
    return all(each.isprintable() for each in text)


def targets(archive: ArchiveServer, texts: list[str]) -> Iterator[str]:
    """Deposit items, and yield all pages that show something of them or of a query."""
    for text in [each for each in texts if printable(each)][: max(len(texts) // 10, 1)]:
        yield from deposit(archive, text)
    yield from ("/", f"/search?q={WORD}", "/browse", "/collections", "/statistics")
    yield from (f"/browse?by={each}" for each in ("type", "year", "language", "creator"))
    keys = ("q", "creator", "type", "year", "language", "collection", "sort", "page")
    for number, text in enumerate(texts):
        yield f"/search?q={WORD}&{keys[number % len(keys)]}={quote(text)}"
        yield f"/{quote(text)}"
        yield f"/browse?by=creator&after={quote(text)}"


def dialogs(archive: ArchiveServer, browser: Chromium, texts: list[str]) -> int:
    """Open all pages; return how many dialogs they opened."""
    found = 0
    with browser.page() as page:
        for target in targets(archive, texts):
            page.open(archive.address + target)
            found += page.dialogs
    return found


def test_no_script_runs_on_a_page(tmp_path: Path, browser: Chromium) -> None:
    with attacked(tmp_path) as archive:
        assert dialogs(archive, browser, list(payloads(COUNT))) == 0
        shown = archive.ask("GET", f"/search?q={WORD}").body.decode()
        assert "alert(1)" in shown


def test_the_metadata_bite(tmp_path: Path, browser: Chromium) -> None:
    """The twin: the same pages without escaping and without a policy."""
    with attacked(tmp_path, WITHOUT_ESCAPING) as archive, browser.page() as page:
        for target in deposit(archive, VECTORS[0]):
            page.open(archive.address + target)
            if page.dialogs:
                return
    pytest.fail("no page opened a dialog")
