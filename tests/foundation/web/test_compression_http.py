"""Compressed and unchanged responses, of a real archive."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support.servers.archive import ArchiveServer, raw_get
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

GZIP: Final = b"Accept-Encoding: br;q=1.0, gzip;q=0.8, *;q=0.1"
HTML: Final = b"Accept: text/html"
TEXT: Final = b"one line\n" * 1000


@pytest.fixture(scope="module", params=[1, 2], ids=["alone", "workers"])
def archive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ArchiveServer]:
    server = ArchiveServer(tmp_path_factory.mktemp("archive"))
    server.set(workers=request.param)
    with server:
        yield server


@pytest.fixture(scope="module")
def item(archive: ArchiveServer) -> dict[str, Any]:
    made = archive.deposit({"page.html": TEXT})
    for path in ("/statistics", "/search?q=title"):  # until all is counted and indexed
        wait_until(lambda: b'class="notice' not in asked(archive.address, path)[2])  # noqa: B023
    return made


def asked(address: str, path: str, *headers: bytes) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body as they came."""
    head, _, body = raw_get(address, path.encode(), HTML, *headers).partition(b"\r\n\r\n")
    first, *lines = head.decode("ascii").split("\r\n")
    fields = dict(line.split(": ", 1) for line in lines)
    return int(first.split()[1]), {name.lower(): value for name, value in fields.items()}, body


def pages(item: dict[str, Any]) -> list[str]:
    return [
        *("/", "/search?q=title", "/statistics", "/static/ibi.css", "/static/ibi.js"),
        *("/static/icon.svg", "/openapi.json", "/feed.atom", "/api/v1/search?q=title"),
        f"/col/{item['metadata']['rep']}/doc/metadata",
        f"/col/{item['metadata']['rep']}/doc/metadata?choice=oai_dc",
    ]


def test_texts_are_compressed_for_clients_that_take_it(
    archive: ArchiveServer, item: dict[str, Any]
) -> None:
    for path in pages(item):
        status, headers, body = asked(archive.address, path)
        assert status == 200, path
        assert "content-encoding" not in headers
        assert "Accept-Encoding" in headers["vary"], path
        _, packed_headers, packed = asked(archive.address, path, GZIP)
        assert "Accept-Encoding" in packed_headers["vary"], path
        if len(body) < 600:
            assert packed == body
            continue
        assert packed_headers["content-encoding"] == "gzip", path
        assert packed_headers["content-length"] == str(len(packed))
        assert len(packed) < len(body) * 0.8, path
        assert gzip.decompress(packed) == body, path
        # Bytes that differ have no strong entity tag in common.
        assert packed_headers.get("etag", "W/").startswith("W/"), path


@pytest.mark.parametrize(
    "encodings", [b"", b"Accept-Encoding: identity", b"Accept-Encoding: gzip;q=0, br"]
)
def test_a_client_that_takes_no_gzip_gets_none(archive: ArchiveServer, encodings: bytes) -> None:
    _, headers, body = asked(archive.address, "/", *([encodings] if encodings else []))
    assert "content-encoding" not in headers
    assert body.startswith(b"<!doctype html>")


def test_a_request_with_a_cookie_gets_no_compressed_answer(archive: ArchiveServer) -> None:
    _, headers, _ = asked(archive.address, "/", GZIP, b"Cookie: session=1")
    assert "content-encoding" not in headers


def test_files_of_items_are_sent_as_they_are(archive: ArchiveServer, item: dict[str, Any]) -> None:
    path = f"/col/{item['rep']}/doc/page.html"
    status, headers, body = asked(archive.address, path, GZIP)
    assert (status, body, "content-encoding" in headers) == (200, TEXT, False)
    status, headers, body = asked(archive.address, path, GZIP, b"Range: bytes=0-9")
    assert (status, body, "content-encoding" in headers) == (206, TEXT[:10], False)


def test_a_page_that_did_not_change_is_not_sent_again(
    archive: ArchiveServer, item: dict[str, Any]
) -> None:
    for path in pages(item)[1:]:  # each process counts for the home by itself, once a minute
        for encoding in ((), (GZIP,)):
            _, headers, _ = asked(archive.address, path, *encoding)
            if "no-store" in headers.get("cache-control", ""):
                assert "etag" not in headers
                continue
            tag = headers["etag"].encode()
            status, again, body = asked(
                archive.address, path, *encoding, b'If-None-Match: "other", ' + tag
            )
            assert (status, body) == (304, b""), path
            assert again["etag"].removeprefix("W/") == headers["etag"].removeprefix("W/")
            assert again.get("cache-control") == headers.get("cache-control")
            assert "content-length" not in again
            assert asked(archive.address, path, b'If-None-Match: "other"')[0] == 200


def test_a_page_in_another_language_has_another_tag(archive: ArchiveServer) -> None:
    tags = {
        asked(archive.address, "/", f"Accept-Language: {code}".encode())[1]["etag"]
        for code in ("en", "pt")
    }
    assert len(tags) == 2


def test_a_changed_page_is_sent_again(archive: ArchiveServer) -> None:
    tag = asked(archive.address, "/search?q=changed")[1]["etag"]
    archive.deposit({"a.txt": b"a"}, metadata={"titles": ["It has changed"]})
    status, headers, body = asked(
        archive.address, "/search?q=changed", f"If-None-Match: {tag}".encode()
    )
    assert (status, headers["etag"] != tag) == (200, True)
    assert b"changed: 1 item" in body


def test_errors_are_compressed_and_have_no_tag(archive: ArchiveServer) -> None:
    status, headers, body = asked(archive.address, "/nothing", GZIP)
    assert (status, headers["content-encoding"], "etag" in headers) == (404, "gzip", False)
    assert b"<!doctype html>" in gzip.decompress(body)


def test_the_version_of_a_static_file_is_kept_for_ever(archive: ArchiveServer) -> None:
    _, headers, _ = asked(archive.address, "/static/ibi.css")
    assert headers["cache-control"] == "public, max-age=3600"
    version = headers["etag"].strip('"')
    _, headers, _ = asked(archive.address, f"/static/ibi.css?v={version}")
    assert headers["cache-control"] == "public, max-age=31536000, immutable"
    _, headers, _ = asked(archive.address, "/static/ibi.css?v=older")
    assert headers["cache-control"] == "public, max-age=3600"


SECURITY: Final = ("content-security-policy", "x-content-type-options", "referrer-policy")


@pytest.mark.parametrize("server_type", [ArchiveServer, ResolverServer])
def test_all_pages_have_the_same_security_headers(
    tmp_path_factory: pytest.TempPathFactory, server_type: type[ArchiveServer | ResolverServer]
) -> None:
    paths = {
        ArchiveServer: ("/", "/search?q=x", "/browse", "/statistics", "/imprint", "/nothing"),
        ResolverServer: ("/", "/?q=x", "/search?q=x", "/archives", "/imprint", "/LK47B6W/362SFKH"),
    }
    server = server_type(tmp_path_factory.mktemp("site"))
    server.set(imprint="Text")
    found = set()
    with server:
        for path in paths[server_type]:
            _, headers, _ = asked(server.address, path)
            assert headers["content-type"].startswith("text/html"), path
            found.add(tuple(headers[name] for name in SECURITY))
        for path in ("/openapi.json", "/healthz", "/static/ibi.css", "/favicon.ico"):
            assert asked(server.address, path)[1]["x-content-type-options"] == "nosniff"
    [(policy, sniff, referrer)] = found
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "frame-ancestors 'none'" in policy
    assert (sniff, referrer) == ("nosniff", "strict-origin-when-cross-origin")
