"""The temporal granularities of a subsystem, in nanoseconds (003, chapter 6, the set G)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ibi.errors import MintingRequestError, Sentence, shown
from ibi.model.clock import SECOND

MINUTE: Final = 60 * SECOND

# G = {60, 1, 1/10, 1/100, ...}. The set is infinite; ours ends at the resolution of clocks.
GRANULARITIES: Final = (MINUTE, *(10**digits for digits in range(9, -1, -1)))

COARSER: Final = {r: tuple(s for s in reversed(GRANULARITIES) if s > r) for r in GRANULARITIES}
"""For each granularity all coarser ones, the next one first."""

AUTO: Final = "auto"

_TEXTS: Final[dict[str, int]] = {
    str(r // SECOND) if r >= SECOND else f"0.{r:09}".rstrip("0"): r for r in GRANULARITIES
}
_BY_NANOSECONDS: Final = {nanoseconds: text for text, nanoseconds in _TEXTS.items()}


def parse_granularity(text: str) -> int | None:
    """Parse a granularity in seconds, such as 60, 1 or 0.001; return None for `auto`."""
    wanted = text.strip().lower()
    if wanted == AUTO:
        return None
    if "." in wanted:
        wanted = wanted.rstrip("0").rstrip(".")
        wanted = f"0{wanted}" if wanted.startswith(".") else wanted
    if wanted not in _TEXTS:
        msg = Sentence(
            "%(text)s is not a granularity: expected auto, 60, 1, 0.1, 0.01 and so on "
            "down to %(least)s seconds.",
            text=shown(text),
            least=_BY_NANOSECONDS[1],
        )
        raise MintingRequestError(msg)
    return _TEXTS[wanted]


def granularity_text(nanoseconds: int) -> str:
    """Return a granularity in seconds, as `parse_granularity` accepts it."""
    return _BY_NANOSECONDS[nanoseconds]


@dataclass(frozen=True, slots=True)
class Granularity:
    """The current granularity r, fixed by an operator or automatic.

    Labels are shortened when traffic is light, so a fine r costs nothing then. An automatic
    granularity is refined as soon as a single caller would have to wait, or several together longer
    than `PATIENCE`, and coarsened again, one step at a time, after `CALM` without such a wait.
    """

    nanoseconds: int = SECOND
    fixed: bool = False
    changed_at: int = 0

    @classmethod
    def of(cls, text: str) -> Granularity:
        """Parse the choice of an operator, `auto` included."""
        nanoseconds = parse_granularity(text)
        return cls() if nanoseconds is None else cls(nanoseconds, fixed=True)

    def adapted(self, now: int, last: int | None, count: int) -> Granularity:
        """Return the granularity for so many labels wanted now, by all callers that wait."""
        if self.fixed:
            return self
        r = self.nanoseconds
        if r < SECOND and now - self.changed_at > CALM:
            # Refined again below, in the same step, if the load is still there.
            r = next(iter(COARSER[r]))
        while r > 1 and _is_too_coarse(r, now, last, count):
            r = max(r // 10, 1)
        return self if r == self.nanoseconds else Granularity(r, changed_at=now)

    def __str__(self) -> str:
        """Return the text that an operator would set, with the present value if it is automatic."""
        text = granularity_text(self.nanoseconds)
        return text if self.fixed else f"{AUTO} ({text})"


PATIENCE: Final = 1_000_000
"""Nanoseconds that all callers together may wait: less than the network takes to a client."""

CALM: Final = 10 * SECOND
"""Nanoseconds without waiting callers after which a granularity is coarsened by one step."""


def _is_too_coarse(r: int, now: int, last: int | None, count: int) -> bool:
    if (count - 1) * r > PATIENCE:
        return True
    if last is None:
        return False
    first = last - last % r + r
    # No granularity helps against labels reserved up to `last` by other minters, or a clock behind
    # it: what counts is the wait after that.
    return now < first if last < now else first - last > PATIENCE


MOST_AT_ONCE: Final = 1_000_000
"""The largest batch of labels: at the finest granularity it takes a millisecond."""


def check_count(count: int, most: int = MOST_AT_ONCE) -> None:
    """Raise if the number of labels is not between 1 and the largest batch."""
    if not 1 <= count <= most:
        msg = Sentence(
            "%(count)s is not a number of labels: expected 1 to %(most)s.", count=count, most=most
        )
        raise MintingRequestError(msg)


def check_duration(count: int, granularity: Granularity, longest: int) -> None:
    """Raise if a batch takes longer than the longest wait of a caller."""
    duration = (count - 1) * granularity.nanoseconds
    if granularity.fixed and duration > longest:
        msg = Sentence(
            "%(count)s labels at a granularity of %(granularity)s take %(seconds)s seconds, "
            "and no caller may wait longer than %(longest)s: ask for fewer at once.",
            count=count,
            granularity=granularity,
            seconds=duration // SECOND,
            longest=longest // SECOND,
        )
        raise MintingRequestError(msg)
