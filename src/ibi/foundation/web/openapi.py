"""The OpenAPI document of a program, made of its table of operations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from ibi.foundation.web.operations import Body, Media, Message, Operation, Parameter
from ibi.foundation.web.problems import MEDIA_TYPE, Problem


@dataclass(frozen=True, slots=True)
class ApiDescription:
    """The description of a whole API in its document."""

    title: str
    summary: str
    protected_problems: tuple[int, ...] = (400, 401, 403, 429, 503)
    """Problems that every operation with a scope may answer."""
    public_problems: tuple[int, ...] = (503,)
    """Problems that every other operation may answer."""
    answer: str = "As asked"
    """The description of the usual answer; if empty, the summary of the operation."""
    problem: str = "A problem (RFC 9457)"


def document(
    description: ApiDescription, operations: Sequence[Operation], version: str
) -> dict[str, Any]:
    """Return an OpenAPI document; the types that check the requests describe them."""
    described = [each for each in operations if each.described]
    types = {*_types(described), Problem}
    _, schemas = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    if alike := sorted(name for name in schemas if "." in name):
        # msgspec adds the modules of types whose names are alike; no operation refers to those.
        msg = f"Two messages of an API have one name: {', '.join(alike)}."
        raise ValueError(msg)
    paths: dict[str, dict[str, Any]] = {}
    for operation in described:
        path = paths.setdefault(operation.template, {})
        path[operation.method.lower()] = _operation(operation, description)
        if parameters := _in_path(operation):
            path["parameters"] = parameters
    return {
        "openapi": "3.1.0",
        "info": {
            "title": description.title,
            "version": version,
            "summary": description.summary,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _types(operations: Iterable[Operation]) -> Iterable[type]:
    for operation in operations:
        messages = [operation.answer, *(each.message for each in operation.further.values())]
        if operation.body is not None:
            messages.append(operation.body.message)
        yield from (each for each in messages if isinstance(each, type))


def _in_path(operation: Operation) -> list[Parameter]:
    return [each for each in operation.parameters if each["in"] == "path"]


def _operation(operation: Operation, api: ApiDescription) -> dict[str, Any]:
    is_protected = isinstance(operation.scope, str)
    usual = api.protected_problems if is_protected else api.public_problems
    problem = {
        "description": api.problem,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    described: dict[str, Any] = {
        "summary": operation.summary,
        "responses": {
            str(operation.status): _answer(api.answer or operation.summary, operation.answer),
            **{
                str(status): _answer(further.description, further.message)
                for status, further in operation.further.items()
            },
            **{str(status): problem for status in sorted({*usual, *operation.problems})},
        },
    }
    if is_protected:
        described["security"] = [{"token": []}]
    if operation.body is not None:
        described["requestBody"] = _body(operation.body)
    if parameters := [each for each in operation.parameters if each["in"] != "path"]:
        described["parameters"] = parameters
    return described


def _answer(text: str, message: Message | None) -> dict[str, Any]:
    if message is None:
        return {"description": text}
    return {"description": text, "content": _content(message)}


def _body(body: Body) -> dict[str, Any]:
    said = {} if body.required is None else {"required": body.required}
    return {**said, "content": _content(body.message)}


def _content(message: Message) -> dict[str, Any]:
    if isinstance(message, Media):
        return {name: {"schema": schema} for name, schema in message.schemas.items()}
    reference = {"$ref": f"#/components/schemas/{message.__name__}"}
    return {"application/json": {"schema": reference}}


def parameter(name: str, text: str) -> Parameter:
    """Describe a part of the path."""
    schema = {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "description": text, "schema": schema}


def query(
    name: str, text: str, schema: dict[str, Any] | None = None, *, required: bool | None = None
) -> Parameter:
    """Describe a pair of the query; `required` is omitted if it is None."""
    described: dict[str, Any] = {
        "name": name,
        "in": "query",
        "description": text,
        "schema": schema or {"type": "string"},
    }
    return described if required is None else {**described, "required": required}


def header(name: str, text: str, *, required: bool = False) -> Parameter:
    """Describe a header."""
    return {
        "name": name,
        "in": "header",
        "description": text,
        "required": required,
        "schema": {"type": "string"},
    }


LIMIT: Final = query("limit", "How many", {"type": "integer", "minimum": 1, "maximum": 1000})
PAGE: Final = (LIMIT, query("after", "Continue after this"))
TEXT: Final = Media({"text/plain": {"type": "string"}})
