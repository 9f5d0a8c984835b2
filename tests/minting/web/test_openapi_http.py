"""What the minting service answers, against the schemas that /openapi.json promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from tests.support.clients.http import LABELS, PROBLEM, Client
from tests.support.servers.minting import InProcessMintingServer, in_process_minting_server

SUBSYSTEM = "/api/v1/subsystem"
ONE = f"{LABELS}/{{label}}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessMintingServer]:
    with in_process_minting_server(tmp_path_factory.mktemp("server"), "0.01", seats=10) as started:
        yield started


@pytest.fixture(scope="module")
def document(server: Client) -> dict[str, Any]:
    answer = server.ask("GET", "/openapi.json", token="")
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


SAMPLES = [
    ("POST", LABELS, "", None, 201),
    ("POST", LABELS, "", {"count": 3, "reserve": True}, 201),
    ("POST", LABELS, "", {"target": "https://example.org"}, 201),
    ("POST", LABELS, "", {"count": 0}, 400),
    ("POST", LABELS, "", b" " * 70_000, 413),
    ("POST", LABELS, "", {"count": 10_000, "reserve": True}, 400),
    ("GET", LABELS, "", None, 200),
    ("GET", LABELS, "?limit=1", None, 200),
    ("GET", LABELS, "?limit=x", None, 400),
    ("GET", ONE, "{label}", None, 200),
    ("GET", ONE, "x", None, 400),
    ("GET", ONE, "example.org/other/2026/01.01.00.00", None, 404),
    ("PUT", ONE, "{label}", {"target": "there"}, 200),
    ("PUT", ONE, "{label}", {"target": "elsewhere"}, 409),
    ("PUT", ONE, "{label}", {}, 400),
    ("PUT", ONE, "{label}", b" " * 70_000, 413),
    ("GET", "/api/v1/describe", "?text=LK47B6W/362SFKH", None, 200),
    ("GET", "/api/v1/describe", "?text=x", None, 400),
    ("GET", SUBSYSTEM, "", None, 200),
    ("PUT", "/api/v1/granularity", "", {"granularity": "0.001"}, 200),
    ("PUT", "/api/v1/granularity", "", {"granularity": "7"}, 400),
    ("PUT", "/api/v1/granularity", "", b" " * 70_000, 413),
    ("POST", "/api/v1/confirmation", "", None, 200),
    ("GET", "/healthz", "", None, 200),
    ("GET", "/readyz", "", None, 200),
    ("GET", "/metrics", "", None, 200),
]


def test_answers_are_as_described(server: InProcessMintingServer, document: dict[str, Any]) -> None:
    [label] = server.mint({"reserve": True}).labels()
    seen = set()
    for method, path, rest, body, status in SAMPLES:
        server.clock.true += 10**9
        target = path.replace("{label}", "") + rest.format(label=label)
        answer = server.ask(method, target, body)
        assert answer.status == status, (target, answer.body)
        described = document["paths"][path][method.lower()]["responses"][str(status)]
        for media_type, content in described.get("content", {}).items():
            assert answer.headers["content-type"] == media_type
            check(answer.json(), content["schema"], document)
        if status < 400:
            seen.add((method, path))
        else:
            assert list(described["content"]) == [PROBLEM]
    assert seen == operations(document)


def check(value: object, schema: dict[str, Any], document: dict[str, Any]) -> None:
    """Check a value against a schema of the document, of which no field is left out."""
    whole = {**closed(schema), "components": closed(document["components"])}
    jsonschema_rs.validate(whole, value)


def closed(schema: Any) -> Any:  # noqa: ANN401  # any part of a document
    """Return a schema whose objects have no fields but those that it names."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(each) for name, each in schema.items()}
    return {**found, "additionalProperties": False} if "properties" in schema else found
