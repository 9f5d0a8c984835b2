"""A resolver without its edges that reads the log of one archive, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from ibi.foundation.web.client_address import ClientAddresses
from ibi.identifier.label import parse
from ibi.identifier.language_preference import LanguagePreference
from ibi.identifier.persistent_url import PersistentUrl
from ibi.model.registration import RegisteredArchive
from ibi.model.relation import Relation
from ibi.resolver.digests.log_follower import LogFollower
from ibi.resolver.ports.outbound import NoReply
from ibi.resolver.ports.store import DigestProgress
from ibi.resolver.rules.decision import Redirect, Why
from ibi.resolver.rules.evidence import Evidence
from ibi.resolver.rules.redirect_cache import LastingRedirects, RedirectCache
from ibi.resolver.rules.redirect_entry import CachedRedirect
from ibi.resolver.rules.resolution import Resolution, ResolutionStep
from ibi.resolver.web.fast_redirects import FastRedirects
from ibi.wire.answer_choice import Served
from ibi.wire.digest import DigestPage, fingerprint
from ibi.wire.question import Question
from tests.support.doubles.archive_client import UnusedArchiveClient
from tests.support.values.archive_answers import original
from tests.support.values.resolutions import FIRST, archive

HOT: Final = 10.0
LONGEST: Final = 120.0
ROWS: Final = 2
"""Of a page: so that there is often more."""
LABELS: Final = ("8JMKD3MGP7W/3EPGUE5", "8JMKD3MGP8W/35MMLL8", "8JMKD3MGP8W/3C9EP6P")
READER: Final = ("192.0.2.0",)
HERE: Final = "http://resolver.example"
ARCHIVE: Final = archive(FIRST, "first.example")


@dataclass
class LoggedArchive(UnusedArchiveClient):
    """An archive of a few items, its log, and how it answers whoever reads that."""

    loop: asyncio.AbstractEventLoop
    editions: dict[str, list[float]] = field(
        default_factory=lambda: {label: [0.0] for label in LABELS}
    )
    """When each edition of an item came, by label."""
    epoch: int = 1
    log: list[str] = field(default_factory=lambda: list(LABELS))
    mood: str = "well"
    delay: float = 0.1
    readings: int = 0

    def change(self, label: str) -> None:
        """Put the next edition of an item at another place."""
        self.editions[label].append(self.loop.time())
        self.log.append(label)

    def begin_anew(self) -> None:
        """Write another log."""
        self.epoch += 1
        self.log = list(LABELS)

    @property
    def cursor(self) -> DigestProgress:
        """How far the log goes now."""
        return DigestProgress(ARCHIVE.id, 1, f"{self.epoch:032x}", len(self.log), whole=True)

    async def digest(
        self, archive: RegisteredArchive, epoch: str, after: int, seconds: float
    ) -> DigestPage | NoReply | None:
        """Read out the log, at once or late: what came between may stand in it or not."""
        del archive
        self.readings += 1
        if self.mood == "hangs":
            await asyncio.sleep(seconds)
            return NoReply(ARCHIVE.id, "it did not answer in time")
        if self.mood == "fails":
            return NoReply(ARCHIVE.id, "it answered with an error")
        if self.mood == "publishes none":
            return None
        early = self._page(epoch, after) if self.mood == "slow to send" else None
        await asyncio.sleep(min(self.delay, seconds))
        return early or self._page(epoch, after)

    def _page(self, epoch: str, after: int) -> DigestPage:
        if epoch != self.cursor.epoch or after > len(self.log):
            after = 0
        rows = self.log[after : after + ROWS]
        last = after + len(rows)
        held = tuple(sorted({fingerprint(label) for label in rows}))
        return DigestPage(self.cursor.epoch, after, last, last < len(self.log), held)


class Scene:
    """A resolver without its edges, which keeps the log of one archive in sight."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin with nothing known."""
        self.loop = loop
        self.shelf = LoggedArchive(loop)
        self.version = 0
        self.fetched = self.shelf.cursor
        self.published = True
        self.lasting = LastingRedirects(2)
        self.log_follower = LogFollower(
            self.shelf, self, self, self.note_change, seconds=HOT, longest=LONGEST
        )
        self.memory = RedirectCache(
            lambda: self.version,
            hot_seconds=HOT,
            absent_seconds=2,
            lasting=self.lasting,
            leases=self.log_follower,
        )
        self.warm = FastRedirects(
            self.memory.drop_stale, lambda *_: None, ClientAddresses([], "network"), most=2
        )
        self.asked: dict[int, tuple[int, float]] = {}
        """The version and the time at which each answer was asked for, by its identity."""
        self.kept: list[CachedRedirect] = []
        self.lasted = 0
        """How many answers were given later than those that do not last."""
        self.readers: list[asyncio.Task[None]] = []
        self.known: list[str] = []
        """What is known at the end."""

    def do(self, what: str, label: str, one: float, other: float) -> None:
        """Let something happen."""
        acts: dict[str, Callable[[], object]] = {
            "read": lambda: self.readers.append(asyncio.create_task(self.read(label, one, other))),
            "change": lambda: self.shelf.change(label),
            "fetch": lambda: self.fetch(by_us=True),
            "fetch elsewhere": lambda: self.fetch(by_us=False),
            "forget": lambda: self.memory.forget(parse(label).canonical),
            "anew": self.shelf.begin_anew,
            "version": self.move,
            "publish": lambda: setattr(self, "published", True),
            "unpublish": lambda: setattr(self, "published", False),
            "look": lambda: None,
        }
        if what in acts:
            acts[what]()
        else:
            self.shelf.mood, self.shelf.delay = what, one

    def move(self) -> None:
        """Have an archive come, go or move."""
        self.version += 1

    def look_at_all(self) -> None:
        """Ask for everything."""
        for label in LABELS:
            self.look(label)

    def note_change(self, print_: int, now: float) -> None:
        """Note that an item has changed."""
        self.memory.note_change(print_, now)

    def find(self, id: str) -> RegisteredArchive | None:  # noqa: A002  # as it is called
        """Know the one archive."""
        return ARCHIVE if id == ARCHIVE.id else None

    def publishes(self, archive: str) -> bool:
        """Tell whether its digest is here."""
        return self.published and archive == ARCHIVE.id

    def digest(self, archive: str) -> DigestProgress | None:
        """Return how much of it is here."""
        return self.fetched if archive == ARCHIVE.id else None

    def fetch(self, *, by_us: bool) -> None:
        """Have the digest fetched, by this process or by another."""
        before, self.fetched = self.fetched, self.shelf.cursor
        if by_us:
            news = self.shelf.log
            if before.epoch == self.fetched.epoch:
                news = news[before.last :]
            for label in news:
                self.note_change(fingerprint(label), self.loop.time())

    def look(self, label: str) -> CachedRedirect | None:
        """Give what is known of an item, if anything is, by both ways."""
        now = self.loop.time()
        quick = self.warm.find(f"/{label}".encode(), now)
        slow = self.memory.recall(_question(label), [READER], now)
        for found in (quick, slow):
            if found is not None:
                assert isinstance(found, CachedRedirect)
                self.check(found, label, now)
        return slow if isinstance(slow, CachedRedirect) else None

    def check(self, known: CachedRedirect, label: str, now: float) -> None:
        """Hold an answer that is given to its bound."""
        version, asked = self.asked[id(known)]
        assert version == self.version, "it was asked for among other archives"
        assert now <= asked + LONGEST
        editions, edition = self.shelf.editions[label], int(known.url.rpartition(b"/")[2])
        if edition + 1 < len(editions):
            assert now < editions[edition + 1] + HOT, "the log says otherwise for too long"
        self.lasted += now >= asked + HOT

    async def read(self, label: str, before: float, after: float) -> None:
        """Read an item; the archive takes some time to answer, and its answer to arrive."""
        if self.look(label) is not None:
            return
        began, version, asked = self.loop.time(), self.memory.version, self.version
        await asyncio.sleep(before)
        edition = len(self.shelf.editions[label]) - 1
        await asyncio.sleep(after)
        resolution = _resolution(label, edition, began)
        known = self.memory.keep(resolution, HERE, version, self.loop.time())
        assert isinstance(known, CachedRedirect)
        self.kept.append(known)  # so that none has the identity of another
        self.asked[id(known)] = asked, began
        fields = [(b"location", known.url), (b"link", HERE.encode() + known.path)]
        self.warm.keep(f"/{label}".encode(), fields, known, b"")


def _question(label: str) -> Question:
    return Question.of(PersistentUrl.parse(label), LanguagePreference())


def _resolution(label: str, edition: int, began: float) -> Resolution:
    question = _question(label)
    answer = replace(original("a"), archive=ARCHIVE.id)
    assert answer.listed is not None
    related = replace(answer.listed.related[Relation()], url=f"http://first.example/col/{edition}")
    outcome = Redirect(answer, Served(Relation(), related), Why.OWNER)
    step = ResolutionStep(question, question.request(READER), Evidence(), outcome, began, 0.0)
    return Resolution(question, (step,), outcome)
