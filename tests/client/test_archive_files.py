"""Files of an archive, read from another machine: whole, from an offset on, and from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from ibi.client.archive import RemoteArchive
from ibi.errors import ArchiveRefusedError, ArchiveUnreachableError, StateError, UnknownError
from tests.support.servers.threaded import QuietHandler, QuietHttpServer, ThreadedServer

CONTENT = bytes(range(256)) * 20
Answer = tuple[int, dict[str, str], bytes]


@contextmanager
def serving(answer: Callable[[str, dict[str, str]], Answer]) -> Iterator[str]:
    """Answer GET as told, at an address of one's own."""

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            status, headers, body = answer(
                self.path, {k.lower(): v for k, v in self.headers.items()}
            )
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    with ThreadedServer(QuietHttpServer(("127.0.0.1", 0), Handler)) as server:
        yield f"http://127.0.0.1:{server.port}"


def read(address: str, offset: int = 0) -> bytes:
    archive = RemoteArchive(address, "a-token")
    with archive.read_file("sid.inpe.br/x/2013/09.04.12.27.57", "a b%.txt", offset) as pieces:
        return b"".join(pieces)


def test_a_file_is_read_by_its_address_and_with_the_token() -> None:
    asked: list[tuple[str, str]] = []

    def answer(path: str, headers: dict[str, str]) -> Answer:
        asked.append((path, headers["authorization"]))
        start = int(headers.get("range", "bytes=0-")[6:-1])
        return (206 if start else 200), {}, CONTENT[start:]

    with serving(answer) as address:
        assert read(address) == CONTENT
        assert read(address, 100) == CONTENT[100:]
    path = "/col/sid.inpe.br/x/2013/09.04.12.27.57/doc/a%20b%25.txt"
    assert asked == [(path, "Bearer a-token")] * 2


def test_where_an_archive_sends_on_to_the_token_does_not_go() -> None:
    asked: list[dict[str, str]] = []

    def store(_: str, headers: dict[str, str]) -> Answer:
        asked.append(headers)
        return 206, {}, CONTENT[5:]

    with (
        serving(store) as elsewhere,
        serving(lambda *_: (302, {"Location": f"{elsewhere}/signed"}, b"")) as address,
    ):
        assert read(address, 5) == CONTENT[5:]
    [headers] = asked
    assert "authorization" not in headers
    assert headers["range"] == "bytes=5-"


def test_what_an_archive_does_not_give() -> None:
    problem = b'{"detail": "Too many."}'
    cases: tuple[tuple[Answer, int, type[Exception]], ...] = (
        ((404, {}, b""), 0, UnknownError),
        ((429, {}, problem), 0, ArchiveRefusedError),
        ((200, {}, CONTENT), 5, StateError),
        ((416, {}, b""), 5, ArchiveRefusedError),
        ((200, {"Content-Length": "9999"}, CONTENT), 0, ArchiveUnreachableError),
    )
    for given, offset, expected in cases:
        with serving(lambda *_, given=given: given) as address, pytest.raises(expected):
            read(address, offset)
    with (
        serving(lambda *_: (302, {"Location": f"{address}/round"}, b"")) as address,
        pytest.raises(ArchiveUnreachableError),
    ):
        read(address)
