"""KILL and STOP: processes that end, or sleep, at any point of their work.

Eight share one ledger, so each step of each is between steps of others. A lone minter reserves a
stretch ahead, which a kill leaves behind: the next one starts after it.
"""

from __future__ import annotations

import signal
import time
from typing import Final

from ibi.minting.rules.reservation import ReservationLimits
from tests.faults.figures import Figures
from tests.faults.minting.twins import UNDURABLE
from tests.faults.minting.worker import FINE
from tests.faults.minting.worker_pool import Crowd, Hand
from tests.faults.sites import Say, Site

EIGHT: Final = 8
LIFE: Final = (0.005, 0.3)
STRETCH: Final = 1.0
"""Seconds that a lone minter reserves, by default."""


def kill_eight(
    site: Site, size: int, seed: int, say: Say, limits: ReservationLimits | None = None
) -> Figures:
    """Eight workers on one ledger, each killed after 5 to 300 ms and followed by another.

    A quarter of them is killed wherever they are, some before they have opened the ledger; the
    others so long after their first label, or else most would die waiting for it. All granularities
    are fine: eight who want more than 1/r labels a second wait for each other, not for the dead.
    """
    fine = (*FINE, "0.000000001")
    with Crowd(site, seed, limits=limits or ReservationLimits(), granularities=fine) as crowd:
        ends: dict[int, float] = {}

        def start(slot: int) -> None:
            hand = crowd.start(slot)
            if hand.number % 4 == 0:
                ends[hand.number] = hand.started + crowd.chance.uniform(*LIFE)

        for slot in range(EIGHT):
            start(slot)
        while crowd.figures.kills < size:
            crowd.pump(0.005)
            now = time.monotonic()
            for hand in list(crowd.hands):
                if hand.number not in ends and hand.given:
                    ends[hand.number] = now + crowd.chance.uniform(*LIFE)
                if ends.get(hand.number, now + 1) <= now:
                    crowd.kill(hand)
                    start(hand.slot)
            say(f"{crowd.figures.kills} of {size} kills, {crowd.figures.labels:,} labels")
        crowd.pump_until(lambda: len(crowd.figures.by_slot) == EIGHT, "a label in each of 8 places")
    crowd.figures.notes = f"the least of the eight got {min(crowd.figures.by_slot.values())} labels"
    return crowd.figures


def kill_eight_hasty(site: Site, size: int, seed: int, say: Say) -> Figures:
    """The same with stretches of 20 ms: they come and go, so more kills fall between two steps."""
    return kill_eight(site, size, seed, say, ReservationLimits(stretch=20_000_000))


def kill_one(site: Site, size: int, seed: int, say: Say) -> Figures:
    """A lone worker in the middle of its stretch, killed again and again."""
    with Crowd(site, seed, rest=0.0002) as crowd:
        while crowd.figures.kills < size:
            _live_and_die(crowd, crowd.chance.uniform(*LIFE))
            say(f"{crowd.figures.kills} of {size} kills, {crowd.figures.labels:,} labels")
    return crowd.figures


def kill_undurable(site: Site, size: int, seed: int, say: Say) -> Figures:
    """The twin of KILL: a ledger that says "durable" and only remembers."""
    with Crowd(site, seed, twin=UNDURABLE, granularities=("0.001",), rest=0.0002) as crowd:
        while crowd.figures.kills < size and not crowd.figures.duplicates:
            # It dies soon after a whole second, whose short label the next one would like to have.
            _live_and_die(crowd, 1.1 - time.time() % 1)
            say(f"{crowd.figures.kills} of {size} kills, {crowd.figures.labels:,} labels")
    return crowd.figures


def _live_and_die(crowd: Crowd, seconds: float) -> None:
    hand = crowd.start()
    crowd.pump_until(lambda: hand.ready is not None, "a first label")
    crowd.pump(seconds)
    crowd.kill(hand)


def stop(site: Site, size: int, seed: int, say: Say) -> Figures:
    """Workers that are stopped, overtaken by others, and go on.

    Mostly one runs alone: it has a stretch of its own when it is stopped, and wakes up in the
    middle of the stretch of another, or when its own is long over.
    """
    with Crowd(site, seed, rest=0.0005) as crowd:
        hands = [crowd.start(slot) for slot in range(EIGHT)]
        crowd.pump_until(lambda: all(hand.given for hand in hands), "a label from each of eight")
        running, stops, long = list(hands), 0, 0
        since: dict[int, float] = {}
        while stops < size:
            chosen = crowd.chance.sample(hands, crowd.chance.choice([1, 1, 1, 2, 3, EIGHT]))
            halted: list[Hand] = [hand for hand in running if hand not in chosen]
            woken = [hand for hand in chosen if hand not in running]
            now = time.monotonic()
            # At once, and in this order: for a moment the old and the new are both at work.
            crowd.signal(woken, signal.SIGCONT)
            crowd.pump(crowd.chance.choice([0.0, 0.05]))
            crowd.signal(halted, signal.SIGSTOP)
            long += sum(now - since.pop(hand.number) > STRETCH for hand in woken)
            since |= {hand.number: now for hand in halted}
            running, stops = chosen, stops + len(halted)
            crowd.pump(crowd.chance.choice([0.05, 0.4, 1.3]) * crowd.chance.uniform(0.5, 1.5))
            say(f"{stops} of {size} stops, {long} over a second, {crowd.figures.labels:,} labels")
        crowd.signal(hands, signal.SIGCONT)
        crowd.pump(0.2)
    crowd.figures.notes = f"{stops} stops, {long} of them longer than a stretch"
    return crowd.figures
