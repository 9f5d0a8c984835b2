"""Whose address it is, and how much of it archives are told."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from ibi.foundation.web.client_address import UNKNOWN_ADDRESS, ClientAddresses, network_of


def request(peer: str, *forwarded: str) -> Request:
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    return Request({"type": "http", "client": (peer, 1), "headers": headers})


PROXIES = ["10.0.0.0/8", "2001:db8:ffff::/48"]


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("192.0.2.7", (), ("192.0.2.7",)),
        # What a stranger says of others is not believed.
        ("192.0.2.7", ("198.51.100.1",), ("192.0.2.7",)),
        ("10.0.0.1", ("198.51.100.1",), ("198.51.100.1", "10.0.0.1")),
        ("10.0.0.1", ("198.51.100.1, 10.0.0.2",), ("198.51.100.1", "10.0.0.2", "10.0.0.1")),
        # What the reader wrote stands before what the proxy wrote.
        ("10.0.0.1", ("203.0.113.9, 198.51.100.1",), ("198.51.100.1", "10.0.0.1")),
        ("10.0.0.1", ("203.0.113.9", "198.51.100.1"), ("198.51.100.1", "10.0.0.1")),
        ("10.0.0.1", ("nonsense",), ("10.0.0.1",)),
        ("10.0.0.1", ("198.51.100.1, nonsense",), ("10.0.0.1",)),
        ("10.0.0.1", ("",), ("10.0.0.1",)),
        ("10.0.0.1", (), ("10.0.0.1",)),
        ("2001:db8:ffff::1", ("2001:db8:1:2::3",), ("2001:db8:1:2::3", "2001:db8:ffff::1")),
        ("::ffff:10.0.0.1", ("::ffff:198.51.100.1",), ("198.51.100.1", "10.0.0.1")),
        ("10.0.0.1", ("fe80::1%eth0",), ("10.0.0.1",)),
        ("", (), (UNKNOWN_ADDRESS,)),
        ("/run/socket", (), (UNKNOWN_ADDRESS,)),
    ],
)
def test_the_address_of_a_reader(
    peer: str, forwarded: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert ClientAddresses(PROXIES, "full").of(request(peer, *forwarded)) == expected


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("192.0.2.7", (), "192.0.2.7"),
        ("192.0.2.7", ("198.51.100.1",), "192.0.2.7"),
        ("10.0.0.1", ("198.51.100.1",), "198.51.100.1"),
        ("10.0.0.1", ("203.0.113.9, 198.51.100.1, 10.0.0.2",), "198.51.100.1"),
        ("::ffff:10.0.0.1", ("::ffff:198.51.100.1",), "198.51.100.1"),
        # Nobody is taken for the proxy that he comes by.
        ("10.0.0.1", (), UNKNOWN_ADDRESS),
        ("10.0.0.1", ("",), UNKNOWN_ADDRESS),
        ("10.0.0.1", ("nonsense",), UNKNOWN_ADDRESS),
        ("10.0.0.1", ("198.51.100.1, unknown",), UNKNOWN_ADDRESS),
        ("10.0.0.1", ("198.51.100.1:5678",), UNKNOWN_ADDRESS),
        ("10.0.0.1", (", ".join(["198.51.100.1", *["10.0.0.2"] * 16]),), UNKNOWN_ADDRESS),
        ("10.0.0.1", ("10.0.0.3, 10.0.0.2",), UNKNOWN_ADDRESS),
        ("", (), UNKNOWN_ADDRESS),
        ("/run/socket", ("198.51.100.1",), UNKNOWN_ADDRESS),
    ],
)
def test_who_is_let_in_by_his_address(peer: str, forwarded: tuple[str, ...], expected: str) -> None:
    assert ClientAddresses(PROXIES, "full").reader(request(peer, *forwarded)) == expected


def test_no_proxy_makes_the_list_long() -> None:
    many = ", ".join(f"10.0.{number}.1" for number in range(200))
    assert len(ClientAddresses(PROXIES, "full").of(request("10.0.0.1", many))) <= 17


@pytest.mark.parametrize(
    ("reveal", "expected"),
    [
        ("full", ("198.51.100.77", "10.1.2.3")),
        ("network", ("198.51.100.0", "10.1.2.0")),
        ("none", (UNKNOWN_ADDRESS,)),
    ],
)
def test_what_archives_are_told(reveal: str, expected: tuple[str, ...]) -> None:
    assert ClientAddresses([], reveal).disclosed(("198.51.100.77", "10.1.2.3")) == expected


def test_what_is_not_believed_is_not_remembered() -> None:
    clients = ClientAddresses(PROXIES, "full")
    for number in range(100):
        assert clients.disclosed_of_peer("192.0.2.7", f"{number}" * 1000) == ("192.0.2.7",)
    long = ", ".join(["198.51.100.1"] * 100)
    assert clients.disclosed_of_peer("10.0.0.1", long) == ("198.51.100.1", "10.0.0.1")
    info = clients._disclosed_of_peer.cache_info()  # noqa: SLF001  # what it remembers
    assert (info.currsize, info.misses) == (1, 1)


def test_networks() -> None:
    assert network_of("150.163.2.175") == "150.163.2.0"
    assert network_of("2001:db8:1:2:3::4") == "2001:db8:1::"
