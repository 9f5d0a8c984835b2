"""A depositor who resumes an interrupted deposit until it is complete, whatever crashes.

The first half of a file is sent first, and a premature completion must be refused. A completion
whose answer was lost is requested again, and must give the same label.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from ibi.errors import IbiError
from tests.simulation.world.virtual_time import run_blocking

if TYPE_CHECKING:
    from ibi.identifier.label import Label
    from tests.simulation.programs.archive_host import ArchiveHost

T = TypeVar("T")

_PAUSE: Final = 15.0


async def deposit(host: ArchiveHost, path: str, content: bytes, title: str) -> Label:
    """Deposit a file; return when the archive has acknowledged it."""
    opened = await _retried(host, lambda: host.open_deposit(title))
    half = len(content) // 2
    await _retried(host, lambda: host.send(opened, path, content[:half], is_all=False))
    await _tried(host, lambda: host.complete(opened, is_whole=False))
    await _retried(host, lambda: host.send(opened, path, content, is_all=True))
    return await _retried(host, lambda: host.complete(opened))


async def _retried(host: ArchiveHost, act: Callable[[], T]) -> T:
    while True:
        done = await _tried(host, act)
        if done is not None:
            return done
        await asyncio.sleep(_PAUSE)


async def _tried(host: ArchiveHost, act: Callable[[], T]) -> T | None:
    """Return the result of a request; None if the archive refuses, is down, or crashes."""
    if host.process is None:
        return None
    task = host.process.spawn(run_blocking(act))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.cancelled():
            return None
        raise
    except IbiError as refusal:
        host.log(f"refuses a depositor: {refusal}")
        return None
