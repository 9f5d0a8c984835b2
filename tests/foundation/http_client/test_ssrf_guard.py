"""Where the resolver may connect to."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis.strategies import ip_addresses

from ibi.foundation.http_client.ssrf_guard import GuardedResolver, OutboundGuard

_PUBLIC: Final = """
    1.1.1.1 8.8.8.8 93.184.216.34 150.163.34.239 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0
    126.255.255.255 128.0.0.0 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255
    192.0.1.0 192.0.3.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255
    198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255
    2000:: 2001:200:: 2001:4860:4860::8888 2600::1 2606:2800:220:1:248:1893:25c8:1946 2a00::1
    2001:db7:ffff:ffff:ffff:ffff:ffff:ffff 2001:db9:: 2804:14c::1 3ffd::1
    ::ffff:8.8.8.8 ::ffff:808:808 64:ff9b::8.8.8.8 64:ff9b::808:808 2002:808:808::1
"""
PUBLIC: Final = _PUBLIC.split()
_NOT_PUBLIC: Final = """
    0.0.0.0 0.1.2.3 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.0 127.0.0.1
    127.255.255.255 169.254.0.0 169.254.169.254 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.8
    192.0.0.9 192.0.0.170 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.0
    192.168.255.255 192.175.48.1 198.18.0.0 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.0
    224.0.0.1 239.255.255.255 240.0.0.0 255.255.255.255
    :: ::1 0:0:0:0:0:0:0:1 ::7f00:1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:7f00:1
    ::ffff:0.0.0.0 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::FFFF:192.168.0.1
    0:0:0:0:0:ffff:7f00:0001 ::ffff:0:8.8.8.8 64:ff9b::127.0.0.1 64:ff9b::7f00:1 64:ff9b::a00:1
    64:ff9b::a9fe:a9fe 64:ff9b:0:0:0:0:192.168.0.1 64:ff9b:1::8.8.8.8 64:ff9b:1::7f00:1
    64:ff9b:1:ffff::1 64:ff9b:2::1 2002:7f00:1:: 2002:7f00:1::1 2002:a00:1:: 2002:c0a8:1::
    2002:a9fe:a9fe:: 2002:: 2001::1 2001:0:7f00:1:: 2001:0:4136:e378:8000:63bf:3fff:fdd2
    2001:2::1 2001:10::1 2001:20::1 2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff 2001:db8::1
    2620:4f:8000::1 3ffe::1 3fff::1 3fff:fff:ffff::1 100::1 100:0:0:1::1 5f00::1 4000::1 1fff::1
    e000::1 fc00::1 fd00::1 fd00:ec2::254 fdff:ffff::1 fe80::1 febf::1 fec0::1 feff::1 ff00::1
    ff02::1 ff0e::1
"""
NOT_PUBLIC: Final = _NOT_PUBLIC.split()
LEADS_TO_4: Final = ("::ffff:0:0/96", "64:ff9b::/96", "2002::/16")
NO_ADDRESSES: Final = [
    "",
    " ",
    "127.1",
    "0x7f000001",
    "0x7f.1",
    "2130706433",
    "0177.0.0.1",
    "8.8.8",
    "8.8.8.8 ",
    "08.8.8.8",
    "8.8.8.8/32",
    "8.8.8.8:80",
    "[2600::1]",
    "2600::1%eth0",
    "2600::1%1",
    "fe80::1%lo",
    "localhost",
    "example.org",
    "٨.٨.٨.٨",
    "８.８.８.８",
    "1::2::3",
]


def looked_up(guard: OutboundGuard, name: str, family: int = socket.AF_UNSPEC) -> list[str]:
    async def resolve() -> list[str]:
        resolver = GuardedResolver(guard)
        try:
            found = await resolver.resolve(name, 80, socket.AddressFamily(family))
        finally:
            await resolver.close()
        assert {each["port"] for each in found} == {80}
        return [each["host"] for each in found]

    return asyncio.run(resolve())


@pytest.mark.parametrize("address", PUBLIC)
def test_what_everybody_can_reach_is_public(address: str) -> None:
    assert OutboundGuard().allows(address, 80)
    assert OutboundGuard().allows(address, 80)


@pytest.mark.parametrize("address", [*NOT_PUBLIC, *NO_ADDRESSES])
def test_the_rest_is_not(address: str) -> None:
    assert not OutboundGuard().allows(address, 80)
    assert not OutboundGuard().allows(address, 80)


@given(ip_addresses())
def test_what_python_calls_special_is_not_public(address: IPv4Address | IPv6Address) -> None:
    is_special = not address.is_global or address.is_multicast or address.is_reserved
    leads_to_4 = any(address in ip_network(prefix) for prefix in LEADS_TO_4)
    if is_special and not leads_to_4:
        assert not OutboundGuard().allows(str(address), 80)


def test_what_python_calls_global_is_not_enough() -> None:
    let_through = {text for text in NOT_PUBLIC if ip_address(text).is_global}
    assert let_through >= {"64:ff9b::7f00:1", "2002:7f00:1::", "fec0::1"}


@pytest.mark.parametrize(
    ("network", "inside", "outside"),
    [
        ("127.0.0.2/32", "127.0.0.2", "127.0.0.1"),
        ("10.0.0.0/8", "10.1.2.3", "192.168.0.1"),
        ("10.0.0.0/8", "::ffff:10.1.2.3", "::ffff:11.0.0.1%1"),
        ("10.0.0.0/8", "::ffff:a01:203", "64:ff9b::10.1.2.3"),
        ("10.0.0.0/8", "10.255.255.255", "2002:a01:203::"),
        ("fd00::/64", "fd00::2", "fd00:0:0:1::2"),
        ("::1/128", "::1", "::2"),
        ("64:ff9b:1::/48", "64:ff9b:1::a01:203", "64:ff9b::a01:203"),
    ],
)
def test_the_operator_may_name_networks(network: str, inside: str, outside: str) -> None:
    guard = OutboundGuard([network])
    assert guard.allows(inside, 80)
    assert not guard.allows(outside, 80)
    assert guard.allows("8.8.8.8", 80)


@pytest.mark.parametrize(
    ("allowed", "inside", "outside"),
    [
        ("127.0.0.1:8801", "127.0.0.1", "127.0.0.2"),
        ("127.0.0.0/8:8801", "127.0.1.1", "128.0.0.1"),
        ("127.0.0.1:8801", "::ffff:127.0.0.1", "::1"),
        ("[::1]:8801", "::1", "127.0.0.1"),
        ("[fd00::/64]:8801", "fd00::2", "fd00:0:0:1::2"),
    ],
)
def test_the_operator_may_name_one_port_of_a_network(
    allowed: str, inside: str, outside: str
) -> None:
    guard = OutboundGuard([allowed])
    assert guard.allows(inside, 8801)
    assert not any(guard.allows(inside, port) for port in (80, 880, 8800, 8802))
    assert guard.allows(outside, 8801) == OutboundGuard().allows(outside, 8801)
    assert guard.allows("8.8.8.8", 80)


@pytest.mark.parametrize(
    "network",
    ["10.0.0.1/8", "10.0.0.0/8:0", "10.0.0.0/8:65536", "10.0.0.0/8:", "::1:x", "[::1]", "[x]:1"],
)
def test_a_network_that_is_none_is_refused(network: str) -> None:
    with pytest.raises(ValueError, match=r"network|port|address|host bits"):
        OutboundGuard([network])


def test_no_socket_is_made_for_an_address_that_is_not_allowed() -> None:
    guard = OutboundGuard(["10.0.0.0/8"])
    for address in ("127.0.0.1", "127.1", "0x7f000001", "localhost", "169.254.169.254"):
        with pytest.raises(PermissionError):
            guard.socket_to((socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, 80)))
    for address in ("::1", "::ffff:127.0.0.1"):
        with pytest.raises(PermissionError):
            guard.socket_to((socket.AF_INET6, socket.SOCK_STREAM, 0, "", (address, 80, 0, 0)))
    with guard.socket_to((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("10.1.2.3", 80))) as made:
        assert (made.family, made.type) == (socket.AF_INET, socket.SOCK_STREAM)


@pytest.mark.parametrize("name", ["localhost", "127.1", "0x7f000001", "2130706433", "0177.0.0.1"])
def test_a_name_of_this_machine_is_not_looked_up(name: str) -> None:
    with pytest.raises(PermissionError):
        looked_up(OutboundGuard(["10.0.0.0/8"]), name)
    loopback = OutboundGuard(["127.0.0.0/8", "::1/128"])
    assert "127.0.0.1" in looked_up(loopback, name)
    assert looked_up(loopback, name, socket.AF_INET) == ["127.0.0.1"]


def test_of_many_addresses_those_that_are_allowed_are_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lookups = []

    def getaddrinfo(host: str, port: int, *_: object) -> list[tuple[Any, ...]]:
        lookups.append(host)
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)),
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", port)),
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", port, 0, 0)),
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("2600::1", port, 0, 0)),
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("fe80::1%2", port, 0, 2)),
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    assert looked_up(OutboundGuard(), "archive.example") == ["93.184.216.34", "2600::1"]
    assert lookups == ["archive.example"]


def test_a_name_that_is_not_known_is_not_a_refusal() -> None:
    with pytest.raises(socket.gaierror):
        looked_up(OutboundGuard(), "nowhere.invalid")
