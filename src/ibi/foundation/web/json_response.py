"""JSON responses."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.responses import Response

_ENCODE: Final = msgspec.json.Encoder().encode
FRESH: Final = {"Cache-Control": "no-store"}


def json_answer(
    answer: Any,  # noqa: ANN401  # any message
    status: int = HTTPStatus.OK,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a response with a message as JSON, which no cache stores."""
    return Response(_ENCODE(answer), status, {**FRESH, **(headers or {})}, "application/json")
