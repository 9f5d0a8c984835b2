"""003, System for IBI Generation: tables, examples and algorithms but for the grammars."""

from __future__ import annotations

import pytest

from ibi import Ibip, Instant, RepositoryName
from ibi.identifier import ibip, repository_name
from ibi.identifier.instant import EPOCH
from ibi.identifier.numerals import IBIP, IPV4, IPV6
from tests.conformance.standard import covers

FEBRUARY_16 = Instant(1_234_806_360)


@covers("003", "Example 1")
def test_example_1() -> None:
    name = RepositoryName.parse("sid.inpe.br/mtc-m18@80/2009/02.16.17.46")
    assert name == RepositoryName.mount("mtc-m18.sid.inpe.br", 80, FEBRUARY_16)
    assert str(name.instant) == "2009-02-16T17:46:00Z"


@covers("003", "Example 2")
def test_example_2() -> None:
    label = Ibip.mount("150.163.34.243", 800, FEBRUARY_16)
    assert str(label) == "8JMKD3MGP8W/34PGRBS"
    assert Ibip.parse("8JMKD3MGP8W/34PGRBS") == label


@covers("003", "Algorithm 1")
@pytest.mark.parametrize(
    ("computer", "port", "prefix"),
    [
        ("mtc-m18.sid.inpe.br", 80, "sid.inpe.br/mtc-m18"),
        ("mtc-m18.sid.inpe.br", 8080, "sid.inpe.br/mtc-m18.8080"),
        ("mtc-m19.sid.inpe.br", 80, "sid.inpe.br/mtc-m19"),
        ("archive.localhost", 80, "localhost/archive"),
    ],
)
def test_algorithm_1(computer: str, port: int, prefix: str) -> None:
    assert repository_name.mount_prefix(computer, port) == prefix


@covers("003", "Algorithm 2")
@pytest.mark.parametrize(
    ("date", "suffix"),
    [
        (Instant(1_287_587_646), "2010/10.20.15.14.06"),
        (Instant(1_287_588_000), "2010/10.20.15.20"),
        (Instant(1_287_588_000, "5"), "2010/10.20.15.20.00.5"),
        (Instant(1_287_587_646, "05"), "2010/10.20.15.14.06.05"),
        (Instant(253_402_300_800), "10000/01.01.00.00"),
    ],
)
def test_algorithm_2(date: Instant, suffix: str) -> None:
    assert repository_name.mount_suffix(date) == suffix


@covers("003", "Algorithm 3")
def test_algorithm_3() -> None:
    name = RepositoryName.mount("mtc-m19.sid.inpe.br", 80, Instant(1_378_297_677))
    assert str(name) == "sid.inpe.br/mtc-m19/2013/09.04.12.27.57"
    assert (name.host, name.port) == ("mtc-m19.sid.inpe.br", 80)


@covers("003", "Algorithm 5")
@pytest.mark.parametrize(
    ("ip", "port", "prefix"),
    [
        ("150.163.34.243", 800, "8JMKD3MGP8W"),
        ("150.163.34.243", 804, "8JMKD3MGP8W34P"),
        ("127.0.0.1", 800, "LK47B6W"),
        ("150.163.2.174", 800, "J8LNKAN8PW"),
        ("2001:252:0:1::2008:6", 800, "7URMDHLL9SSN2D89MX"),
    ],
)
def test_algorithm_5(ip: str, port: int, prefix: str) -> None:
    assert ibip.mount_prefix(ip, port) == prefix


@covers("003", "Algorithm 6")
@pytest.mark.parametrize(
    ("date", "suffix"),
    [
        (EPOCH, "2"),
        (FEBRUARY_16, "34PGRBS"),
        (Instant(FEBRUARY_16.seconds, "5"), "34PGRBSW7"),
        (Instant(FEBRUARY_16.seconds, "05"), "34PGRBSW27"),
        (Instant(FEBRUARY_16.seconds, "123456"), "34PGRBSW89BE"),
    ],
)
def test_algorithm_6(date: Instant, suffix: str) -> None:
    assert ibip.mount_suffix(date) == suffix


@covers("003", "Algorithm 7")
def test_algorithm_7() -> None:
    label = Ibip.mount("150.163.34.242", 800, Instant(1_378_297_677))
    assert str(label) == "8JMKD3MGP7W/3EPGUE5"
    assert (label.ip, label.port) == ("150.163.34.242", 800)


@covers("003", "Table 7.2")
def test_table_7_2() -> None:
    assert IPV4.to_decimal("150.163.2.174") == 4588904456580
    assert IPV6.to_decimal("2001:252:0:1::2008:6") == 478239719325051908572237


@covers("003", "Table 7.3")
@pytest.mark.parametrize(
    ("number", "numeral"),
    [
        (1, "3"),
        (19050, "U5H"),
        (480992662, "38G3TS3"),
        (4588904456580, "J8LNKAN8P"),
        (478239719325051908572237, "7URMDHLL9SSN2D89M"),
    ],
)
def test_table_7_3(number: int, numeral: str) -> None:
    assert IBIP.from_decimal(number) == numeral
    assert IBIP.to_decimal(numeral) == number


@covers("003", "Table 7.4")
@pytest.mark.parametrize(("value", "digit"), list(enumerate("0123456789.")))
def test_table_7_4(value: int, digit: str) -> None:
    assert IPV4.from_decimal(value) == digit
    assert IPV4.to_decimal(digit) == value


@covers("003", "Table 7.5")
@pytest.mark.parametrize(("value", "digit"), list(enumerate("0123456789abcdef:")))
def test_table_7_5(value: int, digit: str) -> None:
    assert IPV6.from_decimal(value) == digit
    assert IPV6.to_decimal(digit) == value


@covers("003", "Table 7.6")
@pytest.mark.parametrize(("value", "digit"), list(enumerate("23456789ABCDEFGHJKLMNPQRSTU")))
def test_table_7_6(value: int, digit: str) -> None:
    assert IBIP.from_decimal(value) == digit
    assert IBIP.to_decimal(digit) == IBIP.to_decimal(digit.lower()) == value
