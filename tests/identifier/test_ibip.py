"""The IBIp: equivalence, spelling, what does not decode."""

from __future__ import annotations

import pytest

from ibi import Ibip, Instant, parse
from ibi.errors import IbipError
from ibi.identifier.instant import EPOCH


@pytest.mark.parametrize(
    "spelling",
    [
        "8JMKD3MGP8W/34PGRBS",
        "8jmkd3mgp8w/34pgrbs",
        "8JMKD3MGP8W34K/34PGRBS",
        "28JMKD3MGP8W/234PGRBSW2",
    ],
)
def test_spellings_of_one_ibip_are_equal_and_kept(spelling: str) -> None:
    label = Ibip.parse(spelling)
    assert label == Ibip.parse("8JMKD3MGP8W/34PGRBS")
    assert hash(label) == hash(Ibip.parse("8JMKD3MGP8W/34PGRBS"))
    assert str(label) == spelling
    assert label.canonical == "8JMKD3MGP8W/34PGRBS"


def test_known_answer_of_the_spec() -> None:
    label = Ibip.parse("LK47B6W/362SFKH")
    assert (label.ip, label.port) == ("127.0.0.1", 800)
    assert str(label.instant) == "2009-09-09T22:01:00Z"


@pytest.mark.parametrize(
    ("ip", "canonical"),
    [
        ("0.1.2.3", "0.1.2.3"),
        ("0.0.0.0", "0.0.0.0"),
        ("0:1::2", "0:1::2"),
        ("::", "::"),
        ("::1", "::1"),
        ("1::", "1::"),
        ("::ffff:192.0.2.1", "::ffff:c000:201"),
        ("2001:DB8:0:0:8:800:200C:417A", "2001:db8::8:800:200c:417a"),
        ("0:0:1:0:0:0:0:1", "0:0:1::1"),
        ("1:0:2:0:3:0:4:0", "1:0:2:0:3:0:4:0"),
        ("10:0:0:1:2:3:4:5", "10::1:2:3:4:5"),
    ],
)
def test_addresses_are_encoded_in_their_canonical_text(ip: str, canonical: str) -> None:
    label = Ibip.mount(ip, 800, EPOCH)
    assert label.ip == canonical
    assert Ibip.parse(label.spelling).ip == canonical


@pytest.mark.parametrize(
    ("text", "part", "position", "expected"),
    [
        ("", "the prefix", 0, "an address"),
        ("8JMKD3MGP8W", "the label", 11, '"/"'),
        ("8JMKD3MGPOW/34PGRBS", "the prefix", 9, "letters and digits other than 0 O 1 I V Y Z"),
        ("8JMKD3MGP8W/34PGRB0", "the suffix", 18, "letters and digits other than 0 O 1 I V Y Z"),
        ("8JMKD3MGP8W/34PGRBS/x", "the suffix", 19, "letters and digits"),
        ("8JMKD3MGP8/34PGRBS", "the prefix", 10, "W (IPv4) or X (IPv6)"),
        ("W/34PGRBS", "the prefix", 0, "an address in base 27 before W or X"),
        ("8JMKD3MGPW/34PGRBS", "the address", 0, "an IPv4 address in base 27 (this one decodes"),
        ("8JMKD3MGP8X/34PGRBS", "the address", 0, "an IPv6 address"),
        ("8JMKD3MGP8W2/34PGRBS", "the port", 11, "a port from 1 to 65535"),
        ("8JMKD3MGP8WUUUU/34PGRBS", "the port", 11, "a port from 1 to 65535"),
        ("8JMKD3MGP8W3W4/34PGRBS", "the port", 12, "digits of base 27"),
        ("8JMKD3MGP8W/", "the suffix", 12, "seconds since 1995-08-01"),
        ("8JMKD3MGP8W/W7", "the suffix", 12, "seconds since 1995-08-01"),
        ("8JMKD3MGP8W/34PGRBSW", "the fraction of the second", 20, "digits of base 27"),
        ("8JMKD3MGP8W/34PGRBSW7W", "the fraction of the second", 21, "digits of base 27"),
        ("8JMKD3MGP8W/34PGXRBS", "the suffix", 16, "W and a fraction"),
        (f"8JMKD3MGP8W/{'3' * 300}", "the label", 255, "at most 255"),
        ("ſJMKD3MGP8W/34PGRBS", "the prefix", 0, "letters and digits"),
        ("8JMKD3MGP8W/34PGRB\u212a", "the suffix", 18, "letters and digits"),
    ],
)
def test_a_fault_is_named_with_its_place_and_what_was_expected(
    text: str, part: str, position: int, expected: str
) -> None:
    with pytest.raises(IbipError) as caught:
        Ibip.parse(text)
    assert (caught.value.part, caught.value.position) == (part, position)
    assert expected in caught.value.expected


@pytest.mark.parametrize(
    ("ip", "port", "instant"),
    [
        ("256.1.2.3", 800, EPOCH),
        ("", 800, EPOCH),
        ("fe80::1%eth0", 800, EPOCH),
        ("150.163.34.243", -1, EPOCH),
        ("150.163.34.243", 0, EPOCH),
        ("150.163.34.243", 65536, EPOCH),
        ("150.163.34.243", 800, Instant(EPOCH.seconds - 1)),
        ("150.163.34.243", 800, Instant(EPOCH.seconds, " 5_1")),
        ("150.163.34.243", 800, Instant(EPOCH.seconds, "٠٣")),
    ],
)
def test_no_ibip_is_made_of_what_it_cannot_say(ip: str, port: int, instant: Instant) -> None:
    with pytest.raises(IbipError):
        Ibip.mount(ip, port, instant)


def test_numbers_too_long_to_print_are_refused_all_the_same() -> None:
    for ip, port in (("127.0.0.1", 800), ("x", 10**5000)):
        with pytest.raises(IbipError):
            Ibip.mount(ip, port, Instant(10**5000))


def test_an_ibip_is_made_in_its_canonical_spelling() -> None:
    assert Ibip.mount("127.0.0.1", 800, Instant(EPOCH.seconds, "50")).spelling == "LK47B6W/2W7"
    assert Ibip.mount("127.0.0.1", 800, Instant(EPOCH.seconds, "000")).spelling == "LK47B6W/2"


def test_the_fraction_keeps_labels_apart_that_the_printed_algorithm_would_join() -> None:
    half, twentieth = (Ibip.mount("127.0.0.1", 800, Instant(EPOCH.seconds, f)) for f in ("5", "05"))
    assert (half.spelling, twentieth.spelling) == ("LK47B6W/2W7", "LK47B6W/2W27")
    assert parse("LK47B6W/2W27") == twentieth != half
