"""The identification subsystem: its prefixes, and what it refuses."""

from __future__ import annotations

import pytest

from ibi import Ibip, Instant, Label, RepositoryName, parse
from ibi.errors import MintingRequestError
from ibi.minting.rules.subsystem import Subsystem

INSTANT = Instant(1_234_806_360)


def refusal(**facts: str | int | bool | None) -> str:
    with pytest.raises(MintingRequestError) as refused:
        Subsystem(**facts)  # type: ignore[arg-type]
    message = str(refused.value)
    assert message.endswith(".")
    assert message.isprintable()
    assert len(message) < 300
    return message


@pytest.mark.parametrize(
    ("subsystem", "prefixes"),
    [
        (Subsystem("mtc-m18.sid.inpe.br"), ("sid.inpe.br/mtc-m18",)),
        (Subsystem("mtc-m18.sid.inpe.br", 8080), ("sid.inpe.br/mtc-m18.8080",)),
        (Subsystem("MTC-M18.sid.INPE.br"), ("sid.inpe.br/mtc-m18",)),
        (Subsystem(ip="150.163.34.243"), ("8JMKD3MGP8W",)),
        (Subsystem(ip="150.163.34.243", ip_port=804), ("8JMKD3MGP8W34P",)),
        (Subsystem(ip="2001:252:0:1:0::2008:6"), ("7URMDHLL9SSN2D89MX",)),
        (
            Subsystem("mtc-m18.sid.inpe.br", ip="150.163.34.243"),
            ("sid.inpe.br/mtc-m18", "8JMKD3MGP8W"),
        ),
    ],
)
def test_prefixes(subsystem: Subsystem, prefixes: tuple[str, ...]) -> None:
    assert subsystem.prefixes == prefixes
    assert tuple(filter(None, (subsystem.rep_prefix, subsystem.ibip_prefix))) == prefixes


def test_spellings_of_one_host_or_address_are_one_subsystem() -> None:
    assert Subsystem("A.B.br", ip="2001:252::1") == Subsystem("a.b.br", ip="2001:0252:0::0001")


@pytest.mark.parametrize("facts", [{}, {"host": ""}, {"ip": ""}, {"host": "", "ip": ""}])
def test_a_subsystem_needs_a_name_or_an_address(facts: dict[str, str]) -> None:
    assert refusal(**facts) == "A subsystem needs a host name, an IP address, or both."


@pytest.mark.parametrize(
    "host",
    [
        "",
        "localhost",
        "a b.br",
        "a_b.br",
        "-a.br",
        "a-.br",
        "a..br",
        ".br",
        "a.br/x",
        "a.br:80",
        "http://a.br",
        "user@a.br",
        "a.br?x",
        "a.br\n",
        "a.br\x00",
        "\x1b[31m.br",
        "ação.br",
        "аpple.com",
        "150.163.34.243",
        "[::1]",
        f"{'a' * 64}.br",
        ".".join(["a" * 60] * 5),
        "a" * 100_000,
    ],
)
def test_a_host_of_which_no_label_can_be_made_is_refused(host: str) -> None:
    message = refusal(host=host, ip="150.163.34.243")
    assert "is not a host name that a label can be made of" in message


def test_a_label_of_the_longest_host_that_is_taken_can_be_read() -> None:
    """Whatever is accepted here must never be refused later."""
    taken = []
    for length in range(1, 254):
        words = [("a" * 63)] * (length // 64) + ["a" * max(1, length % 64)]
        host = ".".join([*words, "br"])
        try:
            subsystem = Subsystem(host, 65535)
        except MintingRequestError:
            continue
        label = RepositoryName.mount(host, 65535, Instant(9_223_372_036, "123456789"))
        assert subsystem.owns(parse(str(label), strict=True))
        taken.append(length)
    assert max(taken) > 190


@pytest.mark.parametrize(
    "ip",
    [
        *("", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.4 ", "a.b.br", "::g", "1:2"),
        *("\n", "fe80::1%eth0", "[2001::1]", "1.2.3.4/8", "1" * 100_000, "١.2.3.4"),
    ],
)
def test_what_is_no_address_is_refused(ip: str) -> None:
    message = refusal(host="a.b.br", ip=ip, allow_private=True)
    assert "is not an IP address: expected one such as 150.163.34.243." in message


@pytest.mark.parametrize(
    "ip",
    [
        *("10.0.0.1", "127.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.0.1", "100.64.0.1"),
        *("0.0.0.0", "224.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "203.0.113.7"),
        *("::", "::1", "fe80::1", "fc00::1", "fec0::1", "2001:db8::1", "::ffff:10.0.0.1"),
        "ff02::1",
    ],
)
def test_an_address_that_others_have_too_needs_the_operators_word(ip: str) -> None:
    message = refusal(ip=ip)
    assert "is not a public address" in message
    assert "--allow-private" in message
    allowed = Subsystem(ip=ip, allow_private=True)
    assert allowed.ip is not None
    label = Ibip.mount(allowed.ip, 800, INSTANT)
    assert str(label).startswith(f"{allowed.ibip_prefix}/")


@pytest.mark.parametrize("ip", ["150.163.34.243", "8.8.8.8", "2001:252:0:1::2008:6", "2a00::1"])
def test_a_public_address_needs_nobodys_word(ip: str) -> None:
    assert Subsystem(ip=ip).ip == ip


@pytest.mark.parametrize("port", [0, -1, 65_536, 10**30])
@pytest.mark.parametrize("name", ["port", "ip_port"])
def test_what_is_no_port_is_refused(name: str, port: int) -> None:
    message = refusal(host="a.b.br", ip="8.8.8.8", **{name: port})
    assert message == f"{port} is not a port: expected a number from 1 to 65535."


def test_it_owns_the_labels_under_its_prefixes_and_no_others() -> None:
    subsystem = Subsystem("mtc-m18.sid.inpe.br", 8080, "150.163.34.243", 804)
    own: list[Label] = [
        RepositoryName.mount("mtc-m18.sid.inpe.br", 8080, INSTANT),
        Ibip.mount("150.163.34.243", 804, INSTANT),
        parse("SID.inpe.br/MTC-m18.8080/2010/10.20.15.20"),
        parse("28jmkd3mgp8w34p/34PGRBS"),
    ]
    foreign: list[Label] = [
        RepositoryName.mount("mtc-m18.sid.inpe.br", 80, INSTANT),
        RepositoryName.mount("mtc-m19.sid.inpe.br", 8080, INSTANT),
        Ibip.mount("150.163.34.243", 800, INSTANT),
        Ibip.mount("150.163.34.242", 804, INSTANT),
        parse("6qtX3pFwXQZGivnK2Y/SskcB"),
    ]
    assert [subsystem.owns(label) for label in own] == [True] * len(own)
    assert [subsystem.owns(label) for label in foreign] == [False] * len(foreign)


def test_with_one_form_only_it_owns_no_label_of_the_other() -> None:
    assert not Subsystem("a.b.br").owns(Ibip.mount("8.8.8.8", 800, INSTANT))
    assert not Subsystem(ip="8.8.8.8").owns(RepositoryName.mount("a.b.br", 80, INSTANT))
