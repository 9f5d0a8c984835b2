"""The page that describes the HTTP API of a program, made of its table of operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ibi.foundation.web.authorization import Access, OptionalScope, Policy
from ibi.foundation.web.openapi import ApiDescription, document
from ibi.foundation.web.operations import Operation

PART: Final = "part"
"""The pair of the query that chooses a part of the API."""

_VERSIONED: Final = "/api/v1/"
_STATE: Final = "status"
"""The part of the API with the operations outside the versioned path."""
_OWN_SCHEMAS: Final = "#/components/schemas/"
_PROBLEM: Final = f"{_OWN_SCHEMAS}Problem"


@dataclass(frozen=True, slots=True)
class ParameterView:
    """A parameter, or a field of a message."""

    name: str
    place: str
    """The place of a parameter in the request: path, query or header; empty for a field."""
    type: str
    text: str
    is_required: bool


@dataclass(frozen=True, slots=True)
class MessageView:
    """The content of a request or an answer."""

    media_type: str
    type: str
    """The name of a message of this API, which is an anchor of the page; or a plain type."""
    is_named: bool


@dataclass(frozen=True, slots=True)
class AnswerView:
    """An answer of an operation that is no problem."""

    status: str
    text: str
    messages: tuple[MessageView, ...]


@dataclass(frozen=True, slots=True)
class OperationView:
    """One method of one path."""

    method: str
    path: str
    anchor: str
    summary: str
    scope: str
    """The scope that the token needs; empty if the operation needs no token."""
    is_optional: bool
    """Whether the operation answers without a token too, and shows more with one."""
    parameters: tuple[ParameterView, ...]
    request: tuple[MessageView, ...]
    answers: tuple[AnswerView, ...]
    problems: tuple[str, ...]
    """The statuses of the problems that it may answer."""


@dataclass(frozen=True, slots=True)
class SchemaView:
    """A message of the API, by its name."""

    name: str
    text: str
    fields: tuple[ParameterView, ...]


@dataclass(frozen=True, slots=True)
class PartView:
    """The operations below one path, and the messages that they use."""

    name: str
    operations: tuple[OperationView, ...]
    schemas: tuple[SchemaView, ...]

    def has(self, name: str) -> bool:
        """Return whether a message of this name is described with the part."""
        return any(each.name == name for each in self.schemas)


@dataclass(frozen=True, slots=True)
class ApiView:
    """The whole API; `chosen` is the part whose details a page shows."""

    title: str
    summary: str
    version: str
    parts: tuple[PartView, ...]
    chosen: PartView | None = None


class ApiReference:
    """The parts of the description of an API."""

    def __init__(
        self, description: ApiDescription, operations: Sequence[Operation], version: str
    ) -> None:
        """Describe the operations of a program."""
        described = document(description, operations, version)
        self._schemas: Mapping[str, Any] = described["components"]["schemas"]
        by_part: dict[str, list[tuple[Operation, Mapping[str, Any]]]] = {}
        for operation in operations:
            if operation.described:
                path = described["paths"][operation.template]
                entry = {**path[operation.method.lower()]}
                entry["parameters"] = [*path.get("parameters", ()), *entry.get("parameters", ())]
                by_part.setdefault(_part(operation.template), []).append((operation, entry))
        self._view = ApiView(
            description.title,
            description.summary,
            version,
            tuple(self._described(name, entries) for name, entries in by_part.items()),
        )

    def view(self, part: str = "") -> ApiView | None:
        """Return the list of all operations, or one part in detail; None for an unknown part."""
        view = self._view
        if not part:
            return view
        for each in view.parts:
            if each.name == part:
                return ApiView(view.title, view.summary, view.version, view.parts, each)
        return None

    def _described(
        self, name: str, entries: Iterable[tuple[Operation, Mapping[str, Any]]]
    ) -> PartView:
        entries = tuple(entries)
        used: dict[str, None] = {}
        for _, entry in entries:
            self._collect(entry, used)
        return PartView(
            name,
            tuple(_operation(operation, entry) for operation, entry in entries),
            tuple(_schema(each, self._schemas[each]) for each in used),
        )

    def _collect(self, value: object, used: dict[str, None]) -> None:
        """Add the names of all messages that a description refers to, however deep."""
        if isinstance(value, Mapping):
            reference = value.get("$ref")
            if isinstance(reference, str) and reference != _PROBLEM:
                name = reference.removeprefix(_OWN_SCHEMAS)
                if name not in used:
                    used[name] = None
                    self._collect(self._schemas[name], used)
            for each in value.values():
                self._collect(each, used)
        elif isinstance(value, list):
            for each in value:
                self._collect(each, used)


def _part(path: str) -> str:
    return path.removeprefix(_VERSIONED).split("/")[0] if path.startswith(_VERSIONED) else _STATE


def _operation(operation: Operation, entry: Mapping[str, Any]) -> OperationView:
    answers, problems = [], []
    for status, answer in entry["responses"].items():
        content = answer.get("content", {})
        if any(each["schema"].get("$ref") == _PROBLEM for each in content.values()):
            problems.append(status)
        else:
            answers.append(AnswerView(status, answer["description"], _messages(content)))
    scope, is_optional = _scope(operation.scope)
    return OperationView(
        operation.method,
        operation.template,
        f"{operation.method}-{operation.template}".lower().translate(_ANCHOR).strip("-"),
        operation.summary,
        scope,
        is_optional,
        tuple(
            ParameterView(
                each["name"],
                each["in"],
                _type(each["schema"]),
                each.get("description", ""),
                each.get("required", False),
            )
            for each in entry["parameters"]
        ),
        _messages(entry.get("requestBody", {}).get("content", {})),
        tuple(answers),
        tuple(problems),
    )


_ANCHOR: Final = str.maketrans({"/": "-", "{": None, "}": None, ".": "-"})


def _scope(access: Access) -> tuple[str, bool]:
    if isinstance(access, OptionalScope):
        return access.scope, True
    if isinstance(access, Policy):
        return access.name, False
    return (access, False) if isinstance(access, str) else ("", False)


def _messages(content: Mapping[str, Any]) -> tuple[MessageView, ...]:
    return tuple(
        MessageView(media_type, _type(described["schema"]), "$ref" in described["schema"])
        for media_type, described in content.items()
    )


def _schema(name: str, schema: Mapping[str, Any]) -> SchemaView:
    required = schema.get("required", ())
    fields = tuple(
        ParameterView(
            each, "", _type(described), described.get("description", ""), each in required
        )
        for each, described in schema.get("properties", {}).items()
    )
    return SchemaView(_short(name), schema.get("description", ""), fields)


def _short(name: str) -> str:
    """Return the name of a message without the module that defines it."""
    return name.rpartition(".")[2]


def _type(schema: Mapping[str, Any]) -> str:
    """Return the type of a value in a few words."""
    if "$ref" in schema:
        return _short(schema["$ref"].removeprefix(_OWN_SCHEMAS))
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(each) for each in schema["anyOf"]))
    if "enum" in schema:
        return " | ".join(str(each) for each in schema["enum"])
    return _plain_type(schema)


def _plain_type(schema: Mapping[str, Any]) -> str:
    kind = str(schema.get("type", ""))
    if kind == "array":
        return f"[{_type(schema.get('items') or {})}]"
    if kind == "object" and (inner := schema.get("additionalProperties")):
        return f"{{name: {_type(inner)}}}"
    bounds = " … ".join(str(schema[each]) for each in ("minimum", "maximum") if each in schema)
    return f"{kind} ({bounds})" if bounds else kind
