"""Threats, row 6, through the doors of a running archive.

Each payload goes wherever text comes in, and all that is made of it is asked for over raw sockets:
one response to each request, with headers that are known here, and each of them once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from tests.attacks.test_headers import payloads
from tests.support.clients.raw_http import Answer
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked import connected
from tests.support.servers.attacked_archive import attacked

KNOWN: Final = {
    *("accept-ranges", "allow", "cache-control", "connection", "content-disposition"),
    *("content-language", "content-length", "content-range", "content-security-policy"),
    *("content-type", "cross-origin-resource-policy", "date", "etag", "last-modified", "link"),
    *("location", "referrer-policy", "repr-digest", "retry-after", "upload-complete"),
    *("upload-offset", "vary", "www-authenticate", "x-content-type-options", "x-frame-options"),
}
HTML: Final = "Accept: text/html"
REFUSED: Final = re.compile('[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff<>:"|?*/\\\\]')
"""What no name of a file may have: without it, payloads become names."""
ALIVE: Final = b"alive\n"

WITHOUT_ESCAPING: Final = """
import re
from starlette.convertors import PathConvertor
from uvicorn.protocols.http import httptools_impl
from ibi.archive.web import redirects

PathConvertor.regex = "(?s:.*)"  # without, no path with a line end leads anywhere
redirects.in_url = redirects.url_mended = str
httptools_impl.HEADER_VALUE_RE = re.compile(b"(?!)")
"""


class Sender:
    """Asks over one connection, and looks at every answer and at what comes after it."""

    def __init__(self, archive: ArchiveServer) -> None:
        """Connect."""
        self._archive = archive
        self._client = connected(archive)
        self.asked = 0
        self.faults: list[str] = []

    def ask(
        self, method: str, target: bytes, *headers: str, body: bytes | None = None
    ) -> Answer | None:
        """Send a request; return its only answer, if it was not the end of the connection."""
        self.asked += 1
        sent = [*headers, f"Authorization: Bearer {self._archive.token}"]
        if body is not None:
            sent.append(f"Content-Length: {len(body)}")
        try:
            self._client.send(target, *sent, method=method)
            if body:
                self._client.socket.sendall(body)
            answer = self._client.receive(bodiless=method == "HEAD")
        except (EOFError, ConnectionError) as fault:
            self.faults.append(f"{method} {target!r}: {fault!r}")
            self._connect()
            return None
        self.faults += [f"{method} {target!r}: {fault}" for fault in _faults(answer)]
        if "connection" in answer:
            if rest := self._client.rest():
                self.faults.append(f"{method} {target!r} is followed by {rest!r}")
            self._connect()
        return answer

    def check(self) -> None:
        """See that the next answer is the next request's, and no other waits."""
        if self._client.ask("/healthz").body != ALIVE:
            self.faults.append("an answer to nothing that was asked")

    def json(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401
        """Use the API; return what it says, None if it refuses."""
        data = None if body is None else json.dumps(body).encode()
        answer = self.ask(method, f"/api/v1/{path}".encode(), body=data)
        return json.loads(answer.body) if answer and answer.status in {200, 201} else None

    def _connect(self) -> None:
        self._client.close()
        self._client = connected(self._archive)

    def close(self) -> None:
        """Hang up."""
        self._client.close()


def _faults(answer: Answer) -> Iterator[str]:
    names = [name for name, _ in answer.headers]
    if unknown := set(names) - KNOWN:
        yield f"unforeseen headers {unknown}"
    if len(set(names)) != len(names):
        yield f"headers that are there twice: {names}"
    for name, value in answer.headers:
        if not (value.isascii() and value.isprintable()):
            yield f"{name} is {value!r}"
    if answer.status >= 500:
        yield f"status {answer.status}"


def written(payload: str) -> tuple[bytes, bytes, bytes]:
    """Return a payload for a URL: encoded, encoded twice, and as bare as a request can be."""
    octets = payload.encode("utf-8", "surrogatepass")
    once = quote(octets, safe="").encode()
    bare = bytes(
        octet if 0x21 <= octet <= 0x7E and octet not in b"?#" else 0x2E for octet in octets
    )
    return once, quote(once, safe="").encode(), bare


class Attack:
    """What one payload is put into."""

    def __init__(self, sender: Sender) -> None:
        """Make an item for it to play with."""
        self._sender = sender
        found = self._deposit({"metadata": {"titles": ["A title"]}}, b"a.txt", b"text/plain")
        assert found
        self._item = found["rep"].encode()
        self._metadata = found["metadata"]["rep"].encode()
        self._service = sender.json("GET", "archive")["service"]["ibip"].encode()
        found = self._deposit(
            {"metadata": {"titles": ["A service"]}, "service": "http://a.example"}
        )
        assert found
        self._elsewhere = found["rep"].encode()

    def _deposit(
        self, wanted: dict[str, Any], name: bytes = b"", declared: bytes = b""
    ) -> dict[str, Any] | None:
        opened = self._sender.json("POST", "deposits", wanted)
        if opened is None:
            return None
        if name:
            path = f"/api/v1/deposits/{opened['id']}/files/".encode() + name
            kind = f"Content-Type: {declared.decode('latin-1')}"
            self._sender.ask("PUT", path, kind, body=b"<b>the file")
            self._sender.ask("HEAD", path)
        made: dict[str, Any] | None = self._sender.json(
            "POST", f"deposits/{opened['id']}/completion"
        )
        if made is None:
            self._sender.ask("DELETE", f"/api/v1/deposits/{opened['id']}".encode())
        return made

    def __call__(self, number: int, payload: str) -> None:
        """Put it in everywhere; how it is spelled, and what is made of it, takes turns."""
        spellings = written(payload)
        self._file(number, payload, *spellings[::2])
        self._address(number, payload)
        for turn, target in enumerate(self._targets(*(spellings[number % 3 :] + spellings)[:3])):
            self._sender.ask("HEAD" if turn == number % 50 else "GET", target, HTML)
        self._headers(spellings[2].decode())
        self._sender.check()

    def _file(self, number: int, payload: str, once: bytes, bare: bytes) -> None:
        """As the name of a file, its declared type, its item's title and target."""
        name = REFUSED.sub("", payload).strip(" .") or "x"
        titled = {"metadata": {"titles": [payload]}}
        aimed = {"metadata": {"titles": ["A title"]}, "target": payload}
        named = {"metadata": {"titles": [name]}, "target": name}
        ways: tuple[tuple[dict[str, Any], bytes], ...] = (
            (titled, b"a.txt"),
            (aimed, once),
            (named, quote(name).encode()),
        )
        wanted, path = ways[number % 3]
        made = self._deposit(wanted, path, bare) or {}
        for file in made.get("files", []):
            target = b"/col/" + made["rep"].encode() + b"/doc/" + quote(file["path"]).encode()
            self._sender.ask("GET", target)
            self._sender.ask("GET", target, "Range: bytes=0-1,3-4")
            self._sender.ask("GET", b"/" + made["ibip"].encode())
            self._sender.ask("GET", b"/" + made["metadata"]["ibip"].encode(), HTML)

    def _address(self, number: int, payload: str) -> None:
        """As the address of a web service."""
        starts = ("http://a.example/", "http://a.example?", "")
        wanted = {"metadata": {"titles": ["x"]}, "service": starts[number % 3] + payload}
        if made := self._deposit(wanted):
            self._sender.ask("GET", b"/" + made["rep"].encode() + b"?a=b")
            self._sender.ask("GET", b"/col/" + made["rep"].encode() + b"/doc/a%20b?a=b")

    def _targets(self, first: bytes, second: bytes, third: bytes) -> Iterator[bytes]:
        asked = b"/" + self._service + b"?servicesubject="
        listed = b"urlRequest&clientinformation.ipaddress=10.0.0.1&parsedibiurl."
        for place in (self._item, self._elsewhere):
            yield b"/" + place + b"/" + first
            yield b"/" + place + b"?" + second + b"=" + third
            yield b"/col/" + place + b"/doc/" + second
            yield b"/col/" + place + b"/doc/?" + third
            yield b"/" + place + b":(" + first + b")"
            yield b"/" + place + b"?ibiurl.language=" + second
        yield b"/" + third
        yield b"/col/" + first
        yield b"/displaydoccontent.cgi/" + self._item + b"?after=" + second
        yield b"/col/" + self._metadata + b"/doc/?choice=" + third
        yield b"/api/v1/items/" + first
        yield b"/api/v1/deposits/" + second
        yield asked + listed + b"ibi=" + self._item + b"&parsedibiurl.filepath=" + third
        yield asked + listed + b"ibi=" + first
        yield asked + second

    def _headers(self, value: str) -> None:
        target = b"/col/" + self._item + b"/doc/a.txt"
        for name in ("Range", "If-Range", "If-None-Match", "If-Modified-Since", "Accept-Language"):
            self._sender.ask("GET", target, f"{name}: {value}")
        self._sender.ask("GET", b"/" + self._item, f"Accept-Language: {value}", HTML)
        for name in ("X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-For", "Forwarded"):
            self._sender.ask("GET", b"/" + self._item, f"{name}: {value}")


def attack(archive: ArchiveServer, made: list[str]) -> Sender:
    sender = Sender(archive)
    put_in = Attack(sender)
    for number, payload in enumerate(made):
        put_in(number, payload)
    sender.close()
    return sender


def test_one_response_to_each_request_and_no_header_too_many(tmp_path: Path) -> None:
    with attacked(tmp_path) as archive:
        sender = attack(archive, payloads())
    assert sender.faults == []
    assert sender.asked > 35 * len(payloads())


def test_the_checks_bite(tmp_path: Path) -> None:
    """The twin: without escaping, a reader's path becomes a header."""
    with attacked(tmp_path, WITHOUT_ESCAPING) as archive:
        sender = attack(archive, payloads()[:1] * 3)
    assert any("unforeseen headers {'x-evil'}" in fault for fault in sender.faults)
