"""The operations of the minting API."""

from __future__ import annotations

from typing import Final

from ibi.foundation.web.authorization import PUBLIC
from ibi.foundation.web.openapi import ApiDescription, query
from ibi.foundation.web.operations import Body, Operation
from ibi.foundation.web.status import StatusApi
from ibi.minting.rules.scopes import ADMINISTER, MINT
from ibi.minting.web import messages
from ibi.minting.web.service import MintingService

DESCRIPTION: Final = ApiDescription(
    "IBI minter",
    "Mints Internet Based Identifiers, never the same twice.",
    protected_problems=(401, 503),
    public_problems=(),
    answer="",
    problem="Problem",
)

_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "The same key with the same request gets the same labels again.",
    "schema": {"type": "string", "maxLength": 255},
}
_LABEL: Final = {
    "name": "label",
    "in": "path",
    "required": True,
    "description": "A label of this subsystem, with its slashes.",
    "schema": {"type": "string"},
}
_PAGE: Final = (
    query("after", "Continue after this instant", required=False),
    query(
        "limit",
        "How many",
        {"type": "integer", "minimum": 1, "maximum": 1000},
        required=False,
    ),
)

# Laid out as a table, with about three lines an operation.
# fmt: off
OPERATIONS: Final = (
    Operation("POST", "/api/v1/labels", MINT, MintingService.mint,
        "Mint labels",
        request=Body(messages.MintRequest, required=False), answer=messages.MintAnswer,
        status=201, problems=(400, 413, 422, 429), parameters=(_KEY,)),
    Operation("GET", "/api/v1/labels", MINT, MintingService.unbound,
        "List labels that were reserved and never bound",
        answer=messages.UnboundAnswer, problems=(400,), parameters=_PAGE),
    Operation("GET", "/api/v1/labels/{label:path}", MINT, MintingService.record,
        "Show the record of a label",
        answer=messages.Recorded, problems=(400, 404), parameters=(_LABEL,)),
    Operation("PUT", "/api/v1/labels/{label:path}", MINT, MintingService.bind,
        "Bind a reserved label to its target",
        request=messages.BindRequest, answer=messages.Recorded, problems=(400, 409, 413),
        parameters=(_LABEL,)),
    Operation("GET", "/api/v1/describe", PUBLIC, MintingService.describe,
        "Describe a label",
        problems=(400,), parameters=(query("text", "A label", required=True),)),
    Operation("GET", "/api/v1/subsystem", MINT, MintingService.subsystem,
        "Show the state of the minter",
        answer=messages.SubsystemAnswer),
    Operation("PUT", "/api/v1/granularity", ADMINISTER, MintingService.granularity,
        "Change the granularity",
        request=messages.GranularityRequest, answer=messages.SubsystemAnswer,
        problems=(400, 403, 413)),
    Operation("POST", "/api/v1/confirmation", ADMINISTER, MintingService.confirm,
        "Confirm that clock and ledger are right",
        answer=messages.SubsystemAnswer, problems=(403,)),
    Operation("GET", "/healthz", PUBLIC, StatusApi.healthz,
        "Whether the process lives"),
    Operation("GET", "/readyz", PUBLIC, StatusApi.readyz,
        "Whether it can mint",
        problems=(503,)),
    Operation("GET", "/metrics", PUBLIC, StatusApi.metrics,
        "Prometheus metrics"),
    Operation("GET", "/openapi.json", PUBLIC, StatusApi.openapi,
        "The OpenAPI document",
        described=False),
)
# fmt: on
"""All operations; if two paths match a request, the first one is used."""
