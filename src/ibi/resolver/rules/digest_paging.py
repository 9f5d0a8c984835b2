"""How digests are read: what a page means for what is here, and when the next is asked for.

Whoever publishes a digest may say anything in it. What can be checked is checked here: that a page
goes on where we were, or begins anew and says so, and that it comes to an end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from ibi.resolver.ports.store import DigestProgress
from ibi.wire.digest import DigestPage

LONGEST: Final = 3600.0
"""Seconds after which every digest is asked for again."""
MOST_PAGES: Final = 8192
"""In a row, each followed by another: ten times those of the longest that nothing changed in."""
PAGES: Final = 30
"""In a row: after each so many it rests for as long as from one that changed. To keep one takes
half a second, and they may change all the time."""


class PageMeaning(Enum):
    """What a page is to what is here."""

    NEXT = "next"
    """It follows."""
    ANEW = "anew"
    """It is the first of another digest: what is here is void."""
    NONSENSE = "nonsense"
    """It follows nothing that was asked for."""


def meaning(digest: DigestProgress | None, page: DigestPage) -> PageMeaning:
    """Tell what a page is that was asked for after what is here."""
    if digest is None or not digest.last:
        return PageMeaning.NONSENSE if page.after else PageMeaning.NEXT
    if not page.after:
        return PageMeaning.ANEW
    follows = page.after == digest.last and page.epoch == digest.epoch
    return PageMeaning.NEXT if follows else PageMeaning.NONSENSE


@dataclass(frozen=True, slots=True)
class FetchTurn:
    """When an archive's digest is asked for again."""

    due: float = 0.0
    """By the clock of the event loop; 0 for one that was never asked for: it comes first."""
    interval: float = 0.0
    """Seconds from the time before."""
    pages: int = 0
    """That came in a row, each followed by another."""


def after_page(
    turn: FetchTurn, page: DigestPage, now: float, seconds: float, *, anew: bool
) -> FetchTurn:
    """Return the turn after a page: at once for the next, soon after a change, then ever later.

    Who begins anew time and again is asked ever later too, and so is who says very much.
    """
    if page.more:
        return replace(turn, due=now, pages=turn.pages + 1)
    is_lively = bool(page.held or page.dropped) and not anew
    if is_lively or not turn.interval:
        return _after(seconds, turn, now, seconds)
    return after_failure(turn, now, seconds)


def after_failure(turn: FetchTurn, now: float, seconds: float) -> FetchTurn:
    """Return the turn after no page came: later than the time before."""
    return _after(min(max(2 * turn.interval, seconds), LONGEST), turn, now, seconds)


def _after(interval: float, turn: FetchTurn, now: float, seconds: float) -> FetchTurn:
    """Return a turn after an interval, and after a rest from the pages that came in a row."""
    rest = min(seconds * turn.pages / PAGES, LONGEST)
    return FetchTurn(now + max(interval, rest), interval)


def after_refusal(now: float) -> FetchTurn:
    """Return the turn of who publishes none, or none that makes sense: in a while."""
    return FetchTurn(now + LONGEST, LONGEST)
