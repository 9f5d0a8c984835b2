"""Names of bytes: SHA-256 and RFC 6920 lead to public files, and tell nothing of others."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

import pytest

from tests.support.servers.archive import ArchiveServer
from tests.support.servers.postgres import DATABASES, database_options

BYTES: Final = b"the same bytes, in several items"


@pytest.fixture(scope="module", params=DATABASES)
def archive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ArchiveServer]:
    options = database_options(request, "--catalogue")
    with ArchiveServer(tmp_path_factory.mktemp(request.param), *options) as started:
        yield started


def names(content: bytes) -> list[str]:
    """Return all addresses that name these bytes."""
    digest = hashlib.sha256(content)
    value = base64.urlsafe_b64encode(digest.digest()).decode().rstrip("=")
    return [
        f"/hash/sha256/{digest.hexdigest()}",
        f"/hash/sha256/{digest.hexdigest().upper()}",
        f"/.well-known/ni/sha-256/{value}",
        f"/ni:///sha-256;{value}",
        f"/ni:///sha-256;{value}?ct=text/plain",
        f"/ni://example.org/sha-256%3B{value}",
        f"/ni:/sha-256;{value}",
    ]


def test_names_of_bytes_lead_to_public_files_only(archive: ArchiveServer) -> None:
    def led(content: bytes = BYTES) -> set[tuple[int, str | None]]:
        answers = [archive.get(name) for name in names(content)]
        return {(each.status, each.headers.get("location")) for each in answers}

    nowhere = {(404, None)}
    assert led() == nowhere
    limited = archive.deposit({"a.txt": BYTES}, readers=["127.0.0.0/8"])
    assert archive.get(f"/col/{limited['rep']}/doc/a.txt").status == HTTPStatus.OK
    assert led() == nowhere
    archive.deposit({"a.txt": b"shown", "b.txt": BYTES}, target="a.txt", list_public=False)
    assert led() == nowhere
    assert led(b"shown") != nowhere
    deleted = archive.deposit({"a.txt": BYTES})
    [(status, location)] = led()
    assert status == HTTPStatus.FOUND
    assert location is not None
    assert f"/col/{deleted['rep']}/doc/a.txt" in location
    taken = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "cross-site"}
    read = archive.get(location.removeprefix(archive.address), **taken)
    assert (read.status, read.body) == (HTTPStatus.OK, BYTES)
    wanted = {"reason": "It was wrong."}
    path = f"items/{deleted['rep']}/deletion"
    assert archive.api("POST", path, wanted).status == HTTPStatus.OK
    assert led() == nowhere
    kept = archive.deposit({"x.txt": b"other", "d/é b.txt": BYTES}, target="x.txt")
    assert led() == {(302, f"{archive.address}/col/{kept['rep']}/doc/d/%C3%A9%20b.txt")}


def test_what_names_no_bytes_is_refused(archive: ArchiveServer) -> None:
    for name, status in (
        ("/hash/sha256/", 404),
        ("/hash/sha256/xyz", 400),
        (f"/hash/sha256/{'0' * 63}", 400),
        (f"/hash/sha256/{'%EF%BC%90' * 64}", 400),
        (f"/hash/md5/{'0' * 32}", 404),
        ("/.well-known/ni/sha-256/x", 400),
        (f"/.well-known/ni/sha-512/{'x' * 86}", 404),
        ("/ni:sha-256", 400),
        (f"/ni:///sha-256;{'%00' * 43}", 400),
        (f"/ni:///sha-256-128;{'x' * 22}", 404),
    ):
        assert archive.get(name).status == status, name
