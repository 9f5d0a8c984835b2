"""The list of languages of a form, in the language of its reader."""

from __future__ import annotations

import pytest

from ibi.foundation.pages.formats import Formats
from ibi.identifier.language import Language


@pytest.mark.parametrize(
    ("reader", "first", "portuguese"),
    [("en", ("ab", "Abkhazian"), "Portuguese"), ("pt", ("ab", "abcázio"), "português")],
)
def test_languages_are_sorted_by_their_names(
    reader: str, first: tuple[str, str], portuguese: str
) -> None:
    listed = Formats(reader).languages()
    assert listed[0] == first
    assert ("pt", portuguese) in listed
    assert len(listed) > 150
    assert len({code for code, _ in listed}) == len(listed)
    assert all(str(Language.parse(code)) == code for code, _ in listed)


def test_an_accent_does_not_move_a_name_to_the_end() -> None:
    names = [name for _, name in Formats("pt").languages()]
    assert names.index("árabe") < names.index("basco")
