"""The check character: the NOID algorithm over the 29 symbols of an IBIp."""

from __future__ import annotations

import pytest

from ibi import Ibip, Instant, check_character, parse
from ibi.errors import CheckCharacterError
from ibi.identifier.check_character import verify
from ibi.identifier.ibip import ALPHABET, longest_match

LABEL = Ibip.parse("8JMKD3MGP7W34R/3EPGUE5")


def test_the_alphabet_has_a_prime_number_of_symbols() -> None:
    assert len(ALPHABET) == len(set(ALPHABET)) == 29


def test_a_worked_example() -> None:
    # LK47B6W/362SFKH: values L18 K17 4=2 7=5 B9 6=4 W27 / 3=1 6=4 2=0 S24 F13 K17 H15
    weighted = [18, 17, 2, 5, 9, 4, 27, 0, 1, 4, 0, 24, 13, 17, 15]
    total = sum(place * value for place, value in enumerate(weighted, 1))
    assert check_character(Ibip.parse("LK47B6W/362SFKH")) == ALPHABET[total % 29] == "2"


def test_it_goes_with_the_spelling_in_either_case() -> None:
    expected = check_character(LABEL)
    assert check_character(Ibip.parse(LABEL.spelling.lower())) == expected
    verify(LABEL, expected)
    verify(LABEL, expected.lower())


def _check(text: str) -> str:
    """The algorithm on any text, so that mistakes which are no label are counted too."""
    values = {symbol: value for value, symbol in enumerate(ALPHABET)}
    return ALPHABET[sum(at * values.get(symbol, 0) for at, symbol in enumerate(text, 1)) % 29]


def test_every_single_mistake_and_every_swap_of_neighbours_is_found() -> None:
    good = LABEL.spelling
    assert _check(good) == check_character(LABEL)
    mistakes = [
        good[:at] + symbol + good[at + 1 :]
        for at in range(len(good))
        for symbol in ALPHABET
        if good[at] not in {symbol, "/"}
    ]
    swaps = [
        good[:at] + good[at + 1] + good[at] + good[at + 2 :]
        for at in range(len(good) - 1)
        if good[at] != good[at + 1]
    ]
    assert len(mistakes) > 500
    assert not [text for text in mistakes + swaps if _check(text) == _check(good)]
    for text in mistakes + swaps:
        label = longest_match(text)
        if label is not None and label.spelling == text:
            with pytest.raises(CheckCharacterError):
                verify(label, check_character(LABEL))


def test_every_ibip_on_ipv4_without_a_fraction_is_short_enough() -> None:
    year_3000 = Instant(32_503_680_000)
    assert len(Ibip.mount("255.255.255.255", 65535, year_3000).spelling) <= 28


def test_a_slash_that_changed_places_with_a_zero_digit_is_not_found() -> None:
    """What the algorithm cannot do is said in the documentation; here is the example."""
    one, other = Ibip.parse("LK47B6W32/362SFKH"), Ibip.parse("LK47B6W3/2362SFKH")
    assert check_character(one) == check_character(other)


@pytest.mark.parametrize("wrong", ["", "3", "ſ", "22", " "])
def test_another_character_is_refused_with_the_right_one(wrong: str) -> None:
    with pytest.raises(CheckCharacterError, match="mistyped") as caught:
        verify(Ibip.parse("LK47B6W/362SFKH"), wrong)
    assert caught.value.expected == "2"


def test_only_an_ibip_has_one() -> None:
    with pytest.raises(CheckCharacterError, match="only an IBIp has one"):
        verify(parse("sid.inpe.br/mtc-m18/2009/02.16.17.46"), "2")
