"""The resolution of a question: its outcome, and the steps that led to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ibi.identifier.label import Label
from ibi.model.archive_record import UrlKey
from ibi.resolver.rules.decision import (
    Alert,
    Decision,
    Gone,
    NotFound,
    Redirect,
    Unserved,
    Unsure,
)
from ibi.resolver.rules.evidence import Evidence
from ibi.wire.question import Question
from ibi.wire.requests import UrlRequest


@dataclass(frozen=True, slots=True)
class Chain:
    """Items that lead from one to the other in a loop, or in too long a chain."""

    labels: tuple[Label, ...]
    is_loop: bool


Outcome: TypeAlias = Redirect | Alert | Gone | Unserved | NotFound | Unsure | Chain


@dataclass(frozen=True, slots=True)
class ResolutionStep:
    """One question on the way, the replies to it, and the decision."""

    question: Question
    request: UrlRequest
    evidence: Evidence
    decision: Decision
    began: float
    """When its search began, by the clock of the event loop."""
    seconds: float
    key: UrlKey | None = None
    """The key of the chosen answer, if no other reader has it."""
    personal: bool = False
    """Whether another reader may get another decision."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The outcome of a question, and the steps that led to it."""

    question: Question
    steps: tuple[ResolutionStep, ...]
    outcome: Outcome

    @property
    def began(self) -> float:
        """When the first search began: anything may have changed since."""
        return min(step.began for step in self.steps)

    @property
    def only_for(self) -> tuple[str, ...]:
        """The only clients that may get it; empty if all may.

        They are those that the last archive got, which may be more of an address than others get.
        """
        personal = [step.request.clients for step in self.steps if step.personal]
        return personal[-1] if personal else ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The canonical labels of the items that it led by way of, each once."""
        return tuple({step.question.label.canonical for step in self.steps})

    @property
    def last(self) -> ResolutionStep:
        """The last step."""
        return self.steps[-1]
