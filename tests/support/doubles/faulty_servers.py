"""Servers that are not what they should be: one says what it is told to, one cuts answers."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self

from tests.support.waiting import PATIENCE


class Listener:
    """Serves each connection in a thread of its own."""

    def __init__(self) -> None:
        """Listen at a free port."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        port: int = self._listener.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        self.heard: list[bytes] = []
        """The heads of all requests."""
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        with peer, suppress(OSError):
            peer.settimeout(PATIENCE)
            while head := self._head(peer):
                self.heard.append(head)
                self.answer(peer, head)

    @staticmethod
    def _head(peer: socket.socket) -> bytes:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            piece = peer.recv(1)
            if not piece:
                return b""
            head += piece
        return head

    def answer(self, peer: socket.socket, head: bytes) -> None:
        """Answer one request; an OSError hangs up."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Use it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Listen no more."""
        self._listener.close()


class CannedServer(Listener):
    """Answers every request with the same."""

    def __init__(self, status: str, *headers: str, body: bytes = b"") -> None:
        """Take the answer."""
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
        self._answer = "\r\n".join(lines).encode() + body
        super().__init__()

    def answer(self, peer: socket.socket, head: bytes) -> None:
        """Answer."""
        del head
        peer.sendall(self._answer)


class EndlessServer(Listener):
    """Says the same again and again, until nobody listens."""

    def __init__(self, said: bytes) -> None:
        """Take what to say."""
        self._said = said
        super().__init__()

    def answer(self, peer: socket.socket, head: bytes) -> None:
        """Answer, without an end."""
        del head
        while True:
            peer.sendall(self._said)


class CuttingRelay(Listener):
    """Passes requests on to another server, and cuts off as many of its answers as it is told."""

    def __init__(self, behind: str, *, after: int, times: int) -> None:
        """Cut after so many bytes of an answer, so many times."""
        self._behind = behind.removeprefix("http://").split(":")
        self._after = after
        self._times = times
        super().__init__()

    def answer(self, peer: socket.socket, head: bytes) -> None:
        """Pass on, by a connection for each request."""
        host, port = self._behind
        closing = head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as server:
            server.sendall(closing)
            passed = 0
            while piece := server.recv(4096):
                if b"/doc/" in head and self._times and passed + len(piece) > self._after:
                    self._times -= 1
                    peer.sendall(piece[: self._after - passed])
                    break
                passed += len(piece)
                peer.sendall(piece)
        peer.shutdown(socket.SHUT_RDWR)
