"""Which archive is the home of a label."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import Instant
from ibi.identifier.label import Label, parse
from ibi.model.registration import EVERY_PORT, Inclusion, ProvedPlace, RegisteredArchive
from ibi.resolver.rules.home_places import at_ip, homes_for, host_and_port, places_of, proved_at

REP = "sid.inpe.br/mtc-m21/2012/06.05.15.34.39"
REP_8080 = "sid.inpe.br/mtc-m21.8080/2012/06.05.15.34.39"
IBIP = "8JMKD3MGP7W/3EPGUE5"
OTHER_IBIP = "LK47B6W/362SFKH"
IBIP_6 = str(Ibip.mount("2001:db8::1", 800, Instant(1_700_000_000)))
LEGACY = "6qtX3pFwXQZGivnK2Y/SskcB"  # of sid.inpe.br/mtc-m17@80


def archive(service: str, address: str = "", *, confirmed: bool = False) -> RegisteredArchive:
    inclusion = Inclusion(
        address=address,
        ip="150.163.34.242",
        platform_version="",
        administrator="",
        since=1,
        seen=1,
        confirmed=confirmed,
    )
    return RegisteredArchive(
        service=parse(service, strict=True),
        key="",
        confirmed=1,
        inclusion=inclusion if address else None,
    )


def is_home(archive: RegisteredArchive, label: Label) -> bool:
    return not places_of(archive).isdisjoint(homes_for(label))


@pytest.mark.parametrize(
    ("service", "label", "expected"),
    [
        (REP, "sid.inpe.br/mtc-m21/1999/01.01.00.00", True),
        (REP, "SID.inpe.br./MTC-m21@80/1999/01.01.00.00", True),
        (REP, "sid.inpe.br/mtc-m21.8080/1999/01.01.00.00", False),
        (REP_8080, "sid.inpe.br/mtc-m21@8080/1999/01.01.00.00", True),
        (REP_8080, "sid.inpe.br/mtc-m21/1999/01.01.00.00", False),
        (REP, "sid.inpe.br/mtc-m2/1999/01.01.00.00", False),
        (REP, "inpe.br/sid/1999/01.01.00.00", False),
        (REP, IBIP, False),
        (IBIP, IBIP, True),
        (IBIP, "8JMKD3MGP7W/3EPGUE6", True),
        (IBIP, "8JMKD3MGP7W34P/3EPGUE6", False),  # another port of the same address
        (IBIP, OTHER_IBIP, False),
        (IBIP, REP, False),
        (LEGACY, LEGACY, False),
        (REP, LEGACY, False),
        (LEGACY, "sid.inpe.br/mtc-m17/1999/01.01.00.00", False),
    ],
)
def test_a_label_is_at_home_where_it_was_made(service: str, label: str, expected: bool) -> None:  # noqa: FBT001  # a column
    assert is_home(archive(service), parse(label, strict=True)) is expected


@pytest.mark.parametrize(
    ("address", "label", "expected"),
    [
        ("mtc-m21.sid.inpe.br", REP, True),
        ("mtc-m21.sid.inpe.br", REP_8080, True),
        ("mtc-m21.sid.inpe.br:443", REP_8080, True),
        ("MTC-M21.sid.inpe.br.:8080", REP_8080, True),
        ("mtc-m21.sid.inpe.br:8080", REP, False),
        ("mtc-m21.sid.inpe.br:23250", REP_8080, False),
        ("evil.mtc-m21.sid.inpe.br", REP, False),
        ("sid.inpe.br", REP, False),
        ("[2001:db8::1]:80", REP, False),
        ("150.163.34.242", IBIP, True),
        ("150.163.34.242:443", IBIP, True),
        ("150.163.34.242:800", IBIP, True),
        ("150.163.34.242:8080", IBIP, False),
        ("150.163.34.24", IBIP, False),
        ("[2001:0DB8::1]", IBIP_6, True),
        ("[2001:db8::1]:8080", IBIP_6, False),
    ],
)
def test_an_archive_that_was_found_at_a_place_is_at_home_there(
    address: str,
    label: str,
    expected: bool,  # noqa: FBT001  # a column
) -> None:
    wanted = parse(label, strict=True)
    there = archive(OTHER_IBIP, address, confirmed=True)
    assert is_home(replace(there, confirmed_at=(proved_at(address),)), wanted) is expected
    assert not is_home(there, wanted)


@pytest.mark.parametrize(
    ("proved", "label", "expected"),
    [
        (ProvedPlace("mtc-m21.sid.inpe.br", EVERY_PORT), REP_8080, True),
        (ProvedPlace("mtc-m21.sid.inpe.br", 8080), REP_8080, True),
        (ProvedPlace("mtc-m21.sid.inpe.br", 8080), REP, False),
        (ProvedPlace("150.163.34.242", EVERY_PORT), IBIP, True),
        (ProvedPlace("150.163.34.242", 23250), IBIP, False),
    ],
)
def test_what_was_proved_stays_proved_while_an_archive_is_switched_off(
    proved: ProvedPlace,
    label: str,
    expected: bool,  # noqa: FBT001  # a column
) -> None:
    wanted = parse(label, strict=True)
    assert is_home(replace(archive(OTHER_IBIP), proofs=(proved,)), wanted) is expected
    assert is_home(replace(archive(OTHER_IBIP), confirmed_at=(proved,)), wanted) is expected


def test_what_an_archive_says_of_its_ip_makes_it_no_home() -> None:
    label = parse(IBIP, strict=True)
    said = archive(OTHER_IBIP, "archive.example.org", confirmed=True)
    assert said.inclusion is not None
    assert label.kind == "ibip"
    assert said.inclusion.ip == label.ip
    assert not is_home(said, label)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("Example.org", ("example.org", 80)),
        ("example.org:8801", ("example.org", 8801)),
        ("example.org.", ("example.org", 80)),
        ("[2001:db8::1]", ("2001:db8::1", 80)),
        ("[2001:0DB8::1]:443", ("2001:db8::1", 443)),
    ],
)
def test_host_and_port_of_an_address(address: str, expected: tuple[str, int]) -> None:
    assert host_and_port(address) == expected


@pytest.mark.parametrize(
    ("address", "ip", "expected"),
    [
        ("example.org", "192.0.2.7", "192.0.2.7:80"),
        ("example.org:8801", "2001:DB8::1", "[2001:db8::1]:8801"),
        ("192.0.2.7:8801", "192.0.2.7", ""),
        ("[2001:db8::1]", "2001:0db8::1", ""),
        ("example.org", "elsewhere.example.org", ""),
        ("example.org", "", ""),
    ],
)
def test_where_an_ip_address_is_proved(address: str, ip: str, expected: str) -> None:
    assert at_ip(address, ip) == expected
