"""Labels: parse and format of each form against `uuid.UUID(str)`, and `ibi describe --json`."""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable
from functools import partial
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Final

import msgspec

from bench.support.goals import at_least, at_most
from bench.support.measure import costs
from ibi import Ibip, Instant, Label, RepositoryName, parse
from ibi.identifier.instant import EPOCH

COUNT: Final = 20_000
LINES: Final = 1_000_000
PARSE_AT_MOST: Final = 6.0
DESCRIBE_AT_LEAST: Final = 0.25

_BASE53: Final = "23456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUV"


def labels(rng: random.Random, count: int) -> dict[str, list[str]]:
    """Return labels of each form: of one subsystem, and each of a subsystem of its own."""
    # Every second of some thirty years is as likely: no two labels share more than a day.
    instants = [Instant(rng.randrange(EPOCH.seconds, 1_800_000_000)) for _ in range(count)]
    names = [f"w{rng.getrandbits(30):x}.sub{rng.getrandbits(20):x}.inpe.br" for _ in instants]
    ipv4 = [str(IPv4Address(rng.getrandbits(32))) for _ in instants]
    ipv6 = [str(IPv6Address(0x2804 << 112 | rng.getrandbits(112))) for _ in instants]

    def mounted(make: Callable[[int, Instant], Label]) -> list[str]:
        return [make(number, instant).spelling for number, instant in enumerate(instants)]

    return {
        "repository name, one subsystem": mounted(
            lambda _, at: RepositoryName.mount("mtc-m19.sid.inpe.br", 80, at)
        ),
        "repository name, many": mounted(lambda n, at: RepositoryName.mount(names[n], 8080, at)),
        "IBIp on IPv4, one subsystem": mounted(lambda _, at: Ibip.mount("150.163.34.243", 800, at)),
        "IBIp on IPv4, many": mounted(lambda n, at: Ibip.mount(ipv4[n], 804, at)),
        "IBIp on IPv6, one subsystem": mounted(
            lambda _, at: Ibip.mount("2001:252:0:1::2008:6", 800, at)
        ),
        "IBIp on IPv6, many": mounted(lambda n, at: Ibip.mount(ipv6[n], 804, at)),
        "legacy label": [
            f"6qtX3pFwXQZGivnK2Y/{''.join(rng.choices(_BASE53, k=5))}" for _ in instants
        ],
    }


def _parse_all(texts: list[str]) -> list[Label]:
    return [parse(text) for text in texts]


def _format_all(parsed: list[Label]) -> list[str]:
    return [label.canonical for label in parsed]


def parse_and_format() -> list[str]:
    """Compare with the standard library's own identifier."""
    rng = random.Random(1)  # noqa: S311  # the same labels in every run
    texts = labels(rng, COUNT)
    uuids = [str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(COUNT)]
    parsed = {form: _parse_all(group) for form, group in texts.items()}
    parsed_uuids = [uuid.UUID(text) for text in uuids]
    tasks: dict[str, Callable[[], object]] = {
        "uuid parse": lambda: [uuid.UUID(text) for text in uuids],
        "uuid format": lambda: [str(each) for each in parsed_uuids],
    }
    for form, group in texts.items():
        tasks[f"{form} parse"] = partial(_parse_all, group)
        tasks[f"{form} format"] = partial(_format_all, parsed[form])
    cost = {name: seconds * 1e6 / COUNT for name, seconds in costs(tasks).items()}
    lines = [
        "| form | parse, us | parse / UUID(str) | format, us | format / str(UUID) |",
        "| --- | --- | --- | --- | --- |",
        f"| `uuid.UUID` | {cost['uuid parse']:.2f} | 1 | {cost['uuid format']:.2f} | 1 |",
    ]
    worst = 0.0
    for form in texts:
        parsing = cost[f"{form} parse"] / cost["uuid parse"]
        worst = max(worst, parsing)
        lines.append(
            f"| {form} | {cost[f'{form} parse']:.2f} | {parsing:.2f} "
            f"| {cost[f'{form} format']:.2f} "
            f"| {cost[f'{form} format'] / cost['uuid format']:.2f} |"
        )
    what = "to parse a label, in times of `uuid.UUID(str)`, the worst form"
    return [*lines, "", at_most(what, worst, PARSE_AT_MOST)]


def describe_a_million() -> list[str]:
    """Compare `ibi describe --json` over a million lines with `parse` in a loop."""
    rng = random.Random(2)  # noqa: S311  # the same labels in every run
    lines = [
        "| a million lines of | `parse`, labels/s | `ibi describe --json`, lines/s | ratio |",
        "| --- | --- | --- | --- |",
    ]
    worst = 1.0
    by_form = labels(rng, COUNT)
    mixed = [text for texts in by_form.values() for text in texts]
    rng.shuffle(mixed)
    # The forms that are the quickest to parse are the hardest to keep up with.
    chosen = ("repository name, one subsystem", "IBIp on IPv4, one subsystem")
    groups = {"all forms, mixed": mixed[:COUNT]} | {form: by_form[form] for form in chosen}
    for form, group in groups.items():
        repeated = group * (LINES // COUNT)
        library = costs({"parse": partial(_parse_all, group)})["parse"] / COUNT
        command = _describe(repeated) / LINES
        worst = min(worst, library / command)
        lines.append(
            f"| {form} | {1 / library:,.0f} | {1 / command:,.0f} | {library / command:.2f} |"
        )
    return [
        *lines,
        "",
        at_least("`ibi describe --json`, of the library's own rate", worst, DESCRIBE_AT_LEAST),
        "",
        (
            "Both are CPU time of one process; the command's includes starting Python, reading "
            "and writing."
        ),
    ]


def _describe(texts: list[str], runs: int = 4) -> float:
    """Return the CPU seconds of the command, the least of its runs; check what it wrote."""
    least = float("inf")
    with tempfile.TemporaryDirectory() as folder:
        given, written = Path(folder, "given"), Path(folder, "written")
        given.write_text("\n".join(texts) + "\n", encoding="ascii")
        for _ in range(runs):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            with given.open("rb") as stdin, written.open("wb") as stdout:
                command = [sys.executable, "-m", "ibi", "describe", "--json"]
                subprocess.run(command, stdin=stdin, stdout=stdout, check=True)  # noqa: S603
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            least = min(least, spent)
        with written.open("rb") as lines:
            described = [msgspec.json.decode(line)["given"] for line in lines]
    if described != texts:
        message = "what was described is not what was given"
        raise RuntimeError(message)
    return least
