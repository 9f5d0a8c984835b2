"""The description of an archive's API, and schemathesis, which tries whatever it promises."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.core.result import Ok
from starlette.routing import Route

from ibi.archive.web.api.administration import AdministrationApi
from ibi.archive.web.api.audits import AuditsApi
from ibi.archive.web.api.copies import CopiesApi
from ibi.archive.web.api.deposits import DepositsApi
from ibi.archive.web.api.exports import ExportsApi
from ibi.archive.web.api.history import HistoryApi
from ibi.archive.web.api.holdings import HoldingsApi
from ibi.archive.web.api.imports import ImportsApi
from ibi.archive.web.api.statistics import StatisticsApi
from ibi.archive.web.api.storage import StorageApi
from ibi.archive.web.api.tasks import TasksApi
from ibi.archive.web.api.transfers import TransfersApi
from ibi.archive.web.digest import PATH as DIGEST
from ibi.archive.web.digest import DigestEndpoint
from ibi.foundation.web.tokens_api import TokensApi
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.minting import PROBLEM

EXAMPLES: Final = 400 if os.environ.get("IBI_ATTACKS") == "full" else 6
"""Of each operation."""
PUBLIC: Final = {
    *("/api/v1/archive", "/api/v1/holdings", DIGEST, "/healthz", "/readyz", "/metrics"),
}
ITEM: Final = "/api/v1/items/{ibi}"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    with ArchiveServer(tmp_path_factory.mktemp("archive")) as started:
        yield started


@pytest.fixture(scope="module")
def document(archive: ArchiveServer) -> dict[str, Any]:
    answer = archive.get("/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    found: dict[str, Any] = answer.json()
    return found


def operations(document: dict[str, Any]) -> set[tuple[str, str]]:
    return {
        (method.upper(), path)
        for path, item in document["paths"].items()
        for method in item
        if method != "parameters"
    }


def test_every_route_is_described_and_nothing_else(document: dict[str, Any]) -> None:
    unbound: Any = object.__new__  # the routes are known before anything is
    administration = unbound(AdministrationApi)
    administration.tokens_api = unbound(TokensApi)
    apis = (
        unbound(DepositsApi),
        unbound(AuditsApi),
        unbound(CopiesApi),
        unbound(ExportsApi),
        unbound(HistoryApi),
        unbound(HoldingsApi),
        unbound(ImportsApi),
        unbound(DigestEndpoint),
        unbound(StatisticsApi),
        unbound(StorageApi),
        unbound(TasksApi),
        unbound(TransfersApi),
        administration,
    )
    routes = {
        (method, re.sub(r":\w+}", "}", route.path))
        for api in apis
        for route in api.routes
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }
    items = {
        ("GET", "/api/v1/items"),
        ("GET", ITEM),
        ("PATCH", ITEM),
        ("GET", f"{ITEM}/files"),
        ("GET", f"{ITEM}/metadata"),
        ("PUT", f"{ITEM}/metadata"),
        ("POST", f"{ITEM}/deletion"),
    }
    health = {("GET", path) for path in ("/healthz", "/readyz", "/metrics")}
    assert document["openapi"] == "3.1.0"
    assert operations(document) == routes | items | health


def test_every_operation_that_needs_a_token_says_so(
    archive: ArchiveServer, document: dict[str, Any]
) -> None:
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    names = {"ibi": "x", "id": "x", "path": "x", "resolver": "x", "name": "x"}
    for method, path in operations(document):
        operation = document["paths"][path][method.lower()]
        answer = archive.ask(method, path.format(**names), token="")
        assert (answer.status == 401) == ("security" in operation) == (path not in PUBLIC), path
        assert str(answer.status) in operation["responses"], path
        if answer.status == 401:
            assert answer.headers["content-type"] == PROBLEM


NOT_HERE: Final = {
    "positive_data_acceptance",  # a label is more than a text, and so is a language
    "negative_data_rejection",  # what is unknown in a query is ignored
    "ignored_auth",  # the test above
    "missing_required_header",  # likewise
    "unsupported_method",  # its own requests go without what Hypothesis drew
    "use_after_free",
    "ensure_resource_availability",
}


def test_no_request_makes_the_archive_fail(archive: ArchiveServer) -> None:
    """Whatever the description allows, and much that it does not: no 5xx, and as described."""
    item = archive.deposit({"a.txt": b"a"})
    id_ = archive.open_deposit()
    schema = schemathesis.openapi.from_url(f"{archive.address}/openapi.json")
    tried = 0
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), found
        operation = found.ok()
        if "/resolvers" in operation.path and operation.method == "post":
            continue  # the archive would call whomever it is told to
        for mode in schemathesis.GenerationMode:
            with suppress(Unsatisfiable):  # nothing can be wrong with what has no parts
                tried += attempts(operation, mode, archive, {"ibi": item["rep"], "id": id_})
    assert tried > 20 * EXAMPLES
    assert "unforeseen" not in archive.log()
    assert archive.item(item["rep"])["rep"] == item["rep"]


def attempts(
    operation: Any,  # noqa: ANN401  # whose type has parameters of its own
    mode: schemathesis.GenerationMode,
    archive: ArchiveServer,
    known: dict[str, str],
) -> int:
    """Try an operation, every other time on something that is there; return how often."""
    tried = 0
    excluded = schemathesis.checks.CHECKS.get_by_names(sorted(NOT_HERE))

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        phases=[Phase.generate],
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode))
    def attempt(case: Any) -> None:  # noqa: ANN401
        nonlocal tried
        tried += 1
        if tried % 2:
            case.path_parameters.update(
                {name: value for name, value in known.items() if name in case.path_parameters}
            )
        if case.path_parameters.get("name") not in {"first", "local"}:
            headers = {"Authorization": f"Bearer {archive.token}"}
            case.call_and_validate(headers=headers, excluded_checks=excluded)

    attempt()
    return tried
