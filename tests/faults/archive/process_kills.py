"""ARCHIVE KILL: an archive that is killed at any point of any act, and started again.

By time: the command as it is, or a forked one, some milliseconds after an act or its last request
began. By step: at each change of the disk that an act makes, one after the other; and now and then
a second time, at a step of the recovery.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from tests.faults.archive.concurrent_reader import ConcurrentReader
from tests.faults.archive.failpoint import KILL
from tests.faults.archive.operation_generator import OperationGenerator
from tests.faults.archive.server_process import KillableArchive
from tests.faults.archive.session import Session
from tests.faults.archive.twins import HASTY, IN_MEMORY, IN_PLACE, NO_JOURNAL, TWICE
from tests.faults.figures import Figures, Violation, set_up
from tests.faults.sites import PostgresSite, ReportProgress, Site

LIFE: Final = 40
"""Kills of one archive; then another one is begun, so that all of it can be looked at each time."""

MOST_STEPS: Final = 400
"""More than any act makes."""

KINDS: Final = (
    *("deposit", "revise", "describe", "edition", "translation"),
    *("delete", "delete with metadata", "reserve", "reserved", "draft"),
)


class Campaign:
    """Archives of one site, one after the other, to which something happens."""

    def __init__(
        self, site: Site, seed: int, twin: str = "", kind: type[Session] = Session
    ) -> None:
        self._kind = kind
        self.figures = Figures()
        self.counts: Counter[str] = Counter()
        self._site = site
        self._seed = seed
        self._twin = twin
        self._number = 0

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Yield a session on a running archive with three items; add up its figures."""
        self._number += 1
        seed = self._seed * 1_000_003 + self._number
        if isinstance(self._site, PostgresSite):
            self._site.renew()
        with KillableArchive(self._site, f"archive-{self._number}", self._twin) as archive:
            session = self._kind(archive, seed, self.counts)
            try:
                with set_up():
                    for _ in range(3):
                        session.perform(session.operations.operation("deposit", session.state))
                yield session
            except Violation as found:
                what = (
                    f"{found}\n [seed {self._seed}, archive {self._number}, kill {archive.kills}]"
                )
                raise Violation(what) from found
            finally:
                self.figures.kills += archive.kills
                self.figures.labels += 2 * len(session.state.items) + len(session.state.reserved)

    def report(self) -> Figures:
        """Return the figures, with notes."""
        self.figures.notes = ", ".join(
            f"{count} {what}" for what, count in self.counts.most_common()
        )
        return self.figures


WAYS: Final = ("act", "last request", "step", "step of all", "answer")
"""Start of the delay after which the archive is killed, or the step at which."""


@dataclass(frozen=True, slots=True)
class KillPlan:
    """Kinds of operations during which the archive is killed, and how."""

    kinds: tuple[str, ...] = OperationGenerator.KINDS
    ways: tuple[str, ...] = WAYS
    twin: str = ""


def kill_at_random(
    site: Site,
    size: int,
    seed: int,
    report_progress: ReportProgress,
    plan: KillPlan = KillPlan(),  # noqa: B008  # it is frozen
) -> Figures:
    """Kill at random moments."""
    campaign = Campaign(site, seed, plan.twin)
    while campaign.figures.kills < size:
        with campaign.session() as session:
            while session.archive.kills < min(LIFE, size - campaign.figures.kills):
                _kill_once(session, plan)
                done = campaign.figures.kills + session.archive.kills
                report_progress(
                    f"{done} of {size} kills, {campaign.counts['acknowledged']} acknowledged"
                )
    return campaign.report()


def _kill_once(session: Session, plan: KillPlan) -> None:
    archive, rng = session.archive, session.rng
    for _ in range(rng.randint(0, 2)):
        session.perform()
    operation = session.operations.operation(rng.choice(plan.kinds), session.state)
    with ConcurrentReader(archive, session.state, operation) as reader:
        match rng.choice(plan.ways):
            case "act":
                archive.kill_in(rng.uniform(0, 0.06))
                session.attempt(operation)
            case "last request":
                session.attempt(operation, lambda: archive.kill_in(rng.uniform(0, 0.012)))
            case "step":
                session.attempt(operation, lambda: archive.failpoint.set(rng.randint(1, 90), KILL))
            case "step of all":
                archive.failpoint.set(rng.randint(1, 150), KILL)
                session.attempt(operation)
            case _:
                session.attempt(operation)
        archive.end()
    reader.check()
    again = rng.randint(1, 30) if rng.random() < 0.25 else 0
    # The command itself, once in a while: it takes a second to start.
    archive.failpoint.disable()
    archive.revive(forked=bool(plan.twin) or rng.random() < 0.9, again=again)
    session.judge()


def kill_at_every_step(
    site: Site, size: int, seed: int, report_progress: ReportProgress
) -> Figures:
    """Kill at every `size`-th step of the last request of each kind of operation."""
    campaign = Campaign(site, seed)
    steps: dict[str, int] = {}
    for kind in KINDS:
        step = 1 + seed % size
        while step < MOST_STEPS:
            with campaign.session() as session:
                while step < MOST_STEPS and session.archive.kills < LIFE:
                    reached = _kill_at(session, kind, step)
                    kills = campaign.figures.kills + session.archive.kills
                    report_progress(f"{kind}, step {step}, {kills} kills")
                    if not reached:
                        steps[kind], step = step - 1, MOST_STEPS
                    step += size
    report = campaign.report()
    report.notes += "; steps: " + ", ".join(f"{count} {kind}" for kind, count in steps.items())
    return report


def _kill_at(session: Session, kind: str, step: int) -> bool:
    """Kill at one step of an operation; False if it has fewer steps."""
    session.perform(session.operations.operation("deposit", session.state))
    if kind == "reserved":
        session.perform(session.operations.operation("reserve", session.state))
    operation = session.operations.operation(kind, session.state)
    session.attempt(operation, lambda: session.archive.failpoint.set(step, KILL))
    reached = session.archive.failpoint.triggered
    session.archive.failpoint.disable()
    session.archive.end()
    session.archive.revive(again=session.rng.choice([0, 0, 0, 1, 3, 8, 15]))
    session.judge()
    return reached


def _caught(
    site: Site, size: int, seed: int, report_progress: ReportProgress, plan: KillPlan
) -> Figures:
    """Run a twin until it is caught."""
    try:
        return kill_at_random(site, size, seed, report_progress, plan)
    except Violation as caught:
        return Figures(labels=1, found=caught.brief)


def kill_drafts(site: Site, size: int, seed: int, report_progress: ReportProgress) -> Figures:
    """Kill while drafts are opened, saved, filled with files, and published by a double click."""
    return kill_at_random(site, size, seed, report_progress, KillPlan(("draft",)))


def kill_drafts_in_memory(
    site: Site, size: int, seed: int, report_progress: ReportProgress
) -> Figures:
    """The twin that keeps what is saved of drafts in memory."""
    plan = KillPlan(("draft",), ("act", "last request"), IN_MEMORY)
    return _caught(site, size, seed, report_progress, plan)


def kill_drafts_twice(site: Site, size: int, seed: int, report_progress: ReportProgress) -> Figures:
    """The twin that publishes a draft at each click."""
    plan = KillPlan(("draft",), ("answer",), TWICE)
    return _caught(site, size, seed, report_progress, plan)


def kill_without_journal(
    site: Site, size: int, seed: int, report_progress: ReportProgress
) -> Figures:
    """The twin that decides without a journal."""
    return _caught(
        site, size, seed, report_progress, KillPlan(("revise", "edition"), ("step",), NO_JOURNAL)
    )


def kill_hasty(site: Site, size: int, seed: int, report_progress: ReportProgress) -> Figures:
    """The twin that acknowledges before it is done."""
    return _caught(
        site, size, seed, report_progress, KillPlan(("describe", "delete"), ("answer",), HASTY)
    )


def kill_in_place(site: Site, size: int, seed: int, report_progress: ReportProgress) -> Figures:
    """The twin that overwrites files in place."""
    return _caught(site, size, seed, report_progress, KillPlan(("revise",), ("answer",), IN_PLACE))
