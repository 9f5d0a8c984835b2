"""The review of drafts by curators, on pages and by mail."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.archive.drafts.test_draft_pages_http import WHOLE, new_draft, save, upload
from tests.support.clients.browser import Browser, main_part
from tests.support.servers.archive import ArchiveServer


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    made = ArchiveServer(tmp_path_factory.mktemp("review"))
    made.set(review=True)
    with made as started:
        yield started


def submitted(ana: Browser) -> str:
    """Submit a draft as its pages do; return its id."""
    place = new_draft(ana)
    upload(ana, place, ("a<b>.html".replace("<", "").replace(">", ""), b"<script>1</script>"))
    save(ana, place, WHOLE)
    summary = ana.get(f"{place}/publish")
    assert "Submit to the curators" in main_part(summary)
    assert ana.submit(summary, f"{place}/publish", {}).status == 303
    return place.rpartition("/")[2]


def test_a_curator_returns_a_draft_and_publishes_it_later(archive: ArchiveServer) -> None:
    ana = archive.signed_in("depositor", name="ana")
    curator = archive.signed_in("curator", name="carla")
    id_ = submitted(ana)
    assert "This draft waits for a curator." in main_part(ana.get(f"/deposit/{id_}"))
    assert ana.get("/curate").status == 403
    assert ana.get(f"/curate/{id_}").status == 403
    assert "Soil moisture" in main_part(curator.get("/curate"))
    page = curator.get(f"/curate/{id_}")
    shown = main_part(page)
    for name, text in (("Creators", WHOLE["creator"]), ("Type", "Data set"), ("Year", "2026")):
        assert f'<dt>{name}</dt><dd dir="auto">{text}</dd>' in shown
    in_portuguese = main_part(curator.get(f"/curate/{id_}?lang=pt"))
    assert "<dt>Título</dt>" in in_portuguese
    file = curator.get(f"/curate/{id_}/file/ab.html")
    assert file.status == 200
    assert file.headers["content-type"] == "application/octet-stream"
    assert file.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in file.headers["content-security-policy"]
    assert "This is a preview." in main_part(curator.get(f"/curate/{id_}/preview"))
    refused = curator.submit(page, f"/curate/{id_}/return", {"comment": "  "})
    assert refused.status == 409
    returned = curator.submit(page, f"/curate/{id_}/return", {"comment": "Say <b>where</b>."})
    assert returned.status == 303
    shown = main_part(ana.get(f"/deposit/{id_}"))
    assert "Say &lt;b&gt;where&lt;/b&gt;." in shown
    save(ana, f"/deposit/{id_}", {**WHOLE, "abstract": "In Caatinga"})
    summary = ana.get(f"/deposit/{id_}/publish")
    assert ana.submit(summary, f"/deposit/{id_}/publish", {}).status == 303
    page = curator.get(f"/curate/{id_}")
    for _ in range(2):
        assert curator.submit(page, f"/curate/{id_}/publish", {}).status == 303
    assert "It is published." in main_part(ana.get(f"/deposit/{id_}"))
    assert id_ not in main_part(curator.get("/curate"))


def test_a_submitted_draft_is_taken_back(archive: ArchiveServer) -> None:
    rui = archive.signed_in("depositor", name="rui")
    id_ = submitted(rui)
    page = rui.get(f"/deposit/{id_}")
    assert rui.submit(page, f"/deposit/{id_}/withdraw", {}).status == 303
    assert save(rui, f"/deposit/{id_}", WHOLE).status == 303
