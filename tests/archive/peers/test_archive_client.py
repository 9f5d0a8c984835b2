"""Another archive over HTTP, as who pulls from it needs it: a real one, and others that are not."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ibi.archive.copies.fetch import FileFetcher
from ibi.archive.peers.archive_client import HttpPeerArchive
from ibi.archive.rules.manifest import read_manifest
from ibi.errors import (
    ArchiveRefusedError,
    ArchiveRequestError,
    ArchiveUnreachableError,
    StateError,
    UnknownError,
)
from ibi.foundation.http_client.ssrf_guard import OutboundGuard
from ibi.identifier.label import parse
from ibi.model.item import State
from tests.support.doubles.faulty_servers import CannedServer, CuttingRelay, EndlessServer
from tests.support.scenes.small_archive import SmallArchive
from tests.support.servers.archive import ArchiveServer

LOOPBACK = OutboundGuard(["127.0.0.0/8"])
BIG = bytes(range(256)) * 2000
UNKNOWN = "example.org/nowhere/2020/01.01.00.00"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    with ArchiveServer(tmp_path_factory.mktemp("archive")) as server:
        yield server


@pytest.fixture(scope="module")
def label(archive: ArchiveServer) -> str:
    files = {"a.bin": BIG, "in/é 100%.txt": "ç".encode()}
    return str(archive.deposit(files, target="a.bin")["rep"])


@pytest.fixture
def source(archive: ArchiveServer) -> Iterator[HttpPeerArchive]:
    made = HttpPeerArchive(archive.address, LOOPBACK)
    yield made
    made.close()


def read(source: HttpPeerArchive, label: str, path: str, offset: int = 0) -> bytes:
    with source.read(label, path, offset) as pieces:
        return b"".join(pieces)


def test_manifest_and_files(source: HttpPeerArchive, label: str) -> None:
    item, files = read_manifest(source.manifest(label))
    assert item.forms.label == parse(label)
    assert [file.path for file in files] == ["a.bin", "in/é 100%.txt"]
    assert read(source, label, "a.bin") == BIG
    assert read(source, label, "in/é 100%.txt") == "ç".encode()


@pytest.mark.parametrize("offset", [1, 65_536, len(BIG) - 1])
def test_files_from_an_offset_on(source: HttpPeerArchive, label: str, offset: int) -> None:
    assert read(source, label, "a.bin", offset) == BIG[offset:]


def test_what_is_not_there_is_unknown(source: HttpPeerArchive, label: str) -> None:
    with pytest.raises(UnknownError):
        source.manifest(UNKNOWN)
    with pytest.raises(UnknownError):
        read(source, label, "none")


def test_offset_beyond_the_end_means_another_file(source: HttpPeerArchive, label: str) -> None:
    with pytest.raises(StateError, match="changed"):
        read(source, label, "a.bin", len(BIG) + 5)


def test_deleted_item_says_so_in_its_manifest(
    archive: ArchiveServer, source: HttpPeerArchive
) -> None:
    label = archive.deposit({"a": b"a"})["rep"]
    archive.api("POST", f"items/{label}/deletion", {"reason": "gone"})
    item, files = read_manifest(source.manifest(label))
    assert (item.state, files) == (State.DELETED, ())
    assert item.tombstone is not None
    assert item.tombstone.reason == "gone"


def test_private_list_is_for_tokens(archive: ArchiveServer, source: HttpPeerArchive) -> None:
    label = archive.deposit({"a": b"a"}, list_public=False)["rep"]
    assert read_manifest(source.manifest(label))[1] == ()
    for secret, listed in (
        (archive.add_token("reader-of-lists", "read"), 1),
        (archive.local_token, 1),
        ("ibi_wrong", 0),
    ):
        knowing = HttpPeerArchive(archive.address, LOOPBACK, secret)
        assert len(read_manifest(knowing.manifest(label))[1]) == listed
        knowing.close()


def test_limited_files_are_for_tokens(archive: ArchiveServer, source: HttpPeerArchive) -> None:
    label = archive.deposit({"a": b"a"}, readers=["192.0.2.0/24"])["rep"]
    item, files = read_manifest(source.manifest(label))
    assert (item.readers, files) == (("192.0.2.0/24",), ())
    with pytest.raises(ArchiveRefusedError, match="its readers only"):
        read(source, label, "a")
    knowing = HttpPeerArchive(archive.address, LOOPBACK, archive.local_token)
    assert len(read_manifest(knowing.manifest(label))[1]) == 1
    assert read(knowing, label, "a") == b"a"
    knowing.close()


def test_holdings_are_all_originals(archive: ArchiveServer, source: HttpPeerArchive) -> None:
    label = archive.deposit({"a": b"a"})["rep"]
    gone = archive.deposit({"a": b"a"})["rep"]
    archive.api("POST", f"items/{gone}/deletion", {"reason": "gone"})
    found, after = source.holdings("")
    assert after == ""
    assert label in found
    assert gone not in found
    assert archive.service not in found
    pages = archive.get("/api/v1/holdings?limit=1").json()
    assert pages["after"]
    assert archive.get(f"/api/v1/holdings?limit=1&after={pages['after']}").json()["after"]


def test_file_goes_on_where_the_connection_broke(
    archive: ArchiveServer, label: str, tmp_path: Path
) -> None:
    small = SmallArchive(tmp_path)
    with CuttingRelay(archive.address, after=100_000, times=3) as relay:
        source = HttpPeerArchive(relay.address, LOOPBACK)
        _, files = read_manifest(source.manifest(label))
        found = FileFetcher(small.archive).fetch(source, parse(label), files[0], "copyx")
        source.close()
    assert found.sha512 == files[0].sha512
    asked = [head for head in relay.heard if b"/doc/a.bin" in head]
    assert len(asked) == 4
    assert b"Range" not in asked[0]
    for head in asked[1:]:
        assert b"Range: bytes=" in head
        assert f'If-Range: "{files[0].sha256}"'.encode() in head
    small.close()


@pytest.mark.parametrize("address", ["http://127.0.0.1", "http://localhost", "http://[::1]"])
def test_guard_lets_nobody_be_reached_who_is_not_public(
    archive: ArchiveServer, label: str, address: str
) -> None:
    port = archive.address.rpartition(":")[2]
    source = HttpPeerArchive(f"{address}:{port}", OutboundGuard())
    with pytest.raises(ArchiveRequestError, match="not at a public address"):
        source.manifest(label)
    source.close()


def test_machine_that_knows_no_ipv6_goes_by_the_other_address(
    archive: ArchiveServer, label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Old(OutboundGuard):
        def socket_to(self, place: Any) -> socket.socket:  # noqa: ANN401  # of any family
            if place[0] == socket.AF_INET6:
                raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))
            return super().socket_to(place)

    port = int(archive.address.rpartition(":")[2])
    places = [
        (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", port, 0, 0)),
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)),
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: places)
    source = HttpPeerArchive(f"http://two.example.org:{port}", Old(["127.0.0.0/8"]))
    assert source.manifest(label)
    source.close()


def test_redirections_are_not_followed(archive: ArchiveServer, label: str) -> None:
    location = f"Location: {archive.address}/col/{label}/ibi.json"
    with CannedServer("302 Found", location) as server:
        source = HttpPeerArchive(server.address, LOOPBACK)
        with pytest.raises(ArchiveRefusedError, match="not followed"):
            source.manifest(label)
        with pytest.raises(ArchiveRefusedError, match="not followed"):
            read(source, label, "a.bin")
        source.close()


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        ("404 Not Found", "Content-Type: text/html", b"<p>no</p>"),
        ("200 OK", "Content-Type: text/html", b"<p>welcome</p>"),
    ],
)
def test_what_is_no_archive_of_this_kind(status: str, headers: str, body: bytes) -> None:
    with CannedServer(status, headers, body=body) as server:
        source = HttpPeerArchive(server.address, LOOPBACK)
        with pytest.raises(ArchiveRefusedError, match="not such an archive"):
            source.manifest(UNKNOWN)
        with pytest.raises(ArchiveRefusedError):
            source.holdings("")
        source.close()


def test_refusal_repeats_what_the_archive_says() -> None:
    body = b'{"detail": "Not for you\\u001b."}'
    with CannedServer("403 Forbidden", "Content-Type: application/json", body=body) as server:
        source = HttpPeerArchive(server.address, LOOPBACK)
        with pytest.raises(ArchiveRefusedError, match=r"Not for you\\x1b"):
            source.manifest(UNKNOWN)
        source.close()


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
def test_who_is_busy_may_be_asked_again(status: str) -> None:
    with CannedServer(status) as server:
        source = HttpPeerArchive(server.address, LOOPBACK)
        with pytest.raises(ArchiveUnreachableError, match=status[:3]):
            read(source, UNKNOWN, "a")
        source.close()


def test_server_without_ranges_is_read_from_the_beginning() -> None:
    with CannedServer("200 OK", body=b"0123456789") as server:
        source = HttpPeerArchive(server.address, LOOPBACK)
        assert read(source, UNKNOWN, "a", 4) == b"456789"
        source.close()


def test_compressed_answers_are_not_read() -> None:
    with CannedServer("200 OK", "Content-Encoding: gzip", body=b"x") as server:
        source = HttpPeerArchive(server.address, LOOPBACK)
        with pytest.raises(ArchiveUnreachableError):
            read(source, UNKNOWN, "a")
        source.close()


def test_answer_that_never_begins_is_not_waited_for() -> None:
    with EndlessServer(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000) as server:
        source = HttpPeerArchive(server.address, LOOPBACK)
        with pytest.raises(ArchiveUnreachableError):
            source.manifest(UNKNOWN)
        source.close()


def test_problem_that_is_nested_without_an_end_is_a_refusal() -> None:
    body = b'{"detail": ' + b"[" * 50_000
    with CannedServer("403 Forbidden", "Content-Type: application/json", body=body) as server:
        source = HttpPeerArchive(server.address, LOOPBACK)
        with pytest.raises(ArchiveRefusedError, match="403"):
            source.manifest(UNKNOWN)
        source.close()


@pytest.mark.parametrize("after", [b"\\u0000", b"x" * 1000])
def test_list_that_goes_on_after_nonsense_is_none_of_ours(after: bytes) -> None:
    body = b'{"items": [], "after": "' + after + b'"}'
    with CannedServer("200 OK", "Content-Type: application/json", body=body) as server:
        source = HttpPeerArchive(server.address, LOOPBACK)
        with pytest.raises(ArchiveRefusedError, match="not such an archive"):
            source.holdings("")
        source.close()


def test_address_that_is_none_is_refused() -> None:
    for address in ("", "file:///etc/passwd", "ftp://x", "http://", "http://a@b/"):
        with pytest.raises(ArchiveRequestError):
            HttpPeerArchive(address, LOOPBACK)


def test_nobody_there() -> None:
    source = HttpPeerArchive("http://127.0.0.1:1", LOOPBACK)
    with pytest.raises(ArchiveUnreachableError, match="refused"):
        source.manifest(UNKNOWN)
    source.close()
