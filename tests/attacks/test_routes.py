"""Threats, row 29: a route that stands in no table, and so asks for no right.

The routes of the whole applications are compared with the tables of operations, from which the
other tests of rights take what they try. What is read by everybody, and the messages of the
standard, are named here. The twin adds a route.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from ibi.archive.settings import read_archive
from ibi.archive.web.api.operations import OPERATIONS as ARCHIVE_OPERATIONS
from ibi.archive.web.page_operations import PAGE_OPERATIONS as ARCHIVE_PAGES
from ibi.archive.wiring.app import archive_app
from ibi.archive.wiring.instance import Instance
from ibi.foundation.web.operations import Operation
from ibi.foundation.web.page_operations import PageOperation
from ibi.foundation.web.routing import Branch
from ibi.resolver.settings import read_resolver
from ibi.resolver.web.operations import OPERATIONS as RESOLVER_OPERATIONS
from ibi.resolver.web.page_operations import PAGE_OPERATIONS as RESOLVER_PAGES
from ibi.resolver.wiring.app import ResolverInstance, resolver_app
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.resolver import ResolverServer

Found = set[tuple[str, str]]

OF_ARCHIVES: Final = {
    *(("GET", path) for path in ("/", "/search", "/browse", "/collections", "/statistics")),
    *(("GET", path) for path in ("/collections/{ibi:path}", "/col/{rest:path}", "/{rest:path}")),
    *(("GET", path) for path in ("/displaydoccontent.cgi/{rest:path}", "/imprint", "/feed.atom")),
    *(("GET", path) for path in ("/favicon.ico", "/api", "/robots.txt", "/llms.txt")),
    *(("GET", path) for path in ("/sitemap.xml", "/sitemap-{number:int}.xml.gz")),
    *(("GET", path) for path in ("/dumps/index.json", "/dumps/metadata.jsonl.gz")),
    *(("GET", path) for path in ("/linkset/{ibi:path}", "/linkset.json/{ibi:path}")),
    *(("GET", path) for path in ("/timegate/{ibi:path}", "/timemap/{ibi:path}")),
    *(("GET", path) for path in ("/iiif/{ibi:path}/manifest.json", "/hash/sha256/{digest}")),
    *(("GET", path) for path in ("/.well-known/ni/{algorithm}/{value}", "/ni:{rest:path}")),
    *(("GET", f"/reconcile/{path}") for path in ("properties", "suggest/entity")),
    *(("GET", f"/reconcile/suggest/{path}") for path in ("property", "type")),
    *((method, path) for method in ("GET", "POST") for path in ("/oai", "/reconcile")),
    ("POST", "/{rest:path}"),
}
"""What everybody may read, and the messages of resolvers."""
OF_RESOLVERS: Final = {
    *(("GET", path) for path in ("/", "/archives", "/explain", "/search", "/imprint")),
    *(("GET", path) for path in ("/favicon.ico", "/api")),
    *(("GET", path) for path in ("/robots.txt", "/{rest:path}", "/register")),
    *(("POST", path) for path in ("/{rest:path}", "/register", "/register/proof")),
}
"""The same of a resolver; archives are registered by proof of control of their hosts."""


def routed(routes: Iterable[BaseRoute]) -> Iterator[tuple[str, str]]:
    """Yield method and path of each route; static files are none of ours."""
    for route in routes:
        if isinstance(route, Branch):
            yield from routed(route.routes)
        elif isinstance(route, Route):
            yield from ((each, route.path) for each in route.methods or () if each != "HEAD")


def unlisted(
    routes: Iterable[BaseRoute],
    tables: Iterable[Iterable[Operation | PageOperation]],
    open_to_all: Found,
) -> Found:
    """Return the routes that neither a table nor the list of what is open to everybody has."""
    listed = {(each.method, each.path) for table in tables for each in table}
    return {
        (method, path)
        for method, path in routed(routes)
        if (method, path) not in listed | open_to_all and not path.startswith("/static/")
    }


def test_every_route_stands_in_a_table(tmp_path: Path) -> None:
    server = ArchiveServer(tmp_path)
    with closing(Instance(read_archive(server.data))) as instance:
        app, _ = archive_app(instance)
        tables = (ARCHIVE_OPERATIONS, ARCHIVE_PAGES)
        assert unlisted(app.routes, tables, OF_ARCHIVES) == set()
        hidden = Route("/admin/hidden", lambda _: Response(), methods=["POST"])
        found = unlisted([hidden, *app.routes], tables, OF_ARCHIVES)
        assert found == {("POST", "/admin/hidden")}


def test_every_route_of_a_resolver_stands_in_a_table(tmp_path: Path) -> None:
    server = ResolverServer(tmp_path)
    with closing(ResolverInstance(read_resolver(server.data))) as instance:
        app, _ = resolver_app(instance)
        tables = (RESOLVER_OPERATIONS, RESOLVER_PAGES)
        assert unlisted(app.routes, tables, OF_RESOLVERS) == set()
