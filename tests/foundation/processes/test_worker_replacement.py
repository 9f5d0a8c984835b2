"""Workers that others take the place of: nothing under way fails, and nobody stays for ever."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from functools import partial
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message

from ibi.archive.web.forwarding import Forwarder
from ibi.archive.wiring import workers
from ibi.archive.wiring.workers import ArchiveWriter
from ibi.foundation.interprocess.forwarded_server import ForwardedServer
from ibi.foundation.interprocess.frames import FdChannel
from ibi.foundation.processes import worker
from ibi.foundation.processes.worker import run_worker
from ibi.foundation.processes.worker_slot import READY, RETIRE, ControlChannel
from tests.support.processes.child import ChildProcess, child_process
from tests.support.servers.port_reservation import reserved_port
from tests.support.waiting import PATIENCE, wait_until


async def _numbers() -> bytes:
    return b""


def _scope(path: str) -> dict[str, object]:
    return {
        "method": "GET",
        "http_version": "1.1",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [],
    }


class _Door(ForwardedServer):
    """Tells by a file that it was shut."""

    def __init__(self, channel: FdChannel, app: Starlette, told: Path) -> None:
        super().__init__(channel, _numbers, app)
        self._told = told

    def stop_accepting(self) -> None:
        super().stop_accepting()
        self._told.touch()


def _slow_and_quick() -> Starlette:
    """Return an application of which one answer takes until another was asked for."""
    released = asyncio.Event()

    async def parts() -> AsyncIterator[bytes]:
        yield b"begun"
        await released.wait()
        yield b", done"

    async def slow(_: Request) -> Response:
        return StreamingResponse(parts())

    async def quick(_: Request) -> Response:
        released.set()
        return Response(b"quick")

    return Starlette(routes=[Route("/slow", slow), Route("/quick", quick)])


def test_a_keeper_that_something_keeps_busy_goes_on_until_that_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_HANDOVER_SECONDS", "_FINISHING"):
        monkeypatch.setattr(workers, name, 0.05)
    ours, theirs = socket.socketpair()
    shut = tmp_path / "shut"

    def keep(channel: FdChannel) -> None:
        app = _slow_and_quick()
        door = _Door(channel, app, shut)
        ArchiveWriter(app, door, ControlChannel(theirs), lambda: None, lambda: None).run()

    with (
        closing(ours),
        closing(theirs),
        closing(FdChannel()) as channel,
        child_process(partial(keep, channel)) as process,
    ):
        assert ours.recv(1) == READY
        assert asyncio.run(_ask_while_retiring(channel, process, shut)) == (
            b"begun, done",
            b"quick",
        )
        assert process.end() == 0


async def _ask_while_retiring(
    channel: FdChannel, process: ChildProcess, shut: Path
) -> tuple[bytes, bytes]:
    begun = asyncio.Event()

    async def ask(path: str) -> bytes:
        took: list[bytes] = []

        async def receive() -> Message:
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Message) -> None:
            took.append(message.get("body", b""))
            if took[-1]:
                begun.set()

        await Forwarder(channel, PATIENCE)(_scope(path), receive, send)
        return b"".join(took)

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        slow = group.create_task(ask("/slow"))
        await begun.wait()
        process.signal(RETIRE)
        await asyncio.to_thread(wait_until, shut.exists)
        quick = group.create_task(ask("/quick"))
    return slow.result(), quick.result()


def _endless(left: Path) -> Starlette:
    """Return an application of which an answer never ends; it says when it is left in order."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(left.touch)

    async def parts() -> AsyncIterator[bytes]:
        while True:
            yield b"more "
            await asyncio.sleep(0.01)

    async def endless(_: Request) -> Response:
        return StreamingResponse(parts())

    return Starlette(routes=[Route("/", endless)], lifespan=lifespan)


def _is_closed(place: tuple[str, int]) -> bool:
    try:
        socket.create_connection(place, PATIENCE).close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.mark.parametrize("how", ["told to end", "left alone"])
def test_who_finishes_something_at_leisure_ends_when_all_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    for name in ("PARTING", "FINISHING"):
        monkeypatch.setattr(worker, name, 0.05)
    ours, theirs = socket.socketpair()
    listener = socket.create_server(("127.0.0.1", reserved_port()))
    place = listener.getsockname()
    left = tmp_path / "left"

    def work(channel: FdChannel) -> None:
        ours.close()
        run_worker(
            _endless(left), listener, ControlChannel(theirs), ForwardedServer(channel, _numbers)
        )

    with closing(FdChannel()) as channel, child_process(partial(work, channel)) as process:
        theirs.close()
        listener.close()
        assert ours.recv(1) == READY
        with socket.create_connection(place, PATIENCE) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert connection.recv(4096).startswith(b"HTTP/1.1 200")
            process.signal(RETIRE)
            wait_until(lambda: _is_closed(place))
            assert connection.recv(4096)  # it goes on meanwhile
            if how == "told to end":
                process.signal(signal.SIGTERM)
            else:
                ours.close()
            wait_until(_reading(connection, process))
            assert process.end() == 0
    ours.close()
    assert left.exists()


def _reading(connection: socket.socket, process: ChildProcess) -> Callable[[], bool]:
    """Take of an answer whatever comes, until a process has ended."""

    def read() -> bool:
        with suppress(ConnectionResetError):
            connection.recv(4096)
        return process.has_ended()

    return read
