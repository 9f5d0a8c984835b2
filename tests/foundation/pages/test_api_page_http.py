"""The page of an archive and a resolver that describes their API, against the OpenAPI document."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from tests.support.servers.archive import ArchiveServer
from tests.support.servers.resolver import ResolverServer


@pytest.mark.parametrize("kind", [ArchiveServer, ResolverServer])
def test_page_has_each_operation_of_the_document(
    kind: type[ArchiveServer | ResolverServer], tmp_path: Path
) -> None:
    with kind(tmp_path) as server:
        home = server.get("/", Accept="text/html").body.decode()
        assert '<a href="/api">API</a>' in home
        document = server.get("/openapi.json").json()
        page = server.get("/api", Accept="text/html")
        assert page.status == 200
        assert len(page.body) < 100_000
        listed = set(re.findall(r'href="/api\?part=([\w-]+)#([\w-]+)"', page.body.decode()))
        described, anchors = set(), set()
        for part in {name for name, _ in listed}:
            answer = server.get(f"/api?part={part}", Accept="text/html")
            assert answer.status == 200
            assert len(answer.body) < 100_000
            text = unescape(re.sub("<wbr>", "", answer.body.decode()))
            found = re.findall(r'<h2 id="([\w-]+)"><code>([A-Z]+) ([^<]+)</code>', text)
            described |= {(method.lower(), path) for _, method, path in found}
            anchors |= {(part, anchor) for anchor, _, _ in found}
            targets = set(re.findall(r'href="#(\w+)"><code>', text))
            assert targets <= set(re.findall(r'<h3 id="(\w+)"', text)), part
        assert anchors == listed
        operations = {
            (method, path)
            for path, methods in document["paths"].items()
            for method in methods
            if method != "parameters"
        }
        assert described == operations
        portuguese = server.get("/api?lang=pt", Accept="text/html").body.decode()
        assert "Operação" in portuguese
        assert server.get("/api?part=none", Accept="text/html").status == 404
