"""What the minting service answers, against the schemas that /openapi.json promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("x", {"type": "integer"}),
        (True, {"type": "integer"}),
        (0, {"type": "integer", "minimum": 1}),
        ({}, {"type": "object", "properties": {"a": {}}, "required": ["a"]}),
        ({"b": 1}, {"type": "object", "properties": {"a": {}}}),
        ([1], {"type": "array", "items": {"type": "string"}}),
        (1, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (1, {"$ref": "#/components/schemas/Name"}),
    ],
)
def test_the_check_bites(value: object, schema: dict[str, Any]) -> None:
    document = {"components": {"schemas": {"Name": {"type": "string"}}}}
    with pytest.raises(AssertionError):
        check(value, schema, document)


TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def check(value: Any, schema: dict[str, Any], document: dict[str, Any]) -> None:  # noqa: ANN401
    """Check a value against as much of JSON Schema as the document uses; fields are closed."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        assert any(conforms(value, option, document) for option in schema["anyOf"]), value
        return
    kind = schema.get("type")
    if kind is not None:
        assert isinstance(value, TYPES[kind]), (value, kind)
        assert kind == "boolean" or not isinstance(value, bool), value
    if kind == "integer":
        assert schema.get("minimum", value) <= value <= schema.get("maximum", value), value
    if kind == "array":
        for item in value:
            check(item, schema["items"], document)
    if kind == "object":
        assert set(schema.get("required", ())) <= set(value) <= set(schema["properties"]), value
        for name, item in value.items():
            check(item, schema["properties"][name], document)


def conforms(value: object, schema: dict[str, Any], document: dict[str, Any]) -> bool:
    try:
        check(value, schema, document)
    except AssertionError:
        return False
    return True
