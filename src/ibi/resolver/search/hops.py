"""Resolution: from a reader's question to a URL, by as many hops as it takes (004, 6.2 and 8.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from ibi.resolver.rules.decision import (
    Decision,
    Hop,
    NotFound,
    Redirect,
    Wait,
    Widen,
    decide,
)
from ibi.resolver.rules.evidence import Evidence
from ibi.resolver.rules.resolution import Chain, Resolution, ResolutionStep
from ibi.resolver.rules.target import is_personal
from ibi.resolver.search.fan_out import SearchPool
from ibi.resolver.search.search import Search
from ibi.wire.question import Question

MOST_HOPS: Final = 32
"""An archive goes through its own editions by itself: so many archives in a row have no end."""
LONGEST: Final = 15.0
"""Seconds after which no further hop is made."""


def _free() -> None:
    """Searches cost nothing."""


async def _knows_all() -> None:
    """Nobody else puts archives on record."""


class HopResolver:
    """Resolves questions."""

    def __init__(
        self, searching: SearchPool, catch_up: Callable[[], Awaitable[None]] = _knows_all
    ) -> None:
        """Search by these searches; `catch_up` learns of archives that others put on record."""
        self._searching = searching
        self._catch_up = catch_up

    async def resolve(
        self,
        question: Question,
        clients: tuple[str, ...],
        *,
        spend: Callable[[], None] = _free,
        share: str = "",
        hear_all: bool = False,
    ) -> Resolution:
        """Resolve a question; `spend` is called before each search that is begun for it.

        `share` is whose searches these are, of which nobody has more than a part at a time.
        `hear_all` decides nothing before every archive has been heard: so it can be explained.
        """
        began = asyncio.get_running_loop().time()
        steps: list[ResolutionStep] = []
        seen = {question.search}
        current = question
        while True:
            step = await self._step(current, clients, spend, share, hear_all=hear_all)
            steps.append(step)
            decision = step.decision
            if not isinstance(decision, Hop):
                # Nobody is awaited or held back any more.
                assert not isinstance(decision, Wait | Widen)  # noqa: S101
                return Resolution(question, tuple(steps), decision)
            current = current.onward(decision.label, decision.verbs)
            is_loop = current.search in seen
            if (
                is_loop
                or len(steps) > MOST_HOPS
                or asyncio.get_running_loop().time() - began > LONGEST
            ):
                labels = (*(each.question.label for each in steps), current.label)
                return Resolution(question, tuple(steps), Chain(labels, is_loop))
            seen.add(current.search)

    async def _step(
        self,
        question: Question,
        clients: tuple[str, ...],
        spend: Callable[[], None],
        share: str,
        *,
        hear_all: bool,
    ) -> ResolutionStep:
        began = asyncio.get_running_loop().time()
        running = self._search(question, clients, spend, share, to_all=hear_all)
        evidence, decision = await _decided(question, running, hear_all=hear_all)
        if isinstance(decision, NotFound):
            # It takes the word of all: of those too who were included meanwhile, here or elsewhere.
            await self._catch_up()
            if running.version != self._searching.version:
                running = self._search(question, clients, spend, share, to_all=hear_all)
                evidence, decision = await _decided(question, running, hear_all=hear_all)
        personal = is_personal(decision)
        if personal and running.request.clients != clients:  # it was for who came before
            running = self._search(question, clients, spend, share, alone=True, to_all=hear_all)
            evidence, decision = await _decided(question, running, hear_all=hear_all)
        key = None
        if isinstance(decision, Redirect) and not hear_all:
            key = running.take_key(decision.answer, clients)
        seconds = asyncio.get_running_loop().time() - began
        return ResolutionStep(
            question, running.request, evidence, decision, running.began, seconds, key, personal
        )

    def _search(  # noqa: PLR0913  # what a search is begun with
        self,
        question: Question,
        clients: tuple[str, ...],
        spend: Callable[[], None],
        share: str,
        *,
        to_all: bool,
        alone: bool = False,
    ) -> Search:
        running = self._searching.join(question, clients if alone else (), to_all=to_all)
        if running is not None:
            return running
        spend()
        return self._searching.begin(question, clients, share, alone=alone, to_all=to_all)


async def _decided(
    question: Question, running: Search, *, hear_all: bool
) -> tuple[Evidence, Decision]:
    running.readers += 1
    try:
        while not running.begun:
            await running.more()
        while True:
            evidence = running.evidence()
            decision = decide(question, evidence)
            if running.ended or not (hear_all or isinstance(decision, Wait | Widen)):
                return evidence, decision
            await running.more()
    finally:
        running.readers -= 1
