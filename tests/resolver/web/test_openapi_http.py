"""The description of a resolver's API, and schemathesis, which tries whatever it promises."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.core.result import Ok

from tests.support.servers.resolver import ResolverServer

EXAMPLES: Final = 400 if os.environ.get("IBI_ATTACKS") == "full" else 6
"""Of each operation."""
SERVICE: Final = "LK47B6W/362SFKH"
NOT_HERE: Final = {
    "positive_data_acceptance",  # a label is more than a text, and so is an address
    "negative_data_rejection",  # what is unknown in a query is ignored
    "ignored_auth",  # test_resolver_api.py
    "missing_required_header",  # likewise
    "unsupported_method",  # its own requests go without what Hypothesis drew
    "use_after_free",
    "ensure_resource_availability",
}


@pytest.fixture(scope="module")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResolverServer]:
    folder = tmp_path_factory.mktemp("resolver")
    with ResolverServer(folder, "--open-registration") as started:
        yield started


def test_no_request_makes_the_resolver_fail(resolver: ResolverServer) -> None:
    """Whatever the description allows, and much that it does not: no 5xx, and as described."""
    schema = schemathesis.openapi.from_url(f"{resolver.address}/openapi.json")
    tried = 0
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), found
        for mode in schemathesis.GenerationMode:
            with suppress(Unsatisfiable):  # nothing can be wrong with what has no parts
                tried += attempts(found.ok(), mode, resolver)
    assert tried > 20 * EXAMPLES
    assert "unforeseen" not in resolver.log()
    assert resolver.get("/readyz").status == 200


def attempts(
    operation: Any,  # noqa: ANN401  # whose type has parameters of its own
    mode: schemathesis.GenerationMode,
    resolver: ResolverServer,
) -> int:
    """Try an operation, every other time on an archive that is there; return how often."""
    tried = 0
    excluded = schemathesis.checks.CHECKS.get_by_names(sorted(NOT_HERE))
    if "{service}" in operation.path:
        resolver.api("POST", "archives", {"service_ibi": SERVICE})

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
        if tried % 2 and "service" in case.path_parameters:
            case.path_parameters["service"] = SERVICE
        if case.path_parameters.get("name") not in {"first", "local"}:
            headers = {"Authorization": f"Bearer {resolver.token}"}
            case.call_and_validate(headers=headers, excluded_checks=excluded)

    attempt()
    return tried
