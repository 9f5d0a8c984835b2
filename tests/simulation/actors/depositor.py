"""A depositor who does not give up: what broke off is gone on with, whatever crashed in between.

Half of a file comes first, then the rest of what is there. Who does not hear that all is kept asks
again, and is told the same. In between somebody impatient says that all of it has come.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from ibi.errors import IbiError
from tests.simulation.world.virtual_time import strand

if TYPE_CHECKING:
    from ibi.identifier.label import Label
    from tests.simulation.programs.archive_host import ArchiveHost

T = TypeVar("T")

_PAUSE: Final = 15.0


async def deposit(host: ArchiveHost, path: str, content: bytes, title: str) -> Label:
    """Deposit a file; when this returns, the archive has said that it is kept."""
    opened = await _insisted(host, lambda: host.open_deposit(title))
    half = len(content) // 2
    await _insisted(host, lambda: host.send(opened, path, content[:half], is_all=False))
    await _answered(host, lambda: host.complete(opened, is_whole=False))
    await _insisted(host, lambda: host.send(opened, path, content, is_all=True))
    return await _insisted(host, lambda: host.complete(opened))


async def _insisted(host: ArchiveHost, act: Callable[[], T]) -> T:
    while True:
        done = await _answered(host, act)
        if done is not None:
            return done
        await asyncio.sleep(_PAUSE)


async def _answered(host: ArchiveHost, act: Callable[[], T]) -> T | None:
    """Have an archive do something; None if it refuses, is down, or dies of it."""
    if host.process is None:
        return None
    task = host.process.spawn(strand(act))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.cancelled():
            return None
        raise
    except IbiError as refusal:
        host.say(f"refuses a depositor: {refusal}")
        return None
