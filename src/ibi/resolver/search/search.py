"""One question on its way to archives: to those first who are likely to have the item.

Whoever listens to a search has a question of his own, for another language or for the Original
alone. If one of them needs those who are held back, they are asked as well, and nobody is asked
twice. It is looked at whenever something is heard, so a search goes by the same rules after its
readers have left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from ibi.identifier.language import LanguagePreference
from ibi.model.archive_record import UrlKey
from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.outbound import ArchiveReply, NoReply
from ibi.resolver.ports.store import Owner
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.candidates import Candidates
from ibi.resolver.rules.decision import Widen, decide
from ibi.resolver.rules.evidence import Evidence
from ibi.resolver.rules.ownership import waits_for_all
from ibi.wire.question import Question
from ibi.wire.requests import UrlRequest

NOT_AWAITED_ANY_MORE: Final = "its answer was not waited for"


class Search:
    """One question on its way."""

    def __init__(
        self,
        question: Question,
        clients: tuple[str, ...],
        registry: Registry,
        moment: float,
        asks_all: Callable[[bool], bool],
    ) -> None:
        """Ask nobody yet; `moment` is for how many seconds others get to speak up.

        The last tells whether all are asked although no reader needs it, by whether an owner could
        be put on record then.
        """
        self.question = question.bare
        self.request: UrlRequest = question.request(clients)
        self.version = registry.version
        self.began = asyncio.get_running_loop().time()
        self.begun = False
        """Whether it is known who is asked, without which nothing can be decided."""
        self.ended = False
        self.hurries = True
        """Whether somebody may wait for it."""
        self.readers = 0
        """How many do."""
        self.first: Mapping[str, RegisteredArchive] = {}
        """Who is asked first, by name,"""
        self.others: Mapping[str, RegisteredArchive] = {}
        """and who then, if need be."""
        self._registry = registry
        self._moment = moment
        self._asks_all = asks_all
        self._questions: set[Question] = set()
        self._answers: list[ArchiveReply] = []
        self._silences: list[NoReply] = []
        self._awaited: set[str] = set()
        self._held = False
        self._wide = False
        self._likely: Candidates | None = None
        self._patient = True
        self._patience: asyncio.TimerHandle | None = None
        self._owner: Owner | None = None
        self._is_on_record = False
        self._homes = registry.homes(question.label)
        self._ranks = registry.ranks()
        self.believed = self._homes
        """Who is believed whatever others say: homes, and the owner on record."""
        self.weighty = self._homes
        """Whose word may decide: theirs, and of who has said beforehand that he has the item."""
        self._keys: set[str] = set()
        self._change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def evidence(self) -> Evidence:
        """Return what was heard so far."""
        return Evidence(
            answers=tuple(self._answers),
            silences=tuple(self._silences),
            awaited=frozenset(self._awaited),
            patient=self._patient,
            owner=self._owner,
            is_on_record=self._is_on_record,
            homes=self._homes,
            ranks=self._ranks,
            held=self._held,
            likely=self._likely.first if self._likely is not None else None,
            listed=self._likely.listed if self._likely is not None else frozenset(),
        )

    @property
    def homes(self) -> frozenset[str]:
        """The homes of the item."""
        return self._homes

    @property
    def awaits(self) -> bool:
        """Whether somebody may still answer."""
        return bool(self._awaited) or not self.begun

    async def more(self) -> None:
        """Wait until there is more to hear."""
        await asyncio.shield(self._change)

    def listen(self, question: Question, *, to_all: bool = False) -> None:
        """Be listened to by somebody; `to_all` if nobody may be held back from him."""
        indifferent = question.preference if question.depends_on_reader else LanguagePreference()
        self._questions.add(replace(question, preference=indifferent))
        self._wide = self._wide or to_all
        self.hurries = True
        self._consider()

    def start(
        self,
        owner: Owner | None,
        silence: NoReply | None,
        is_on_record: bool,  # noqa: FBT001  # as `_owner` finds it
        likely: Candidates | None,
    ) -> None:
        """Begin with who is on record as the owner, and who is likely to have the item.

        An owner that is switched off is silent. If nobody is likelier than others, all are asked.
        """
        self.begun = True
        self._owner = owner
        self._is_on_record = is_on_record
        if silence is not None:
            self._silences.append(silence)
        if owner is not None:
            self.believed |= {owner.archive}
        self.weighty = self.believed if likely is None else self.believed | likely.listed
        self._divide(likely)
        self._await(self.first)
        if not self._held:
            self._turn.set_result(False)
        self._consider()
        self._tell()

    def _divide(self, likely: Candidates | None) -> None:
        """Hold all back but those who are likely to have it; those whose word decides go first."""
        everybody = self._registry.by_name
        rest = everybody if likely is None else sorted(likely.first - self.weighty)
        names = (*sorted(self.weighty), *rest)
        self.first = {name: everybody[name] for name in names if name in everybody}
        if likely is not None and len(self.first) < len(everybody):
            self._held = True
            self._likely = likely

    def _await(self, names: Iterable[str]) -> None:
        """Await archives, for a moment of patience."""
        self._awaited.update(names)
        self._patient = True
        if self._patience is not None:
            self._patience.cancel()
        loop = asyncio.get_running_loop()
        self._patience = loop.call_later(self._moment, self.lose_patience)

    async def is_widened(self) -> bool:
        """Wait until those who are held back are to be asked, or nobody needs them."""
        return await self._turn

    def _consider(self) -> None:
        """Look whether those who are held back are needed."""
        if self._turn.done() or not self.begun:
            return
        evidence = self.evidence()
        needed = (isinstance(decide(each, evidence), Widen) for each in self._questions)
        if self._wide or any(needed):
            self._widen()
        elif not self._awaited:
            # Readers are content. But no owner is put on record before all were asked.
            if self._asks_all(waits_for_all(self.question, evidence)):
                self._widen()
                self._patient = self.hurries = False
            else:
                self._turn.set_result(False)

    def _widen(self) -> None:
        everybody = self._registry.by_name.items()
        self.others = {name: archive for name, archive in everybody if name not in self.first}
        self._held = False
        self._await(self.others)
        self._turn.set_result(True)
        self._tell()

    def hear(self, heard: ArchiveReply | NoReply) -> None:
        """Take in what came, or did not, of one archive."""
        self._awaited.discard(heard.archive)
        if isinstance(heard, ArchiveReply):
            self._answers.append(heard)
        else:
            self._silences.append(heard)
        says_something = isinstance(heard, ArchiveReply) and heard.listed is not None
        if says_something or heard.archive in self.weighty or not self._awaited:
            self._consider()
            self._tell()

    def lose_patience(self) -> None:
        """The moment for others to speak up is over."""
        self._patient = False
        self._consider()
        self._tell()

    def end(self) -> None:
        """Await nobody any more; who has not answered, because it was broken off, is silent."""
        if self.awaits:
            heard = {answer.archive for answer in self._answers}
            heard |= {silence.archive for silence in self._silences}
            missing = sorted({*self._registry.by_name, *self._awaited} - heard)
            self._silences += (NoReply(name, NOT_AWAITED_ANY_MORE) for name in missing)
            self._held = False
        if self._patience is not None:
            self._patience.cancel()
        self._awaited.clear()
        self._patient = False
        self.begun = self.ended = True
        self._tell()

    def _tell(self) -> None:
        change, self._change = self._change, asyncio.get_running_loop().create_future()
        if not change.done():
            change.set_result(None)

    def take_key(self, answer: ArchiveReply, clients: tuple[str, ...]) -> UrlKey | None:
        """Return the key of an answer to the first for whom it was asked: it counts one access."""
        is_for = clients == self.request.clients and answer.archive not in self._keys
        if answer.listed is None or not is_for:
            return None
        self._keys.add(answer.archive)
        return answer.listed.key
