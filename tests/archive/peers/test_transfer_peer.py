"""The other archive over HTTP: only what it says in the words of the protocol counts."""

from __future__ import annotations

import pytest

from ibi.archive.peers.transfer_peer import HttpTransferPeer
from ibi.archive.rules.transfer_messages import Commit, Message, TransferOffer, TransferReply, Undo
from ibi.errors import ArchiveRefusedError, ArchiveRequestError, ArchiveUnreachableError
from ibi.foundation.http_client.ssrf_guard import OutboundGuard
from tests.support.doubles.faulty_servers import CannedServer

ID = "0" * 32
COMMIT = Commit(id=ID, label="a/b/2026/01.01.00.00", receipt="r@s")
HERE = OutboundGuard(["127.0.0.0/8"])


def say(server: CannedServer, message: Message = COMMIT) -> TransferReply:
    peer = HttpTransferPeer(server.address, "token", HERE)
    try:
        return peer.say(message)
    finally:
        peer.close()


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (
            TransferOffer(id=ID, label="a/b", source="http://a", ticket="t"),
            f"PUT /api/v1/incoming/{ID} ",
        ),
        (COMMIT, f"POST /api/v1/incoming/{ID}/acceptance "),
        (
            Undo(id=ID, label="a/b é", receipt="r@s"),
            f"DELETE /api/v1/incoming/{ID}?label=a%2Fb%20%C3%A9&receipt=r%40s ",
        ),
    ],
)
def test_what_is_said(message: Message, line: str) -> None:
    body = b'{"state":"accepted","receipt":"r","more":1}'
    with CannedServer("200 OK", "Connection: close", body=body) as server:
        assert say(server, message) == TransferReply(state="accepted", receipt="r")
        [head] = server.heard
    assert head.startswith(line.encode())
    assert b"Authorization: Bearer token\r\n" in head


@pytest.mark.parametrize(
    "status",
    ["301 Moved", "401 Unauthorized", "403 Forbidden", "404 Not Found", "409 Conflict", "503 Busy"],
)
def test_an_error_is_no_answer_whatever_it_says(status: str) -> None:
    body = b'{"state":"refused","receipt":"r@s","detail":"No."}'
    headers = ("Connection: close", "Location: http://127.0.0.1:1/")
    with (
        CannedServer(status, *headers, body=body) as server,
        pytest.raises(ArchiveRefusedError, match=r"refuses: No\.") as refusal,
    ):
        say(server)
    assert refusal.value.status == int(status[:3])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"refused",
        b"<html>accepted</html>",
        b'{"state":"whatever"}',
        b'{"receipt":"r@s"}',
        b'{"state":"refused","receipt":1}',
        b'{"state":"refused","reason":"\xff"}',
        b'{"state":"accepted","reason":"' + b"x" * (1 << 17) + b'"}',
    ],
)
def test_what_makes_no_sense_is_no_answer(body: bytes) -> None:
    with (
        CannedServer("200 OK", "Connection: close", body=body) as server,
        pytest.raises(ArchiveUnreachableError, match="makes no sense"),
    ):
        say(server)


def test_who_hangs_up_said_nothing() -> None:
    with CannedServer("200 OK", "Content-Length: 9", body=b"") as server:
        server.answer = lambda peer, head: peer.close()  # type: ignore[method-assign]  # noqa: ARG005
        with pytest.raises(ArchiveUnreachableError):
            say(server)


def test_nobody_is_called_at_an_address_that_is_not_public() -> None:
    with CannedServer("200 OK", body=b"{}") as server:
        peer = HttpTransferPeer(server.address, "token", OutboundGuard())
        with pytest.raises(ArchiveRequestError, match="not at a public address"):
            peer.say(COMMIT)
        peer.close()
        assert server.heard == []


def test_an_address_that_is_none() -> None:
    with pytest.raises(ArchiveRequestError, match="not the address"):
        HttpTransferPeer("http://archive.example.org:99999", "token", HERE)


@pytest.mark.parametrize("address", ["http://ж..x", "http://é..x", "http://nowhere.invalid"])
def test_a_name_that_nobody_knows(address: str) -> None:
    peer = HttpTransferPeer(address, "token", HERE)
    with pytest.raises(ArchiveUnreachableError):
        peer.say(COMMIT)
    peer.close()
