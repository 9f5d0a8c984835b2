"""The API of an archive: checks of its files, and what was found damaged."""

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

_MOST: Final = 1000


class DamageAnswer(msgspec.Struct, frozen=True):
    """What is not as it was deposited: a file of an item, its manifest, or the item itself."""

    label: str
    """Of the item; empty for what lies where no item can be."""
    path: str
    """Below the folder of the item; empty for all of it."""
    found: str
    what: str


class DamagesAnswer(msgspec.Struct, frozen=True):
    """All that is known to be damaged, in the order of labels and paths."""

    damage: list[DamageAnswer]
    after: str = ""
    """Continue after this; empty at the end."""


def damage_answer(damage: Damage) -> DamageAnswer:
    """Say what is damaged."""
    return DamageAnswer(damage.label, damage.path, moment(damage.found), damage.what)


class AuditsApi:
    """Its handlers."""

    def __init__(self, archive: Archive, auditing: AuditSchedule, tasks: Tasks) -> None:
        """Check one archive."""
        self._archive = archive
        self._auditing = auditing
        self._tasks = tasks

    async def begin(self, request: AuthorizedRequest) -> Response:
        """Begin to check the files of some items, or of all."""
        wanted = await request.read(AuditRequest)
        task = await asyncio.to_thread(self._auditing.begin, self._tasks, wanted, request.caller)
        return json_answer(task_answer(task), HTTPStatus.ACCEPTED)

    async def damage(self, request: AuthorizedRequest) -> Response:
        """List what is known to be damaged."""
        limit = number_of(request.query_params.get("limit", "1000"), 1, _MOST)
        label, _, path = request.query_params.get("after", "").partition(" ")
        listed = self._archive.catalogue.damages.page
        found = await asyncio.to_thread(listed, (label, path), limit)
        after = f"{found[-1].label} {found[-1].path}" if len(found) == limit else ""
        return json_answer(DamagesAnswer([damage_answer(each) for each in found], after))
