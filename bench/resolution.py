"""Warm resolution through the whole product, against nginx `return 302`.

Server and client each have a core of their own. The archive, which is told of every access, has
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
from pathlib import Path
from urllib.request import urlopen

from asking import cpu_seconds, most_memory
from nginx import free_port, nginx, running

ITEMS = 200
CONNECTIONS = 32
SECONDS = 4
ROUNDS = 5
MOST_CPU = 5.0
HOT_SECONDS = 60.0

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
_LUA = """
local targets = {{ {targets} }}
local at = 0
request = function()
  at = at % #targets + 1
  return wrk.format("GET", targets[at])
end
"""
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
    """Ask for a few hundred identifiers that are known, by a bare client and by a browser."""
    if shutil.which("wrk") is None:
        return ["Not measured: it needs `wrk` (Debian has it)."]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            _federation(folder) as (resolver, port, labels),
            nginx(folder, _REDIRECT) as theirs,
        ):
            servers = {"nginx": theirs, "ours": (resolver, port)}
            script = folder / "targets.lua"
            quoted = ", ".join(f'"/{label}"' for label in labels)
            script.write_text(_LUA.format(targets=quoted), encoding="utf-8")
            rounds = _rounds(servers, script)
            told = _told(port)
            return [*_table(rounds, most_memory(resolver)), told]


def _rounds(
    servers: dict[str, tuple[int, int]], script: Path
) -> dict[tuple[str, str], list[Round]]:
    rounds: dict[tuple[str, str], list[Round]] = {}
    for number in range(ROUNDS + 1):
        for title, headers in (("bare", {}), ("browser", _BROWSER)):
            for name, (process, port) in servers.items():
                one = _load(process, port, script, headers)
                if number:  # the first one warms everything up
                    rounds.setdefault((title, name), []).append(one)
    return rounds


def _table(rounds: dict[tuple[str, str], list[Round]], memory: float) -> list[str]:
    lines = [
        "| request | server | requests/s | CPU, us a request | median, ms | 99 %, ms |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    verdicts = []
    for title in ("bare", "browser"):
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
        rates, costs = (
            middle["ours"][0] / middle["nginx"][0],
            middle["ours"][1] / middle["nginx"][1],
        )
        met = "met" if costs <= MOST_CPU else "NOT MET"
        verdicts.append(
            f"{title}: {costs:.2f} times nginx's CPU a request (at most {MOST_CPU:g}: {met}), "
            f"{rates:.2f} of its requests a second"
        )
    return [
        *lines,
        "",
        (
            f"{'; '.join(verdicts)}. Median of {ROUNDS} interleaved rounds of {SECONDS} s, "
            f"{CONNECTIONS} connections, {ITEMS} identifiers that were resolved before, kept for "
            f"{HOT_SECONDS:g} s (10 s by default). Ours counts every access, keeps the counts on "
            f"disk and tells the archive, which is in the CPU time; {memory:.0f} MB at the most."
        ),
    ]


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


def _told(port: int) -> str:
    """Say what archives were told, which is what makes it the whole product."""
    with urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        text = page.read().decode()
    wanted = ("warm_answers", "accesses_told", "accesses_waiting", "accesses_given_up")
    found = {
        name: float(text.partition(f"\nibi_resolver_{name} ")[2].split()[0]) for name in wanted
    }
    listed = (f"{name.replace('_', ' ')} {number:,.0f}" for name, number in found.items())
    return f"\nAt the end: {', '.join(listed)}."


@contextmanager
def _federation(folder: Path) -> Iterator[tuple[int, int, list[str]]]:
    """Run a resolver and an archive with some items, each resolved once."""
    resolver, archive = folder / "resolver", folder / "archive"
    port, archive_port = free_port(), free_port()
    at = [f"127.0.0.1:{port}", f"127.0.0.1:{archive_port}"]
    _ibi(
        "resolver", "init", "--data", str(resolver), "--address", f"http://{at[0]}",
        "--listen", at[0], "--allow-network", "127.0.0.0/8",
    )  # fmt: skip
    with (resolver / "resolver.toml").open("a", encoding="utf-8") as settings:
        settings.write(f"hot_seconds = {HOT_SECONDS}\nsearches_a_second = 1000000\n")
    made = json.loads(
        _ibi(
            "archive", "init", "--data", str(archive), "--address", f"http://{at[1]}",
            "--listen", at[1], "--host", "archive.example.org", "--ip", "127.0.0.1",
            "--allow-private", "--administrator", "admin@example.org", "--json",
        )
    )  # fmt: skip
    with (
        running(_serve("resolver", resolver), port) as process,
        running(_serve("archive", archive), archive_port, -1),
    ):
        while not all((folder / "serving").exists() for folder in (resolver, archive)):
            time.sleep(0.05)
        key = json.loads(
            _ibi("resolver", "register", made["service"], "--data", str(resolver), "--json")
        )["registration_key"]
        _ibi("archive", "link", f"http://{at[0]}", "--key", key, "--data", str(archive))
        file = folder / "f.txt"
        file.write_text("warm", encoding="utf-8")
        labels = [
            json.loads(
                _ibi("archive", "deposit", str(file), "--title", str(number), "--language", "en",
                     "--data", str(archive), "--json")
            )["ibip"]
            for number in range(ITEMS)
        ]  # fmt: skip
        yield process, port, labels


def _serve(part: str, folder: Path) -> list[str]:
    return [sys.executable, "-m", "ibi", part, "serve", "--data", str(folder)]


def _ibi(*arguments: str) -> str:
    command = [sys.executable, "-m", "ibi", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout
