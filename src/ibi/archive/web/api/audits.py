"""The API of an archive: audits, and the damage that they found."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.responses import Response

from ibi.archive.archive import Archive
from ibi.archive.fixity.audit_schedule import AuditRequest, AuditSchedule
from ibi.archive.ports.maintenance import Damage
from ibi.archive.tasks import Tasks
from ibi.archive.web.api.responses import moment
from ibi.archive.web.api.tasks import task_answer
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest
from ibi.foundation.web.request_body import number_of

_MAX_PAGE: Final = 1000
"""Damaged files of one page at most."""


class DamageAnswer(msgspec.Struct, frozen=True):
    """Damage of a file, of a manifest, or of a whole item."""

    label: str
    """The label of the item; empty for a file outside of all items."""
    path: str
    """The path in the folder of the item; empty for the whole item."""
    found: str
    what: str


class DamagesAnswer(msgspec.Struct, frozen=True):
    """A page of known damage, in the order of labels and paths."""

    damage: list[DamageAnswer]
    after: str = ""
    """Continue after this; empty at the end."""


def damage_answer(damage: Damage) -> DamageAnswer:
    """Return damage as a message of the API."""
    return DamageAnswer(damage.label, damage.path, moment(damage.found), damage.what)


class AuditsApi:
    """Handlers of the operations on audits."""

    def __init__(self, archive: Archive, auditing: AuditSchedule, tasks: Tasks) -> None:
        """Audit one archive."""
        self._archive = archive
        self._auditing = auditing
        self._tasks = tasks

    async def begin(self, request: AuthorizedRequest) -> Response:
        """Begin an audit of some items, or of all."""
        wanted = await request.read(AuditRequest)
        task = await asyncio.to_thread(self._auditing.begin, self._tasks, wanted, request.caller)
        return json_answer(task_answer(task), HTTPStatus.ACCEPTED)

    async def damage(self, request: AuthorizedRequest) -> Response:
        """List the known damage."""
        limit = number_of(request.query_params.get("limit", "1000"), 1, _MAX_PAGE)
        label, _, path = request.query_params.get("after", "").partition(" ")
        listed = self._archive.catalogue.damages.page
        found = await asyncio.to_thread(listed, (label, path), limit)
        after = f"{found[-1].label} {found[-1].path}" if len(found) == limit else ""
        return json_answer(DamagesAnswer([damage_answer(each) for each in found], after))
