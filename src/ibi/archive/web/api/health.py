"""The API of an archive: its health."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec
from starlette.responses import Response

from ibi.archive.health import Health
from ibi.archive.rules.scopes import READ
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest, Operation
from ibi.model.finding import Finding


class HealthAnswer(msgspec.Struct, frozen=True):
    """The results of all checks, the worst first."""

    findings: list[Finding]


class HealthApi:
    """Handler of the operation on health."""

    def __init__(self, health: Health) -> None:
        """Check one archive."""
        self._health = health

    async def health(self, _: AuthorizedRequest) -> Response:
        """Check everything, in English."""
        found = await asyncio.to_thread(self._health.findings)
        return json_answer(HealthAnswer([finding.plain() for finding in found]))


HEALTH_OPERATION: Final = Operation(
    "GET",
    "/api/v1/health",
    READ,
    HealthApi.health,
    "Check the archive as far as it sees itself, the worst first",
    answer=HealthAnswer,
)
