"""Requests that one process hands on to another: whole, in both directions, and not for ever."""

from __future__ import annotations

import asyncio
import hashlib
import select
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, closing, suppress
from socket import socket
from typing import Any

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ibi.archive.web.forwarding import Forwarder
from ibi.errors import WriterUnavailableError
from ibi.foundation.interprocess.forwarded_server import ForwardedServer
from ibi.foundation.interprocess.frames import (
    MAX_FRAME,
    FdChannel,
    Head,
    encode,
    frames,
    read_frame,
    read_head,
)
from ibi.foundation.interprocess.worker_metrics import WorkerMetrics, encoded_metrics

SCOPE: dict[str, Any] = {
    "type": "http",
    "method": "PUT",
    "http_version": "1.1",
    "scheme": "http",
    "path": "/a b",
    "raw_path": b"/a%20b",
    "query_string": b"x=%FF",
    "headers": [(b"host", b"x"), (b"x-twice", b"1"), (b"x-twice", b"\xff")],
    "client": ("192.0.2.7", 4711),
    "server": ("127.0.0.1", 80),
}


class Client:
    """Somebody who sends a body and takes an answer."""

    def __init__(self, *parts: bytes, stays: bool = True) -> None:
        """Send parts, and stay or go."""
        self._parts = [*parts]
        self._stays = stays
        self.asked = 0
        self.took: list[Message] = []

    async def receive(self) -> Message:
        """Send the next part."""
        self.asked += 1
        if self._parts:
            part = self._parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(self._parts)}
        if self._stays:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Take a part of the answer."""
        self.took.append(message)

    @property
    def status(self) -> int:
        """How it was answered."""
        return int(self.took[0]["status"])

    @property
    def body(self) -> bytes:
        """What it was answered."""
        return b"".join(message.get("body", b"") for message in self.took[1:])


@pytest.fixture
def channel() -> Iterator[FdChannel]:
    with closing(FdChannel()) as hung:
        yield hung


async def _nothing() -> bytes:
    return b""


async def _handed(app: ASGIApp, client: Client) -> None:
    with closing(FdChannel()) as channel:
        door = ForwardedServer(channel, _nothing, app)
        door.open()
        try:
            async with asyncio.timeout(60):
                await Forwarder(channel)(SCOPE, client.receive, client.send)
        finally:
            await door.close(30)


def _run(work: Awaitable[None]) -> None:
    async def run() -> None:
        await work

    asyncio.run(run())


def test_a_request_arrives_as_it_was_read_and_its_answer_comes_back() -> None:
    seen: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)
        body = b""
        more = True
        while more:
            message = await receive()
            body += message["body"]
            more = message["more_body"]
        headers = [(b"x-sum", hashlib.sha256(body).hexdigest().encode())]
        await send({"type": "http.response.start", "status": 201, "headers": headers})
        await send({"type": "http.response.body", "body": body[:7], "more_body": True})
        await send({"type": "http.response.body", "body": body[7:]})

    parts = (b"a" * 10, b"", b"b" * (MAX_FRAME + 5), b"c")
    client = Client(*parts)
    _run(_handed(app, client))
    assert {name: seen[0][name] for name in SCOPE} == SCOPE
    assert client.status == 201
    assert client.body == b"".join(parts)
    assert client.took[0]["headers"][0][1] == hashlib.sha256(client.body).hexdigest().encode()


def test_a_body_that_nobody_wants_is_not_asked_for() -> None:
    async def app(_: Scope, __: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b"no"})

    client = Client(b"body")
    _run(_handed(app, client))
    assert (client.status, client.body, client.asked) == (401, b"no", 0)


def test_the_keeper_hears_that_a_client_is_gone() -> None:
    heard: list[str] = []

    async def app(_: Scope, receive: Receive, send: Send) -> None:
        heard.extend([(await receive())["type"] for _ in range(3)])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    _run(_handed(app, Client(b"whole", stays=False)))
    assert heard == ["http.request", "http.request", "http.disconnect"]


def test_an_answer_to_a_worker_that_was_killed_meanwhile_is_no_error(channel: FdChannel) -> None:
    """On the loop that services run on, which refuses to write to a lost connection."""
    ended: list[str] = []

    async def run() -> None:
        begun = asyncio.Event()

        async def app(_: Scope, receive: Receive, send: Send) -> None:
            begun.set()
            while (await receive())["type"] != "http.disconnect":
                pass
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for _part in range(10):
                await send({"type": "http.response.body", "body": b"x", "more_body": True})
                await asyncio.sleep(0)
            await send({"type": "http.response.start", "status": 500, "headers": []})
            ended.append((await receive())["type"])

        door = ForwardedServer(channel, _nothing, app)
        door.open()
        client = Client(b"whole")
        handing = asyncio.create_task(Forwarder(channel)(SCOPE, client.receive, client.send))
        await begun.wait()
        handing.cancel()
        with suppress(asyncio.CancelledError):
            await handing
        await door.finish(60)
        await door.close(0)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())
    assert ended == ["http.disconnect"]


def test_nothing_piles_up_for_a_client_that_takes_nothing(channel: FdChannel) -> None:
    sent = 0

    class Slow(Client):
        async def send(self, message: Message) -> None:
            await super().send(message)
            if len(self.took) == 2:
                await asyncio.Event().wait()

    async def app(_: Scope, __: Receive, send: Send) -> None:
        nonlocal sent
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
            sent += 1

    async def run() -> None:
        door = ForwardedServer(channel, _nothing, app)
        door.open()
        client = Slow()
        handing = asyncio.create_task(Forwarder(channel)(SCOPE, client.receive, client.send))
        before, rounds = -1, 0
        while rounds < 1000:  # of the loop, in which nothing was sent any more
            rounds = rounds + 1 if len(client.took) == 2 and before == sent else 0
            before = sent
            await asyncio.sleep(0)
        handing.cancel()
        with suppress(asyncio.CancelledError):
            await handing
        await door.close(0)

    asyncio.run(run())
    assert sent < 100


async def test_a_keeper_that_does_not_come_to_the_door_is_away(channel: FdChannel) -> None:
    client = Client()
    with pytest.raises(WriterUnavailableError):
        await Forwarder(channel, 0.01)(SCOPE, client.receive, client.send)
    assert client.took == []


def test_who_rings_while_nobody_keeps_the_archive_is_answered_by_the_next(
    channel: FdChannel,
) -> None:
    async def app(_: Scope, __: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"late"})

    async def run() -> bytes:
        client = Client()
        handing = asyncio.create_task(Forwarder(channel)(SCOPE, client.receive, client.send))
        while not select.select([channel], [], [], 0)[0]:  # noqa: ASYNC110  # it has no event
            await asyncio.sleep(0)
        door = ForwardedServer(channel, _nothing, app)
        door.open()
        await handing
        await door.close(1)
        return client.body

    assert asyncio.run(run()) == b"late"


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_keeper_that_dies_is_away_or_its_answer_is_cut_off(*, has_begun: bool) -> None:
    async def app(_: Scope, __: Receive, send: Send) -> None:
        if has_begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise OSError  # as if its process were gone

    client = Client()
    if has_begun:
        _run(_handed(app, client))
        assert client.body == b"half"
        assert client.took[-1]["more_body"]  # so the server hangs up
    else:
        with pytest.raises(WriterUnavailableError):
            _run(_handed(app, client))


async def test_too_many_at_the_door_are_told_so_at_once(channel: FdChannel) -> None:
    waiting: list[socket] = []
    with suppress(BlockingIOError):
        while True:
            waiting.append(channel.connect())
    client = Client()
    with pytest.raises(WriterUnavailableError):
        await Forwarder(channel)(SCOPE, client.receive, client.send)
    for each in waiting:
        each.close()


def test_everybody_tells_of_all_who_answer() -> None:
    registries = {name: CollectorRegistry() for name in ("1", "2", "3")}
    for name, registry in registries.items():
        Counter("answers", "Answers", ["kind"], registry=registry).labels("a").inc(int(name))

    def telling(name: str) -> Callable[[], Awaitable[bytes]]:
        async def tell() -> bytes:
            return encoded_metrics(registries[name])

        return tell

    async def run() -> str:
        with ExitStack() as stack:
            channels = {name: stack.enter_context(closing(FdChannel())) for name in registries}
            return await ask(channels)

    async def ask(channels: dict[str, FdChannel]) -> str:
        door = ForwardedServer(channels["2"], telling("2"))  # and nobody answers at that of 3
        door.open()
        page = await WorkerMetrics("1", channels, 0.5).page(registries["1"])
        await door.close(1)
        return page.decode()

    page = asyncio.run(run())
    assert 'answers_total{kind="a",worker="1"} 1.0' in page
    assert 'answers_total{kind="a",worker="2"} 2.0' in page
    assert 'worker="3"' not in page
    assert page.count("# TYPE answers_total counter") == 1


HEADS = st.builds(
    Head,
    *(st.text(max_size=20),) * 4,
    *(st.binary(max_size=50),) * 2,
    st.lists(st.tuples(st.binary(max_size=20), st.binary(max_size=20)), max_size=5),
    st.none() | st.tuples(st.text(max_size=20), st.integers(0, 65_535)),
    st.none() | st.tuples(st.text(max_size=20), st.none() | st.integers(0, 65_535)),
)


@given(HEADS)
def test_a_head_is_read_as_it_was_written(head: Head) -> None:
    assert read_head(encode(head)) == head
    assert Head.of(head.scope()) == head


@given(st.integers(0, 3 * MAX_FRAME))
def test_frames_hold_all_that_was_written(length: int) -> None:
    async def read() -> int:
        reader = asyncio.StreamReader()
        reader.feed_data(frames(b"B", bytes(length)))
        reader.feed_eof()
        total = 0
        with suppress(EOFError):
            while True:
                total += len((await read_frame(reader))[1])
        return total

    assert asyncio.run(read()) == length
