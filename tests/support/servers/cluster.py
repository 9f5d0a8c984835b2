"""Several machines that serve one resolver by one PostgreSQL, and readers that ask them in turn."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, IncompleteRead, RemoteDisconnected
from itertools import count
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Self

from tests.support.servers.program import ProgramServer
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import PATIENCE, wait_until


class Machine(ResolverServer):
    """Another machine of a resolver: with its settings and its token, at an address of its own."""

    def __init__(self, first: ResolverServer, folder: Path) -> None:
        """Copy the folder of the first, as the how-to says."""
        ProgramServer.__init__(self, folder, "resolver.log")
        gone = shutil.ignore_patterns("lock", "serving")
        shutil.copytree(first.data, self.data, ignore=gone)
        self.token = first.token

    def start(self, *options: str) -> Self:
        """Start it at its own address."""
        return super().start("--listen", self.place, *options)


@dataclass
class Readers:
    """Readers behind a balancer: it asks machines in turn, and the next if one hangs up unheard."""

    machines: Sequence[ResolverServer]
    expected: dict[str, tuple[int, str]]
    """By path: the status, and how the Location begins."""
    patience: float = PATIENCE
    """Seconds that a reader waits for a machine before it asks the next."""
    given: Counter[str] = field(default_factory=Counter)
    """Redirections that reached a reader, by the address of the machine."""
    unheard: int = 0
    """Requests that a machine may have answered into the void."""
    broken: int = 0
    """Answers of which the end is missing."""
    unavailable: int = 0
    wrong: list[str] = field(default_factory=list)
    _silent: set[str] = field(default_factory=set)
    """Machines that did not answer in time, which are asked no more until `trust`."""
    _stop: Event = field(default_factory=Event)
    _lock: Lock = field(default_factory=Lock)
    _turns: count[int] = field(default_factory=count)
    _threads: list[Thread] = field(default_factory=list)

    def __enter__(self) -> Self:
        """Let four of them read on and on."""
        self._threads = [Thread(target=self._read, args=(start,)) for start in range(4)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    @property
    def answers(self) -> int:
        """How many redirections reached a reader."""
        return sum(self.given.values())

    def wait(self, more: int) -> None:
        """Wait until so many more were answered."""
        enough = self.answers + more
        wait_until(lambda: self.answers >= enough or bool(self.wrong))

    def trust(self) -> None:
        """Ask machines again that did not answer."""
        self._silent.clear()

    def _read(self, start: int) -> None:
        paths = list(self.expected)
        connections: dict[str, HTTPConnection] = {}
        for number in count(start):
            if self._stop.is_set():
                break
            self._ask(paths[number % len(paths)], connections)
        for connection in connections.values():
            connection.close()

    def _ask(self, path: str, connections: dict[str, HTTPConnection]) -> None:
        for _ in range(3 * len(self.machines)):
            machine = self.machines[next(self._turns) % len(self.machines)]
            if machine.place in self._silent:
                continue
            connection = connections.get(machine.place)
            if connection is None:
                connection = HTTPConnection(machine.place, timeout=self.patience)
                connections[machine.place] = connection
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
            except ConnectionRefusedError:
                connection.close()
                continue
            except (RemoteDisconnected, ConnectionError, TimeoutError) as failure:
                connection.close()
                with self._lock:
                    self.unheard += 1
                    if isinstance(failure, TimeoutError):
                        self._silent.add(machine.place)
                continue
            except IncompleteRead:  # a balancer has passed the beginning on
                connection.close()
                with self._lock:
                    self.unheard += 1
                    self.broken += 1
                return
            self._judge(path, machine, answer.status, answer.headers.get("Location", ""))
            return
        self.wrong.append(f"{path}: no machine answers")

    def _judge(self, path: str, machine: ResolverServer, status: int, location: str) -> None:
        wanted, begins = self.expected[path]
        with self._lock:
            if status == 503:
                self.unavailable += 1
            elif status != wanted or not location.startswith(begins):
                self.wrong.append(f"{path}: {status} {location} of {machine.place}")
            elif status == 302:
                self.given[machine.address] += 1
