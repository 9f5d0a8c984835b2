"""Operators of a resolver have accounts too, and their sessions authorize the API."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.clients.browser import PASSWORD, Browser, main_part
from tests.support.servers.resolver import ResolverServer

pytestmark = pytest.mark.http


@pytest.fixture(scope="module")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResolverServer]:
    """Serve a resolver."""
    with ResolverServer(tmp_path_factory.mktemp("accounts")) as server:
        yield server


def test_the_link_of_init_makes_the_first_administrator(resolver: ResolverServer) -> None:
    path = resolver.made["administrator"].removeprefix(resolver.address)
    browser = Browser(resolver.address)
    typed = {"name": "op", "full_name": "Operadora"}
    passwords = {"password": PASSWORD, "repeated": PASSWORD}
    assert browser.submit(browser.get(path), path, {**typed, **passwords}).status == 303
    assert "Operadora" in main_part(browser.get("/admin/accounts"))
    assert "Operadora" in browser.get("/").body.decode()
    assert browser.api("GET", "tokens").status == 200
    assert browser.api("GET", "tokens", Authorization="Bearer x").status == 401


def test_a_viewer_only_reads(resolver: ResolverServer) -> None:
    viewer = resolver.signed_in("viewer", "leitor")
    assert viewer.api("GET", "conflicts").status == 200
    assert viewer.api("POST", "tokens", {"name": "x", "scope": "read"}).status == 403
    assert viewer.get("/admin/accounts").status == 403
    assert "op" in resolver.ibi("account", "list").stdout
    assert resolver.api("POST", "invitations", {"role": "curator"}).status == 400
