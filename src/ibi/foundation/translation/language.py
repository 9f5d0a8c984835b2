"""The language of texts for people: which are offered, which a reader prefers, and translations.

The message ids are the English texts. A translation is a .po file in `locale/`, which is read when
the service starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from io import BytesIO
from typing import Final

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from ibi.errors import LanguageError, Sentence
from ibi.errors.sentence import plain
from ibi.identifier.language import Language
from ibi.identifier.language_preference import LanguagePreference

ENGLISH: Final = Language("en")
OFFERED: Final = (ENGLISH, Language("pt"), Language("pt", "BR"))
CHOICES: Final = (("en", "English"), ("pt", "Português"))
"""The languages that a page offers as links, each by its own name."""


def preference_of(accept_language: str, chosen: str = "") -> LanguagePreference:
    """Return the reader's preference: the language chosen by a link, then those of the browser.

    An invalid choice is ignored, so that no page fails for it.
    """
    preference = LanguagePreference.parse(accept_language)
    try:
        return preference.preferring(Language.parse(chosen)) if chosen else preference
    except LanguageError:
        return preference


def page_language(preference: LanguagePreference) -> Language:
    """Return the language of a page for a reader; English if none of the others is preferred."""
    return preference.look_up(OFFERED) or ENGLISH


@cache
def translations(code: str) -> NullTranslations:
    """Return the translations into a language; for English, the message ids."""
    if code == ENGLISH.code:
        return NullTranslations()
    with files("ibi.foundation.translation").joinpath("locale", f"{code}.po").open("rb") as source:
        catalogue = read_po(source, locale=code, abort_invalid=True)
    compiled = BytesIO()
    write_mo(compiled, catalogue)
    compiled.seek(0)
    return GNUTranslations(compiled)


def translated(words: NullTranslations, text: str) -> str:
    """Return a text by a catalogue; as it is, if the catalogue lacks it."""
    if isinstance(text, Sentence):
        return text.translated(words.gettext)
    return words.gettext(text) if text else ""  # the empty id is the catalogue's header


def is_translated(words: NullTranslations, text: str) -> bool:
    """Return whether a catalogue has a text; that of English has all."""
    template = text.template if isinstance(text, Sentence) else text
    return type(words) is NullTranslations or words.gettext(template) != template


def in_one_language(texts: Sequence[str], preference: LanguagePreference) -> tuple[list[str], str]:
    """Return texts in a reader's language, and its tag; in English unless all are translated.

    So a document has one language, which its Content-Language tells.
    """
    language = page_language(preference)
    words = translations(language.code)
    if all(is_translated(words, text) for text in texts if text):
        return [plain(translated(words, text)) for text in texts], str(language)
    return [plain(text) for text in texts], str(ENGLISH)
