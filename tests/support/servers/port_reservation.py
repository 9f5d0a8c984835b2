"""Ports for servers that must know theirs before they listen, or keep it while they restart.

A port that was free a moment ago may be taken before a server binds it: by an outgoing connection,
or by the server of another test. These ports lie below those that the kernel gives to outgoing
connections and to servers that bind port 0. They are reserved in blocks, and the first port of a
block is the lock: a process that holds it bound owns the others until it ends, on the whole
machine.

No port is given twice either, as long as there are others: what still calls a server that is gone
meets nobody, and not the server of a later test, which counts its calls.
"""

from __future__ import annotations

import os
import socket
from collections import deque
from functools import cache
from pathlib import Path
from typing import Final

_FIRST: Final = 10_100
"""The lowest port of all blocks, above all that browsers refuse (the highest is 10080)."""
_BLOCK: Final = 50
"""Ports in a block, its lock among them."""
_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_USUAL_LOWEST: Final = 32_768
"""The lowest port of outgoing connections, where the kernel does not tell."""


def reserved_port(count: int = 1) -> int:
    """Return the first of `count` consecutive ports that only this process uses, until it ends."""
    return _reservation(os.getpid()).take(count)


@cache
def _reservation(_: int) -> _Reservation:
    """Return what a process has reserved; a fork of it has to reserve its own."""
    return _Reservation()


class _Reservation:
    def __init__(self) -> None:
        self._blocks: deque[range] = deque()
        self._left = range(0)

    def take(self, count: int) -> int:
        while True:
            if len(self._left) < count:
                self._left = _locked_block() or self._blocks.popleft()
                self._blocks.append(self._left)
            taken, self._left = self._left[:count], self._left[count:]
            if all(map(_is_free, taken)):
                return taken[0]


def _locked_block() -> range:
    """Return the ports of a block that nobody had; none if all are locked."""
    for first in range(_FIRST, _lowest_of_outgoing() - _BLOCK, _BLOCK):
        lock = socket.socket()
        try:
            lock.bind(("127.0.0.1", first))
        except OSError:
            lock.close()
            continue
        lock.detach()  # it stays bound until the process ends
        return range(first + 1, first + _BLOCK)
    return range(0)


def _lowest_of_outgoing() -> int:
    try:
        return int(_RANGE.read_text(encoding="ascii").split()[0])
    except FileNotFoundError:
        return _USUAL_LOWEST


def _is_free(port: int) -> bool:
    """Tell whether no program that knows nothing of these blocks listens at a port."""
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
