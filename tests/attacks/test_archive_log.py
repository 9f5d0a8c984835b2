"""Threats, row 22: log injection at a running archive.

Line ends, terminal codes and what breaks JSON, wherever a client can put them: each request is one
line, each line is JSON, and no token, key or address of a client stands in any of them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from tests.support.servers.archive import ArchiveServer, raw
from tests.support.servers.attacked import FULL, connected
from tests.support.servers.attacked_archive import attacked
from tests.support.waiting import wait_until

COUNT: Final = 2_000 if FULL else 40
CLIENT: Final = "203.0.113.77"
KEY: Final = "1234567890123456789012345678901234567890"
MARK: Final = "X-INJECTED"
NOT_SERVED: Final = (b"Invalid HTTP request received.", b"Exactly one valid Host header field")
"""Answers of the HTTP server itself, before there is a request that could be noted."""
PIECES: Final = [
    *("\r\n", "\n", "\r", "\0", "\x1b[2J", "\x1b]0;evil\x07", "\x7f", "\x85", "\u2028", "\u2029"),
    *('"', '"}', "\\", "\\n", "\\u000a", '{"event": "request"}', "'", "%", "%0a", "%250a", "{}"),
    *(
        MARK,
        "\u202e",
        "é",
        "\U0001f600",
        "\udc80",
        " ",
        "\t",
        "a",
        "$(id)",
        "${jndi:x}",
        "%s",
        "%n",
    ),
]

WITHOUT_ESCAPING: Final = """
import structlog
from urllib.parse import unquote
from ibi.foundation.web import access_log

access_log.printable = unquote
structlog.processors.JSONRenderer = lambda: lambda logger, method, event: str(event.get("path"))
"""


def payloads(count: int) -> Iterator[str]:
    chance = random.Random(22)  # noqa: S311  # which payloads
    yield f"a\n{MARK}"
    for _ in range(count - 1):
        yield "".join(chance.choices(PIECES, k=chance.randint(1, 8)))


class Attack:
    """Sends requests, and counts them."""

    def __init__(self, archive: ArchiveServer) -> None:
        """Make an item to ask for."""
        self.archive = archive
        self.label = archive.deposit({"a.txt": b"x"})["rep"]
        self.deposit = archive.open_deposit()
        archive.get("/the-attack-begins")
        # A request is noted when it is over, which is after its client has read the answer.
        wait_until(lambda: "/the-attack-begins" in archive.log())
        self._before = len(archive.log().splitlines())
        self._sent = 0

    def __call__(self, payload: str) -> None:
        """Put one payload in everywhere."""
        octets = payload.encode("utf-8", "surrogatepass")
        once = quote(octets, safe="")
        self._api(payload, once)
        bare = octets.replace(b"\r", b"").replace(b"\n", b"").replace(b"\0", b"").strip(b" \t")
        query = f"?token={self.archive.token}&registrationkey={KEY}&x={once}"
        query += f"&clientinformation.ipaddress={CLIENT}&servicesubject=urlRequest"
        paths = (f"/{once}", f"/col/{self.label}/doc/{once}", f"/{self.archive.service}{query}")
        with connected(self.archive) as client:
            for path in (*paths, f"/{quote(once)}{query}"):
                client.send(path, f"X-Forwarded-For: {CLIENT}", f"Referer: http://x/?{KEY}")
                client.receive()
                self._sent += 1
        self._raw(b"GET / HTTP/1.1\r\nHost: " + bare)
        host = b"\r\nHost: archive.example.org"
        for name in (b"User-Agent", b"Authorization", b"X-Forwarded-For", b"Range"):
            self._raw(b"GET / HTTP/1.1" + host + b"\r\n" + name + b": " + bare)
        self._raw(b"GET /" + bare + b" HTTP/1.1" + host)  # often no HTTP at all
        self._raw(bare + b" / HTTP/1.1" + host)

    def _api(self, payload: str, once: str) -> None:
        archive = self.archive
        archive.api("POST", "tokens", {"name": payload, "scope": "read"})
        archive.api("PUT", f"deposits/{self.deposit}/files/{once}", b"x", content_type="x/y")
        archive.api("PUT", f"items/{self.label}/metadata", {"titles": [payload]})
        archive.api("POST", "reservations", {"note": payload})
        archive.api("GET", f"deposits/{once}", token=f"{KEY}guessed")
        self._sent += 5

    def _raw(self, head: bytes) -> None:
        answer = raw(self.archive.address, head + b"\r\nConnection: close\r\n\r\n")
        self._sent += not any(each in answer for each in NOT_SERVED)

    def lines(self) -> list[str]:
        """Return the lines of the log that came of it."""
        wait_until(lambda: len(self._lines()) >= self._sent)
        self.archive.stop()
        return self._lines()

    def _lines(self) -> list[str]:
        return self.archive.log().split("\n")[self._before : -1]

    def faults(self) -> Iterator[str]:
        """Yield what is wrong with the log."""
        lines = self.lines()
        noted = sum(1 for line in lines if '"event": "request"' in line)
        if noted != self._sent:
            yield f"{self._sent} requests, {noted} lines"
        for line in lines:
            if not (line.isascii() and line.isprintable()):
                yield f"not printable: {line!r}"
            if not is_event(line):
                yield f"no JSON of ours: {line!r}"
        for secret in (self.archive.token, self.archive.local_token, KEY, CLIENT, "127.0.0.1"):
            if any(secret in line for line in lines):
                yield f"{secret} is in the log"


def is_event(line: str) -> bool:
    try:
        event: Any = json.loads(line)
    except ValueError:
        return False
    keys = {"event", "level", "timestamp"}
    if isinstance(event, dict) and event.get("event") == "request":
        keys |= {"method", "path", "status", "milliseconds"} | ({"caller"} & event.keys())
    return isinstance(event, dict) and event.keys() == keys


def test_each_request_is_one_line_and_tells_no_secret(tmp_path: Path) -> None:
    with attacked(tmp_path) as archive:
        attack = Attack(archive)
        for payload in payloads(COUNT):
            attack(payload)
        assert list(attack.faults()) == []


def test_the_payloads_bite(tmp_path: Path) -> None:
    """The twin: a log that writes what it is told has lines that nobody wrote."""
    with attacked(tmp_path, WITHOUT_ESCAPING) as archive:
        attack = Attack(archive)
        for payload in payloads(3):
            attack(payload)
        faults = list(attack.faults())
        assert f"no JSON of ours: '{MARK}'" in faults
