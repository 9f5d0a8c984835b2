"""Warm resolution through the whole product, against nginx `return 302`: a million identifiers.

Server and client each have a core of their own. The archive, which is told of the accesses, has
that of the client.
"""

from __future__ import annotations

import json
import os
import re
import shutil
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
from urllib.parse import quote, urlencode
from urllib.request import urlopen

from bench.support.clients import cpu_seconds, most_memory
from bench.support.goals import at_least, at_most
from bench.support.nginx import nginx, reserved_port, running
from bench.support.plots import bars
from ibi.identifier.ibip import mount_suffix
from ibi.identifier.instant import EPOCH, Instant

IDENTIFIERS = int(os.environ.get("IDENTIFIERS", "1000000"))
CONNECTIONS = 32
SECONDS = 5
ROUNDS = 7
MOST_CPU, GOAL_CPU, LEAST_RATE = 3.0, 2.0, 0.5

_SERVICE = "LK47B6W/362SFKH"
_RESOLVER = "J8LNKB5R7W/3FUQHC5"
_PREFIX = "8JMKD3MGP7W"
_FIRST = 900_000_000
_REDIRECT = "return 302 http://127.0.0.1:8801/col$request_uri/doc/f.txt;"
# What a browser sends; a bare request is that of a test.
_BROWSER = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language": "pt-BR,pt;q=0.9,en;q=0.8",
    "Accept-Encoding": "gzip, deflate, br",
    "Connection": "keep-alive",
    "Upgrade-Insecure-Requests": "1",
}
# Requests are written once: else the client would be slower than the servers.
_LUA = """
local labels, requests = {{}}, {{}}
for label in io.lines("{labels}") do labels[#labels + 1] = label end
math.randomseed(os.time())
request = function()
  local at = math.random(#labels)
  local written = requests[at]
  if not written then
    written = wrk.format("GET", "/" .. labels[at])
    requests[at] = written
  end
  return written
end
"""
_KINDS = ("bare", "browser")
_LATENCY = re.compile(r"\s+(50|99)%\s+([0-9.]+)(us|ms|s)")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


@dataclass(frozen=True, slots=True)
class Round:
    """What a server did in one round."""

    rate: float
    cpu: float
    """Microseconds a request."""
    median: float
    last: float
    """The 99th percentile, in seconds."""


def against_nginx() -> list[str]:
    """Ask for identifiers that are known at random, by a bare client and by a browser."""
    if shutil.which("wrk") is None:
        return ["Not measured: it needs `wrk` (Debian has it)."]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        labels = folder / "labels"
        labels.write_text("\n".join(_labels()) + "\n", encoding="ascii")
        with _federation(folder, labels) as (resolver, port), nginx(folder, _REDIRECT) as theirs:
            told = _make_known(resolver, port)
            script = folder / "targets.lua"
            script.write_text(_LUA.format(labels=labels), encoding="utf-8")
            rounds = _rounds({"nginx": theirs, "ours": (resolver, port)}, script)
            return [*_table(rounds), "", told, "", _at_the_end(port, resolver)]


def _labels() -> Iterator[str]:
    for number in range(IDENTIFIERS):
        yield f"{_PREFIX}/{mount_suffix(Instant(EPOCH.seconds + _FIRST + number))}"


def _make_known(resolver: int, port: int) -> str:
    """Have all identifiers made known, and say what that took."""
    first, second = (f"{_PREFIX}/{mount_suffix(Instant(EPOCH.seconds + n))}" for n in (1, 2))
    _ask(port, first)  # it is found before its archive is known to tell of its changes
    _wait_for(port, "logs_read", 1)
    time.sleep(1)
    before, began = _memory(resolver), time.monotonic()
    _ask(port, second)
    _wait_for(port, "warm_targets", IDENTIFIERS)
    seconds, grown = time.monotonic() - began, (_memory(resolver) - before) / IDENTIFIERS
    return (
        f"It took {seconds:.0f} s to make {IDENTIFIERS:,} identifiers known "
        f"(`bench/resolver/preloaded_resolver.py` says how), "
        f"by which the process grew by {grown:.0f} bytes each: "
        f"{grown * 1e6 / 2**20:.0f} MB a million."
    )


def _ask(port: int, label: str) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("HEAD", f"/{label}")
    status = connection.getresponse().status
    connection.close()
    if status != HTTPStatus.FOUND:
        raise SystemExit(f"{label}: {status}")


def _rounds(
    servers: dict[str, tuple[int, int]], script: Path
) -> dict[tuple[str, str], list[Round]]:
    rounds: dict[tuple[str, str], list[Round]] = {}
    for number in range(ROUNDS + 1):
        for title, headers in zip(_KINDS, ({}, _BROWSER), strict=True):
            for name, (process, port) in servers.items():
                one = _load(process, port, script, headers)
                if number:  # the first one warms everything up
                    rounds.setdefault((title, name), []).append(one)
    return rounds


def _table(rounds: dict[tuple[str, str], list[Round]]) -> list[str]:
    lines = [
        "| request | server | requests/s | CPU, us a request | median, ms | 99 %, ms |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    verdicts: list[str] = []
    costs: list[list[float]] = []
    for title in _KINDS:
        middle = {}
        for name in ("nginx", "ours"):
            found = rounds[title, name]
            rate, cpu, median, last = (
                statistics.median(values)
                for values in zip(*((r.rate, r.cpu, r.median, r.last) for r in found), strict=True)
            )
            middle[name] = rate, cpu
            lines.append(
                f"| {title} | {name} | {rate:,.0f} | {cpu:.1f} | "
                f"{median * 1000:.2f} | {last * 1000:.2f} |"
            )
        verdicts += _verdicts(title, middle)
        costs.append([middle[name][1] for name in ("nginx", "ours")])
    return [
        *lines,
        "",
        bars(
            "warm",
            "Server CPU time of a warm resolution",
            "us a request",
            _KINDS,
            {"nginx, return 302": [c[0] for c in costs], "ours, all of it": [c[1] for c in costs]},
        ),
        "",
        *verdicts,
        "",
        (
            f"Median of {ROUNDS} interleaved rounds of {SECONDS} s, "
            f"{CONNECTIONS} connections, {IDENTIFIERS:,} identifiers at random. Ours counts every "
            "access, keeps the counts on disk within half a second and tells the archive, which is "
            "in the CPU time."
        ),
    ]


def _verdicts(title: str, middle: dict[str, tuple[float, float]]) -> Iterator[str]:
    rate = middle["ours"][0] / middle["nginx"][0]
    cost = middle["ours"][1] / middle["nginx"][1]
    yield at_most(f"{title} request, CPU in times of nginx `return 302`", cost, MOST_CPU)
    yield at_most(f"{title} request, the same, what we aim at", cost, GOAL_CPU)
    yield at_least(f"{title} request, requests a second, of nginx", rate, LEAST_RATE)


def _load(process: int, port: int, script: Path, headers: dict[str, str]) -> Round:
    command = ["taskset", "-c", str(max(os.sched_getaffinity(0))), "wrk", "-t1", "--latency"]
    command += [f"-c{CONNECTIONS}", f"-d{SECONDS}s", "-s", str(script)]
    for header in headers.items():
        command += ["-H", ": ".join(header)]
    before = cpu_seconds(process)
    done = subprocess.run(  # noqa: S603
        [*command, f"http://127.0.0.1:{port}"], check=True, capture_output=True, text=True
    )
    spent = cpu_seconds(process) - before
    if "Non-2xx or 3xx" in done.stdout:
        raise SystemExit(done.stdout)
    requests = int(done.stdout.partition(" requests in")[0].split()[-1])
    rate = float(done.stdout.partition("Requests/sec:")[2].split()[0])
    latency = {
        percent: float(number) * _UNITS[unit]
        for percent, number, unit in _LATENCY.findall(done.stdout)
    }
    return Round(rate, spent / requests * 1e6, latency["50"], latency["99"])


def _at_the_end(port: int, resolver: int) -> str:
    """Say what was warm and what archives were told, which is what makes it the whole product."""
    wanted = ("warm_answers", "searches", "accesses_told", "accesses_waiting", "accesses_given_up")
    listed = (f"{name.replace('_', ' ')} {_metric(port, name):,.0f}" for name in wanted)
    return f"At the end: {', '.join(listed)}; {most_memory(resolver):.0f} MB of memory at the most."


def _metric(port: int, name: str) -> float:
    with urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        text: str = page.read().decode()
    return float(text.partition(f"\nibi_resolver_{name} ")[2].split()[0])


def _wait_for(port: int, name: str, least: float) -> None:
    deadline = time.monotonic() + 1800
    while _metric(port, name) < least:
        if time.monotonic() > deadline:
            raise SystemExit(f"{name} stays below {least}")
        time.sleep(0.5)


def _memory(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


@contextmanager
def _federation(folder: Path, labels: Path) -> Iterator[tuple[int, int]]:
    """Run a resolver, and an archive that has whatever it is asked for."""
    resolver, port, archive_port = folder / "resolver", reserved_port(), reserved_port()
    place, archive = f"127.0.0.1:{port}", f"127.0.0.1:{archive_port}"
    _ibi(
        "resolver", "init", "--data", str(resolver), "--address", f"http://{place}",
        "--listen", place, "--allow-network", "127.0.0.0/8",
    )  # fmt: skip
    with (resolver / "resolver.toml").open("a", encoding="utf-8") as settings:
        settings.write(f"known = {2 * IDENTIFIERS}\nmessages_a_second = 1000000\n")
    serving = _script("preloaded_resolver", str(labels), "resolver", "serve")
    having = _script("any_archive", str(archive_port), _SERVICE, str(labels))
    with (
        running([*serving, "--data", str(resolver)], port) as process,
        running(having, archive_port, -1),
    ):
        while not (resolver / "serving").exists():
            time.sleep(0.05)
        _include(port, resolver, archive)
        _wait_for(port, "digest_names", 0.99 * IDENTIFIERS)
        _wait_for(port, "digests", 1)
        yield process, port


def _include(port: int, resolver: Path, archive: str) -> None:
    """Have the archive registered and included (004, Table 5.2)."""
    made = _ibi("resolver", "register", _SERVICE, "--data", str(resolver), "--json")
    pairs = {
        "servicesubject": "inclusionRequest",
        "archiveaddress": archive,
        "archiveserviceibi": _SERVICE,
        "archiveip": "127.0.0.1",
        "archiveprotocol": "HTTP",
        "archiveplatformversion": "ibi-bench",
        "archiveadmemailaddress": "admin@example.org",
        "registrationkey": json.loads(made)["registration_key"],
    }
    query = urlencode(pairs, quote_via=quote)
    with urlopen(f"http://127.0.0.1:{port}/{_RESOLVER}?{query}") as answer:
        said = answer.read()
    if b"included" not in said:
        raise SystemExit(said.decode())


def _script(name: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", f"bench.resolver.{name}", *arguments]


def _ibi(*arguments: str) -> str:
    command = [sys.executable, "-m", "ibi", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout
