"""Schemathesis tries whatever the OpenAPI documents of an archive and of a resolver promise."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.core.result import Ok

from tests.support.servers.archive import ArchiveServer
from tests.support.servers.program import ProgramServer
from tests.support.servers.resolver import ResolverServer

EXAMPLES: Final = 400 if os.environ.get("IBI_ATTACKS") == "full" else 4
"""Of each operation."""
SERVICE: Final = "LK47B6W/362SFKH"
NOT_HERE: Final = {
    "positive_data_acceptance",  # a label is more than a text, and so is a language
    "negative_data_rejection",  # what is unknown in a query is ignored
    "ignored_auth",  # test_operations_http.py
    "missing_required_header",  # likewise
    "unsupported_method",  # its own requests go without what Hypothesis drew
    "use_after_free",
    "ensure_resource_availability",
}


def test_no_request_makes_an_archive_fail(tmp_path: Path) -> None:
    with ArchiveServer(tmp_path) as archive:
        item = archive.deposit({"a.txt": b"a"})
        known = {"ibi": item["rep"], "id": archive.open_deposit()}

        def is_tried(operation: Any) -> bool:  # noqa: ANN401
            # The archive would call whomever it is told to.
            return "/resolvers" not in operation.path or operation.method != "post"

        try_all(archive, known, is_tried)
        assert archive.item(item["rep"])["rep"] == item["rep"]


def test_no_request_makes_a_resolver_fail(tmp_path: Path) -> None:
    with ResolverServer(tmp_path, "--open-registration") as resolver:

        def is_tried(operation: Any) -> bool:  # noqa: ANN401
            if "{service}" in operation.path:
                resolver.api("POST", "archives", {"service_ibi": SERVICE})
            return True

        try_all(resolver, {"service": SERVICE}, is_tried)
        assert resolver.get("/readyz").status == 200


def try_all(server: ProgramServer, known: dict[str, str], is_tried: Callable[[Any], bool]) -> None:
    """Try whatever the document allows, and much that it does not: no 5xx, and as described.

    `is_tried` is asked before each operation, and may make what it needs.
    """
    schema = schemathesis.openapi.from_url(f"{server.address}/openapi.json")
    tried = 0
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), found
        operation = found.ok()
        for mode in schemathesis.GenerationMode:
            if is_tried(operation):
                with suppress(Unsatisfiable):  # nothing can be wrong with what has no parts
                    tried += attempts(operation, mode, server, known)
    assert tried > 20 * EXAMPLES
    assert "unforeseen" not in server.log()


def attempts(
    operation: Any,  # noqa: ANN401  # whose type has parameters of its own
    mode: schemathesis.GenerationMode,
    server: ProgramServer,
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
            headers = {"Authorization": f"Bearer {server.token}"}
            case.call_and_validate(headers=headers, excluded_checks=excluded)

    attempt()
    return tried
