"""Pages of a resolver that a client keeps: an unchanged one is not sent again."""

from __future__ import annotations

from typing import Final

import pytest

from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.resolver import SERVICE, ResolverServer

PAGES: Final = ("/", "/archives", "/search", "/?lang=pt", f"/{SERVICE}")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_that_did_not_change_is_not_sent_again(resolver: ResolverServer, path: str) -> None:
    first = resolver.get(path, accept="text/html")
    assert first.status == 200
    assert first.headers["cache-control"] == "no-cache"
    tag = first.headers["etag"]
    again = resolver.get(path, accept="text/html", if_none_match=f'"other", {tag}')
    assert (again.status, again.body) == (304, b"")
    assert again.headers["etag"] == tag
    assert "content-length" not in again.headers
    other = resolver.get(path, accept="text/html", if_none_match='"other"')
    assert (other.status, other.body) == (200, first.body)


def test_each_language_has_its_tag(resolver: ResolverServer) -> None:
    english, portuguese = (
        resolver.get("/", accept="text/html", accept_language=code) for code in ("en", "pt")
    )
    assert english.headers["etag"] != portuguese.headers["etag"]
    assert "Accept-Language" in english.headers["vary"]
    answer = resolver.get("/", accept_language="pt", if_none_match=english.headers["etag"])
    assert answer.status == 200


@pytest.mark.parametrize("path", ["/?q=rain", "/?q=8JMKD3MGP7W/3EPGUE5", "/search?q=rain"])
def test_what_a_reader_typed_is_kept_nowhere(resolver: ResolverServer, path: str) -> None:
    answer = resolver.get(path, accept="text/html")
    assert answer.headers["cache-control"] == "no-store"
    assert "etag" not in answer.headers


def test_a_page_that_changed_is_sent_again(resolver: ResolverServer) -> None:
    tag = resolver.get("/archives", accept="text/html").headers["etag"]
    with ArchiveDouble() as archive:
        resolver.include(archive)
        answer = resolver.get("/archives", accept="text/html", if_none_match=tag)
    assert answer.status == 200
    assert archive.service.replace("/", "/<wbr>") in answer.body.decode()
