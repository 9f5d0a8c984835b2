"""Resolution: from a reader's question to a URL, by as many hops as needed (004, 6.2 and 8.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ibi.model.archive_record import UrlKey
from ibi.resolver.ports.outbound import ArchiveReply
from ibi.resolver.rules.decision import (
    Decision,
    Hop,
    NotFound,
    Redirect,
    Unsure,
    Wait,
    Widen,
    decide,
)
from ibi.resolver.rules.evidence import Evidence
from ibi.resolver.rules.label_plausibility import with_impossibility
from ibi.resolver.rules.redirect_target import personal_answers
from ibi.resolver.rules.resolution import Chain, Resolution, ResolutionStep
from ibi.resolver.search.plausibility import Plausibility
from ibi.resolver.search.pool import SearchPool
from ibi.resolver.search.search import Charge, Search
from ibi.wire.question import Question
from ibi.wire.requests import UrlRequest

MAX_HOPS: Final = 32
"""Hops of one resolution. An archive follows its own editions by itself, so a longer chain of
archives counts as endless."""
MAX_SECONDS: Final = 15.0
"""Seconds after which no further hop is made."""


@dataclass(frozen=True, slots=True)
class _Reader:
    clients: tuple[str, ...]
    """The addresses that all archives get."""
    holder_clients: tuple[str, ...]
    """The addresses that the archive gets to which the reader would be sent, if it asks."""


def _free(messages: int) -> None:
    """Charge nothing for messages."""
    del messages


async def _no_catch_up() -> None:
    """Read no changes: no other process changes the registry."""


class HopResolver:
    """Resolves questions."""

    def __init__(
        self,
        pool: SearchPool,
        catch_up: Callable[[], Awaitable[None]] = _no_catch_up,
        plausibility: Plausibility | None = None,
    ) -> None:
        """Resolve by these searches; `catch_up` reads the changes of other processes.

        Without `plausibility`, every label may be in an archive that is silent.
        """
        self._pool = pool
        self._plausibility = plausibility
        self._catch_up = catch_up

    async def resolve(  # noqa: PLR0913  # the reader, and the account of the reader
        self,
        question: Question,
        clients: tuple[str, ...],
        *,
        holder_clients: tuple[str, ...] | None = None,
        charge: Charge = _free,
        quota_key: str = "",
        ask_all: bool = False,
    ) -> Resolution:
        """Resolve a question; `charge` is called with the number of messages before they are sent.

        It raises TooManyRequestsError if the reader may not cause so many. All archives get
        `clients`; one that has the item for some readers only, and to which the reader would be
        sent, gets `holder_clients`. `quota_key` is the
        client that the searches count against: each has only a part of all. With `ask_all`, nothing
        is decided before every archive was asked and has replied, so that the whole search can be
        explained.
        """
        began = asyncio.get_running_loop().time()
        reader = _Reader(clients, clients if holder_clients is None else holder_clients)
        steps: list[ResolutionStep] = []
        seen = {question.search}
        current = question
        while True:
            step = await self._step(current, reader, charge, quota_key, ask_all=ask_all)
            steps.append(step)
            decision = step.decision
            if not isinstance(decision, Hop):
                # No archive is awaited or held back any more.
                assert not isinstance(decision, Wait | Widen)  # noqa: S101
                return Resolution(question, tuple(steps), decision)
            current = current.onward(decision.label, decision.verbs)
            is_loop = current.search in seen
            if (
                is_loop
                or len(steps) > MAX_HOPS
                or asyncio.get_running_loop().time() - began > MAX_SECONDS
            ):
                labels = (*(each.question.label for each in steps), current.label)
                return Resolution(question, tuple(steps), Chain(labels, is_loop))
            seen.add(current.search)

    async def _step(
        self,
        question: Question,
        reader: _Reader,
        charge: Charge,
        quota_key: str,
        *,
        ask_all: bool,
    ) -> ResolutionStep:
        began, clients = asyncio.get_running_loop().time(), reader.clients
        search = self._search(question, clients, charge, quota_key, ask_all=ask_all)
        evidence, decision = await self._decided(question, search, ask_all=ask_all)
        if isinstance(decision, NotFound):
            # NotFound needs the replies of all archives, also of those that were included
            # meanwhile, here or by another process.
            await self._catch_up()
            if search.version != self._pool.version:
                search = self._search(question, clients, charge, quota_key, ask_all=ask_all)
                evidence, decision = await self._decided(question, search, ask_all=ask_all)
        for_reader = _PersonalAnswers(self._pool, search.request, charge)
        evidence, decision = await for_reader.decided(question, reader, evidence, decision)
        key = None
        if isinstance(decision, Redirect) and for_reader.has_asked(decision.answer.archive):
            key = for_reader.key(decision.answer)
        elif isinstance(decision, Redirect) and not ask_all:
            key = search.take_key(decision.answer, clients)
        personal = personal_answers(decision)
        request = for_reader.request_to(personal[0]) if personal else search.request
        seconds = asyncio.get_running_loop().time() - began
        return ResolutionStep(
            question, request, evidence, decision, search.began, seconds, key, bool(personal)
        )

    async def _decided(
        self, question: Question, search: Search, *, ask_all: bool
    ) -> tuple[Evidence, Decision]:
        evidence, decision = await _decided(question, search, ask_all=ask_all)
        plausibility = self._plausibility
        if plausibility is not None:
            judge = plausibility.impossibility
            decision = with_impossibility(decision, lambda: judge(question.label, evidence))
        return evidence, decision

    def _search(
        self,
        question: Question,
        clients: tuple[str, ...],
        charge: Charge,
        quota_key: str,
        *,
        ask_all: bool,
    ) -> Search:
        search = self._pool.join(question, charge, ask_all=ask_all)
        if search is not None:
            return search
        charge(0)  # no search is begun for a client that owes messages
        return self._pool.begin(question, clients, charge, quota_key, ask_all=ask_all)


class _PersonalAnswers:
    """Asks archives again that have an item for some readers only (004, 7.2, CriarParUrl).

    A search asks for the client of its first reader, of which archives get as much as the operator
    discloses to all of them. An archive that answers for some readers only is asked once more, for
    the reader who is waiting. The whole address goes only to the archive to which the reader would
    be sent, and which sees it then anyway.
    """

    def __init__(self, pool: SearchPool, request: UrlRequest, charge: Charge) -> None:
        """Begin with the answers to the request of a search."""
        self._pool = pool
        self._request = request
        self._charge = charge
        self._requests: dict[str, UrlRequest] = {}
        """Requests to archives that were asked again. If one is silent, its answer before counts
        as if it had been for this reader."""
        self._keys: dict[str, UrlKey | None] = {}

    def has_asked(self, archive: str) -> bool:
        """Return whether an archive was asked again."""
        return archive in self._requests

    def request_to(self, archive: str) -> UrlRequest:
        """Return the last request to an archive."""
        return self._requests.get(archive, self._request)

    def key(self, answer: ArchiveReply) -> UrlKey | None:
        """Return the key of an answer that was given for this reader."""
        return self._keys.get(answer.archive)

    async def decided(
        self, question: Question, reader: _Reader, evidence: Evidence, decision: Decision
    ) -> tuple[Evidence, Decision]:
        """Return evidence and decision with the answers for this reader."""
        tried: set[tuple[str, tuple[str, ...]]] = set()
        while True:
            is_end = isinstance(decision, Redirect)
            clients = reader.holder_clients if is_end else reader.clients
            again = [
                name
                for name in personal_answers(decision)
                if (name, clients) not in tried and self.request_to(name).clients != clients
            ]
            if not again:
                return evidence, decision
            tried |= {(name, clients) for name in again}
            self._charge(len(again))
            before = evidence
            for answer in await self._ask(again, replace(self._request, clients=clients)):
                evidence = evidence.with_answer(answer)
            found = decide(question, evidence)
            if isinstance(found, Wait | Widen):
                # The search does not know of these answers, and asks no other archive for them.
                return before, decision
            decision = found

    async def _ask(self, names: Sequence[str], request: UrlRequest) -> list[ArchiveReply]:
        replies = await asyncio.gather(*(self._pool.ask_again(name, request) for name in names))
        # Other software does not mark its answers; what it says to one reader is for that one.
        answers = [
            replace(reply, personal=True) for reply in replies if isinstance(reply, ArchiveReply)
        ]
        self._requests |= dict.fromkeys(names, request)
        self._keys |= {each.archive: each.listed.key for each in answers if each.listed}
        return answers


async def _decided(
    question: Question, search: Search, *, ask_all: bool
) -> tuple[Evidence, Decision]:
    search.readers += 1
    try:
        while not search.is_started:
            await search.more()
        while True:
            evidence = search.evidence()
            decision = decide(question, evidence)
            if search.refusal is not None and (
                ask_all
                or isinstance(decision, Widen)
                or (search.ended and isinstance(decision, Unsure))
            ):
                raise search.refusal
            if search.ended or not (ask_all or isinstance(decision, Wait | Widen)):
                return evidence, decision
            await search.more()
    finally:
        search.readers -= 1
