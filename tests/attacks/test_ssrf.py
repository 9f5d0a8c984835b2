"""Threats, row 1: archives that declare an address of the resolver's own machine, or beside it.

A canary listens at every address of this machine. No spelling of any of them, as the address of an
archive, makes the client call it; nor does a name that changes its answer, nor a redirect.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, Final, Self

import pytest
from aiohttp import ClientSession

from ibi.errors import ProofError
from ibi.foundation.http_client.ssrf_guard import OutboundGuard
from ibi.identifier.label import parse
from ibi.installation.settings import InstallationRequest, resolver_settings
from ibi.model.registration import Inclusion, RegisteredArchive
from ibi.resolver.peers.archive_client import HttpArchiveClient
from ibi.resolver.ports.outbound import NoReply
from ibi.wire.requests import UrlRequest
from tests.support.doubles.archive import SERVICE, ArchiveDouble
from tests.support.waiting import wait_until

# {0} is the port of the canary.
LOOPBACK: Final = """
    127.0.0.1:{0} 127.0.0.2:{0} 127.255.255.254:{0} 127.1:{0} 127.0.1:{0} 127.000.000.001:{0}
    0x7f000001:{0} 0X7F000001:{0} 0x7f.0x0.0x0.0x1:{0} 0x7f.1:{0} 0x7f.0.1:{0} 127.0x1:{0}
    0x0000007f.1:{0} 2130706433:{0} 2130706434:{0} 017700000001:{0} 0177.0.0.1:{0} 0177.1:{0}
    00000177.0.0.1:{0} 0177.0x0.0.1:{0} 0:{0} 0.0.0.0:{0} 0x0:{0} 00:{0} 0.0:{0}
    localhost:{0} LOCALHOST:{0} LocalHost:{0} localhost.:{0}
    [::1]:{0} [0:0:0:0:0:0:0:1]:{0} [0000:0000:0000:0000:0000:0000:0000:0001]:{0} [::]:{0}
    [::0001]:{0} [::0.0.0.1]:{0} [::ffff:127.0.0.1]:{0} [::FFFF:127.0.0.1]:{0}
    [::ffff:7f00:1]:{0} [0:0:0:0:0:ffff:127.0.0.1]:{0} [::ffff:127.0.0.2]:{0} [::ffff:0.0.0.0]:{0}
"""
ELSEWHERE: Final = """
    [64:ff9b::7f00:1]:{0} [64:ff9b::127.0.0.1]:{0} [64:ff9b:1::7f00:1]:{0} [2002:7f00:1::]:{0}
    [2002:7f00:1::1]:{0} [2001:0:7f00:1::]:{0} [::7f00:1]:{0} [::127.0.0.1]:{0}
    [::ffff:0:127.0.0.1]:{0} [fec0::1]:{0} [fe80::1]:{0} [fd00::1]:{0} [fd00:ec2::254]:{0}
    [ff02::1]:{0} [100::1]:{0} [2001:db8::1]:{0} [::ffff:169.254.169.254]:{0} 192.0.0.8:{0}
    169.254.169.254 169.254.169.254:80 0xa9fea9fe 2852039166 0251.0376.0251.0376 169.254.43518
    10.0.0.1:{0} 10.1:{0} 172.16.0.1:{0} 192.168.0.1:{0} 192.168.1:{0} 100.64.0.1:{0}
    198.18.0.1:{0} 192.0.2.1:{0} 224.0.0.1:{0} 240.0.0.1:{0} 255.255.255.255:{0}
"""
NO_ADDRESSES: Final = [
    "a@127.0.0.1:{0}",
    "a:b@127.0.0.1:{0}",
    "8.8.8.8@127.0.0.1:{0}",
    "8.8.8.8\\@127.0.0.1:{0}",
    "8.8.8.8#@127.0.0.1:{0}",
    "8.8.8.8 127.0.0.1:{0}",
    " 127.0.0.1:{0}",
    "127.0.0.1:{0} ",
    "127.0.0.1\t:{0}",
    "127.0.0.1%00:{0}",
    "127.0.0.1:{0}/x",
    "127.0.0.1:{0}?x",
    "127.0.0.1:{0}#x",
    "127.0.0.1:{0}\r\nHost: a",
    "//127.0.0.1:{0}",
    "http://127.0.0.1:{0}",
    "%31%32%37.0.0.1:{0}",
    "①②⑦.⓪.⓪.①:{0}",
    "127。0。0。1:{0}",
    "１２７.0.0.1:{0}",
    "ⓛocalhost:{0}",
    "[::1%lo]:{0}",
    "[::1%25lo]:{0}",
    "::1:{0}",
    "",
]
REFUSALS: Final = {
    "its address is not one that this resolver may call",
    "its address cannot be used",
    "its name is not known",
}
REBOUND: Final = "archive.rebound.example"
PUBLIC: Final = "93.184.216.34"
SECONDS: Final = 60.0
SHORT: Final = 0.2
"""For what would be sent out into the world, if this machine has a way there."""


class NoGuard(OutboundGuard):
    """The guard, switched off."""

    def allows(self, address: str, port: int) -> bool:
        """Let everything through, as it is."""
        return bool(address and port)


class Canary:
    """Counts who comes, at every address of this machine, and sends everybody away."""

    def __init__(self) -> None:
        """Listen, for both kinds of addresses at one port."""
        self._came = 0
        self._knocks = 0
        if socket.has_dualstack_ipv6():
            self._listener = socket.create_server(
                ("::", 0), family=socket.AF_INET6, backlog=512, dualstack_ipv6=True
            )
        else:
            self._listener = socket.create_server(("0.0.0.0", 0), backlog=512)
        self._listener.settimeout(0.02)
        self.port: int = self._listener.getsockname()[1]
        self._is_open = True
        self._thread = Thread(target=self._count)

    def __enter__(self) -> Self:
        """Begin to count."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Listen no more."""
        self._is_open = False
        self._thread.join()
        self._listener.close()

    @property
    def hits(self) -> int:
        """How many connections were ever made."""
        self._knock()  # whoever came before is counted before
        return self._came - self._knocks

    def _knock(self) -> None:
        self._knocks += 1
        with socket.create_connection(("127.0.0.1", self.port), SECONDS) as mine:
            assert mine.recv(1) == b""

    def _count(self) -> None:
        while self._is_open:
            with suppress(TimeoutError):
                peer, _ = self._listener.accept()
                self._came += 1
                peer.close()


@pytest.fixture
def canary() -> Iterator[Canary]:
    with Canary() as made:
        yield made


def archive_at(address: str) -> RegisteredArchive:
    inclusion = Inclusion(
        address=address, ip="", platform_version="", administrator="", since=1, seen=1
    )
    return RegisteredArchive(service=parse(SERVICE), key="", confirmed=1, inclusion=inclusion)


async def reasons(client: HttpArchiveClient, address: str, seconds: float) -> list[str]:
    """Make a client call an address by each of its doors; return why it got no answer."""
    request = UrlRequest(clients=("203.0.113.0",), label=parse("8JMKD3MGP7W/3EPGUES"))
    said = []
    if address:  # an archive without an address is not asked, and that is another story
        heard = await client.ask(archive_at(address), request, seconds)
        said.append(heard.reason if isinstance(heard, NoReply) else "")
    said.append(await client.confirm(address, parse(SERVICE), seconds))
    try:
        said.append(await client.challenge(address, "/x", seconds))
    except ProofError as failure:
        said.append(str(failure).partition(": ")[2].rstrip("."))
    return said


def attack(
    guard: OutboundGuard, addresses: Sequence[str], seconds: float = SECONDS
) -> dict[str, list[str]]:
    """Declare each address; return what became of it."""

    async def each() -> dict[str, list[str]]:
        client = HttpArchiveClient(guard)
        try:
            return {address: await reasons(client, address, seconds) for address in addresses}
        finally:
            await client.close()

    return asyncio.run(each())


def spelled(spellings: str | list[str], canary: Canary) -> list[str]:
    found = spellings.split() if isinstance(spellings, str) else spellings
    return [each.format(canary.port) for each in found]


def test_no_spelling_of_an_address_of_this_machine_is_called(canary: Canary) -> None:
    addresses = [
        each for table in (LOOPBACK, ELSEWHERE, NO_ADDRESSES) for each in spelled(table, canary)
    ]
    assert len(set(addresses)) >= 60
    for address, said in attack(OutboundGuard(), addresses).items():
        assert set(said) <= REFUSALS, (address, said)
    assert canary.hits == 0


def test_the_spellings_bite(canary: Canary) -> None:
    """The twin: without the guard, most of them lead here."""
    hits = []
    for address in spelled(LOOPBACK, canary):
        before = canary.hits
        attack(NoGuard(), [address])
        if canary.hits > before:
            hits.append(address)
    assert len(hits) >= 12, hits
    assert {f"127.0.0.1:{canary.port}", f"0x7f000001:{canary.port}"} <= set(hits)


def test_a_network_that_the_operator_allows_opens_no_other(canary: Canary) -> None:
    guard = OutboundGuard(["10.0.0.0/8", "127.0.0.3/32", "fd00::/64"])
    assert all(set(said) <= REFUSALS for said in attack(guard, spelled(LOOPBACK, canary)).values())
    assert canary.hits == 0
    attack(guard, [f"127.0.0.3:{canary.port}"])
    assert canary.hits > 0


def installed(folder: Path, canary: Canary) -> OutboundGuard:
    """Return the guard of the resolver of `ibi up`, whose archive is at another port."""
    port = 9000 if canary.port != 9001 else 9002
    return OutboundGuard(resolver_settings(folder, InstallationRequest(port=port)).allowed_networks)


def test_ibi_up_opens_no_port_of_its_machine_but_its_own(canary: Canary, tmp_path: Path) -> None:
    guard = installed(tmp_path, canary)
    assert all(set(said) <= REFUSALS for said in attack(guard, spelled(LOOPBACK, canary)).values())
    assert canary.hits == 0


def test_the_ports_bite(canary: Canary) -> None:
    """The twin: a guard that allows all ports of the machine lets the canary be called."""
    attack(OutboundGuard(["127.0.0.0/8", "::1/128"]), [f"127.0.0.1:{canary.port}"])
    assert canary.hits > 0


def changing_name(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Make a name answer each time with another address, and the last from then on."""
    lookups: list[str] = []
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, *rest: Any, **named: Any) -> Any:  # noqa: ANN401  # as the library has it
        if host != REBOUND:
            return real(host, port, *rest, **named)
        lookups.append(answers[min(len(lookups), len(answers) - 1)])
        return real(lookups[-1], port, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return lookups


def test_a_name_that_changes_its_answer_is_not_called(
    canary: Canary, monkeypatch: pytest.MonkeyPatch
) -> None:
    lookups = changing_name(monkeypatch, PUBLIC, "127.0.0.1")
    address = f"{REBOUND}:{canary.port}"
    # By one client, which may remember the first answer, and by others, which cannot.
    attack(OutboundGuard(), [address], SHORT)
    wait_until(lambda: bool(lookups))
    for _ in range(2):
        assert set(attack(OutboundGuard(), [address])[address]) <= REFUSALS
    assert lookups[0] == PUBLIC
    assert "127.0.0.1" in lookups
    assert canary.hits == 0


class CheckedTooEarly(OutboundGuard):
    """Checks what the first look-up of a name finds, and lets the second be used."""

    def __init__(self) -> None:
        """Look the name up."""
        super().__init__()
        found = socket.getaddrinfo(REBOUND, 80, socket.AF_INET, socket.SOCK_STREAM)
        allows = super().allows
        self._is_good = all(allows(str(each[4][0]), 80) for each in found)

    def allows(self, address: str, port: int) -> bool:
        """Say what was found then."""
        return self._is_good and bool(address and port)


def test_the_name_bites(canary: Canary, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: a check of its own look-up lets the name through."""
    lookups = changing_name(monkeypatch, PUBLIC, "127.0.0.1")
    attack(CheckedTooEarly(), [f"{REBOUND}:{canary.port}"])
    assert lookups[:2] == [PUBLIC, "127.0.0.1"]
    assert canary.hits > 0


def test_a_name_with_one_good_address_leads_to_no_bad_one(
    canary: Canary, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = socket.getaddrinfo

    def both(host: Any, port: Any, *rest: Any) -> Any:  # noqa: ANN401  # as the library has it
        names = ["127.0.0.1", "127.0.0.4", "::1"] if host == REBOUND else [host]
        return [found for name in names for found in real(name, port, *rest)]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    guard = OutboundGuard(["127.0.0.4/32"])
    with ArchiveDouble(host="127.0.0.4") as archive:
        address = f"{REBOUND}:{archive.port}"
        assert attack(guard, [address])[address][1] == ""
    attack(guard, [f"{REBOUND}:{canary.port}"])
    hits = canary.hits
    attack(NoGuard(), [f"{REBOUND}:{canary.port}"])
    assert canary.hits > hits > 0


@pytest.fixture
def redirector(canary: Canary) -> Iterator[ArchiveDouble]:
    """An archive at an address that is allowed, which leads to one that is not."""
    with ArchiveDouble(host="127.0.0.2", behaviour="redirect") as double:
        double.location = f"http://127.0.0.1:{canary.port}/"
        yield double


def follow_redirects(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = ClientSession.request

    def request(self: ClientSession, method: str, url: Any, **_: object) -> Any:  # noqa: ANN401  # as the library has it
        return real(self, method, url, allow_redirects=True)

    monkeypatch.setattr(ClientSession, "request", request)


def test_a_redirect_to_this_machine_is_not_followed(
    canary: Canary, redirector: ArchiveDouble
) -> None:
    guard = OutboundGuard(["127.0.0.2/32"])
    said = attack(guard, [redirector.address])
    assert set(said[redirector.address]) == {"it answered 302"}
    assert len(redirector.queries) == 3
    assert canary.hits == 0


def test_a_redirect_that_was_followed_would_meet_the_guard(
    canary: Canary, redirector: ArchiveDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow_redirects(monkeypatch)
    said = attack(OutboundGuard(["127.0.0.2/32"]), [redirector.address])
    assert set(said[redirector.address]) <= REFUSALS
    assert canary.hits == 0


def test_the_redirect_bites(
    canary: Canary, redirector: ArchiveDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: followed, and without the guard, it leads here."""
    follow_redirects(monkeypatch)
    attack(NoGuard(), [redirector.address])
    assert canary.hits > 0
