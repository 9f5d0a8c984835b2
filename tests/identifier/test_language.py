"""Languages of translations."""

from __future__ import annotations

import pytest

from ibi import Language
from ibi.errors import LanguageError


@pytest.mark.parametrize("text", ["pt-BR", "PT-br", "pT-Br"])
def test_either_case_is_read_and_one_is_written(text: str) -> None:
    assert str(Language.parse(text)) == "pt-BR"


@pytest.mark.parametrize(
    ("text", "part", "position"),
    [
        ("", "the code", 0),
        ("p", "the code", 0),
        ("por", "the code", 0),
        ("pt_BR", "the code", 0),
        ("pt-BRA", "the code", 0),
        ("ſt", "the code", 0),
        ("xx", "the language", 0),
        ("pt-QQ", "the country", 3),
    ],
)
def test_what_is_no_language_is_refused(text: str, part: str, position: int) -> None:
    with pytest.raises(LanguageError) as caught:
        Language.parse(text)
    assert (caught.value.part, caught.value.position) == (part, position)
