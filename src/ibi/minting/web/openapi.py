"""The description of the minting API (OpenAPI 3.1), made of the types that check the requests."""

from __future__ import annotations

from typing import Any, Final

from ibi.foundation.web import openapi
from ibi.foundation.web.problems import MEDIA_TYPE, Problem
from ibi.minting.web import messages

_TYPES: Final = (
    messages.MintRequest,
    messages.MintAnswer,
    messages.BindRequest,
    messages.Recorded,
    messages.UnboundAnswer,
    messages.GranularityRequest,
    messages.SubsystemAnswer,
    Problem,
)


def document(version: str) -> dict[str, Any]:
    """Return the document."""
    return openapi.document(
        "IBI minter",
        "Mints Internet Based Identifiers, never the same twice.",
        version,
        _TYPES,
        _paths(),
    )


def _paths() -> dict[str, Any]:
    return {
        "/api/v1/labels": {
            "post": _operation(
                "Mint labels",
                "MintRequest",
                {"201": "MintAnswer"},
                errors=(400, 401, 413, 422, 429, 503),
                parameters=[_IDEMPOTENCY_KEY],
                body_required=False,
            ),
            "get": _operation(
                "List labels that were reserved and never bound",
                None,
                {"200": "UnboundAnswer"},
                errors=(400, 401, 503),
                parameters=[
                    _query("after", "Continue after this instant", {"type": "string"}),
                    _query("limit", "How many", {"type": "integer", "minimum": 1, "maximum": 1000}),
                ],
            ),
        },
        "/api/v1/labels/{label}": {
            "parameters": [_LABEL],
            "get": _operation(
                "What is recorded of a label",
                None,
                {"200": "Recorded"},
                errors=(400, 401, 404, 503),
            ),
            "put": _operation(
                "Bind a reserved label to its target",
                "BindRequest",
                {"200": "Recorded"},
                errors=(400, 401, 409, 413, 503),
            ),
        },
        "/api/v1/describe": {
            "get": _operation(
                "What a label says",
                None,
                {"200": None},
                errors=(400,),
                parameters=[_query("text", "A label", {"type": "string"}, required=True)],
                public=True,
            )
        },
        "/api/v1/subsystem": {
            "get": _operation("How the minter fares", None, {"200": "SubsystemAnswer"}, (401, 503))
        },
        "/api/v1/granularity": {
            "put": _operation(
                "Change the granularity",
                "GranularityRequest",
                {"200": "SubsystemAnswer"},
                errors=(400, 401, 403, 413, 503),
            )
        },
        "/api/v1/confirmation": {
            "post": _operation(
                "Confirm that clock and ledger are right",
                None,
                {"200": "SubsystemAnswer"},
                errors=(401, 403, 503),
            )
        },
        "/healthz": {
            "get": _operation("Whether the process lives", None, {"200": None}, (), public=True)
        },
        "/readyz": {
            "get": _operation("Whether it can mint", None, {"200": None}, (503,), public=True)
        },
        "/metrics": {"get": _operation("Prometheus metrics", None, {"200": None}, (), public=True)},
    }


_IDEMPOTENCY_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "The same key with the same request gets the same labels again.",
    "schema": {"type": "string", "maxLength": 255},
}
_LABEL: Final = {
    "name": "label",
    "in": "path",
    "required": True,
    "description": "A label of this subsystem, slashes and all.",
    "schema": {"type": "string"},
}


def _query(
    name: str, description: str, schema: dict[str, Any], *, required: bool = False
) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "description": description,
        "required": required,
        "schema": schema,
    }


def _operation(  # noqa: PLR0913  # the parts of an operation
    summary: str,
    body: str | None,
    answers: dict[str, str | None],
    errors: tuple[int, ...],
    *,
    parameters: list[dict[str, Any]] | None = None,
    body_required: bool = True,
    public: bool = False,
) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, name in answers.items():
        responses[status] = {"description": summary}
        if name:
            responses[status]["content"] = _content("application/json", name)
    for error in errors:
        responses[str(error)] = {
            "description": "Problem",
            "content": _content(MEDIA_TYPE, "Problem"),
        }
    operation: dict[str, Any] = {"summary": summary, "responses": responses}
    if body:
        content = _content("application/json", body)
        operation["requestBody"] = {"content": content, "required": body_required}
    if parameters:
        operation["parameters"] = parameters
    if not public:
        operation["security"] = [{"token": []}]
    return operation


def _content(media_type: str, name: str) -> dict[str, Any]:
    return {media_type: {"schema": {"$ref": f"#/components/schemas/{name}"}}}
