"""Several machines that serve one resolver by one PostgreSQL, and readers that ask them in turn."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, IncompleteRead, RemoteDisconnected
from itertools import count
from pathlib import Path
from socket import SHUT_RDWR
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
    given: Counter[str] = field(default_factory=Counter)
    """Redirections that reached a reader, by the address of the machine."""
    unheard: int = 0
    """Requests that a machine may have answered into the void."""
    broken: int = 0
    """Answers of which the end is missing."""
    unavailable: int = 0
    wrong: list[str] = field(default_factory=list)
    _left_out: set[str] = field(default_factory=set)
    """Machines that are asked no more until `trust`."""
    _used: dict[HTTPConnection, str] = field(default_factory=dict)
    """Connections on which an answer may be awaited, and their machines."""
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

    def leave_out(self, machine: ResolverServer) -> None:
        """Hang up on a machine that answers no more, and ask only the others."""
        with self._lock:
            self._left_out.add(machine.place)
            for connection, place in self._used.items():
                if place == machine.place:
                    # A socket that is None or closed has hung up already.
                    with suppress(AttributeError, OSError):
                        connection.sock.shutdown(SHUT_RDWR)

    def trust(self) -> None:
        """Ask all machines again."""
        self._left_out.clear()

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
        turn = next(self._turns)
        for place in range(turn, turn + 3 * len(self.machines)):
            machine = self.machines[place % len(self.machines)]
            connection = connections.get(machine.place)
            if connection is None:
                connection = HTTPConnection(machine.place, timeout=PATIENCE)
                connections[machine.place] = connection
            try:
                if not self._connect(connection, machine):
                    continue
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
            except ConnectionRefusedError:
                connection.close()
                continue
            except (RemoteDisconnected, ConnectionError, TimeoutError):
                connection.close()
                with self._lock:
                    self.unheard += 1
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

    def _connect(self, connection: HTTPConnection, machine: ResolverServer) -> bool:
        """Connect, so that `leave_out` can hang up; return False if the machine is left out."""
        with self._lock:
            if machine.place in self._left_out:
                return False
            if connection.sock is None:
                connection.connect()
            self._used[connection] = machine.place
            return True

    def _judge(self, path: str, machine: ResolverServer, status: int, location: str) -> None:
        wanted, begins = self.expected[path]
        with self._lock:
            if status == 503:
                self.unavailable += 1
            elif status != wanted or not location.startswith(begins):
                self.wrong.append(f"{path}: {status} {location} of {machine.place}")
            elif status == 302:
                self.given[machine.address] += 1
