"""Cold resolution through the whole product: items that nobody has asked for yet.

Each is asked for once, one after the other, among a hundred and five hundred archives that answer
at once, and while half of five hundred hang; with and without digests. The resolver has a core of
its own, and archives and readers another. `BENCH_QUICK=1` tries it on a small scale.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from urllib.request import urlopen

from bench.support.goals import at_most
from bench.support.nginx import reserved_port, running
from bench.support.plots import bars
from ibi.identifier.label import parse
from ibi.model.registration import Inclusion, RegisteredArchive
from ibi.resolver.ports.store import ArchiveChange
from ibi.resolver.settings import read_resolver
from ibi.resolver.wiring.app import open_resolver_store

QUICK = bool(os.environ.get("BENCH_QUICK"))
SIZES = (20, 60) if QUICK else (100, 500)
ITEMS = {False: 40, True: 40} if QUICK else {False: 400, True: 2000}
"""Of each row, without digests and with them: those are found in no time, and the more there are,
the less a 99th percentile is chance."""
WORST = 2.0
"""How many times the 99th percentile of before it may be while half of the archives hang."""
_KINDS = {"at home": "a{}.example.org/archive", "elsewhere": "papers{}.example.net/library"}
_SECOND = 1_000_000_000
_LONG = 300.0


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table."""

    archives: int
    digests: bool
    hanging: int
    kind: str
    median: float
    last: float
    """The 99th percentile, in seconds."""
    asked: float
    """Archives, for one item."""


def among_many() -> list[str]:
    """Measure all cases, and say whether those who hang slow the others down."""
    cases: list[Case] = []
    for size in SIZES:
        for digests in (False, True):
            cases += _measured(size, digests=digests, hang=size == SIZES[-1])
    return [*_table(cases), "", _plot(cases), "", *_verdicts(cases)]


def _plot(cases: list[Case]) -> str:
    rows: dict[str, list[float]] = {}
    for each in cases:
        digests = "with" if each.digests else "without"
        rows.setdefault(f"label made {each.kind}, {digests} digests", []).append(each.last * 1000)
    places = [f"{size} archives" for size in SIZES] + [f"{SIZES[-1]}, half of them hang"]
    return bars("cold", "99th percentile of a cold resolution", "ms", places, rows)


def _table(cases: list[Case]) -> list[str]:
    lines = [
        "| archives | hanging | digests | label made | median, ms | 99 %, ms | asked an item |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    return lines + [
        f"| {each.archives} | {each.hanging} | {'yes' if each.digests else 'no'} | {each.kind} | "
        f"{each.median * 1000:.1f} | {each.last * 1000:.1f} | {each.asked:.1f} |"
        for each in cases
    ]


def _verdicts(cases: list[Case]) -> Iterator[str]:
    for after in cases:
        for before in cases:
            is_same = (before.archives, before.digests, before.kind) == (
                *(after.archives, after.digests, after.kind),
            )
            if after.hanging and not before.hanging and is_same:
                ratio = after.last / before.last
                with_or_without = "with" if after.digests else "without"
                yield at_most(
                    f"half of {after.archives} archives hang, {with_or_without} digests, label "
                    f"made {after.kind}, 99th percentile in times of that before",
                    ratio,
                    WORST,
                )
    yield (
        f"\n{ITEMS[False]:,} items in each row without digests, {ITEMS[True]:,} with them, all in "
        "archives that answer. An archive has 2 s for "
        "an answer, and is not asked any more after three silences. An item whose label was made "
        "elsewhere has no home, and no owner on record when it is first asked for: then all may be "
        "asked after its reader has left."
    )


def _measured(size: int, *, digests: bool, hang: bool) -> Iterator[Case]:
    sys.stderr.write(f"  {size} archives, {'with' if digests else 'without'} digests\n")
    sets, count = 2 if hang else 1, ITEMS[digests]
    labels = {kind: _labels(kind, size, sets * count) for kind in _KINDS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        control = _describe(folder, size, labels, publish=digests)
        with _federation(folder, control) as port:
            if digests:
                _wait_for_digests(control, size)
            for hanging in (0, size // 2)[:sets]:
                _control(control, f"hang/{hanging}")
                for kind in _KINDS:
                    part = labels[kind][count:] if hanging else labels[kind][:count]
                    before = _control(control)["asked"]
                    times = sorted(_ask(port, [label for _, label in part]))
                    asked = (_settled(control) - before) / len(part)
                    last = times[int(0.99 * len(times))]
                    yield Case(size, digests, hanging, kind, statistics.median(times), last, asked)


def _labels(kind: str, size: int, count: int) -> list[tuple[int, str]]:
    """Return archives, of those that never hang, and the labels of their items."""
    made = []
    for number in range(count):
        archive = size // 2 + number % (size - size // 2)
        month, rest = divmod(number, 28 * 24)
        day, hour = divmod(rest, 24)
        when = f"2021/{month + 1:02}.{day + 1:02}.{hour:02}.00"
        made.append((archive, f"{_KINDS[kind].format(archive)}/{when}"))
    return made


def _service(number: int) -> str:
    return f"a{number}.example.org/archive/2020/01.02.03.04"


def _describe(
    folder: Path, size: int, labels: dict[str, list[tuple[int, str]]], *, publish: bool
) -> int:
    """Say which archives there are; return the port at which all are told what to do."""
    control = reserved_port()
    held: list[list[str]] = [[] for _ in range(size)]
    for each in labels.values():
        for number, label in each:
            held[number].append(label)
    archives = [
        {"service": _service(number), "labels": labels_of} for number, labels_of in enumerate(held)
    ]
    described = {"control": control, "publish": publish, "archives": archives}
    (folder / "federation.json").write_text(json.dumps(described), encoding="utf-8")
    return control


@contextmanager
def _federation(folder: Path, control: int) -> Iterator[int]:
    """Run archives and a resolver that has them on record; yield its port."""
    data = folder / "resolver"
    command = [sys.executable, "-m", "ibi", "resolver"]
    archives = [sys.executable, "-m", "bench.resolver.many_archives", str(folder)]
    with running(archives, control, -1):
        port = reserved_port()
        at = f"127.0.0.1:{port}"
        made = [*command, "init", "--data", str(data), "--address", f"http://{at}", "--listen", at]
        subprocess.run([*made, "--allow-network", "127.0.0.0/8"], check=True, capture_output=True)  # noqa: S603
        with (data / "resolver.toml").open("a", encoding="utf-8") as settings:
            settings.write('messages_a_second = 1000000\ntrusted_proxies = ["127.0.0.0/8"]\n')
        _register(data, json.loads((folder / "ports.json").read_bytes()))
        with running([*command, "serve", "--data", str(data)], port):
            while not (data / "serving").exists():
                time.sleep(0.05)
            yield port


def _register(data: Path, ports: list[int]) -> None:
    """Put archives on record as if they had announced themselves."""
    store = open_resolver_store(read_resolver(data))
    for number, port in enumerate(ports):
        now = time.time_ns() - (len(ports) - number) * _SECOND
        archive = RegisteredArchive(
            service=parse(_service(number)),
            key="none that fits",
            registered=now,
            confirmed=now,
            inclusion=Inclusion(
                address=f"127.0.0.1:{port}",
                ip="127.0.0.1",
                platform_version="ibi-bench",
                administrator="",
                since=now,
                seen=now,
            ),
        )
        store.archives.change_archive(archive.id, lambda _, archive=archive: ArchiveChange(archive))  # type: ignore[misc]  # mypy cannot infer the default
    store.close()


def _ask(port: int, labels: list[str]) -> Iterator[float]:
    """Ask for each label, every time for a reader in another network; yield how long it took."""
    connection = HTTPConnection("127.0.0.1", port)
    for number, label in enumerate(labels):
        reader = f"192.{number // 256}.{number % 256}.7"
        begun = time.perf_counter()
        connection.request("HEAD", f"/{label}", headers={"X-Forwarded-For": reader})
        response = connection.getresponse()
        response.read()
        if response.status != HTTPStatus.FOUND:
            raise SystemExit(f"{label}: {response.status}")
        yield time.perf_counter() - begun
    connection.close()


def _control(port: int, act: str = "") -> dict[str, int]:
    with urlopen(f"http://127.0.0.1:{port}/{act}") as answer:
        told: dict[str, int] = json.load(answer)
        return told


def _settled(control: int) -> int:
    """Return how many were asked when nobody is asked any more."""
    before, asked = -1, _control(control)["asked"]
    while asked != before:
        time.sleep(0.5)
        before, asked = asked, _control(control)["asked"]
    return asked


def _wait_for_digests(control: int, size: int) -> None:
    deadline = time.monotonic() + _LONG
    while _control(control)["fetched"] < size:
        if time.monotonic() > deadline:
            raise SystemExit("the resolver does not fetch the digests")
        time.sleep(0.1)
