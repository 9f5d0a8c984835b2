"""Real identifiers from the wild."""

from __future__ import annotations

import pytest

from ibi import Ibip, LegacyLabel, RepositoryName, describe, pair_warnings, parse, read
from ibi.identifier.description import LabelWarning
from tests.vectors import rows


@pytest.mark.parametrize(("kind", "identifier"), rows("identifiers"))
def test_identifiers_parse_to_their_kind_and_keep_their_spelling(
    kind: str, identifier: str
) -> None:
    label = parse(identifier, strict=True)
    assert (label.kind, str(label)) == (kind, identifier)
    assert parse(label.canonical) == label
    assert describe(identifier).cleaned == ()


@pytest.mark.parametrize("pair", rows("pairs"))
def test_both_labels_of_an_item_carry_one_instant(pair: list[str]) -> None:
    known_difference = int(pair[2]) if len(pair) > 2 else 0
    name, ibip = RepositoryName.parse(pair[0]), Ibip.parse(pair[1])
    assert name.instant.seconds - ibip.instant.seconds == known_difference
    assert bool(pair_warnings(name, ibip)) == bool(known_difference)
    assert ibip.canonical == pair[1]


def test_a_pair_that_differs_is_warned_of_and_not_refused() -> None:
    ibip = Ibip.parse("LK47B6W/362SFKH")
    for date in ("09.09.23.01", "09.09.22.01.00.9"):
        name = RepositoryName.parse(f"iconet.com.br/banon/2009/{date}")
        assert pair_warnings(name, ibip) == (LabelWarning.INSTANTS_DIFFER,)


@pytest.mark.parametrize(("name", "label"), rows("legacy_pairs"))
def test_legacy_labels_decode(name: str, label: str) -> None:
    legacy, expected = LegacyLabel.parse(label), RepositoryName.parse(name)
    assert legacy.instant == expected.instant
    assert legacy.is_decodable
    if legacy.host:
        assert legacy.repository_name == expected
        assert (legacy.host, legacy.port) == (expected.host, expected.port)


@pytest.mark.parametrize(("text", "identifier"), rows("messy"))
def test_messy_texts_are_cleaned_up_and_say_so(text: str, identifier: str) -> None:
    reading = read(text)
    assert str(reading.label) == identifier
    assert reading.cleaned
    assert reading.tail == ""
