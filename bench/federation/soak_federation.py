"""The federation of a soak: a resolver and three archives that can be broken and mended."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from urllib.request import Request, urlopen

from bench.support.nginx import reserved_port

ARCHIVES = 3
WORKERS = 2
PATIENCE = 60.0


class _Server:
    """A server of ours, which is started again as often as it must be."""

    def __init__(self, part: str, folder: Path, *options: str) -> None:
        self._command = [
            sys.executable,
            "-m",
            "ibi",
            part,
            "serve",
            "--data",
            str(folder),
            *options,
        ]
        self._log = folder.with_suffix(".log")
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, and wait until it says that it is ready."""
        with self._log.open("a", encoding="utf-8") as log:
            self.process = subprocess.Popen(  # noqa: S603
                self._command, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self.process.stdout  # noqa: S101  # it is a pipe
        if not self.process.stdout.readline():
            raise SystemExit(self._log.read_text(encoding="utf-8"))

    def send(self, number: int) -> None:
        if self.process is not None:
            self.process.send_signal(number)

    def end(self, number: int) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(PATIENCE)
            self.process = None

    def size(self) -> tuple[float, int] | None:
        """Return megabytes and descriptors of it and its workers; None while it is off."""
        if self.process is None:
            return None
        with suppress(OSError):
            return _size([self.process.pid, *_children(self.process.pid)])
        return None


def _children(process: int) -> list[int]:
    found = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    return [each for child in map(int, found) for each in (child, *_children(child))]


def _size(processes: list[int]) -> tuple[float, int]:
    pages = os.sysconf("SC_PAGE_SIZE")
    memory = files = 0
    for process in processes:
        fields = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()
        memory += (int(fields[1]) - int(fields[2])) * pages
        files += len(list(Path(f"/proc/{process}/fd").iterdir()))
    return memory / 1e6, files


class Archive:
    """One archive, and the labels of what it has."""

    def __init__(self, folder: Path, number: int) -> None:
        """Make it."""
        self.place = f"127.0.0.1:{reserved_port()}"
        self._folder = folder / f"archive{number}"
        made = _ibi(
            "archive", "init", "--data", str(self._folder), "--address", f"http://{self.place}",
            "--listen", self.place, "--host", f"archive{number}.example.org",
            "--ip", f"127.0.0.{number + 1}", "--allow-private",
            "--administrator", "admin@example.org", "--json",
        )  # fmt: skip
        with (self._folder / "archive.toml").open("a", encoding="utf-8") as settings:
            settings.write("requests_a_second = 100000\n")
        self.service, self._token = made["service"], made["token"]
        self.server = _Server("archive", self._folder)
        self.labels: list[str] = []

    def link(self, resolver: str, key: str) -> None:
        """Link it to a resolver."""
        _ibi("archive", "link", resolver, "--key", key, "--data", str(self._folder))

    def deposit(self) -> str:
        """Deposit an item, and return its label."""
        made = self._api("POST", "deposits", {"metadata": {"titles": ["A soak"]}})
        self._api("PUT", f"deposits/{made['id']}/files/a.txt", b"soaked")
        return self._api("POST", f"deposits/{made['id']}/completion", None)["ibip"]

    def _api(self, method: str, path: str, body: object) -> dict[str, str]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body else b""
        request = Request(  # of this machine
            f"http://{self.place}/api/v1/{path}",
            data,
            {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
            method=method,
        )
        with urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310  # likewise
            text = answer.read()
        found: dict[str, str] = json.loads(text) if text else {}
        return found


class Federation:
    """All of them."""

    def __init__(self, folder: Path, items: int) -> None:
        """Have none yet."""
        self.archives: list[Archive] = []
        self.resolver = f"127.0.0.1:{reserved_port()}"
        self._server = _Server("resolver", folder / "resolver", "--workers", str(WORKERS))
        self._items = items
        self._away: Counter[int] = Counter()
        """How often an archive went away that is not known to be back: odd while it is not."""

    def start(self, folder: Path) -> None:
        """Make them, start them, link them and fill them."""
        at = folder / "resolver"
        address = f"http://{self.resolver}"
        _ibi(
            "resolver", "init", "--data", str(at), "--address", address, "--listen", self.resolver,
            "--allow-network", "127.0.0.0/8", "--json",
        )  # fmt: skip
        with (at / "resolver.toml").open("a", encoding="utf-8") as settings:
            settings.write("messages_a_second = 1000000\n")
        self._server.start()
        for number in range(ARCHIVES):
            archive = Archive(folder, number)
            self.archives.append(archive)
            archive.server.start()
            made = _ibi("resolver", "register", archive.service, "--data", str(at), "--json")
            archive.link(address, made["registration_key"])
            for _ in range(self._items):
                archive.labels.append(archive.deposit())

    def pick(self, chance: random.Random) -> tuple[str, frozenset[str]]:
        """Return a label, few of them far more often than the others, and where it is."""
        archive = chance.choice(self.archives)
        number = int(len(archive.labels) * chance.random() ** 3)
        return archive.labels[number], frozenset({archive.place})

    def deposits(self, number: int) -> str:
        """Deposit an item, if the archive is there; return what was wrong with its resolution.

        Of a new item of an archive that is switched off nobody can know. Of any other everybody
        has to, at once; readers ask for it from then on.
        """
        archive, away = self.archives[number], self._away[number]
        try:
            label = archive.deposit()
        except OSError:
            return ""
        status = _status(self.resolver, label)
        was_there = not away % 2 and away == self._away[number]
        if was_there and status not in {HTTPStatus.FOUND, HTTPStatus.SERVICE_UNAVAILABLE}:
            return f"/{label}, just deposited: {status}"
        if status == HTTPStatus.FOUND:
            archive.labels.append(label)
        return ""

    def breaks(self, number: int, kind: str) -> None:
        """Break an archive, or switch it off."""
        self._away[number] += 1
        server = self.archives[number].server
        if kind == "pause":
            server.send(signal.SIGSTOP)
        else:
            server.end(signal.SIGKILL if kind == "kill" else signal.SIGTERM)

    def heals(self, number: int, kind: str) -> None:
        """Undo that."""
        server = self.archives[number].server
        if kind == "pause":
            server.send(signal.SIGCONT)
        else:
            server.start()
        # It says that it is ready before resolvers have included it again.
        ends = time.monotonic() + PATIENCE
        while _status(self.resolver, self.archives[number].labels[0]) != HTTPStatus.FOUND:
            if time.monotonic() > ends:
                raise SystemExit(f"Archive {number + 1} does not come back.")
            time.sleep(0.1)
        self._away[number] += 1

    def roll(self) -> None:
        """Have the resolver renew its workers."""
        self._server.send(signal.SIGHUP)

    def sizes(self) -> dict[str, tuple[float, int]]:
        """Return megabytes and descriptors, by who."""
        servers = {"resolver": self._server}
        servers |= {f"archive {n}": each.server for n, each in enumerate(self.archives, 1)}
        found = {name: server.size() for name, server in servers.items()}
        return {name: size for name, size in found.items() if size is not None}

    def close(self) -> None:
        """End them all."""
        for server in [self._server, *(archive.server for archive in self.archives)]:
            server.send(signal.SIGCONT)
            server.end(signal.SIGTERM)


@contextmanager
def federation(folder: Path, items: int) -> Iterator[Federation]:
    """Run a federation."""
    made = Federation(folder, items)
    try:
        made.start(folder)
        yield made
    finally:
        made.close()


def _status(place: str, label: str) -> int:
    """Return what a reader gets."""
    host, _, port = place.partition(":")
    connection = HTTPConnection(host, int(port), timeout=PATIENCE)
    try:
        connection.request("HEAD", f"/{label}")
        return connection.getresponse().status
    finally:
        connection.close()


def _ibi(*arguments: str) -> dict[str, str]:
    command = [sys.executable, "-m", "ibi", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, str] = json.loads(done.stdout) if "--json" in arguments else {}
    return found
