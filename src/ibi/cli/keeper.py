"""The keeper of an archive: the one process of several that changes it. Others hand on to it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final

import uvicorn
from starlette.applications import Starlette

from ibi.cli.leash import CLOSING, GO, LOST, READY, RETIRE, Leash
from ibi.cli.serving import log_to_stderr, raise_file_limit
from ibi.cli.worker import RETIRING
from ibi.errors import RequestError
from ibi.web.inner_door import InnerDoor

_FINISHING: Final = 5.0
"""Seconds in which what is under way has to end, as with one process."""
_SHORT: Final = 1.0
"""Seconds after which a request is one that takes long."""
_MOMENT: Final = 3.0
"""Seconds for which who comes may wait for what is under way, before another takes the place."""


class Keeper:
    """An application without an address of its own."""

    def __init__(
        self,
        app: Starlette,
        door: InnerDoor,
        leash: Leash,
        on_go: Callable[[], None],
        on_close: Callable[[], None],
    ) -> None:
        """Answer at a door; `on_go` when readers answer too, `on_close` before they stop to."""
        self._app = app
        self._door = door
        self._leash = leash
        self._on_go = on_go
        self._on_close = on_close
        self._ending = asyncio.Event()
        self._retiring = asyncio.Event()
        self._closing: asyncio.Task[None] | None = None

    def run(self) -> None:
        """Keep the archive, until its end or until another takes the place."""
        log_to_stderr(process=os.getpid())
        raise_file_limit()
        loop_factory = uvicorn.Config(self._app, log_config=None).get_loop_factory()
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            runner.run(self._keep())

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._ending.set)
        loop.add_signal_handler(RETIRE, self._retiring.set)
        self._leash.attend(self._hear)
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self._app.router.lifespan_context(self._app))
            except Exception:  # noqa: BLE001  # the log has it
                raise RequestError("The service could not start: its log says why.") from None
            self._door.open()
            self._leash.say(READY)
            await self._until_told()
            await self._door.close(_FINISHING)

    def _hear(self, word: bytes) -> None:
        if word == GO:
            self._on_go()
        elif word == CLOSING and self._closing is None:
            self._closing = asyncio.create_task(self._close())
        elif word == LOST:
            self._ending.set()

    async def _close(self) -> None:
        await asyncio.to_thread(self._on_close)
        self._leash.say(CLOSING)

    async def _until_told(self) -> None:
        """Go on until the end, or until another takes the place at a good moment.

        Who comes while nobody keeps the archive waits. So what takes long is finished first, and
        others are still answered meanwhile.
        """
        ending = asyncio.create_task(self._ending.wait())
        retiring = asyncio.create_task(self._retiring.wait())
        await asyncio.wait((ending, retiring), return_when=asyncio.FIRST_COMPLETED)
        latest = asyncio.get_running_loop().time() + RETIRING
        while not ending.done() and not await self._is_free():
            if asyncio.get_running_loop().time() > latest:
                break
            await asyncio.wait((ending,), timeout=_SHORT / 10)
        for task in (ending, retiring):
            task.cancel()

    async def _is_free(self) -> bool:
        """Tell whether nothing is under way: who comes from then on waits for another keeper."""
        if self._door.oldest() > _SHORT:
            return False
        self._door.shut()
        if await self._door.finish(_MOMENT):
            return True
        self._door.open()  # something takes long after all
        return False
