"""The repository name: equivalence, spelling, semantic rules."""

from __future__ import annotations

import pytest

from ibi import Instant, RepositoryName, parse
from ibi.errors import RepositoryNameError

EQUIVALENT = [
    "sid.inpe.br/mtc-m18@80/2009/02.16.17.46",
    "sid.INPE.br/MTC-m18/2009/02.16.17.46",
    "sid.inpe.br./mtc-m18.80/2009/02.16.17.46.00",
    "sid.inpe.br/mtc-m18.0080/02009/02.16.17.46.00.000",
]


@pytest.mark.parametrize("spelling", EQUIVALENT)
def test_spellings_of_one_name_are_equal_and_kept(spelling: str) -> None:
    name = RepositoryName.parse(spelling)
    assert name == RepositoryName.parse(EQUIVALENT[0])
    assert hash(name) == hash(RepositoryName.parse(EQUIVALENT[0]))
    assert str(name) == name.spelling == spelling
    assert name.canonical == "sid.inpe.br/mtc-m18/2009/02.16.17.46"


@pytest.mark.parametrize(
    "other",
    [
        "sid.inpe.br/mtc-m18.81/2009/02.16.17.46",
        "sid.inpe.br/mtc-m19/2009/02.16.17.46",
        "sid.inpe.br/mtc-m18/2009/02.16.17.46.01",
        "sid.inpe.br/mtc-m18/2009/02.16.17.46.00.5",
    ],
)
def test_another_host_port_or_instant_is_another_name(other: str) -> None:
    assert RepositoryName.parse(other) != RepositoryName.parse(EQUIVALENT[0])


@pytest.mark.parametrize(
    ("text", "part", "position", "expected"),
    [
        ("", "the subdomain", 0, "a word"),
        ("sid.inpe.br", "the label", 11, "four parts"),
        ("sid..br/mtc/2009/02.16.17.46", "the subdomain", 4, "a word"),
        ("sid.inpe.b_r/mtc/2009/02.16.17.46", "the subdomain", 10, "letters, digits, hyphens"),
        ("sid.inpe.9r/mtc/2009/02.16.17.46", "the subdomain", 9, "a letter"),
        ("-sid.br/mtc/2009/02.16.17.46", "the subdomain", 0, "a letter or digit"),
        ("sid.br/mtc-/2009/02.16.17.46", "the word before the year", 10, "a letter or digit"),
        ("sid.br/a.b.80/2009/02.16.17.46", "the port", 9, "a number from 1 to 65535"),
        ("sid.br/mtc@0/2009/02.16.17.46", "the port", 11, "a number from 1 to 65535"),
        ("sid.br/mtc./2009/02.16.17.46", "the port", 11, "a number from 1 to 65535"),
        ("sid.br/mtc.65536/2009/02.16.17.46", "the port", 11, "a number from 1 to 65535"),
        ("sid.br/mtc/209/02.16.17.46", "the year", 11, "four or more digits"),
        ("sid.br/mtc/2009/13.16.17.46", "the month", 16, "two digits from 01 to 12"),
        ("sid.br/mtc/2009/00.16.17.46", "the month", 16, "two digits from 01 to 12"),
        ("sid.br/mtc/2009/02.29.17.46", "the day", 19, "01 to 28 of that month"),
        ("sid.br/mtc/2009/02.16.24.46", "the hour", 22, "two digits from 00 to 23"),
        ("sid.br/mtc/2009/02.16.17.60", "the minute", 25, "two digits from 00 to 59"),
        ("sid.br/mtc/2009/02.16.17.46.60", "the second", 28, "two digits from 00 to 59"),
        ("sid.br/mtc/2009/02.16.17", "the minute", 24, '"." and the minute'),
        ("sid.br/mtc/2009/02.16.17.46.05.", "the fraction of the second", 31, "digits"),
        ("sid.br/mtc/2009/02.16.17.46/doc", "the label", 27, "its end"),
        (f"{'a' * 64}.br/mtc/2009/02.16.17.46", "the subdomain", 63, "at most 63"),
        (f"sid.br/{'a' * 64}/2009/02.16.17.46", "the word before the year", 70, "at most 63"),
        (f"{'a.' * 127}br/mtc/2009/02.16.17.46", "the label", 255, "at most 255"),
        ("sid.br/mtc/２００９/02.16.17.46", "the year", 11, "four or more digits"),
        ("ſid.br/mtc/2009/02.16.17.46", "the subdomain", 0, "letters, digits, hyphens"),
    ],
)
def test_a_fault_is_named_with_its_place_and_what_was_expected(
    text: str, part: str, position: int, expected: str
) -> None:
    with pytest.raises(RepositoryNameError) as caught:
        RepositoryName.parse(text)
    assert (caught.value.part, caught.value.position) == (part, position)
    assert expected in caught.value.expected
    assert f"at character {position + 1}" in str(caught.value)


def test_a_host_too_long_for_a_label_is_refused() -> None:
    host = ".".join(["a" * 63] * 3) + "." + "a" * 45 + ".br"
    assert len(host) <= 253
    with pytest.raises(RepositoryNameError, match="at most 255 characters"):
        RepositoryName.mount(host, 80, Instant(0))


def test_a_name_is_made_in_its_canonical_spelling() -> None:
    made = RepositoryName.mount("MTC-M18.SID.INPE.BR.", 8080, Instant(1_234_806_360, "50"))
    assert made.spelling == made.canonical == "sid.inpe.br/mtc-m18.8080/2009/02.16.17.46.00.5"


def test_an_instant_too_long_to_print_is_refused_all_the_same() -> None:
    with pytest.raises(RepositoryNameError):
        RepositoryName.mount("mtc-m18.sid.inpe.br", 80, Instant(10**5000))


@pytest.mark.parametrize("instant", [Instant(0, "5_1"), Instant(0, "٣")])
def test_no_name_is_made_of_what_is_no_instant(instant: Instant) -> None:
    with pytest.raises(RepositoryNameError):
        RepositoryName.mount("mtc-m18.sid.inpe.br", 80, instant)


@pytest.mark.parametrize(
    "host", ["w@99.br", "w.99", "localhost", "", "a..br", "-a.br", "sid.inpe.br/x", "sid inpe.br"]
)
def test_no_name_is_made_of_what_is_no_domain_name(host: str) -> None:
    with pytest.raises(RepositoryNameError):
        RepositoryName.mount(host, 80, Instant(1_234_806_360))


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_no_name_is_made_of_what_is_no_port(port: int) -> None:
    with pytest.raises(RepositoryNameError):
        RepositoryName.mount("mtc-m18.sid.inpe.br", port, Instant(1_234_806_360))


def test_a_label_from_before_the_standard_has_a_login_for_a_word() -> None:
    assert parse("dpi.inpe.br/banon/1995/08.08.00.00") == RepositoryName.mount(
        "banon.dpi.inpe.br", 80, Instant(807_840_000)
    )
