"""What became of a question, and by which steps."""

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
    """Items that lead from one to the other in a circle, or without an end."""

    labels: tuple[Label, ...]
    is_loop: bool


Outcome: TypeAlias = Redirect | Alert | Gone | Unserved | NotFound | Unsure | Chain


@dataclass(frozen=True, slots=True)
class ResolutionStep:
    """One question on the way, what was heard of it, and what was decided."""

    question: Question
    request: UrlRequest
    evidence: Evidence
    decision: Decision
    began: float
    """When its search was begun, by the clock of the event loop."""
    seconds: float
    key: UrlKey | None = None
    """That of the answer that was chosen, if nobody has it yet."""
    personal: bool = False
    """Whether another reader may get another decision."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What became of a question, and how."""

    question: Question
    steps: tuple[ResolutionStep, ...]
    outcome: Outcome

    @property
    def began(self) -> float:
        """When the first search was begun: since then anything may have changed."""
        return min(step.began for step in self.steps)

    @property
    def only_for(self) -> tuple[str, ...]:
        """The clients for whom alone it is; none if it is for everybody."""
        return next((step.request.clients for step in self.steps if step.personal), ())

    @property
    def last(self) -> ResolutionStep:
        """The last step."""
        return self.steps[-1]
