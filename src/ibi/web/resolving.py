"""Persistent URLs at a resolver: a reader's question in, a redirection or an explanation out."""

from __future__ import annotations

import asyncio
from functools import partial
from http import HTTPStatus
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ibi.errors import RequestError
from ibi.identifier.instant import Instant
from ibi.identifier.persistent_url import PersistentUrl
from ibi.model.item import ContentType
from ibi.resolver.acknowledging import Acknowledging
from ibi.resolver.acknowledgment import Referral
from ibi.resolver.decision import Redirect
from ibi.resolver.memory import Memory
from ibi.resolver.question import Question
from ibi.resolver.resolution import Resolution, Resolving
from ibi.resolver.target import with_pairs
from ibi.web.clients import Clients, network_of
from ibi.web.header_values import link, uri
from ibi.web.page_language import preference_of
from ibi.web.rate_limit import RateLimit
from ibi.web.warm_path import WarmAnswers
from ibi.wire.requests import encode

LONGEST_URL: Final = 8192
MOST_NOTED: Final = 1000
"""Referrals that are kept at hand for the readers of one warm answer."""
LONGEST_REQUEST: Final = 7000
"""To an archive: many servers take 8 kB in all."""
_FORMS: Final = ("/ibi/", "/rep/")
"""What may stand before a label, as in links of old."""


class ResolvingDoor:
    """Resolves for readers: remembers, limits, acknowledges."""

    def __init__(  # noqa: PLR0913, PLR0917  # its parts
        self,
        base: str,
        resolving: Resolving,
        memory: Memory,
        warm: WarmAnswers,
        acknowledging: Acknowledging,
        clients: Clients,
        budget: RateLimit,
    ) -> None:
        """Resolve below the public address `base`."""
        self._base = base
        self._resolving = resolving
        self._memory = memory
        self._warm = warm
        self._acknowledging = acknowledging
        self._clients = clients
        self._budget = budget

    async def answer(
        self, request: Request, wanted: PersistentUrl
    ) -> tuple[Resolution, Response | None]:
        """Resolve what a reader wants, and redirect if there is somewhere to go."""
        preference = preference_of(request.headers.get("accept-language", ""))
        question = Question.of(wanted, preference)
        now = asyncio.get_running_loop().time()
        told = self._clients.told(self._clients.of(request))
        remembered = self._memory.recall(question, told, now)
        if remembered is None:
            version = self._memory.version
            resolution = await self._resolve(request, question)
            remembered = self._memory.keep(resolution, version, now)
        else:
            resolution = remembered.resolution
        if not isinstance(resolution.outcome, Redirect):
            return resolution, None
        response = self._redirection(resolution, resolution.outcome, wanted)
        if request.method == "GET":
            self._note(resolution, resolution.outcome, {}, told)
            depends = question.depends_on_reader or resolution.only_for
            # What belongs to the item may be anything: nobody is to fill the memory with it.
            if remembered and not depends and not wanted.passed_on:
                note = partial(self._note, remembered.resolution, resolution.outcome, {})
                self._warm.keep(_target(request), response.raw_headers, remembered, note)
        return resolution, response

    def _note(
        self,
        resolution: Resolution,
        outcome: Redirect,
        noted: dict[tuple[str, ...], Referral],
        clients: tuple[str, ...],
    ) -> None:
        """Count the access of a reader; `noted` are referrals of the same, by their readers."""
        referral = noted.get(clients)
        if referral is None:
            referral = referral_of(resolution, outcome, clients, self._base)
            if len(noted) >= MOST_NOTED:
                noted.clear()
            noted[clients] = referral.again
        self._acknowledging.note(referral)

    async def resolve(
        self, request: Request, question: Question, *, hear_all: bool = False
    ) -> Resolution:
        """Resolve a question without an access: for whoever wants to know, not to read."""
        return await self._resolve(request, question, hear_all=hear_all)

    async def _resolve(
        self, request: Request, question: Question, *, hear_all: bool = False
    ) -> Resolution:
        addresses = self._clients.of(request)
        share = network_of(addresses[0])
        told = self._clients.told(addresses)
        if len(encode(question.request(told))) > LONGEST_REQUEST:
            msg = "The path is longer than archives take: shorten it."
            raise HTTPException(HTTPStatus.REQUEST_URI_TOO_LONG, msg)
        return await self._resolving.resolve(
            question,
            told,
            spend=lambda: self._budget.admit(share),
            share=share,
            hear_all=hear_all,
        )

    def _redirection(
        self, resolution: Resolution, outcome: Redirect, wanted: PersistentUrl
    ) -> Response:
        location = with_pairs(outcome.served.related.url, wanted.passed_on)
        headers = {
            "Location": uri(location),
            # Every reader comes here: so a location holds no longer than it is remembered here.
            "Cache-Control": "private, no-store" if resolution.only_for else "no-cache",
            "Link": link(resolution.question.persistent_url.at(self._base), "cite-as"),
        }
        if resolution.question.depends_on_reader:
            headers["Vary"] = "Accept-Language"
        return Response(status_code=HTTPStatus.FOUND, headers=headers)


def referral_of(
    resolution: Resolution, outcome: Redirect, clients: tuple[str, ...], base: str
) -> Referral:
    """Return what an archive is told of a reader who was sent to it (Table 6.11).

    A key is good for whom it was asked for: who joined another's search needs another.
    """
    listed, related, last = outcome.answer.listed, outcome.served.related, resolution.last
    assert listed is not None  # noqa: S101  # it was chosen
    return Referral(
        archive=outcome.answer.archive,
        request=last.question.request(clients),
        content=related.content or ContentType.DATA,
        url=related.url,
        state=related.state,
        forms=related.forms if outcome.served.relation.steps else listed.forms,
        persistent_url=resolution.question.persistent_url.at(base),
        key=last.key if last.request.clients == clients else None,
    )


def wanted_of(request: Request, base: str, now: Instant) -> PersistentUrl:
    """Read the persistent URL of a request."""
    text = target_of(request)
    if len(text) > LONGEST_URL:
        msg = f"The address is longer than {LONGEST_URL} characters: shorten its path or query."
        raise HTTPException(HTTPStatus.REQUEST_URI_TOO_LONG, msg)
    for form in _FORMS:
        if text.startswith(form):
            text = text[len(form) - 1 :]
    return PersistentUrl.parse(base + text, now=now)


def question_of(request: Request) -> tuple[PersistentUrl, Question]:
    """Read the question that a request of the API carries in its parameters."""
    text = request.query_params.get("url", "")
    if not text:
        raise RequestError("The parameter url is missing: a label, or a persistent URL.")
    wanted = PersistentUrl.parse(text[:LONGEST_URL])
    preference = preference_of(
        request.headers.get("accept-language", ""), request.query_params.get("language", "")
    )
    return wanted, Question.of(wanted, preference)


def target_of(request: Request) -> str:
    """Return the path and query of a request, as they were written."""
    return _target(request).decode("ascii", "replace")


def _target(request: Request) -> bytes:
    query: bytes = request.scope["query_string"]
    raw: bytes = request.scope["raw_path"]
    return raw + b"?" + query if query else raw
