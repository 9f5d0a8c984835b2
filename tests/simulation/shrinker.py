"""Shrinking: a scenario that fails, without whatever it fails without (Zeller's ddmin).

What is left is replayed as it was generated, event by event, so that whoever reads the trace of it
reads only what matters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from tests.simulation.scenarios.events import Event, Scenario
from tests.simulation.world.world import Outcome, run

_FEWEST: Final = 2


def shrunk(outcome: Outcome, say: Callable[[str], None] = lambda _: None) -> Outcome:
    """Return a smaller scenario that ends by the same kind of violation."""
    kind = kind_of(outcome)
    best = outcome

    def fails(events: Sequence[Event]) -> Outcome | None:
        found = run(Scenario(outcome.scenario.seed, tuple(events)))
        return found if found.violations and kind_of(found) == kind else None

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
            say(f"{len(best.scenario.events)} events")
        elif size == 1:
            break
        else:
            parts = min(len(events), parts * 2)
    return replace(best)


def kind_of(outcome: Outcome) -> str:
    """Return what a violation is about, without the names and numbers in it."""
    words = outcome.violations[0].split() if outcome.violations else []
    return " ".join(word for word in words if word.isalpha())
