"""Shrinks a failing scenario to the events that the failure needs (Zeller's ddmin).

The remaining events are replayed as they were generated, so the trace contains only what matters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from tests.simulation.scenarios.events import Event, Scenario
from tests.simulation.world.world import Outcome, run

_FEWEST: Final = 2


def minimized(outcome: Outcome, report: Callable[[str], None] = lambda _: None) -> Outcome:
    """Return the outcome of a smaller scenario with the same kind of violation."""
    kind = violation_kind(outcome)
    best = outcome

    def fails(events: Sequence[Event]) -> Outcome | None:
        found = run(Scenario(outcome.scenario.seed, tuple(events)))
        return found if found.violations and violation_kind(found) == kind else None

    parts = _FEWEST
    while len(best.scenario.events) > 1:
        events = best.scenario.events
        size = max(1, len(events) // parts)
        smaller = next(
            (
                found
                for begin in range(0, len(events), size)
                if (found := fails((*events[:begin], *events[begin + size :]))) is not None
            ),
            None,
        )
        if smaller is not None:
            best, parts = smaller, max(_FEWEST, parts - 1)
            report(f"{len(best.scenario.events)} events")
        elif size == 1:
            break
        else:
            parts = min(len(events), parts * 2)
    return replace(best)


def violation_kind(outcome: Outcome) -> str:
    """Return the words of a violation without names and numbers."""
    words = outcome.violations[0].split() if outcome.violations else []
    return " ".join(word for word in words if word.isalpha())
