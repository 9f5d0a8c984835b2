"""Persistent URLs at a resolver: a reader's question in, a redirect or an explanation out."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from http import HTTPStatus
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ibi.errors import RequestError, Sentence
from ibi.foundation.translation.language import preference_of
from ibi.foundation.web.client_address import ClientAddresses, network_of
from ibi.foundation.web.header_values import link, uri
from ibi.foundation.web.rate_limit import RateLimit
from ibi.identifier.cleanup import CleanUp
from ibi.identifier.instant import Instant
from ibi.identifier.persistent_url import PersistentUrl, without_preferences
from ibi.metadata.negotiation import Choice, choices, in_form, is_negotiable
from ibi.resolver.acknowledgments.sender import AcknowledgmentSender
from ibi.resolver.rules.decision import Redirect, Unserved
from ibi.resolver.rules.redirect_cache import RedirectCache
from ibi.resolver.rules.redirect_entry import CachedRedirect, first_referral
from ibi.resolver.rules.redirect_target import with_pairs
from ibi.resolver.rules.resolution import Resolution
from ibi.resolver.search.hops import HopResolver
from ibi.resolver.web.fast_redirects import LONGEST_TARGET, FastRedirects
from ibi.wire.question import Question
from ibi.wire.requests import encode

LONGEST_URL: Final = 8192
MAX_REQUEST: Final = 7000
"""Bytes of a request to an archive: many servers accept 8 kB in all."""
MOST_FORMS: Final = 3
"""Forms of metadata that archives are asked for in turn, because of one request."""
_FORMS: Final = ("/ibi/", "/rep/")
"""Prefixes of a label in old links."""
_AS_WRITTEN: Final = frozenset((CleanUp.RESOLVER_ADDRESS,))
"""Clean-ups after which a persistent URL is still the one that was written."""


class RedirectEndpoint:
    """Resolves questions of readers, with cache, rate limit and acknowledgments."""

    def __init__(  # noqa: PLR0913, PLR0917  # its parts
        self,
        base: str,
        resolving: HopResolver,
        memory: RedirectCache,
        warm: FastRedirects,
        acknowledging: AcknowledgmentSender,
        clients: ClientAddresses,
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
        self.recalled = 0
        """How many persistent URLs were answered from the cache, but for warm ones."""

    async def answer(self, request: Request, wanted: PersistentUrl) -> Response | Resolution:
        """Resolve a persistent URL; return a redirect, or the resolution if there is none.

        A client that asks for a form of metadata is sent to the first one that an archive has. The
        others get the item: whether they take its media type is known to its archive alone.
        """
        wished = choices_of(request) if is_negotiable(wanted) else ()
        refused: Resolution | None = None
        for choice in wished[:MOST_FORMS]:
            if not choice.format:
                break
            found = await self._answer(request, in_form(wanted, choice), is_chosen=True)
            if isinstance(found, Response):
                return found
            if not isinstance(found.outcome, Unserved):  # no form of the item is anywhere
                return replace(found, question=_question(wanted, request))
            refused = refused or found
        if refused is None or Choice("") in wished:
            return await self._answer(request, wanted)
        whole = await self._resolve(request, _question(wanted, request))
        return refused if isinstance(whole.outcome, Redirect) else whole

    async def _answer(
        self, request: Request, wanted: PersistentUrl, *, is_chosen: bool = False
    ) -> Response | Resolution:
        """Resolve a persistent URL; `is_chosen` if the client chose its form by a header."""
        question = _question(wanted, request)
        addresses = self._clients.of(request)
        disclosed = self._clients.disclosed(addresses)
        is_access = request.method == "GET"
        received = _asked(wanted) if is_chosen else _received(request, wanted)
        now = asyncio.get_running_loop().time()
        readers = {self._clients.disclosed_to_holder(addresses), disclosed}
        found = self._memory.recall(question, readers, now)
        if found is not None:
            self.recalled += 1
        if found is None:
            found = await self._find(request, question, received, disclosed if is_access else None)
        elif isinstance(found, CachedRedirect) and is_access:
            clients = found.clients(disclosed)
            self._acknowledging.note_known(found, clients, found.spelled(received))
        if isinstance(found, Resolution):
            return found
        response = self._redirection(found, wanted)
        # The pairs of the item may be anything: such answers are not cached, or they would fill
        # memory.
        depends = found.depends_on_reader or found.only_for
        if not depends and not wanted.passed_on and not is_chosen:
            self._warm.keep(_target(request), response.raw_headers, found, found.spelled(received))
        return response

    async def _find(
        self,
        request: Request,
        question: Question,
        received: bytes,
        reader: tuple[str, ...] | None,
    ) -> CachedRedirect | Resolution:
        """Resolve a question, and cache the outcome."""
        version = self._memory.version
        resolution = await self._resolve(request, question)
        now = asyncio.get_running_loop().time()
        found = self._memory.keep(resolution, self._base, version, now)
        if isinstance(found, CachedRedirect) and reader is not None:
            clients = found.clients(reader)
            self._acknowledging.note(first_referral(found, resolution, clients, received))
        return found

    async def resolve(
        self, request: Request, question: Question, *, ask_all: bool = False
    ) -> Resolution:
        """Resolve a question without counting an access."""
        return await self._resolve(request, question, ask_all=ask_all)

    async def _resolve(
        self, request: Request, question: Question, *, ask_all: bool = False
    ) -> Resolution:
        addresses = self._clients.of(request)
        quota_key = network_of(addresses[0])
        disclosed = self._clients.disclosed(addresses)
        to_holder = self._clients.disclosed_to_holder(addresses)
        if len(encode(question.request(to_holder))) > MAX_REQUEST:
            msg = Sentence("The path is longer than archives take: shorten it.")
            raise HTTPException(HTTPStatus.REQUEST_URI_TOO_LONG, msg)
        return await self._resolving.resolve(
            question,
            disclosed,
            holder_clients=to_holder,
            charge=lambda messages: self._budget.admit(quota_key, messages),
            quota_key=quota_key,
            ask_all=ask_all,
        )

    def _redirection(self, known: CachedRedirect, wanted: PersistentUrl) -> Response:
        headers = {
            "Location": uri(with_pairs(known.url.decode(), wanted.passed_on)),
            # Clients ask each time, so a location is valid for no longer than it is cached here.
            "Cache-Control": "private, no-store" if known.only_for else "no-cache",
            "Link": link(self._base + known.path.decode(), "cite-as"),
        }
        headers["Vary"] = "Accept, Accept-Language" if known.depends_on_reader else "Accept"
        return Response(status_code=HTTPStatus.FOUND, headers=headers)


def wanted_of(request: Request, base: str, now: Instant) -> PersistentUrl:
    """Parse the persistent URL of a request."""
    text = target_of(request)
    if len(text) > LONGEST_URL:
        msg = Sentence(
            "The address is longer than %(url)s characters: shorten its path or query.",
            url=LONGEST_URL,
        )
        raise HTTPException(HTTPStatus.REQUEST_URI_TOO_LONG, msg)
    return PersistentUrl.parse(base + _without_form(text), now=now)


def _without_form(text: str) -> str:
    for form in _FORMS:
        if text.startswith(form):
            text = text[len(form) - 1 :]
    return text


def _question(wanted: PersistentUrl, request: Request) -> Question:
    preference = preference_of(request.headers.get("accept-language", ""))
    return Question.of(wanted, preference)


def _received(request: Request, wanted: PersistentUrl) -> bytes:
    """Return the path and query of a persistent URL as archives are told of them (Table 6.11).

    They are those of the request, without the reader's preferences; those that were read, if the
    request had to be cleaned up. If they are very long, the result is empty.
    """
    if _AS_WRITTEN.issuperset(wanted.cleaned):
        text = without_preferences(_without_form(target_of(request)))
    else:
        return _asked(wanted)
    return b"" if len(text) > LONGEST_TARGET else text.encode()


def _asked(wanted: PersistentUrl) -> bytes:
    text = replace(wanted, original_required=False, language=None).at("")
    return b"" if len(text) > LONGEST_TARGET else text.encode()


def choices_of(request: Request) -> tuple[Choice, ...]:
    """Return the forms of an item that the client of a request accepts, the dearest first."""
    return choices(",".join(request.headers.getlist("accept")))


def question_of(request: Request) -> tuple[PersistentUrl, Question]:
    """Parse the question in the parameters of an API request."""
    text = request.query_params.get("url", "")
    if not text:
        raise RequestError(Sentence("The parameter url is missing: a label, or a persistent URL."))
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
