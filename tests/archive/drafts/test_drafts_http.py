"""Drafts over HTTP, by tokens: what a person does in the browser, a program can do too."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.servers.archive import ArchiveServer
from tests.support.servers.postgres import DATABASES, database_options

FIELDS = [["title", "Soil moisture"], ["creator", "Vilela, Renata"], ["year", "2026"]]
FIELDS += [["type", "Dataset"]]
CONTENT = bytes(range(256)) * 4000


@pytest.fixture(scope="module", params=DATABASES)
def archive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ArchiveServer]:
    options = database_options(request, "--catalogue")
    made = ArchiveServer(tmp_path_factory.mktemp(request.param), *options)
    made.set(draft_gigabytes=1)
    with made as started:
        yield started


def opened(archive: ArchiveServer, **wanted: Any) -> dict[str, Any]:  # noqa: ANN401
    answer = archive.api("POST", "drafts", wanted)
    assert answer.status == 201, answer.body
    found: dict[str, Any] = answer.json()
    return found


def test_a_draft_is_filled_in_any_order_and_published(archive: ArchiveServer) -> None:
    draft = opened(archive)
    place = f"drafts/{draft['id']}"
    assert draft["state"] == "open"
    assert draft["ibip"]
    sent = archive.api("PUT", f"{place}/files/data/Relat%C3%B3rio.bin", CONTENT)
    assert sent.status == 201
    assert sent.json()["sha256"] == hashlib.sha256(CONTENT).hexdigest()
    half = archive.api("PUT", f"{place}/files/half", b"12", **{"Upload-Complete": "?0"})
    assert (half.status, half.headers["upload-offset"]) == (200, "2")
    refused = archive.api("POST", f"{place}/publication")
    assert refused.status == 400
    saved = archive.api("PUT", place, {"version": 0, "fields": FIELDS})
    assert (saved.status, saved.json()["version"]) == (200, 1)
    assert archive.api("PUT", place, {"version": 0, "fields": []}).status == 409
    assert archive.api("POST", f"{place}/publication").status == 409  # half a file
    assert archive.api("GET", f"{place}/files/half").json()["size"] == 2
    rest = archive.api("PATCH", f"{place}/files/half", b"34", **{"Upload-Offset": "2"})
    assert rest.status == 201
    listed = archive.api("GET", f"{place}/files?limit=1").json()
    assert [each["path"] for each in listed["files"]] == ["data/Relatório.bin"]
    assert (listed["count"], listed["size"]) == (2, len(CONTENT) + 4)
    listed = archive.api("GET", f"{place}/files?limit=9&after={listed['after']}").json()
    assert [each["path"] for each in listed["files"]] == ["half"]
    assert archive.api("DELETE", f"{place}/files/half").status == 204
    shown = archive.api("GET", place).json()
    assert (shown["title"], shown["fields"]) == ("Soil moisture", FIELDS)
    published = archive.api("POST", f"{place}/publication", {"version": 1})
    assert published.status == 200, published.body
    again = archive.api("POST", f"{place}/publication", {"version": 1})
    assert published.json()["rep"] == again.json()["rep"] == draft["rep"]
    assert archive.item(draft["rep"])["state"] == "Original"
    assert draft["id"] not in str(archive.api("GET", "drafts").json())


def test_drafts_are_for_their_owners(archive: ArchiveServer) -> None:
    draft = opened(archive, fields=FIELDS)
    other = archive.add_token("other", "administer")
    place = f"drafts/{draft['id']}"
    for method, path, body in (
        ("GET", place, None),
        ("PUT", place, {"version": 0, "fields": []}),
        ("DELETE", place, None),
        ("GET", f"{place}/files", None),
        ("PUT", f"{place}/files/a", b"1"),
        ("POST", f"{place}/publication", None),
        ("POST", f"{place}/submission", None),
        ("GET", f"review/{draft['id']}", None),
        ("POST", f"review/{draft['id']}/publication", None),
        # A draft is no deposit that any depositor may use.
        ("GET", f"deposits/{draft['id']}", None),
        ("PUT", f"deposits/{draft['id']}/files/a", b"1"),
        ("POST", f"deposits/{draft['id']}/completion", None),
        ("DELETE", f"deposits/{draft['id']}", None),
    ):
        answer = archive.api(method, path, body, token=other)
        assert answer.status == 404, (method, path, answer.body)
    assert archive.api("GET", "drafts", token=other).json()["drafts"] == []
    assert archive.api("GET", place).json()["fields"] == FIELDS
    assert archive.api("DELETE", place).status == 204
    assert archive.api("GET", place).json()["state"] == "discarded"


def test_a_curator_reviews_what_was_submitted(archive: ArchiveServer) -> None:
    draft = opened(archive, fields=FIELDS)
    place, review = f"drafts/{draft['id']}", f"review/{draft['id']}"
    archive.api("PUT", f"{place}/files/a", b"1")
    assert archive.api("POST", f"{place}/submission", {"version": 0}).status == 200
    assert archive.api("PUT", f"{place}/files/b", b"1").status == 409
    [waiting] = archive.api("GET", "review").json()["drafts"]
    assert waiting["id"] == draft["id"]
    assert archive.api("GET", review).json()["fields"] == FIELDS
    assert archive.api("GET", f"{review}/files").json()["count"] == 1
    assert archive.api("POST", f"{review}/return", {"comment": "Where?"}).status == 200
    [comment] = archive.api("GET", place).json()["comments"]
    assert comment["text"] == "Where?"
    assert archive.api("DELETE", f"{place}/submission").status == 200
    archive.api("POST", f"{place}/submission")
    published = archive.api("POST", f"{review}/publication")
    assert published.json()["rep"] == draft["rep"]
