"""How digests are read: what a page means after the pages before, and when the next is due.

An archive may publish anything in its digest. The checks here are possible: that a page continues
where the last one ended, or is the first of a new digest, and that a digest ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from ibi.resolver.ports.store import DigestProgress
from ibi.wire.digest import DigestPage

MAX_INTERVAL: Final = 3600.0
"""Seconds after which every digest is asked for again."""
MAX_PAGES: Final = 8192
"""Pages in a row, each followed by another: ten times the pages of the longest digest in which
nothing changes."""
PAGES_PER_REST: Final = 30
"""Pages in a row after which the fetcher rests for one interval. It takes half a second to store a
page, and a digest may change all the time."""


class PageMeaning(Enum):
    """What a page means after the pages before."""

    NEXT = "next"
    """It follows the page before."""
    ANEW = "anew"
    """It is the first page of another digest: the stored pages are void."""
    NONSENSE = "nonsense"
    """It follows no page that was asked for."""


def meaning(digest: DigestProgress | None, page: DigestPage) -> PageMeaning:
    """Return what a page means that was requested after the stored ones."""
    if digest is None or not digest.last:
        return PageMeaning.NONSENSE if page.after else PageMeaning.NEXT
    if not page.after:
        return PageMeaning.ANEW
    follows = page.after == digest.last and page.epoch == digest.epoch
    return PageMeaning.NEXT if follows else PageMeaning.NONSENSE


@dataclass(frozen=True, slots=True)
class FetchTurn:
    """When an archive's digest is fetched again."""

    due: float = 0.0
    """When it is fetched, by the clock of the event loop; 0 if it never was: it comes first."""
    interval: float = 0.0
    """Seconds since the fetch before."""
    pages: int = 0
    """Pages that came in a row, each followed by another."""
    is_refused: bool = False
    """Whether the digest was refused: then no notification brings the turn forward."""


def after_page(
    turn: FetchTurn, page: DigestPage, now: float, seconds: float, *, anew: bool
) -> FetchTurn:
    """Return the turn after a page: at once if there is more, soon after a change, else later.

    An archive whose digest begins anew again and again is also asked ever later, and so is one that
    publishes very many pages.
    """
    if page.more:
        return replace(turn, due=now, pages=turn.pages + 1)
    is_lively = bool(page.held or page.dropped) and not anew
    if is_lively or not turn.interval:
        return _after(seconds, turn, now, seconds)
    return after_failure(turn, now, seconds)


def after_failure(turn: FetchTurn, now: float, seconds: float) -> FetchTurn:
    """Return the turn after a fetch without a page: later than the time before."""
    return _after(min(max(2 * turn.interval, seconds), MAX_INTERVAL), turn, now, seconds)


def _after(interval: float, turn: FetchTurn, now: float, seconds: float) -> FetchTurn:
    """Return a turn after an interval, and after a rest for the pages that came in a row."""
    rest = min(seconds * turn.pages / PAGES_PER_REST, MAX_INTERVAL)
    return FetchTurn(now + max(interval, rest), interval)


def without_digest(now: float) -> FetchTurn:
    """Return the turn of an archive that publishes no digest: much later."""
    return FetchTurn(now + MAX_INTERVAL, MAX_INTERVAL)


def after_refusal(now: float) -> FetchTurn:
    """Return the turn of an archive whose digest was refused: much later, whatever is notified.

    To find out again that a digest is too long costs all of its pages up to the limit, and anybody
    can send a notification.
    """
    return FetchTurn(now + MAX_INTERVAL, MAX_INTERVAL, is_refused=True)
