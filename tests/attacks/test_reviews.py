"""Threats, row 29: a depositor submits a hostile file, and a curator looks at it.

The file must come as a download that no browser shows, whatever its name and content are, and in a
sandbox in case one does. The twin sends it as what it says that it is.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

import pytest

from tests.support.clients.browser import Browser
from tests.support.servers.attacked_archive import attacked

CARELESS: Final = """
import mimetypes

from ibi.archive.web.drafts import review_pages

answer = review_pages.StreamingResponse

def shown(body, headers, media_type):
    name = headers["Content-Disposition"].rpartition("''")[2]
    return answer(body, media_type=mimetypes.guess_type(name)[0])

review_pages.StreamingResponse = shown
"""
SCRIPT: Final = b"<script>alert(document.domain)</script>"
HOSTILE: Final = {
    "page.html": SCRIPT,
    "picture.svg": b'<svg xmlns="http://www.w3.org/2000/svg">' + SCRIPT + b"</svg>",
    "page.xhtml": b'<html xmlns="http://www.w3.org/1999/xhtml">' + SCRIPT + b"</html>",
    'quoted";name=x.html': SCRIPT,
    "folder/línea.html": SCRIPT,
}
FIELDS: Final = [["title", "T"], ["creator", "A, B"], ["year", "2026"], ["type", "Dataset"]]
SHOWN: Final = ("text/html", "image/svg+xml", "application/xhtml+xml")
"""Types that browsers run script of."""


def run(ana: Browser, curator: Browser) -> list[str]:
    """Have a curator open hostile files, and the pages about them; return what runs."""
    draft = ana.api("POST", "drafts", {"fields": FIELDS}).json()["id"]
    for path, content in HOSTILE.items():
        sent = ana.api("PUT", f"drafts/{draft}/files/{quote(path)}", content)
        assert sent.status in {201, 400}, sent.body  # some names no file may have
    assert ana.api("POST", f"drafts/{draft}/submission").status == 200
    found = []
    for path in HOSTILE:
        answer = curator.get(f"/curate/{draft}/file/{quote(path)}")
        if answer.status != 200:
            continue
        media_type = answer.headers["content-type"].partition(";")[0]
        is_attached = answer.headers.get("content-disposition", "").startswith("attachment")
        is_alone = "sandbox" in answer.headers.get("content-security-policy", "")
        if media_type in SHOWN or not is_attached or not is_alone:
            found.append(path)
    for page in ("", "/files", "/preview"):
        shown = curator.get(f"/curate/{draft}{page}").body
        if SCRIPT in shown or b'name=x.html"' in shown:
            found.append(f"the page {page}")
    return found


@pytest.mark.parametrize("is_careless", [False, True], ids=["guarded", "twin"])
def test_a_hostile_file_is_shown_to_no_curator(
    tmp_path_factory: pytest.TempPathFactory, *, is_careless: bool
) -> None:
    lines = CARELESS if is_careless else ""
    with attacked(tmp_path_factory.mktemp("review"), lines) as archive:
        people = archive.signed_in("depositor", "ana"), archive.signed_in("curator", "carla")
        found = run(*people)
    assert ("page.html" in found and "picture.svg" in found) if is_careless else found == []
