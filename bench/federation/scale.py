"""A federation of 100,000 archives and a thousand million items, by statistics.

Nobody can run it, but what a click costs in it follows from few numbers: how archives differ in
size, how clicks are spread over items, and the rules of the resolver, whose own constants are used
here. The octets of messages are measured (`message_sizes`), those of digests are written by the
code that writes them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.federation import scale_plots
from bench.federation.message_sizes import Sizes, measured
from ibi.resolver.digests.log_follower import MAX_LOGS, READS_PER_LEASE
from ibi.resolver.rules.search_progress import MAX_RECORD_ASKS, full_search_share
from ibi.wire.digest import FINGERPRINT_END, MAX_FINGERPRINTS, DigestPage, encode

SEED: Final = 16066
ARCHIVES: Final = (10, 100, 500, 1_000, 10_000, 100_000)
PUBLISHING: Final = (0.0, 0.5, 0.9, 0.99, 1.0)
YEAR: Final = 365.25 * 24 * 3600
_TOP: Final = 1_000_000
"""Of so many of the most wanted items each is somewhere; the others are spread as items are."""
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Federation:
    """What is assumed of archives, items and readers."""

    archives: int
    publishing: float = 1.0
    """The share of archives that publish a digest."""
    items: int = 10_000
    """An archive has on the average; log-normal, sigma 2: the largest has thousands of times as
    many as most have."""
    at_home: float = 0.9
    """The share of items that are in the archive whose label names the same place."""
    copies: float = 0.1
    """Copies of an item, on the average."""
    clicks: float = 1_000.0
    """A second, at this resolver."""
    zipf: float = 0.8
    """How unequal clicks are: the item of rank r gets a share as r to the power of minus this."""
    unknown: float = 0.001
    """The share of clicks on labels that nobody has."""
    changes: float = 0.12
    """New and changed items in a year, of each item."""
    hot_seconds: float = 10.0
    unread: float = 0.0
    """The share of archives whose digest could not be read again after their last notice."""
    known_seconds: float = 3_600.0
    known: int = 1_000_000
    gather_seconds: float = 2.0
    quickest: float = 60.0
    slowest: float = 3_600.0
    """Seconds between two looks at a digest."""

    @property
    def total(self) -> int:
        """All items."""
        return self.archives * self.items


@dataclass(frozen=True)
class Cost:
    """What one click costs on the average, and the digests by themselves."""

    warm: float
    """The share of clicks that are answered from memory."""
    cold_asked: float
    """Archives that are asked when an item is not remembered."""
    asked: float
    """Questions a click, those for unknown labels left out."""
    unknown: float
    """Questions a click for labels that nobody has."""
    recorded: float
    """Questions a click that only serve to record owners, which nobody waits for."""
    told: float
    """Acknowledgments, and questions for a fresh key, a click."""
    vigils: float
    """Looks at the logs of archives that many readers are sent to, a click."""
    octets: float
    """A click, all of the above."""
    looks: float
    """At digests, a second."""
    upkeep: float
    """Octets a second of digests."""
    first: float
    """Octets of all digests when they are read for the first time."""
    leased: int
    """Archives whose answers last."""


def cost(federation: Federation, sizes: Sizes) -> Cost:
    """Reckon what a click costs."""
    chance = np.random.default_rng(SEED)
    weights = chance.lognormal(0.0, 2.0, federation.archives)
    shares = weights / weights.sum()
    publishes = chance.random(federation.archives) < federation.publishing
    ranks, rates, counts = _clicks(federation)
    lasting = _lasting(federation, shares, publishes, ranks, rates, counts)
    per_item = _warm(federation, rates, counts, lasting.share)
    warm = float((rates * counts * per_item).sum() / federation.clicks)
    cold_asked = _asked(federation)
    asked = (1 - warm) * cold_asked
    unknown = federation.unknown * _asked_in_vain(federation)
    recorded = (1 - warm) * _asked_for_record(federation)
    # Each search gives a key for its reader; those who come after are gathered for a while.
    again = rates * per_item
    windows = again / (1 + again * federation.gather_seconds) * counts
    keys = float(windows.sum()) / federation.clicks
    told = (1 - warm) + keys
    vigils = lasting.archives * READS_PER_LEASE / federation.hot_seconds / federation.clicks
    found = (1 - warm) * (1 + federation.copies) * sizes.question
    denied = (asked - (1 - warm) * (1 + federation.copies) + unknown) * sizes.denial
    octets = found + max(0.0, denied) + told * sizes.acknowledgment + keys * sizes.question
    octets += vigils * sizes.no_news
    looks, upkeep = _upkeep(federation, shares[publishes], sizes)
    first = federation.total * federation.publishing * _octets_an_item(federation.items)
    return Cost(
        warm, cold_asked, asked, unknown, recorded, told + keys, vigils, octets,
        looks, upkeep, first, lasting.archives,
    )  # fmt: skip


def _clicks(federation: Federation) -> tuple[Numbers, Numbers, Numbers]:
    """Return ranks, clicks a second on an item of each, and how many items each stands for."""
    top = min(_TOP, federation.total)
    ranks = np.arange(1, top + 1, dtype=np.float64)
    counts = np.ones(top)
    if federation.total > top:
        edges = np.geomspace(top + 0.5, federation.total + 0.5, 2_000)
        ranks = np.concatenate([ranks, np.sqrt(edges[:-1] * edges[1:])])
        counts = np.concatenate([counts, np.diff(edges)])
    wanted = ranks**-federation.zipf
    return ranks, federation.clicks * wanted / (wanted * counts).sum(), counts


@dataclass(frozen=True)
class _Lasting:
    share: Numbers
    """By rank, the share of items whose archive's answers last."""
    archives: int


def _lasting(  # noqa: PLR0913, PLR0917  # what they are drawn from
    federation: Federation,
    shares: Numbers,
    publishes: NDArray[np.bool_],
    ranks: Numbers,
    rates: Numbers,
    counts: Numbers,
) -> _Lasting:
    """Tell of which archives the answers last."""
    top = min(_TOP, federation.total)
    chance = np.random.default_rng(SEED + 1)
    homes = chance.choice(len(shares), size=top, p=shares)
    tail = float((rates[top:] * counts[top:]).sum())
    clicks = np.bincount(homes, rates[:top], len(shares)) + tail * shares
    # The logs of those are read to which most readers are sent.
    least = np.partition(clicks, -MAX_LOGS)[-MAX_LOGS] if len(clicks) > MAX_LOGS else 0.0
    leased = publishes & (clicks >= least)
    share = np.full(len(ranks), float(shares[leased].sum()))
    share[:top] = leased[homes]
    return _Lasting(share, int(leased.sum()))


def _warm(federation: Federation, rates: Numbers, counts: Numbers, lasting: Numbers) -> Numbers:
    """Return by rank the share of clicks that meet an answer in memory.

    An answer is there from a click that met none until its time is over: r clicks a second meet
    it with a share of rT / (1 + rT). If more would be there than there is room for, the oldest
    go: then T is what fills the room.
    """

    def share(seconds: float) -> Numbers:
        met = rates * seconds
        return met / (1 + met)

    def remembered(longest: float) -> Numbers:
        hot = share(min(longest, federation.hot_seconds))
        return lasting * share(longest) + (1 - lasting) * hot

    low, high = 0.0, federation.known_seconds
    if float((remembered(high) * counts).sum()) <= federation.known:
        return remembered(high)
    for _ in range(60):
        middle = (low + high) / 2
        is_full = float((remembered(middle) * counts).sum()) > federation.known
        low, high = (low, middle) if is_full else (middle, high)
    return remembered(low)


def _asked(federation: Federation) -> float:
    """Return how many archives a search asks on the average, for an item that is somewhere.

    Who holds it; its home, if that is another; whoever publishes no digest; by mistake of a
    fingerprint; whose log is not followed, now and then, as the rule of the resolver has it.
    """
    away = 1 - federation.at_home
    silent = federation.archives * (1 - federation.publishing)
    mistaken = federation.total / FINGERPRINT_END
    known = (1 + federation.copies) * federation.publishing
    first = min(known + away * federation.publishing + silent + mistaken, federation.archives)
    held = _unfollowed(federation)
    return float(first + full_search_share(federation.archives) * held)


def _asked_in_vain(federation: Federation) -> float:
    """Return how many archives a search asks for a label that nobody has.

    Its home; whoever publishes no digest; by mistake of a fingerprint; and whose log is not
    followed.
    """
    silent = federation.archives * (1 - federation.publishing)
    asked = 1 + silent + federation.total / FINGERPRINT_END + _unfollowed(federation)
    return min(asked, federation.archives)


def _asked_for_record(federation: Federation) -> float:
    """Return how many archives a search asks only to record the owner of an item not at home."""
    return (1 - federation.at_home) * min(MAX_RECORD_ASKS, _unfollowed(federation))


def _unfollowed(federation: Federation) -> float:
    """Return how many archives publish a digest that stands for no answer at a time.

    After a notice the digest stands for one for half of `hot_seconds`, in which it is read again:
    only a reading that fails makes an archive one of these.
    """
    return federation.archives * federation.publishing * federation.unread


def _octets_an_item(items: int) -> float:
    """Return what a fingerprint takes in pages as an archive of so many items has them."""
    chance = random.Random(SEED)  # noqa: S311  # fingerprints of nobody
    # Each item has two labels.
    count = min(2 * items, MAX_FINGERPRINTS)
    held = tuple(sorted({chance.randrange(FINGERPRINT_END) for _ in range(count)}))
    return 2 * len(encode(DigestPage("0" * 32, 0, count, more=False, held=held))) / len(held)


def _upkeep(federation: Federation, shares: Numbers, sizes: Sizes) -> tuple[float, float]:
    """Return looks at digests and their octets, a second."""
    if not len(shares):
        return 0.0, 0.0
    changes = np.maximum(shares * federation.total * federation.changes / YEAR, 1e-12)
    waits = np.clip(1 / changes, federation.quickest, federation.slowest)
    # A notice, and a look after it, for each change; and a look when there was none for long.
    looks = float((1 / waits).sum() + 2 * changes.sum())
    news = 2 * 6 * float(changes.sum())
    return looks, looks * sizes.no_news + news


def by_statistics() -> list[str]:
    """Reckon federations from ten archives to 100,000, draw them, and put them in tables."""
    sizes = measured()
    grown = {n: cost(Federation(n), sizes) for n in ARCHIVES}
    plain = {n: cost(Federation(n, publishing=0.0), sizes) for n in ARCHIVES}
    largest = Federation(ARCHIVES[-1])
    shared = {p: cost(replace(largest, publishing=p), sizes) for p in PUBLISHING}
    scale_plots.messages(grown, plain)
    scale_plots.upkeep(grown)
    scale_plots.publishing(shared)
    return [
        *_growth(grown, plain),
        "",
        *_shares(shared),
        "",
        (
            f"{largest.clicks:,.0f} clicks a second, {largest.items:,} items an archive on the "
            f"average, clicks as Zipf has them ({largest.zipf:g}), {largest.at_home:.0%} of the "
            f"items at home, {largest.copies:g} copies an item, {largest.unknown:.1%} of the "
            "clicks on labels that nobody has, for which their home is asked. HTTP without TCP: "
            f"{sizes.question:,} octets for a question and its answer, {sizes.denial:,} for one "
            f"that is denied, {sizes.acknowledgment:,} for an acknowledgment, {sizes.no_news:,} "
            "for a look at a digest that has no news, measured at a real archive. All archives "
            "notify the resolver of changes, so that their digests stand for their answers. Seed "
            f"{SEED}: the same numbers each time. Explained in docs/explanation/scale.md."
        ),
    ]


def _growth(grown: dict[int, Cost], plain: dict[int, Cost]) -> list[str]:
    lines = [
        (
            "| archives | items | from memory | asked when cold | questions a click | "
            "misses included | without digests | all messages a click | octets a click | "
            "without digests |"
        ),
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for number, each in grown.items():
        other = plain[number]
        questions = each.asked + each.unknown + each.recorded
        messages = questions + each.told + each.vigils
        lines.append(
            f"| {number:,} | {Federation(number).total:,} | {each.warm:.1%} | "
            f"{each.cold_asked:,.2f} | {each.asked:,.2f} | {questions:,.2f} | "
            f"{other.asked + other.unknown:,.0f} | "
            f"{messages:,.2f} | {each.octets:,.0f} | {other.octets:,.0f} |"
        )
    lines += [
        "",
        "| archives | looks at digests a second | octets a second | all digests at first, MB |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| {number:,} | {each.looks:,.2f} | {each.upkeep:,.0f} | {each.first / 1e6:,.1f} |"
        for number, each in grown.items()
    ]
    return lines


def _shares(shared: dict[float, Cost]) -> list[str]:
    lines = [
        f"| of {ARCHIVES[-1]:,} archives publish a digest | questions a click | octets a click |",
        "| --- | --- | --- |",
    ]
    lines += [
        f"| {share:.0%} | {each.asked:,.1f} | {each.octets:,.0f} |"
        for share, each in shared.items()
    ]
    return lines


if __name__ == "__main__":
    print("\n".join(by_statistics()))
