"""Resolution: from a reader's question to a URL, by as many hops as needed (004, 6.2 and 8.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

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
from ibi.resolver.rules.redirect_target import is_personal
from ibi.resolver.rules.resolution import Chain, Resolution, ResolutionStep
from ibi.resolver.search.pool import SearchPool
from ibi.resolver.search.search import Charge, Search
from ibi.wire.question import Question

MAX_HOPS: Final = 32
"""Hops of one resolution. An archive follows its own editions by itself, so a longer chain of
archives counts as endless."""
MAX_SECONDS: Final = 15.0
"""Seconds after which no further hop is made."""


def _free(messages: int) -> None:
    """Charge nothing for messages."""
    del messages


async def _no_catch_up() -> None:
    """Read no changes: no other process changes the registry."""


class HopResolver:
    """Resolves questions."""

    def __init__(
        self, pool: SearchPool, catch_up: Callable[[], Awaitable[None]] = _no_catch_up
    ) -> None:
        """Resolve by these searches; `catch_up` reads the changes of other processes."""
        self._pool = pool
        self._catch_up = catch_up

    async def resolve(
        self,
        question: Question,
        clients: tuple[str, ...],
        *,
        charge: Charge = _free,
        quota_key: str = "",
        ask_all: bool = False,
    ) -> Resolution:
        """Resolve a question; `charge` is called with the number of messages before they are sent.

        It raises TooManyRequestsError if the reader may not cause so many. `quota_key` is the
        client that the searches count against: each has only a part of all. With `ask_all`, nothing
        is decided before every archive was asked and has replied, so that the whole search can be
        explained.
        """
        began = asyncio.get_running_loop().time()
        steps: list[ResolutionStep] = []
        seen = {question.search}
        current = question
        while True:
            step = await self._step(current, clients, charge, quota_key, ask_all=ask_all)
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
        clients: tuple[str, ...],
        charge: Charge,
        quota_key: str,
        *,
        ask_all: bool,
    ) -> ResolutionStep:
        began = asyncio.get_running_loop().time()
        search = self._search(question, clients, charge, quota_key, ask_all=ask_all)
        evidence, decision = await _decided(question, search, ask_all=ask_all)
        if isinstance(decision, NotFound):
            # NotFound needs the replies of all archives, also of those that were included
            # meanwhile, here or by another process.
            await self._catch_up()
            if search.version != self._pool.version:
                search = self._search(question, clients, charge, quota_key, ask_all=ask_all)
                evidence, decision = await _decided(question, search, ask_all=ask_all)
        personal = is_personal(decision)
        if (
            personal and search.request.clients != clients
        ):  # the reply was for the client of an earlier reader
            search = self._search(question, clients, charge, quota_key, alone=True, ask_all=ask_all)
            evidence, decision = await _decided(question, search, ask_all=ask_all)
        key = None
        if isinstance(decision, Redirect) and not ask_all:
            key = search.take_key(decision.answer, clients)
        seconds = asyncio.get_running_loop().time() - began
        return ResolutionStep(
            question, search.request, evidence, decision, search.began, seconds, key, personal
        )

    def _search(  # noqa: PLR0913  # the arguments of a search
        self,
        question: Question,
        clients: tuple[str, ...],
        charge: Charge,
        quota_key: str,
        *,
        ask_all: bool,
        alone: bool = False,
    ) -> Search:
        search = self._pool.join(question, clients if alone else (), charge, ask_all=ask_all)
        if search is not None:
            return search
        charge(0)  # no search is begun for a client that owes messages
        return self._pool.begin(question, clients, charge, quota_key, alone=alone, ask_all=ask_all)


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
