"""Many clients at one minting service: impatient, forgetful, talking nonsense, or just many."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPResponse
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from ibi import RepositoryName
from ibi.minting.web.request_queue import SEATS_A_CLIENT
from tests.support.clients.http import LABELS, PROBLEM, Answer
from tests.support.servers.minting import (
    InProcessMintingServer,
    MintingServer,
    in_process_minting_server,
)
from tests.support.waiting import wait_until

CLIENTS: Final = 64
ROUNDS: Final = 12
SECOND: Final = 10**9
NONSENSE: Final = (
    b"\x00" * 100,
    b"GET / HTTP/9.9\r\n\r\n",
    b"POST /api/v1/labels HTTP/1.1\r\nContent-Length: x\r\n\r\n",
    b"\x16\x03\x01" + bytes(range(256)),
)


def request(token: str, key: str = "", body: bytes = b"", length: int | None = None) -> bytes:
    """Write a request for labels; a length that is not that of the body is a lie."""
    lines = [
        f"POST {LABELS} HTTP/1.1",
        "Host: x",
        "Connection: close",
        f"Authorization: Bearer {token}",
        f"Content-Length: {len(body) if length is None else length}",
    ]
    if key:
        lines.append(f"Idempotency-Key: {key}")
    return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass
class Storm:
    """What came of it all."""

    server: MintingServer
    by_key: dict[str, set[tuple[str, ...]]] = field(default_factory=lambda: defaultdict(set))
    without_key: list[str] = field(default_factory=list)
    statuses: set[int] = field(default_factory=set)
    abandoned: int = 0
    """Labels that were perhaps given to somebody who had gone."""

    async def client(self, number: int) -> None:
        """Behave in some way, a few times."""
        ways = (self.plain, self.repeat, self.lose, self.break_off, self.give_up, self.babble)
        chance = random.Random(number)  # noqa: S311  # the same storm every time
        for turn in range(ROUNDS):
            way = ways[(number + turn) % len(ways)]
            await way(f"{number}-{turn}", chance.randrange(1, 6))

    async def plain(self, _: str, count: int) -> None:
        """Ask without a key, and wait."""
        self.without_key += await self.labels(request(self.server.token, body=_wanted(count)))

    async def repeat(self, key: str, count: int) -> None:
        """Ask with one key, three times at once and once more."""
        sent = request(self.server.token, key, _wanted(count))
        for labels in await asyncio.gather(*[self.labels(sent) for _ in range(3)]):
            self.by_key[key].add(labels)
        self.by_key[key].add(await self.labels(sent))

    async def lose(self, key: str, count: int) -> None:
        """Hang up before the answer comes, and ask again."""
        sent = request(self.server.token, key, _wanted(count))
        for _ in range(2):
            await self.send(sent)
        for labels in await asyncio.gather(*[self.labels(sent) for _ in range(2)]):
            self.by_key[key].add(labels)

    async def break_off(self, _: str, count: int) -> None:
        """Hang up in the middle of the request."""
        whole = request(self.server.token, "", _wanted(count), length=500)
        await self.send(whole)
        await self.send(whole[: len(whole) // 2])
        await self.send(b"")

    async def give_up(self, _: str, count: int) -> None:
        """Wait for the answer a moment only."""
        self.abandoned += count
        reader, writer = await self.dial()
        writer.write(request(self.server.token, body=_wanted(count)))
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(reader.read(), 0.002 * count)
        await hang_up(writer)

    async def babble(self, key: str, count: int) -> None:
        """Send what is no HTTP, no request, no token."""
        await self.answer(NONSENSE[count % len(NONSENSE)])
        await self.answer(request(self.server.token, key, b'{"count": "many"}'))
        await self.answer(request("nonsense", key))

    async def dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection."""
        parts = urlsplit(self.server.address)
        return await asyncio.open_connection(parts.hostname, parts.port)

    async def send(self, sent: bytes) -> None:
        """Send, and hang up."""
        _, writer = await self.dial()
        writer.write(sent)
        await hang_up(writer)

    async def answer(self, sent: bytes) -> tuple[int, bytes]:
        """Send, and wait for the answer."""
        reader, writer = await self.dial()
        writer.write(sent)
        received = await asyncio.wait_for(reader.read(), 60)
        await hang_up(writer)
        head, _, body = received.partition(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        self.statuses.add(status)
        return status, body

    async def labels(self, sent: bytes) -> tuple[str, ...]:
        """Ask until there are labels, as a client does that was told to come again."""
        while True:
            status, body = await self.answer(sent)
            if status == 201:
                return tuple(label["rep"] for label in json.loads(body)["labels"])
            assert status == 503, body
            await asyncio.sleep(0.1)


def _wanted(count: int) -> bytes:
    return json.dumps({"count": count}).encode()


async def hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MintingServer]:
    folder = tmp_path_factory.mktemp("server")
    with MintingServer(folder, "--granularity", "0.001") as started:
        yield started


def test_a_storm_of_64_clients(server: MintingServer) -> None:
    server.mint().labels()
    descriptors, threads, given = server.descriptors(), server.threads(), server.state()["given"]
    storm = Storm(server)

    async def rage() -> None:
        await asyncio.gather(*[storm.client(number) for number in range(CLIENTS)])

    asyncio.run(rage())

    # One set of labels for each key, and no label twice.
    assert len(storm.by_key) == CLIENTS * ROUNDS * 2 // 6
    assert {len(answers) for answers in storm.by_key.values()} == {1}
    keyed = [label for [labels] in storm.by_key.values() for label in labels]
    everything = keyed + storm.without_key
    assert len(everything) == len(set(everything))
    # Nothing but what can be expected, and nothing given to nobody.
    assert storm.statuses <= {201, 400, 401, 503}
    assert {201, 400, 401} <= storm.statuses
    taken = server.state()["given"] - given
    assert len(everything) <= taken <= len(everything) + storm.abandoned
    # As calm as before.
    wait_until(lambda: server.state()["waiting"] == 0)
    wait_until(lambda: server.descriptors() <= descriptors + 2)
    assert server.threads() <= threads + min(32, (os.cpu_count() or 1) + 4)
    assert len(server.mint().labels()) == 1
    log = server.log()
    assert "Traceback" not in log
    assert "unforeseen" not in log
    assert server.token not in log


def test_keys_of_the_storm_are_remembered_after_a_kill(tmp_path: Path) -> None:
    with MintingServer(tmp_path, "--granularity", "0.001") as server:
        storm = Storm(server)

        async def rage(keys: range) -> None:
            await asyncio.gather(*[storm.repeat(str(key), 1 + key % 5) for key in keys])
            # These may or may not have been served when the kill comes.
            for key in keys:
                await storm.send(request(server.token, f"late {key}", _wanted(1)))

        asyncio.run(rage(range(20)))
        server.kill()
        server.start()
        asyncio.run(rage(range(20)))
        for key in range(20):
            [label] = server.mint({"count": 1}, key=f"late {key}").labels()
            storm.by_key[f"late {key}"].add((label,))
    assert {len(answers) for answers in storm.by_key.values()} == {1}
    labels = [label for [labels] in storm.by_key.values() for label in labels]
    assert len(labels) == len(set(labels))


def test_two_servers_on_one_ledger_agree_on_every_key_and_share_no_label(
    server: MintingServer,
) -> None:
    with MintingServer(server.folder, "--granularity", "0.001") as other:
        other.token = server.token
        storms = [Storm(server), Storm(other)]

        async def rage() -> None:
            await asyncio.gather(
                *[storm.repeat(f"shared {key}", 2) for key in range(24) for storm in storms],
                *[storm.plain("", 3) for _ in range(24) for storm in storms],
            )

        asyncio.run(rage())
    one, two = storms
    assert one.by_key == two.by_key
    assert {len(answers) for answers in one.by_key.values()} == {1}
    keyed = [label for [labels] in one.by_key.values() for label in labels]
    everything = keyed + one.without_key + two.without_key
    assert len(everything) == len(set(everything)) == 24 * 2 + 24 * 3 * 2


def test_silent_connections_keep_nobody_from_minting(server: MintingServer) -> None:
    parts = urlsplit(server.address)
    before = server.descriptors()
    silent = [socket.create_connection((parts.hostname or "", parts.port or 0)) for _ in range(200)]
    try:
        silent[0].sendall(b"POST ")
        assert len(server.mint().labels()) == 1
    finally:
        for connection in silent:
            connection.close()
    wait_until(lambda: server.descriptors() <= before + 2)


def test_several_requests_down_one_connection_are_answered_in_order(server: MintingServer) -> None:
    keys = [f"pipelined {number}" for number in range(10)]
    sent = b"".join(
        request(server.token, key).replace(b"Connection: close\r\n", b"") for key in keys
    )
    parts = urlsplit(server.address)
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=60) as line:
        line.sendall(sent + request(server.token, "last"))
        received = b""
        while chunk := line.recv(65536):
            received += chunk
    answers = received.split(b"HTTP/1.1 201 Created")[1:]
    bodies = [answer.partition(b"\r\n\r\n")[2] for answer in answers]
    assert len(bodies) == 11
    assert bodies[:10] == [server.mint(key=key).body for key in keys]


# The waiting room, by a clock that the test holds


class Waiting:
    """A client with a request under way."""

    def __init__(self, server: InProcessMintingServer, token: str = "", count: int = 1) -> None:
        """Send the request, and do not wait for the answer."""
        parts = urlsplit(server.address)
        self._socket = socket.create_connection((parts.hostname or "", parts.port or 0), 60)
        self._socket.sendall(request(token or server.token, body=_wanted(count)))

    def hang_up(self) -> None:
        """Go without an answer."""
        self._socket.close()

    def answer(self) -> Answer:
        """Wait for the answer."""
        with self._socket:
            answer = HTTPResponse(self._socket)
            answer.begin()
            return Answer(answer.status, dict(answer.headers.items()), answer.read())

    def second(self) -> int:
        """Wait for a label, and return its second."""
        [label] = self.answer().labels()
        return RepositoryName.parse(label).instant.seconds


def told_to_come_again(answer: Answer, status: int) -> int:
    """Return after how many seconds."""
    assert answer.status == status
    assert answer.headers["content-type"] == PROBLEM
    seconds = int(answer.headers["retry-after"])
    document = answer.json()
    assert document["retry_after"] == seconds
    assert "try again in" in document["detail"]
    return seconds


def at_the_desk(server: InProcessMintingServer) -> Waiting:
    """Return one who is being served, and waits for the clock; behind them others queue up."""
    server.mint().labels()
    first = Waiting(server)
    wait_until(lambda: bool(server.service.minter._room.queue))  # noqa: SLF001  # seen nowhere else
    return first


def queue_up(server: InProcessMintingServer, count: int, token: str = "") -> list[Waiting]:
    """Return some who wait in line, in their order."""
    line = []
    for _ in range(count):
        seats = len(server.service.queue)
        line.append(Waiting(server, token))
        wait_until(lambda seats=seats: len(server.service.queue) == seats + 1)  # type: ignore[misc]
    return line


def test_a_full_waiting_room_says_when_to_come_again(tmp_path: Path) -> None:
    with in_process_minting_server(tmp_path, "1", seats=3) as server:
        first = at_the_desk(server)
        line = queue_up(server, 3)
        assert server.state()["waiting"] == 3
        assert b"\nibi_waiting 3.0" in server.ask("GET", "/metrics").body
        assert told_to_come_again(server.mint(), 503) >= 1
        assert told_to_come_again(server.mint(key="k"), 503) >= 1
        # Whoever leaves makes room.
        line.pop().hang_up()
        wait_until(lambda: server.state()["waiting"] == 2)
        line += queue_up(server, 1)
        seconds = []
        for waiting in (first, *line):
            server.clock.true += SECOND
            seconds.append(waiting.second())
        assert seconds == list(range(seconds[0], seconds[0] + 4))
        assert server.state()["waiting"] == 0


def test_who_hangs_up_in_the_line_takes_no_label(tmp_path: Path) -> None:
    with in_process_minting_server(tmp_path, "1", seats=100) as server:
        first = at_the_desk(server)
        line = queue_up(server, 20)
        for gone in line[:19]:
            gone.hang_up()
        wait_until(lambda: server.state()["waiting"] == 1)
        given = server.state()["given"]
        server.clock.true += SECOND
        second = first.second()
        server.clock.true += SECOND
        assert line[19].second() == second + 1
        # The label of the one at the desk may have been counted when its wait began.
        assert server.state()["given"] - given in {1, 2}


def test_who_hangs_up_at_the_desk_costs_one_step_at_the_most(tmp_path: Path) -> None:
    with in_process_minting_server(tmp_path, "1", seats=100) as server:
        first = at_the_desk(server)
        [other] = queue_up(server, 1)
        before = server.clock.wall() // SECOND
        first.hang_up()
        server.clock.true += 2 * SECOND
        assert other.second() <= before + 2


def test_nobody_takes_more_than_their_share_of_the_waiting_room(tmp_path: Path) -> None:
    with in_process_minting_server(tmp_path, "1", seats=1000) as server:
        greedy = server.add_token("greedy")
        first = at_the_desk(server)
        line = [Waiting(server, greedy) for _ in range(SEATS_A_CLIENT)]
        wait_until(lambda: len(server.service.queue) == SEATS_A_CLIENT)
        refused = server.ask("POST", LABELS, token=greedy)
        assert told_to_come_again(refused, 429) >= 1
        # Others still find a seat.
        [other] = queue_up(server, 1)
        for waiting in line:
            waiting.hang_up()
        wait_until(lambda: server.state()["waiting"] == 1)
        server.clock.true += SECOND
        second = first.second()
        server.clock.true += SECOND
        assert other.second() == second + 1
        # And the greedy one is forgiven.
        server.clock.true += SECOND
        assert server.ask("POST", LABELS, token=greedy).status == 201


def test_nobody_takes_more_than_their_share_of_the_time(tmp_path: Path) -> None:
    with in_process_minting_server(tmp_path, "1", seats=1000) as server:
        greedy = server.add_token("greedy")
        first = at_the_desk(server)
        batch = Waiting(server, greedy, 5)
        wait_until(lambda: len(server.service.queue) == 1)
        refused = server.ask("POST", LABELS, {"count": 2}, token=greedy)
        assert told_to_come_again(refused, 429) == 5
        [other] = queue_up(server, 1)
        batch.hang_up()
        wait_until(lambda: server.state()["waiting"] == 1)
        server.clock.true += SECOND
        second = first.second()
        server.clock.true += SECOND
        assert other.second() == second + 1


def test_a_wait_longer_than_any_client_has_patience_for_is_refused_at_once(tmp_path: Path) -> None:
    with in_process_minting_server(tmp_path, "60", seats=10) as server:
        server.mint().labels()
        given = server.state()["given"]
        left = 60 - server.clock.wall() // SECOND % 60
        assert told_to_come_again(server.mint(), 503) in {left, left + 1}
        # No patience is enough for two: that is for the client to mend.
        refused = server.mint({"count": 2})
        assert refused.status == 400
        assert "2 labels at a granularity of 60 take" in refused.json()["detail"]
        assert server.state()["given"] == given
        server.clock.true += 60 * SECOND
        assert len(server.mint().labels()) == 1


HEADS: Final = {
    "one line without end": b"GET /healthz HTTP/1.1\r\nx: " + b"a" * 100_000,
    "lines without end": b"GET /healthz HTTP/1.1\r\n" + b"x: y\r\n" * 20_000,
    "an address without end": b"GET /" + b"a" * 100_000,
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_a_head_without_end_is_cut_off(server: MintingServer, head: bytes) -> None:
    address = urlsplit(server.address)
    assert address.hostname is not None
    with socket.create_connection((address.hostname, address.port or 80), timeout=30) as line:
        answer = b""
        with suppress(ConnectionError):  # the answer may be overtaken by the end
            line.sendall(head)
            while more := line.recv(4096):
                answer += more
        assert not answer or answer.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400"))
    assert server.ask("GET", "/healthz").status == 200


def test_trailers_without_end_are_not_gathered(server: MintingServer) -> None:
    address = urlsplit(server.address)
    assert address.hostname is not None
    status = Path(f"/proc/{server.pid}/statm")
    before = int(status.read_text(encoding="ascii").split()[1])
    with socket.create_connection((address.hostname, address.port or 80), timeout=30) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
        for _ in range(40):
            line.sendall(b"X-Trailer: " + b"a" * 500_000 + b"\r\n")
        grown = int(status.read_text(encoding="ascii").split()[1]) - before
    assert grown * os.sysconf("SC_PAGE_SIZE") < 10_000_000
    assert server.ask("GET", "/healthz").status == 200


def test_a_body_as_large_as_a_head_may_not_be_is_no_head(server: MintingServer) -> None:
    body = b'{"target": "' + b" " * 60_000 + b'"}'
    assert server.ask("POST", LABELS, body).status == 400


def test_a_server_that_stops_tells_those_who_wait(tmp_path: Path) -> None:
    with MintingServer(tmp_path, "--granularity", "1") as server:
        storm = Storm(server)

        async def stop() -> list[tuple[int, bytes]]:
            clients = [asyncio.create_task(storm.answer(request(server.token))) for _ in range(9)]
            waiting = 0
            while waiting < 5:
                waiting = (await asyncio.to_thread(server.state))["waiting"]
            code = await asyncio.to_thread(server.stop)
            assert code == 0
            return await asyncio.gather(*clients)

        answers = asyncio.run(stop())
    assert [status for status, _ in answers].count(503) >= 5
    assert storm.statuses <= {201, 503}
    assert any(b"urn:ibi:problem:stopping" in body for _, body in answers)
    assert "Traceback" not in server.log()
