"""In which language a page is: what there is, what a reader chose, and the words of each.

The message ids are the English text. A translation lies in `locale/` as its translators wrote it,
and is read when the service starts.
"""

from __future__ import annotations

from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from io import BytesIO
from typing import Final

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from ibi.errors import LanguageError
from ibi.identifier.language import Language, LanguagePreference

ENGLISH: Final = Language("en")
OFFERED: Final = (ENGLISH, Language("pt"), Language("pt", "BR"))
CHOICES: Final = (("en", "English"), ("pt", "Português"))
"""What a page offers by a link: each language in its own words."""


def preference_of(accept_language: str, chosen: str = "") -> LanguagePreference:
    """Return what a reader prefers: the language chosen by a link, then what the browser says.

    A choice that names no language is none: no page is refused for it.
    """
    preference = LanguagePreference.parse(accept_language)
    try:
        return preference.preferring(Language.parse(chosen)) if chosen else preference
    except LanguageError:
        return preference


def page_language(preference: LanguagePreference) -> Language:
    """Return the language of a page for a reader; English for whom no other is better."""
    return preference.look_up(OFFERED) or ENGLISH


def translations(code: str) -> NullTranslations:
    """Return the words of a language; those of English are the message ids."""
    if code == ENGLISH.code:
        return NullTranslations()
    with files("ibi.foundation.pages").joinpath("locale", f"{code}.po").open("rb") as source:
        catalogue = read_po(source, locale=code, abort_invalid=True)
    compiled = BytesIO()
    write_mo(compiled, catalogue)
    compiled.seek(0)
    return GNUTranslations(compiled)
