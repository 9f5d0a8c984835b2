"""An hour at half of what a federation can take, while its archives are killed, stopped and moved.

One resolver and three archives, each in processes of their own, as their operators run them.
Readers ask for known items, editions, metadata and labels that nobody has; people deposit, and
something breaks all the time. Whatever happens, a reader gets the right answer or 503, and nothing
grows: neither memory nor open files.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.federation import soak_plot
from bench.federation.soak_federation import Federation, federation
from bench.federation.soak_readers import Click, Readers
from bench.support.goals import none_of

MINUTES: Final = float(os.environ.get("IBI_SOAK_MINUTES", "60"))
FULL_SECONDS: Final = 20.0
SAMPLE: Final = 5.0
FAULT: Final = 30.0
"""Seconds between two faults; each is over before the next."""
OUTAGE: Final = 8.0
ITEMS: Final = 100
"""Of each archive at the beginning."""
SEED: Final = 16066
NOBODY: Final = "?"
WANTED: Final = {"": 88, ":(oai_dc)": 5, "!": 5, NOBODY: 2}
"""What readers add to a label, in a hundred; and labels that nobody has."""
GROWTH: Final = 0.10
"""That memory may have grown from the second sixth of the time to the last."""
MORE_FILES: Final = 24
"""Descriptors by which two samples of a server at work may differ."""


failures: list[str] = []
"""What was not as it should be, in the last run."""


@dataclass
class Log:
    """What was seen."""

    memory: dict[str, list[float]] = field(default_factory=dict)
    """Megabytes by who, sample after sample."""
    files: dict[str, list[int]] = field(default_factory=dict)
    rates: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    """The share of answers that were 503."""
    faults: list[tuple[float, str]] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def soak() -> list[str]:
    """Run it, and say what was seen."""
    with tempfile.TemporaryDirectory() as name, federation(Path(name), ITEMS) as world:
        return asyncio.run(_soak(world))


async def _soak(world: Federation) -> list[str]:
    chance = random.Random(SEED)  # noqa: S311  # which click comes next
    readers = Readers(world.resolver, lambda: _click(world, chance))
    full = await readers.flat_out(FULL_SECONDS)
    readers.forget()
    log = Log()
    rate = full / 2
    _say(f"{full:,.0f} requests a second at the most; now half of it for {MINUTES:g} minutes")
    began = time.monotonic()
    ends = began + MINUTES * 60
    tasks = [
        asyncio.create_task(each)
        for each in (
            readers.at_rate(rate, ends),
            _samples(world, readers, log, began, ends),
            _faults(world, log, chance, began, ends),
            _people(world, readers, chance, ends),
        )
    ]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
    log.answers, log.wrong = readers.answers, readers.wrong
    soak_plot.draw(log, SAMPLE)
    return _told(log, full, rate)


def _click(world: Federation, chance: random.Random) -> Click:
    """Return what a reader wants next: mostly few items, and sometimes something else."""
    [ending] = chance.choices(tuple(WANTED), tuple(WANTED.values()))
    if ending == NOBODY:
        moment = f"2001/01.02.03.04.05.{chance.randrange(10**6)}1"
        return Click(f"/example.org/nobody/{moment}", frozenset())
    label, places = world.pick(chance)
    return Click(f"/{label}{ending}", places)


async def _samples(
    world: Federation, readers: Readers, log: Log, began: float, ends: float
) -> None:
    told = 0
    while time.monotonic() < ends:
        await asyncio.sleep(SAMPLE)
        count, refused = readers.since_last()
        log.rates.append(count / SAMPLE)
        log.refused.append(refused / max(1, count))
        for name, (memory, files) in world.sizes().items():
            log.memory.setdefault(name, []).append(memory)
            log.files.setdefault(name, []).append(files)
        minutes = (time.monotonic() - began) / 60
        for each in readers.wrong[told:]:
            _say(f"{minutes:5.1f} min: {each}")
        told = len(readers.wrong)
        if len(log.rates) % 12 == 0:
            now = ", ".join(f"{name} {sizes[-1]:.0f} MB" for name, sizes in log.memory.items())
            _say(f"{minutes:5.1f} min, {count / SAMPLE:,.0f}/s, {now}, {len(readers.wrong)} wrong")


async def _faults(
    world: Federation, log: Log, chance: random.Random, began: float, ends: float
) -> None:
    kinds = ("kill", "pause", "switch off", "roll")
    number = 0
    while time.monotonic() + FAULT < ends:
        await asyncio.sleep(FAULT - OUTAGE)
        kind, archive = kinds[number % len(kinds)], chance.randrange(len(world.archives))
        number += 1
        log.faults.append((time.monotonic() - began, kind))
        if kind == "roll":
            await asyncio.to_thread(world.roll)
            await asyncio.sleep(OUTAGE)
            continue
        await asyncio.to_thread(world.breaks, archive, kind)
        await asyncio.sleep(OUTAGE)
        await asyncio.to_thread(world.heals, archive, kind)


async def _people(world: Federation, readers: Readers, chance: random.Random, ends: float) -> None:
    while time.monotonic() < ends:
        await asyncio.sleep(2.0)
        archive = chance.randrange(len(world.archives))
        if wrong := await asyncio.to_thread(world.deposits, archive):
            readers.wrong.append(wrong)


def _told(log: Log, full: float, rate: float) -> list[str]:
    lines = [
        "| process | MB, second sixth | MB, last sixth | descriptors, second sixth | last |",
        "| --- | --- | --- | --- | --- |",
    ]
    failures.clear()
    for name, sizes in log.memory.items():
        sixth = max(1, len(sizes) // 6)
        early, late = (_median(part) for part in (sizes[sixth : 2 * sixth], sizes[-sixth:]))
        few, many = (
            _median(part) for part in (log.files[name][sixth : 2 * sixth], log.files[name][-sixth:])
        )
        lines.append(f"| {name} | {early:.0f} | {late:.0f} | {few:.0f} | {many:.0f} |")
        if late > early * (1 + GROWTH):
            failures.append(f"The memory of the {name} grew.")
        if many > few + MORE_FILES:
            failures.append(f"The open files of the {name} grew.")
    answered = ", ".join(f"{count:,} times {what}" for what, count in log.answers.most_common())
    if log.wrong:
        failures.append(f"{len(log.wrong)} answers were wrong: {'; '.join(log.wrong[:5])}")
    lines += [
        "",
        (
            f"{MINUTES:g} minutes at {rate:,.0f} requests a second, half of {full:,.0f}; "
            f"{len(log.faults)} faults. Answers: {answered}."
        ),
        "",
        none_of("what grew, and answers that were wrong and not 503", failures),
        "",
        "![Memory, requests and refusals over the time](plots/soak.svg)",
    ]
    return lines


def _median(numbers: list[float] | list[int]) -> float:
    ordered = sorted(numbers)
    return float(ordered[len(ordered) // 2]) if ordered else 0.0


def _say(text: str) -> None:
    sys.stderr.write(f"  {text}\n")
    sys.stderr.flush()
