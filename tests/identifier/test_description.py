"""What a label says, as a value."""

from __future__ import annotations

import pytest

from ibi import Ibip, Instant, describe
from ibi.identifier.description import LabelWarning

NOW = Instant(1_794_700_800)  # November 2026


def test_an_ibip() -> None:
    assert describe(" 8jmkd3mgp3w34t/47GAF6S.").as_dict() == {
        "given": " 8jmkd3mgp3w34t/47GAF6S.",
        "kind": "ibip",
        "canonical": "8JMKD3MGP3W34T/47GAF6S",
        "ip": "150.163.34.239",
        "port": 808,
        "instant": "2022-08-25T11:46:00Z",
        "cleaned": ("space-around", "final-punctuation"),
        "warnings": (),
    }


def test_a_repository_name() -> None:
    assert describe("sid.inpe.br/MTC-m18@80/2009/02.16.17.46.05.250").as_dict() == {
        "given": "sid.inpe.br/MTC-m18@80/2009/02.16.17.46.05.250",
        "kind": "rep",
        "canonical": "sid.inpe.br/mtc-m18/2009/02.16.17.46.05.25",
        "host": "mtc-m18.sid.inpe.br",
        "port": 80,
        "instant": "2009-02-16T17:46:05.25Z",
        "cleaned": (),
        "warnings": (),
    }


def test_a_legacy_label_and_one_that_cannot_be_decoded() -> None:
    assert describe("6RPa7umaZ/UaJFT").as_dict() == {
        "given": "6RPa7umaZ/UaJFT",
        "kind": "legacy",
        "canonical": "6RPa7umaZ/UaJFT",
        "ip": "192.168.1.100",
        "instant": "2008-05-16T17:13:00Z",
        "cleaned": (),
        "warnings": ("private-address",),
    }
    assert describe("6qtX3pFwXQZa/SskcB").as_dict()["warnings"] == ("not-decodable",)


@pytest.mark.parametrize(
    ("ip_label", "warnings"),
    [
        ("LK47B6W/362SFKH", ["loopback-address"]),  # 127.0.0.1
        ("NENDTJMTKW/335L8GH", ["private-address"]),  # 192.168.1.100
        ("8JMKD3MGP8W/34PGRBS", []),  # 150.163.34.243
    ],
)
def test_addresses_that_others_have_too_are_warned_of(ip_label: str, warnings: list[str]) -> None:
    assert list(describe(ip_label).warnings) == warnings


@pytest.mark.parametrize(
    ("ip", "warning"),
    [
        ("10.0.0.1", "private-address"),
        ("172.16.0.1", "private-address"),
        ("172.32.0.1", None),
        ("100.64.0.1", "private-address"),
        ("100.128.0.1", None),
        ("169.254.169.254", "private-address"),
        ("192.0.2.1", "private-address"),
        ("198.18.0.1", "private-address"),
        ("203.0.113.9", "private-address"),
        ("0.0.0.0", "private-address"),
        ("240.0.0.1", "private-address"),
        ("255.255.255.255", "private-address"),
        ("8.8.8.8", None),
        ("::1", "loopback-address"),
        ("fe80::1", "private-address"),
        ("fc00::1", "private-address"),
        ("fec0::1", "private-address"),
        ("2001:db8::1", "private-address"),
        ("2001:252:0:1::2008:6", None),
        ("2804:14c::1", None),
    ],
)
def test_public_and_other_addresses(ip: str, warning: str | None) -> None:
    label = Ibip.mount(ip, 800, NOW).spelling
    assert list(describe(label).warnings) == ([warning] if warning else [])


def test_dates_before_the_first_label_and_in_the_future_are_warned_of() -> None:
    assert describe("a.br/b/1995/07.31.23.59").warnings == (LabelWarning.BEFORE_FIRST_LABEL,)
    assert describe("a.br/b/2100/01.01.00.00").warnings == ()
    assert describe("a.br/b/2100/01.01.00.00", now=NOW).warnings == (LabelWarning.IN_THE_FUTURE,)


def test_years_of_five_digits_carry_the_sign_of_iso_8601() -> None:
    assert describe("a.br/b/12024/02.29.00.00").as_dict()["instant"] == "+12024-02-29T00:00:00Z"
    assert describe("a.br/b/9999/12.31.23.59.59.9").as_dict()["instant"] == (
        "9999-12-31T23:59:59.9Z"
    )


def test_every_warning_has_a_sentence_for_people() -> None:
    assert all(warning.sentence for warning in LabelWarning)
