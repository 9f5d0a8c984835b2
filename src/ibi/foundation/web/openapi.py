"""Parts of an OpenAPI document: operations, their parameters, bodies and problems."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from ibi.foundation.web.problems import MEDIA_TYPE

_USUAL: Final = (400, 401, 403, 429, 503)


def document(
    title: str, summary: str, version: str, types: Iterable[type], paths: dict[str, Any]
) -> dict[str, Any]:
    """Return an OpenAPI document; the types that check the requests describe them."""
    _, schemas = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": version,
            "summary": summary,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def operation(  # noqa: PLR0913  # the facts of an operation, by name
    summary: str,
    *,
    body: str | None = None,
    answer: str | None = None,
    status: int = 200,
    errors: tuple[int, ...] = (),
    parameters: list[dict[str, Any]] | None = None,
    public: bool = False,
    body_needed: bool = True,
) -> dict[str, Any]:
    """Describe an operation; a body or answer that has no type of its own is an empty name."""
    usual = (503,) if public else _USUAL
    described: dict[str, Any] = {
        "summary": summary,
        "responses": {
            str(status): _content("As asked", answer),
            **{str(error): PROBLEM for error in sorted({*usual, *errors})},
        },
    }
    if not public:
        described["security"] = [{"token": []}]
    if body is not None:
        described["requestBody"] = {"required": body_needed, **_body(body)}
    if parameters:
        described["parameters"] = parameters
    return described


def in_words(summary: str) -> dict[str, Any]:
    """Describe what is answered to everybody, as a text."""
    described = operation(summary, public=True)
    described["responses"]["200"]["content"] = {"text/plain": {"schema": {"type": "string"}}}
    return described


def _content(text: str, name: str | None) -> dict[str, Any]:
    if name is None:
        return {"description": text}
    schema = {"$ref": f"#/components/schemas/{name}"} if name else {}
    types = {"application/json": {"schema": schema}}
    if not name:
        types["text/xml"] = {"schema": {}}
        types["application/xml"] = {"schema": {}}
    return {"description": text, "content": types}


def _body(name: str) -> dict[str, Any]:
    content = _content("", name)["content"]
    return {"content": content}


def upload(summary: str, *parameters: dict[str, Any]) -> dict[str, Any]:
    """Describe the sending of a file."""
    described = operation(
        summary,
        answer="FileAnswer",
        status=201,
        errors=(404, 409, 413, 422, 507),
        parameters=[_COMPLETE, _DIGEST, *parameters],
    )
    described["responses"]["200"] = _content("What has come so far", "StagedAnswer")
    described["requestBody"] = {"content": {"application/octet-stream": {"schema": {}}}}
    return described


def parameter(name: str, text: str) -> dict[str, Any]:
    """Describe a part of the path."""
    schema = {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "description": text, "schema": schema}


def query(name: str, text: str, schema: dict[str, Any] | None = None) -> dict[str, Any]:
    """Describe a pair of the query."""
    return {
        "name": name,
        "in": "query",
        "description": text,
        "schema": schema or {"type": "string"},
    }


def _header(name: str, text: str, *, required: bool = False) -> dict[str, Any]:
    return {
        "name": name,
        "in": "header",
        "description": text,
        "required": required,
        "schema": {"type": "string"},
    }


IBI: Final = parameter("ibi", "A label of the item, in any form; its slashes may stand as they are")
ID: Final = parameter("id", "The id of a deposit")
PATH: Final = parameter("path", "The path of a file, with slashes between folders")
LIMIT: Final = query("limit", "How many", {"type": "integer", "minimum": 1, "maximum": 1000})
PAGE: Final = [LIMIT, query("after", "Continue after this")]
OFFSET: Final = _header("Upload-Offset", "From which byte on", required=True)
_COMPLETE: Final = _header("Upload-Complete", "?0 if more will follow")
_DIGEST: Final = _header("Repr-Digest", "Of the whole file: sha-256=:...: (RFC 9530)")
PROBLEM: Final = {
    "description": "A problem (RFC 9457)",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
