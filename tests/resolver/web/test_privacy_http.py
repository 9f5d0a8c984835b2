"""What archives learn of readers, byte by byte: a plain socket stands where an archive would.

A reader of whom there is much to know and one of whom there is nothing must look the same. The
twin of the resolver, which leaks all that it knows, shows that the difference would be seen.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Condition, Thread
from typing import Final, Self
from urllib.parse import parse_qs

import pytest

from tests.support.servers.attacked_resolver import attacked, label, service_of
from tests.support.servers.resolver import ADMINISTRATOR, SERVICE, ResolverServer
from tests.support.waiting import PATIENCE

ITEM: Final = label(1)
READER, READER_6 = "203.0.113.77", "2001:db8:aa:bb:cc::77"
SECRETS: Final = {
    "Accept-Language": "tlh-Latn,pt-BR;q=0.7,sv;q=0.3",
    "Cookie": "session=geheim1234",
    "User-Agent": "Mozilla/5.0 (Erkennbar; rv:99)",
    "Referer": "https://intranet.example/search?q=verraten",
    "Authorization": "Basic Z2VoZWltOmdlaGVpbQ==",
    "Accept": "application/x-seltsam",
    "X-Whatever": "auffallend",
    "X-Forwarded-For": READER,
}
QUERY: Final = "ibiurl.requireditemstatus=Original&ibiurl.language=sv"
"""Pairs for the resolver. Those of the item are sent on in any case, in the redirect itself."""
TELLING: Final = re.compile(
    rb"tlh|Latn|pt-BR|geheim|Erkennbar|Mozilla|verraten|intranet|Z2Vo|seltsam|auffallend"
    rb"|requireditemstatus|[^d]ibiurl|accept-language|cookie|referer|forwarded",
    re.IGNORECASE,
)
"""Whatever of it would tell that it was there."""

# Everything of a reader's request is added to whatever is sent to archives.
LEAKS: Final = """
from urllib.parse import quote
import ibi.resolver.peers.archive_client as client
import ibi.resolver.web.redirect as resolving
known, resolve, encode = [], resolving.RedirectEndpoint._resolve, client.encode
def leaking(self, request, question, **more):
    known[:] = [f"{name}: {value}" for name, value in request.headers.items()]
    known.append(str(request.url))
    return resolve(self, request, question, **more)
resolving.RedirectEndpoint._resolve = leaking
client.encode = lambda request: f"{encode(request)}&leak={quote(repr(known), safe='')}"
"""


class RawArchive:
    """Keeps every byte that comes, and answers with the same every time."""

    def __init__(self) -> None:
        """Listen."""
        self.messages: list[bytes] = []
        """Whole requests, as they came."""
        self._came = Condition()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._connections: list[socket.socket] = []
        self._thread = Thread(target=self._serve)

    def __enter__(self) -> Self:
        """Serve."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Hang up."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._connections.append(connection)
                Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with suppress(OSError):
            came = b""
            while chunk := connection.recv(65_536):
                came += chunk
                while b"\r\n\r\n" in came:
                    message, _, came = came.partition(b"\r\n\r\n")
                    # Before the answer: whoever got it may ask at once what came until then.
                    with self._came:
                        self.messages.append(message)
                        self._came.notify_all()
                    connection.sendall(self._answer(message))

    def _answer(self, message: bytes) -> bytes:
        body = b"notice {acknowledgment received}"
        if b"servicesubject=inclusionConfirmationRequest" in message:
            body = b"confirmation yes"
        elif b"servicesubject=urlRequest" in message:
            body = self._url_list().encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body

    def _url_list(self) -> str:
        lines = [
            f"archiveaddress {self.address}",
            f"ibi {{ibip {ITEM}}}",
            f"ibi.archiveservice {{ibip {service_of(0)}}}",
            "ibi.platformsoftware {}",
            "urlkey 1424636122-5331490054869684",
        ]
        for relation in ("", ".translation(en)", ".lastedition.metadata(oai_dc)"):
            lines += [
                *([f"ibi{relation} {{ibip {ITEM}}}"] if relation else []),
                f"contenttype{relation} {'Metadata' if 'meta' in relation else 'Data'}",
                f"state{relation} Original",
                f"timestamp{relation} 2020-01-02T03:04:05Z",
                f"url{relation} http://{self.address}/a{relation}",
            ]
        return "\r\n".join(lines)

    def of(self, subject: str) -> list[bytes]:
        """Return the messages on a subject."""
        return [each for each in self.messages if f"servicesubject={subject}&".encode() in each]

    def wait_for(self, subject: str, number: int) -> None:
        """Wait until so many have come."""
        with self._came:
            assert self._came.wait_for(lambda: len(self.of(subject)) >= number, PATIENCE)

    def heard_of(self, resolver: ResolverServer, path: str, **headers: str) -> list[bytes]:
        """Let a reader ask for something, and return all that the archive is sent for it."""
        before, thanked = len(self.messages), len(self.of("acknowledgment"))
        answer = resolver.get(path, **headers)
        assert answer.status == 302, answer.body
        self.wait_for("acknowledgment", thanked + 1)
        return self.messages[before:]


@pytest.fixture
def archive() -> Iterator[RawArchive]:
    with RawArchive() as raw:
        yield raw


def included(resolver: ResolverServer, archive: RawArchive) -> None:
    key = resolver.register(service_of(0))
    answer = resolver.get(
        f"/{SERVICE}?servicesubject=inclusionRequest&archiveaddress={archive.address}"
        f"&archiveserviceibi={service_of(0)}&archiveip=127.0.0.1&archiveprotocol=HTTP"
        f"&archiveplatformversion=1&archiveadmemailaddress={ADMINISTRATOR}&registrationkey={key}",
        **named(SECRETS),
    )
    assert answer.body.split()[1] == b"included"


def named(headers: dict[str, str]) -> dict[str, str]:
    """Write headers as arguments."""
    return {name.replace("-", "_"): value for name, value in headers.items()}


@pytest.mark.parametrize("tail", ["", "+", "!:(oai_dc)", "/a/b.txt"])
def test_archives_cannot_tell_readers_apart(tmp_path: Path, archive: RawArchive, tail: str) -> None:
    with attacked(tmp_path, hot_seconds=0) as resolver:
        # With that memory each reader's question is asked anew.
        included(resolver, archive)
        # The second is for an archive that does not exist.
        confirmation, other = archive.messages
        assert b"?servicesubject=inclusionConfirmationRequest HTTP/1.1" in other
        assert confirmation.startswith(
            f"GET /{service_of(0)}?servicesubject=inclusionConfirmationRequest HTTP/1.1".encode()
        )
        nobody = archive.heard_of(resolver, f"/{ITEM}{tail}")
        somebody = archive.heard_of(resolver, f"/{ITEM}{tail}?{QUERY}", **named(SECRETS))
        assert [each.split(b"&")[0] for each in nobody] == [
            f"GET /{service_of(0)}?servicesubject={subject}".encode()
            for subject in ("urlRequest", "acknowledgment")
        ]
        assert somebody == nobody
    assert TELLING.findall(b"\n".join(archive.messages)) == []


def test_the_same_readers_are_told_apart_when_it_leaks(tmp_path: Path, archive: RawArchive) -> None:
    with attacked(tmp_path, LEAKS, hot_seconds=0) as resolver:
        included(resolver, archive)
        nobody = archive.heard_of(resolver, f"/{ITEM}")
        somebody = archive.heard_of(resolver, f"/{ITEM}?{QUERY}", **named(SECRETS))
    assert somebody != nobody
    for message in somebody:
        told = {found.lower().decode() for found in TELLING.findall(message)}
        assert told >= {
            *("tlh", "geheim", "erkennbar", "verraten", "seltsam", "auffallend"),
            *("requireditemstatus", "accept-language", "cookie", "referer", "forwarded"),
        }


@pytest.mark.parametrize(
    ("reveal", "reader", "told"),
    [
        ("network", READER, "203.0.113.0 127.0.0.0"),
        ("network", READER_6, "2001:db8:aa:: 127.0.0.0"),
        ("full", READER, f"{READER} 127.0.0.1"),
        ("full", READER_6, f"{READER_6} 127.0.0.1"),
        ("none", READER, "0.0.0.0"),
        ("none", READER_6, "0.0.0.0"),
    ],
)
def test_archives_are_told_as_much_of_an_address_as_is_set(
    tmp_path: Path, archive: RawArchive, reveal: str, reader: str, told: str
) -> None:
    proxies = ["127.0.0.0/8"]
    with attacked(tmp_path, client_address=reveal, trusted_proxies=proxies) as resolver:
        included(resolver, archive)
        heard = archive.heard_of(resolver, f"/{ITEM}", X_Forwarded_For=reader)
    assert len(heard) == 2
    for message in heard:
        query = parse_qs(message.split()[1].decode().partition("?")[2])
        assert query["clientinformation.ipaddress"] == [told]
    whole = b"\n".join(archive.messages)
    assert (reader.encode() in whole) == (reveal == "full")
    assert (b"%20127.0.0" in whole) == (reveal != "none")


def test_by_default_a_network_is_told_and_no_stranger_is_believed(
    tmp_path: Path, archive: RawArchive
) -> None:
    with attacked(tmp_path) as resolver:
        included(resolver, archive)
        for message in archive.heard_of(resolver, f"/{ITEM}", X_Forwarded_For=READER):
            assert b"clientinformation.ipaddress=127.0.0.0&" in message
            assert b"203.0.113" not in message
