"""The API of a resolver for its operator: archives, conflicts, history and tokens."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import msgspec
import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.errors import NotOnRecordError, RequestError, shown
from ibi.foundation.web.json_response import by_method, json_answer
from ibi.foundation.web.request_body import body_of, decoded, number_of
from ibi.foundation.web.tokens_api import TokensApi
from ibi.identifier.label import parse
from ibi.model.archive_record import RegistrationKey
from ibi.model.registration import ArchiveState, RegisteredArchive
from ibi.model.token import TokenStore
from ibi.resolver.ports.store import DigestProgress
from ibi.resolver.registry.registry import Registry
from ibi.resolver.search.conflicts import Conflicts
from ibi.resolver.web import messages
from ibi.resolver.web import responses as answers
from ibi.resolver.web.authorization import ResolverAuthorizer
from ibi.resolver.web.registrations_api import AdministratorNotices

_MOST: Final = 1000
_LOG: Final = structlog.get_logger()

_DECODE_REGISTRATION: Final = msgspec.json.Decoder(messages.RegistrationRequest).decode
_DECODE_HOSTS: Final = msgspec.json.Decoder(messages.HostsRequest).decode
_DECODE_SETTLEMENT: Final = msgspec.json.Decoder(messages.SettlementRequest).decode


class RegistryApi:
    """Its handlers."""

    def __init__(  # noqa: PLR0913, PLR0917  # what it acts on
        self,
        registry: Registry,
        conflicts: Conflicts,
        tokens: TokenStore,
        door: ResolverAuthorizer,
        notices: AdministratorNotices,
        about: messages.ResolverAnswer,
        digest: Callable[[str], DigestProgress | None],
    ) -> None:
        """Act on a registry and its conflicts; `digest` tells how much of an archive's is here."""
        self._registry = registry
        self._conflicts = conflicts
        self._door = door
        self._notices = notices
        self._about = about
        self._digest = digest
        self.tokens_api = TokensApi(tokens, door, _note_token, NotOnRecordError)

    @property
    def routes(self) -> list[Route]:
        """Where they answer. A label has slashes: what may follow one is tried before it alone."""
        archive = "/api/v1/archives/{service:path}"
        return [
            by_method("/api/v1/resolver", GET=self.about),
            by_method("/api/v1/archives", GET=self.archives, POST=self.register),
            by_method(f"{archive}/confirm", POST=self.confirm),
            by_method(f"{archive}/rotate", POST=self.rotate),
            by_method(f"{archive}/revoke", POST=self.revoke),
            by_method(f"{archive}/exclude", POST=self.exclude),
            by_method(f"{archive}/hosts", PUT=self.allow_hosts),
            by_method(archive, DELETE=self.remove),
            by_method("/api/v1/conflicts", GET=self.conflicts),
            by_method("/api/v1/conflicts/{conflict:path}/settlement", POST=self.settle),
            by_method("/api/v1/history", GET=self.history),
            *self.tokens_api.routes,
        ]

    async def about(self, _: Request) -> Response:
        """Tell what this resolver is."""
        counts = answers.counts(self._registry.all())
        return json_answer(msgspec.structs.replace(self._about, archives=counts))

    async def archives(self, request: Request) -> Response:
        """List the archives on record."""
        archives = self._registry.all()
        if await self._door.knows(request, "read"):
            found = [
                answers.whole_archive(archive, self._digest(archive.id)) for archive in archives
            ]
        else:
            # What merely asked to be here is nothing to publish.
            found = [
                answers.public_archive(archive)
                for archive in archives
                if archive.state is not ArchiveState.PENDING
            ]
        return json_answer(messages.ArchivesAnswer(found))

    async def register(self, request: Request) -> Response:
        """Register an archive, and show its key, once."""
        who = await self._door.admit(request, "operate")
        wanted = decoded(_DECODE_REGISTRATION, await body_of(request))
        archive, key = await self._registry.register(
            parse(wanted.service_ibi),
            RegistrationKey(wanted.key) if wanted.key else None,
            wanted.administrator,
            tuple(wanted.hosts),
            "operator",
            who,
        )
        answer = messages.KeyAnswer(archive.service.spelling, str(key))
        return json_answer(answer, HTTPStatus.CREATED)

    async def _meant(self, request: Request) -> tuple[RegisteredArchive, str]:
        """Return the archive that the path names, and who acts on it."""
        # Whoever has no token is told so before anything else.
        who = await self._door.admit(request, "operate")
        text = request.path_params["service"]
        found = await self._registry.fresh(parse(text).canonical)
        if found is None:
            raise NotOnRecordError("archive", text)
        return found, who

    async def confirm(self, request: Request) -> Response:
        """Make a pending registration good, and tell its administrator."""
        archive, who = await self._meant(request)
        confirmed = await self._registry.confirm(archive.id, who)
        return json_answer(await self._notices.confirmed(confirmed))

    async def rotate(self, request: Request) -> Response:
        """Issue another key, and show it, once."""
        archive, who = await self._meant(request)
        key = await self._registry.rotate(archive.id, who)
        rotated = self._registry.find(archive.id) or archive
        until = answers.moment(rotated.previous_until)
        return json_answer(messages.KeyAnswer(archive.service.spelling, str(key), until))

    async def revoke(self, request: Request) -> Response:
        """Take the key from an archive."""
        archive, who = await self._meant(request)
        return _shown(await self._registry.revoke(archive.id, who))

    async def exclude(self, request: Request) -> Response:
        """Switch an archive off, until it announces itself again."""
        archive, who = await self._meant(request)
        return _shown(await self._registry.exclude(archive.id, who))

    async def allow_hosts(self, request: Request) -> Response:
        """Set the further hosts that the URLs of an archive may be on."""
        archive, who = await self._meant(request)
        wanted = decoded(_DECODE_HOSTS, await body_of(request))
        return _shown(await self._registry.allow_hosts(archive.id, wanted.hosts, who))

    async def remove(self, request: Request) -> Response:
        """Forget an archive."""
        archive, who = await self._meant(request)
        await self._registry.remove(archive.id, who)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def conflicts(self, request: Request) -> Response:
        """List rival claims, those that are settled only if wanted."""
        await self._door.admit(request, "read")
        limit = number_of(request.query_params.get("limit", "100"), 1, _MOST)
        after = number_of(request.query_params.get("after", "0"), 0, 2**62)
        only_open = not _flag(request.query_params.get("all", "false"))
        found = await self._conflicts.listed(after, limit, only_open=only_open)
        more = str(found[-1].id) if len(found) == limit else ""
        conflicts = [answers.conflict_answer(each) for each in found]
        return json_answer(messages.ConflictsAnswer(conflicts, more))

    async def settle(self, request: Request) -> Response:
        """Say whose an Original is."""
        who = await self._door.admit(request, "operate")
        wanted = decoded(_DECODE_SETTLEMENT, await body_of(request))
        which = _number_or_label(request.path_params["conflict"])
        owner = parse(wanted.owner).canonical
        settled = await self._conflicts.settle(which, owner, who, wanted.note)
        return json_answer(answers.conflict_answer(settled))

    async def history(self, request: Request) -> Response:
        """Tell who did what, the oldest first."""
        await self._door.admit(request, "read")
        limit = number_of(request.query_params.get("limit", "100"), 1, _MOST)
        after = number_of(request.query_params.get("after", "0"), 0, 2**62)
        found = await self._registry.events(after, limit)
        more = str(found[-1].number) if len(found) == limit else ""
        lines = [answers.history_line(event) for event in found]
        return json_answer(messages.HistoryAnswer(lines, more))


async def _note_token(act: str, who: str, name: str, scope: str) -> None:
    _LOG.info(act, name=name, scope=scope, who=who)


def _shown(archive: RegisteredArchive) -> Response:
    return json_answer(answers.whole_archive(archive))


def _number_or_label(text: str) -> int | str:
    return number_of(text, 1, 2**62) if text.isdecimal() else parse(text).canonical


def _flag(text: str) -> bool:
    if text not in {"true", "false"}:
        msg = f"{shown(text)} is neither true nor false."
        raise RequestError(msg)
    return text == "true"
