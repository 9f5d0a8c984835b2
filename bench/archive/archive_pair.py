"""Two archives on one machine, of which one has items and the other copies them."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3

from bench.support.clients import cpu_seconds, most_memory
from bench.support.nginx import reserved_port
from ibi.minting.storage.machine_folder import FOLDER

NAME = "data.bin"
_BATCH = 200
_SEED = 16066
_PIECE = 1 << 20
_CALLS = re.compile(r"^ *[0-9.]+ +([0-9.]+) +[0-9]+ +([0-9]+)", re.MULTILINE)


@dataclass(frozen=True)
class Running:
    """An archive that runs."""

    folder: Path
    process: int
    address: str
    token: str


@dataclass(frozen=True)
class Copied:
    """What a copy took: time, and of both archives, the one that gives first, CPU and memory."""

    seconds: float
    copied: int
    cpu: tuple[float, float]
    memory: tuple[float, float]


@dataclass
class Syncs:
    """How often something was made durable, and how long that took, of all threads together."""

    calls: int = 0
    seconds: float = 0.0


class Pair:
    """Two archives below one folder."""

    def __init__(self, folder: Path) -> None:
        """Make them."""
        self._environment = os.environ | {FOLDER: str(folder / "machine")}
        self._folders = [folder / "giving", folder / "taking"]
        self._addresses = [f"http://127.0.0.1:{reserved_port()}" for _ in self._folders]
        for number, data in enumerate(self._folders, 1):
            address = self._addresses[number - 1]
            options = ["--address", address, "--listen", address.removeprefix("http://")]
            options += ["--host", f"a{number}.example.org", "--ip", f"150.163.34.{number}"]
            self._ibi("init", data, *options)
            with (data / "archive.toml").open("a", encoding="utf-8") as file:
                file.write('allowed_networks = ["127.0.0.0/8"]\nrequests_a_second = 1000000\n')

    def _ibi(self, command: str, data: Path, *options: str) -> None:
        subprocess.run(  # noqa: S603
            [sys.executable, "-m", "ibi", "archive", command, "--data", str(data), *options],
            check=True,
            capture_output=True,
            env=self._environment,
        )

    def make(self, items: int, size: int) -> list[str]:
        """Make items of one file each, in a process of its own; return their labels."""
        command = [sys.executable, "-m", __name__, str(self._folders[0]), str(items), str(size)]
        done = subprocess.run(  # noqa: S603
            command, check=True, capture_output=True, text=True, env=self._environment
        )
        os.sync()
        labels: list[str] = json.loads(done.stdout)
        return labels

    @contextmanager
    def running(self) -> Iterator[tuple[Running, Running]]:
        """Run both."""
        with self._running(0) as giving, self._running(1) as taking:
            yield giving, taking

    @contextmanager
    def _running(self, number: int) -> Iterator[Running]:
        data = self._folders[number]
        server = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "ibi", "archive", "serve", "--data", str(data)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self._environment,
        )
        try:
            assert server.stdout is not None  # noqa: S101  # a pipe was asked for
            server.stdout.readline()
            token = (data / "token").read_text(encoding="utf-8").strip()
            yield Running(data, server.pid, self._addresses[number], token)
        finally:
            server.terminate()
            server.wait()


def copy(giving: Running, taking: Running, **wanted: object) -> Copied:
    """Have one archive copy from the other, and wait until it has."""
    pool = urllib3.PoolManager(retries=False)
    headers = {"Authorization": f"Bearer {taking.token}"}
    before = [cpu_seconds(each.process) for each in (giving, taking)]
    started = time.monotonic()
    body = {"from": giving.address, **wanted}
    task = _json(pool, "POST", f"{taking.address}/api/v1/copies", headers=headers, json=body)
    while task["state"] in {"waiting", "running"}:
        time.sleep(0.25)
        task = _json(pool, "GET", f"{taking.address}/api/v1/tasks/{task['id']}", headers=headers)
    seconds = time.monotonic() - started
    if task["state"] != "done":
        raise SystemExit(task["note"])
    spent = [
        cpu_seconds(each.process) - used
        for each, used in zip((giving, taking), before, strict=True)
    ]
    return Copied(
        seconds,
        task["result"]["copied"],
        (spent[0], spent[1]),
        (most_memory(giving.process), most_memory(taking.process)),
    )


def _json(pool: urllib3.PoolManager, method: str, url: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401  # parts of a request
    answer = pool.request(method, url, **more)
    if answer.status >= 300:  # noqa: PLR2004  # whatever is no success
        raise SystemExit(answer.data.decode())
    found: dict[str, Any] = json.loads(answer.data)
    return found


@contextmanager
def syncs(process: int) -> Iterator[Syncs]:
    """Count what a process makes durable while the block runs; nothing where strace cannot."""
    counted = Syncs()
    if shutil.which("strace") is None:
        yield counted
        return
    report = Path(f"/tmp/ibi-bench-{uuid.uuid4().hex}")  # noqa: S108  # its name is our own
    command = ["strace", "-f", "-c", "-w", "-e", "trace=fsync,fdatasync", "-o", str(report)]
    tracer = subprocess.Popen(  # noqa: S603
        [*command, "-p", str(process)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert tracer.stderr is not None  # noqa: S101  # a pipe was asked for
    tracer.stderr.readline()  # that it is there, or why not
    try:
        yield counted
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.wait()
        if report.exists():
            lines = report.read_text(encoding="utf-8").partition("------\n")[2]
            rows = lines.rpartition("------ ---")[0]
            for seconds, calls in _CALLS.findall(rows):
                counted.seconds += float(seconds)
                counted.calls += int(calls)
            report.unlink()


def _make(folder: Path, items: int, size: int) -> list[str]:
    """Make items by the archive itself; what makes each durable is left to the end."""
    os.fsync = lambda _: None  # type: ignore[assignment]  # its own argument has a name
    from ibi.archive.rules import item_transitions  # noqa: PLC0415  # they take it from there
    from ibi.archive.rules.deposit_request import NewItem  # noqa: PLC0415
    from ibi.archive.settings import read_archive  # noqa: PLC0415
    from ibi.archive.wiring.instance import Instance  # noqa: PLC0415
    from ibi.model.change import ItemChange  # noqa: PLC0415
    from ibi.model.metadata_record import MetadataRecord, Text  # noqa: PLC0415

    chance = random.Random(_SEED)  # noqa: S311  # the same every time
    instance = Instance(read_archive(folder))
    archive, store = instance.archive, instance.archive.store
    labels = []
    for start in range(0, items, _BATCH):
        count = min(_BATCH, items - start)
        minted = archive.mint(2 * count)
        now = archive.clock.wall()
        changes, deposits = [], []
        for number in range(count):
            deposit = uuid.uuid4().hex
            with store.staging.receive(deposit, NAME, 0) as sink:
                for offset in range(0, size, _PIECE):
                    sink.write(chance.randbytes(min(_PIECE, size - offset)))
                file = sink.finish()
            wanted = NewItem(record=MetadataRecord(titles=(Text(f"Item {start + number}"),)))
            forms, metadata = minted[2 * number : 2 * number + 2]
            item, describing = item_transitions.new_items(
                forms, metadata, wanted, (NAME, True), now
            )
            changes += [
                ItemChange(item=item, files=(file,), adopted=deposit),
                ItemChange(item=describing),
            ]
            deposits.append(deposit)
            labels.append(forms.label.spelling)
        main = minted[0].label
        archive.make(archive.change("deposit", "bench", main, changes, now))
        for deposit in deposits:
            store.discard(deposit)
    instance.close()
    return labels


if __name__ == "__main__":
    place, count, size = sys.argv[1:]
    json.dump(_make(Path(place), int(count), int(size)), sys.stdout)
