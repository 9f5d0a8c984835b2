"""A minter on another machine: what it says is believed only as far as it makes sense."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from ibi.errors import BusyError, MinterUnreachableError, MintingError, MintingRequestError
from ibi.minting.remote_minter import TRIES, RemoteMinter

LABEL = {"instant": "2013-09-04T12:27:57Z", "ibip": "8JMKD3MGP7W/3EPGUE5"}


class Stranger:
    """Something at an address that answers each connection with the next of its answers."""

    def __init__(self, listener: socket.socket, answers: list[bytes]) -> None:
        """Listen already."""
        self._listener = listener
        self._answers = answers
        self.received: list[bytes] = []
        self.address = f"http://127.0.0.1:{listener.getsockname()[1]}"

    def serve(self) -> None:
        """Answer until there are no more answers."""
        for answer in self._answers:
            connection, _ = self._listener.accept()
            with connection:
                received = b""
                while not received.endswith(b"}"):
                    received += connection.recv(65536)
                self.received.append(received)
                connection.sendall(answer)


@contextmanager
def stranger(*answers: bytes) -> Iterator[Stranger]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        found = Stranger(listener, list(answers))
        thread = Thread(target=found.serve)
        thread.start()
        yield found
        thread.join()


def answer(status: int, body: object) -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
    return head.encode() + data


def test_a_label_comes_with_its_instant() -> None:
    with stranger(answer(201, {"labels": [LABEL]})) as found:
        label = RemoteMinter(found.address + "/", "secret").mint()
    assert (label.rep, label.ibip) == (None, LABEL["ibip"])
    assert label.instant.iso8601 == LABEL["instant"]
    assert b"authorization: bearer secret" in found.received[0].lower()
    # A key costs the service a durable step: it comes only with a second attempt.
    assert b"idempotency-key" not in found.received[0].lower()


def test_a_lost_answer_is_asked_for_again_with_a_key() -> None:
    with stranger(b"", b"", answer(201, {"labels": [LABEL]})) as found:
        assert RemoteMinter(found.address, "").mint().ibip == LABEL["ibip"]
    keys = [
        line
        for received in found.received
        for line in received.split(b"\r\n")
        if line.lower().startswith(b"idempotency-key")
    ]
    assert len(keys) == 2
    assert keys[0] == keys[1]


def test_one_that_never_answers_is_given_up() -> None:
    with (
        stranger(*[b""] * TRIES) as found,
        pytest.raises(MinterUnreachableError, match="cannot be used"),
    ):
        RemoteMinter(found.address, "").mint()
    assert len(found.received) == TRIES


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nonsense",
        b"{}",
        b"[]",
        b'{"labels": null}',
        b'{"labels": [{}]}',
        b'{"labels": [{"ibip": "nonsense"}]}',
        b'{"labels": [{"ibip": "8JMKD3MGP7W/3EPGUE5\\u001b[31m"}]}',
        b'{"labels": [{"rep": "8JMKD3MGP7W/3EPGUE5"}]}',
        b'{"labels": [{"ibip": "8JMKD3MGP7W/3EPGUE5", "rep": "a.br/b/2026/01.01.00.00"}]}',
        b'{"labels": [{"rep": "a.br/b/9999/01.01.00.00"}]}',
        b'{"labels": [{"ibip": "8JMKD3MGP7W/3EPGUE5"}, {"ibip": "8JMKD3MGP7W/3EPGUE6"}]}',
        b'{"labels": []}',
        b"[" * 100_000,
        b"\xff",
    ],
    ids=lambda body: repr(body[:50]),
)
def test_an_answer_that_makes_no_sense_is_no_label(body: bytes) -> None:
    with (
        stranger(answer(201, body)) as found,
        pytest.raises(MinterUnreachableError, match=r"makes no sense|labels instead of 1"),
    ):
        RemoteMinter(found.address, "").mint()


@pytest.mark.parametrize(
    ("status", "body", "kind", "said"),
    [
        (400, {"detail": "Too many."}, MintingRequestError, "Too many"),
        (401, {"detail": "A token is needed."}, MinterUnreachableError, "A token is needed"),
        (404, b"", MinterUnreachableError, "it answered 404"),
        (302, b"", MinterUnreachableError, "it answered 302"),
        (200, {"labels": [LABEL]}, MinterUnreachableError, "it answered 200"),
        (503, {"retry_after": 7}, BusyError, "in 7 seconds"),
        (429, b"nonsense", BusyError, "in 1 second"),
        (503, {"retry_after": -5}, BusyError, "in 1 second"),
        (
            503,
            {"type": "urn:ibi:problem:clock", "detail": "The clock jumped."},
            MinterUnreachableError,
            "The clock jumped",
        ),
        (500, {"title": "Unforeseen"}, MinterUnreachableError, "Unforeseen"),
    ],
)
def test_a_refusal_is_told_apart(
    status: int, body: object, kind: type[MintingError], said: str
) -> None:
    with stranger(answer(status, body)) as found, pytest.raises(kind, match=said):
        RemoteMinter(found.address, "").mint()


@pytest.mark.parametrize("status", [400, 401, 500])
def test_what_a_stranger_says_cannot_write_to_a_terminal_or_fill_a_log(status: int) -> None:
    said = {"detail": "\x1b[31mred\nand more\u202e" + "x" * 100_000}
    with stranger(answer(status, said)) as found, pytest.raises(MintingError) as raised:
        RemoteMinter(found.address, "").mint()
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 600


@pytest.mark.parametrize("token", ["a\nb", "a\r\nX: y", "é", "Ω", "\x00"])
def test_a_token_that_cannot_be_sent_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(MinterUnreachableError) as raised:
        RemoteMinter("http://127.0.0.1:1", token)
    assert "the token for it is not one" in str(raised.value)
    assert token not in str(raised.value)


@pytest.mark.parametrize(
    "address", ["", "x", "ftp://x", "http://", "http://[::1", "http://x:99999", "http://a..b"]
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(MinterUnreachableError):
        RemoteMinter(address, "").mint()
