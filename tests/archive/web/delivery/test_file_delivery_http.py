"""Files over real sockets: sent by the system, or read piece by piece where it cannot."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import hashlib
import os
import random
import socket
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from urllib.parse import quote

import pytest
from starlette.requests import Request

from ibi.archive.web.delivery.file_delivery import Content
from ibi.foundation.web import blocking_read, bounded_http, sendfile
from ibi.foundation.web.bounded_http import BoundedHttp
from tests.support.clients.raw_http import Answer, Connection
from tests.support.servers.file_delivery import file_app, served
from tests.support.waiting import wait_until

LARGE = random.Random(1).randbytes(20_000_000)  # noqa: S311  # any bytes
SMALL = LARGE[:10_000]
NAMES = {
    "report.pdf": b"%PDF-1.4",
    "São José.txt": "olá".encode(),
    "latin.txt": "olá".encode("iso-8859-1"),
    "page.html": b"<h1>ASCII</h1>",
    "page-utf8.HTML": "<h1>ação</h1>".encode(),
    "drawing.svg": b"<svg/>",
    "data.unknown": b"1",
    "no suffix": b"1",
    "empty.txt": b"",
    'a%41"b;c.txt': b"1",
    "日本.tif": b"1",
    "cut.txt": b"a" * 65_535 + "é".encode(),
}
SHA256 = hashlib.sha256(LARGE).hexdigest()


def described(request: Request, content: Content) -> Content:
    """Say more of a file, as the query of the request wants it."""
    if "described" not in request.query_params:
        return content
    return dataclasses.replace(
        content,
        sha256=SHA256,
        cite_as="http://urlib.net/rep/sid.inpe.br/a b/2009",
        links=(("/metadata", "describedby", "application/xml"),),
        media_type=request.query_params.get("type", ""),
        attachment=True,
        public=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("files")
    for name, data in {**NAMES, "large.bin": LARGE, "small.bin": SMALL}.items():
        # Windows would not take all of these, and no deposit could have them.
        (root / name).write_bytes(data)
    return root


class WithoutFiles(BoundedHttp):
    """As over TLS: the system cannot send what has to be encrypted here."""

    def connection_made(  # type: ignore[override]  # as uvicorn itself narrows it
        self, transport: asyncio.Transport
    ) -> None:
        """Forget how."""
        super().connection_made(transport)
        self._files = None


SERVERS = {
    "sendfile, uvloop": (BoundedHttp, "uvloop"),
    "sendfile, asyncio": (BoundedHttp, "asyncio"),
    "read": (WithoutFiles, "uvloop"),
}


@pytest.fixture(scope="module", params=SERVERS.values(), ids=list(SERVERS))
def server(request: pytest.FixtureRequest, folder: Path) -> Iterator[tuple[str, int]]:
    protocol, loop = request.param
    with served(file_app(folder, plainly_opened, described), protocol, loop) as address:
        yield address


def plainly_opened(root: Path, path: str) -> int:
    """Open without the rules for names of deposits: any name must be deliverable."""
    return os.open(root / path, os.O_RDONLY)


@pytest.fixture
def client(server: tuple[str, int]) -> Iterator[Connection]:
    with Connection(server) as connection:
        yield connection


def path_of(name: str) -> str:
    return f"/doc/{quote(name)}"


def open_files(folder: Path) -> list[str]:
    found = []
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208  # only numbers
        try:
            target = os.readlink(f"/proc/self/fd/{number}")  # noqa: PTH115  # likewise
        except OSError:
            continue
        if target.startswith(str(folder)):
            found.append(target)
    return found


@pytest.fixture(autouse=True)
def no_file_stays_open(folder: Path) -> Iterator[None]:
    yield
    wait_until(lambda: not open_files(folder))


def test_files_come_whole_one_after_the_other(client: Connection) -> None:
    for name, data in [("large.bin", LARGE), ("small.bin", SMALL), *NAMES.items()] * 2:
        answer = client.ask(path_of(name))
        assert (answer.status, answer.body) == (200, data), name
        assert answer["content-length"] == str(len(data))
        assert answer["accept-ranges"] == "bytes"
        assert answer["x-content-type-options"] == "nosniff"


def test_head_says_the_same_without_the_file(client: Connection) -> None:
    whole = client.ask("/doc/large.bin", "Range: bytes=0-1", method="HEAD")
    assert whole.status == 200
    assert whole["content-length"] == str(len(LARGE))
    dateless = [[pair for pair in each.headers if pair[0] != "date"] for each in
                (whole, client.ask("/doc/large.bin"))]  # fmt: skip
    assert dateless[0] == dateless[1]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("0-499", slice(0, 500)),
        ("100000-19000000", slice(100_000, 19_000_001)),
        ("-7", slice(-7, None)),
        ("-9000000", slice(-9_000_000, None)),
        ("19999999-", slice(-1, None)),
    ],
)
def test_a_part(client: Connection, wanted: str, expected: slice) -> None:
    answer = client.ask("/doc/large.bin", f"Range: bytes={wanted}")
    assert answer.status == 206
    assert answer.body == LARGE[expected]
    start, stop, _ = expected.indices(len(LARGE))
    assert answer["content-range"] == f"bytes {start}-{stop - 1}/{len(LARGE)}"
    assert answer["content-type"] == "application/octet-stream"


@pytest.mark.parametrize("wanted", ["0-9,-10", "5-5,1000000-9000000,-3"])
def test_several_parts(client: Connection, wanted: str) -> None:
    answer = client.ask("/doc/large.bin", f"Range: bytes={wanted}")
    assert answer.status == 206
    kind, _, boundary = answer["content-type"].partition("; boundary=")
    assert kind == "multipart/byteranges"
    first, *parts, last = answer.body.split(f"--{boundary}".encode())
    assert (first, last) == (b"\r\n", b"--\r\n")
    for part, spec in zip(parts, wanted.split(","), strict=True):
        head, _, body = part.removesuffix(b"\r\n").partition(b"\r\n\r\n")
        start, stop = spec.split("-")
        whole = LARGE[int(start) : int(stop) + 1] if start else LARGE[-int(stop) :]
        assert body == whole
        at = int(start) if start else len(LARGE) - int(stop)
        content_range = f"bytes {at}-{at + len(whole) - 1}/{len(LARGE)}"
        assert f"Content-Range: {content_range}".encode() in head.split(b"\r\n")


def test_what_is_not_there_cannot_be_had_in_part(client: Connection) -> None:
    answer = client.ask("/doc/small.bin", "Range: bytes=10000-")
    assert answer.status == 416
    assert answer["content-range"] == "bytes */10000"
    assert client.ask("/doc/empty.txt", "Range: bytes=0-").status == 416


@pytest.mark.parametrize("header", ["lines=1-2", "bytes=9-1", "bytes=" + "0-," * 30 + "0-"])
def test_a_range_that_makes_no_sense_is_ignored(client: Connection, header: str) -> None:
    answer = client.ask("/doc/small.bin", f"Range: {header}")
    assert (answer.status, answer.body) == (200, SMALL)


def test_a_part_only_of_the_same_file(client: Connection) -> None:
    etag = client.ask("/doc/small.bin", method="HEAD")["etag"]
    part = client.ask("/doc/small.bin", "Range: bytes=0-9", f"If-Range: {etag}")
    assert (part.status, part.body) == (206, SMALL[:10])
    whole = client.ask("/doc/small.bin", "Range: bytes=0-9", 'If-Range: "other"')
    assert (whole.status, whole.body) == (200, SMALL)


def test_a_client_that_has_the_file_is_told_so(client: Connection) -> None:
    first = client.ask("/doc/large.bin", method="HEAD")
    for header in (
        f"If-None-Match: {first['etag']}",
        f"If-None-Match: W/{first['etag']}",
        f"If-Modified-Since: {first['last-modified']}",
    ):
        answer = client.ask("/doc/large.bin", header)
        assert (answer.status, answer.body) == (304, b"")
        assert answer["etag"] == first["etag"]
        assert "content-type" not in answer
        assert answer["cache-control"] == "public, max-age=60, must-revalidate"
    assert client.ask("/doc/small.bin", 'If-None-Match: "other"').body == SMALL
    assert client.ask("/doc/small.bin", 'If-Match: "other"').status == 412
    assert client.ask("/doc/small.bin").status == 200


def test_an_etag_changes_with_the_file(server: tuple[str, int], folder: Path) -> None:
    with Connection(server) as client:
        file = folder / "changing"
        file.write_bytes(b"1")
        before = client.ask("/doc/changing")["etag"]
        file.write_bytes(b"2")
        os.utime(file, ns=(0, 1))
        assert client.ask("/doc/changing")["etag"] != before


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("São José.txt", "text/plain; charset=utf-8"),
        ("latin.txt", "text/plain"),
        ("page.html", "text/html"),
        ("page-utf8.HTML", "text/html; charset=utf-8"),
        ("drawing.svg", "image/svg+xml"),
        ("report.pdf", "application/pdf"),
        ("data.unknown", "application/octet-stream"),
        ("no suffix", "application/octet-stream"),
        ("empty.txt", "text/plain"),
        ("cut.txt", "text/plain; charset=utf-8"),
    ],
)
def test_types(client: Connection, name: str, media_type: str) -> None:
    assert client.ask(path_of(name))["content-type"] == media_type


@pytest.mark.parametrize("name", [*NAMES, "large.bin"])
def test_no_file_but_pdf_leaves_its_sandbox(client: Connection, name: str) -> None:
    policy = client.ask(path_of(name), method="HEAD")["content-security-policy"]
    assert policy.startswith("sandbox ") is not name.endswith(".pdf")
    assert "allow-scripts" not in policy
    assert "allow-same-origin" not in policy


@pytest.mark.parametrize("declared", ["text/html", "text/html;charset=iso-8859-1", "x/y\r\nZ: 1"])
def test_a_declared_type_counts_if_it_is_one(client: Connection, declared: str) -> None:
    answer = client.ask(f"/doc/report.pdf?described&type={quote(declared)}")
    expected = "application/pdf" if "\r" in declared else declared
    assert answer["content-type"].removesuffix("; charset=utf-8") == expected
    assert answer["content-security-policy"].startswith("sandbox ") is ("\r" not in declared)


@pytest.mark.parametrize(
    ("name", "disposition"),
    [
        ("report.pdf", 'inline; filename="report.pdf"'),
        ("no suffix", 'inline; filename="no suffix"'),
        (
            "São José.txt",
            "inline; filename=\"S_o Jos_.txt\"; filename*=UTF-8''S%C3%A3o%20Jos%C3%A9.txt",
        ),
        (
            'a%41"b;c.txt',
            "inline; filename=\"a_41_b;c.txt\"; filename*=UTF-8''a%2541%22b%3Bc.txt",
        ),
        ("日本.tif", "inline; filename=\"__.tif\"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.tif"),
    ],
)
def test_names(client: Connection, name: str, disposition: str) -> None:
    assert client.ask(path_of(name), method="HEAD")["content-disposition"] == disposition


def test_a_path_that_is_not_utf_8_is_iso_8859_1(client: Connection) -> None:
    answer = client.ask("/doc/S%E3o%20Jos%E9.txt")
    assert (answer.status, answer.body) == (200, "olá".encode())


def test_what_is_known_of_a_file_is_said(client: Connection) -> None:
    answer = client.ask("/doc/large.bin?described", "Range: bytes=0-0")
    assert answer["etag"] == f'"{SHA256}"'
    digest = base64.b64encode(bytes.fromhex(SHA256)).decode()
    assert answer["repr-digest"] == f"sha-256=:{digest}:"
    assert answer["content-disposition"].startswith("attachment; ")
    assert answer["cache-control"] == "private, no-cache"
    assert answer["link"] == (
        '<http://urlib.net/rep/sid.inpe.br/a%20b/2009>; rel="cite-as", '
        '</metadata>; rel="describedby"; type="application/xml"'
    )


def test_requests_sent_at_once_are_answered_in_order(client: Connection) -> None:
    for name in ("large.bin", "small.bin", "large.bin", "report.pdf"):
        client.send(f"/doc/{name}")
    bodies = [client.receive().body for _ in range(4)]
    assert bodies == [LARGE, SMALL, LARGE, NAMES["report.pdf"]]


def test_hanging_up_in_the_middle_leaves_nothing_open(
    server: tuple[str, int], folder: Path
) -> None:
    for number in range(20):
        with Connection(server) as client:
            client.send("/doc/large.bin")
            if number % 2:
                client.send("/doc/large.bin")  # one that waits behind it
            client.socket.recv(1 + number * 1000)
            if number % 4 > 1:  # by a reset
                client.socket.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                )
    wait_until(lambda: not open_files(folder))
    with Connection(server) as client:
        assert client.ask("/doc/large.bin").body == LARGE


def test_a_slow_reader_gets_everything_and_holds_up_nobody(server: tuple[str, int]) -> None:
    with Connection(server) as slow, Connection(server) as quick:
        slow.send("/doc/large.bin")
        for _ in range(20):
            assert quick.ask("/doc/small.bin").body == SMALL
        assert slow.receive().body == LARGE


def test_a_hundred_at_once(server: tuple[str, int]) -> None:
    def fetch(number: int) -> bytes:
        with Connection(server) as client:
            start = number * 100_000
            return client.ask("/doc/large.bin", f"Range: bytes={start}-{start + 1_999_999}").body

    with ThreadPoolExecutor(100) as pool:
        for number, body in enumerate(pool.map(fetch, range(100))):
            assert body == LARGE[number * 100_000 : number * 100_000 + 2_000_000]


def test_a_file_that_shrinks_meanwhile_is_cut_off_and_not_filled_up(
    server: tuple[str, int], folder: Path
) -> None:
    file = folder / "shrinking"
    file.write_bytes(LARGE)
    with Connection(server) as client:
        client.send("/doc/shrinking")
        client.socket.recv(10)
        os.truncate(file, 10_000)
        assert len(client.rest()) < len(LARGE)


def test_http_1_0_ends_with_the_file(server: tuple[str, int]) -> None:
    with Connection(server) as client:
        client.socket.sendall(b"GET /doc/large.bin HTTP/1.0\r\n\r\n")
        assert client.rest().endswith(LARGE)


def test_garbage_behind_a_request_is_not_answered_inside_the_file(folder: Path) -> None:
    with served(file_app(folder)) as server, Connection(server) as client:
        client.send("/doc/large.bin")
        client.socket.recv(10)
        client.socket.sendall(b"\x00garbage\r\n\r\n")
        assert b"HTTP/1.1 400" not in client.rest()


def test_a_slow_disk_holds_up_nobody(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spins_up = Event()
    monkeypatch.setattr(sendfile, "is_at_hand", lambda *_: False)
    monkeypatch.setattr(sendfile, "fetch", lambda *_: spins_up.wait(60))
    with served(file_app(folder)) as server, Connection(server) as one, Connection(server) as two:
        one.send("/doc/large.bin")
        assert two.ask("/doc/small.bin").body == SMALL
        spins_up.set()
        assert one.receive().body == LARGE


def test_a_slow_disk_is_read_in_threads_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking_read, "is_at_hand", lambda *_: False)
    with served(file_app(folder)) as server, Connection(server) as client:
        assert client.ask("/doc/small.bin").body == SMALL


@pytest.mark.parametrize("protocol", [BoundedHttp, WithoutFiles])
def test_who_takes_nothing_is_hung_up_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, protocol: type[BoundedHttp]
) -> None:
    monkeypatch.setattr(bounded_http, "TAKING_SECONDS", 0.3)
    with served(file_app(folder), protocol) as server, Connection(server) as client:
        client.send("/doc/large.bin")
        client.socket.recv(10)
        wait_until(lambda: not open_files(folder))
        assert len(client.rest()) < len(LARGE)


def test_the_system_sends_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    real = os.sendfile

    def counted(out: int, file: int, offset: int, count: int) -> int:
        sent.append(count := real(out, file, offset, count))
        return count

    monkeypatch.setattr(os, "sendfile", counted)
    with served(file_app(folder)) as server, Connection(server) as client:
        answer: Answer = client.ask("/doc/large.bin")
        assert answer.body == LARGE
    assert sum(sent) == len(LARGE)
