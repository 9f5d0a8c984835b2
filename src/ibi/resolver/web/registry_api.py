"""The API of a resolver for its operator: archives, conflicts and history."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import msgspec
import structlog
from starlette.requests import Request
from starlette.responses import Response

from ibi.errors import NotOnRecordError, RequestError, Sentence, shown
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest
from ibi.foundation.web.request_body import number_of
from ibi.identifier.label import parse
from ibi.model.archive_record import RegistrationKey
from ibi.model.registration import ArchiveState, RegisteredArchive
from ibi.resolver.ports.store import DigestProgress
from ibi.resolver.registry.registry import Registry
from ibi.resolver.search.conflicts import Conflicts
from ibi.resolver.web import messages
from ibi.resolver.web import responses as answers
from ibi.resolver.web.registrations_api import AdministratorNotices

_MAX_PAGE: Final = 1000
_LOG: Final = structlog.get_logger()


class RegistryApi:
    """Handlers of the operator's operations."""

    def __init__(  # its collaborators
        self,
        registry: Registry,
        conflicts: Conflicts,
        notices: AdministratorNotices,
        about: messages.ResolverAnswer,
        digest: Callable[[str], DigestProgress | None],
    ) -> None:
        """Act on a registry and its conflicts; `digest` returns the progress of a digest."""
        self._registry = registry
        self._conflicts = conflicts
        self._notices = notices
        self._about = about
        self._digest = digest

    async def about(self, _: AuthorizedRequest) -> Response:
        """Answer the facts of this resolver."""
        counts = answers.counts(self._registry.all())
        return json_answer(msgspec.structs.replace(self._about, archives=counts))

    async def archives(self, request: AuthorizedRequest) -> Response:
        """List the archives on record."""
        archives = self._registry.all()
        if request.caller:
            found = [
                answers.whole_archive(
                    archive,
                    self._digest(archive.id),
                    self._registry.response_times.of(archive.id),
                )
                for archive in archives
            ]
        else:
            # Pending requests are not published.
            found = [
                answers.public_archive(archive)
                for archive in archives
                if archive.state is not ArchiveState.PENDING
            ]
        return json_answer(messages.ArchivesAnswer(found))

    async def register(self, request: AuthorizedRequest) -> Response:
        """Register an archive, and show its key, once."""
        wanted = await request.read(messages.RegistrationRequest)
        archive, key = await self._registry.register(
            parse(wanted.service_ibi),
            RegistrationKey(wanted.key) if wanted.key else None,
            wanted.administrator,
            tuple(wanted.hosts),
            "operator",
            request.caller,
        )
        answer = messages.KeyAnswer(archive.service.spelling, str(key))
        return json_answer(answer, HTTPStatus.CREATED)

    async def _meant(self, request: Request) -> RegisteredArchive:
        """Return the archive that the path names."""
        text = request.path_params["service"]
        found = await self._registry.fresh(parse(text).canonical)
        if found is None:
            raise NotOnRecordError("archive", text)
        return found

    async def confirm(self, request: AuthorizedRequest) -> Response:
        """Confirm a pending registration, and notify its administrator."""
        archive = await self._meant(request)
        confirmed = await self._registry.confirm(archive.id, request.caller)
        return json_answer(await self._notices.confirmed(confirmed))

    async def rotate(self, request: AuthorizedRequest) -> Response:
        """Issue another key, and show it, once."""
        archive = await self._meant(request)
        key = await self._registry.rotate(archive.id, request.caller)
        rotated = self._registry.find(archive.id) or archive
        until = answers.moment(rotated.previous_until)
        return json_answer(messages.KeyAnswer(archive.service.spelling, str(key), until))

    async def revoke(self, request: AuthorizedRequest) -> Response:
        """Revoke the key of an archive."""
        archive = await self._meant(request)
        return _shown(await self._registry.revoke(archive.id, request.caller))

    async def exclude(self, request: AuthorizedRequest) -> Response:
        """Exclude an archive until it announces itself again."""
        archive = await self._meant(request)
        return _shown(await self._registry.exclude(archive.id, request.caller))

    async def allow_hosts(self, request: AuthorizedRequest) -> Response:
        """Set the further hosts that the URLs of an archive may be on."""
        archive = await self._meant(request)
        wanted = await request.read(messages.HostsRequest)
        return _shown(await self._registry.allow_hosts(archive.id, wanted.hosts, request.caller))

    async def remove(self, request: AuthorizedRequest) -> Response:
        """Remove an archive."""
        archive = await self._meant(request)
        await self._registry.remove(archive.id, request.caller)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def conflicts(self, request: AuthorizedRequest) -> Response:
        """List rival claims; settled ones only if requested."""
        limit = number_of(request.query_params.get("limit", "100"), 1, _MAX_PAGE)
        after = number_of(request.query_params.get("after", "0"), 0, 2**62)
        only_open = not _flag(request.query_params.get("all", "false"))
        found = await self._conflicts.listed(after, limit, only_open=only_open)
        more = str(found[-1].id) if len(found) == limit else ""
        conflicts = [answers.conflict_answer(each) for each in found]
        return json_answer(messages.ConflictsAnswer(conflicts, more))

    async def settle(self, request: AuthorizedRequest) -> Response:
        """Settle which archive has an Original."""
        wanted = await request.read(messages.SettlementRequest)
        which = _number_or_label(request.path_params["conflict"])
        owner = parse(wanted.owner).canonical
        settled = await self._conflicts.settle(which, owner, request.caller, wanted.note)
        return json_answer(answers.conflict_answer(settled))

    async def history(self, request: AuthorizedRequest) -> Response:
        """Answer the history, the oldest first."""
        limit = number_of(request.query_params.get("limit", "100"), 1, _MAX_PAGE)
        after = number_of(request.query_params.get("after", "0"), 0, 2**62)
        found = await self._registry.events(after, limit)
        more = str(found[-1].number) if len(found) == limit else ""
        lines = [answers.history_line(event) for event in found]
        return json_answer(messages.HistoryAnswer(lines, more))


async def log_token(act: str, who: str, name: str, scope: str) -> None:
    """Log the creation or removal of a token: the history is of archives only."""
    _LOG.info(act, name=name, scope=scope, who=who)


def _shown(archive: RegisteredArchive) -> Response:
    return json_answer(answers.whole_archive(archive))


def _number_or_label(text: str) -> int | str:
    return number_of(text, 1, 2**62) if text.isdecimal() else parse(text).canonical


def _flag(text: str) -> bool:
    if text not in {"true", "false"}:
        msg = Sentence("%(text)s is neither true nor false.", text=shown(text))
        raise RequestError(msg)
    return text == "true"
