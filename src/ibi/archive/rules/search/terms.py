"""Terms of texts: words without case and accents, and the stems of English and Portuguese words.

Both databases store these terms as they are, and neither divides or folds texts by itself: an
item is found by the same words whatever the catalogue lies in.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from typing import Final

import snowballstemmer

from ibi.archive.rules.item_choice import folded

LONGEST_TERM: Final = 64
"""Characters of a term; the rest of a longer word is ignored."""
LONGEST_PLACE: Final = 120
"""Characters by which values and titles are sorted."""
STEM: Final = "="
"""The first character of a stem, which no word has."""
MARK: Final = "~"
"""The first character of a term for a facet, which no word has."""
_CACHED: Final = 1 << 16
"""Words whose stems are cached: a stem takes 80 microseconds."""

# Each character of Chinese and Japanese is a word of its own, as these are written without spaces.
_SINGLE: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD: Final = re.compile(rf"[{_SINGLE}]|[^\W_{_SINGLE}]+")

_ENGLISH: Final = snowballstemmer.stemmer("english")
_PORTUGUESE: Final = snowballstemmer.stemmer("portuguese")
_STEMMERS: Final = {"en": _ENGLISH, "pt": _PORTUGUESE}
# Plurals that the Portuguese stemmer leaves apart from their singulars, without their accents.
_PLURALS: Final = (("oes", "ao"), ("ns", "m"), ("ais", "al"), ("eis", "el"), ("uis", "ul"))
_SHORTEST_PLURAL: Final = 5

# Words that are in nearly every text, in English and in Portuguese, without their accents.
_COMMON: Final = frozenset(
    {
        *(
            "a",
            "ao",
            "aos",
            "as",
            "at",
            "by",
            "com",
            "da",
            "das",
            "de",
            "do",
            "dos",
            "e",
            "em",
            "for",
            "from",
            "in",
            "na",
        ),
        *(
            "nas",
            "no",
            "nos",
            "o",
            "of",
            "on",
            "or",
            "os",
            "ou",
            "para",
            "pela",
            "pelas",
            "pelo",
            "pelos",
            "por",
        ),
        *("que", "sem", "the", "to", "um", "uma", "with", "and", "an", "is", "are"),
    }
)


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text, without case and accents."""
    # Folded twice: some characters are divided into capital letters.
    return tuple(word[:LONGEST_TERM] for word in _WORD.findall(folded(folded(text))))


def is_common(word: str) -> bool:
    """Return whether a word is in nearly every text, so that it does not help to find one."""
    return word in _COMMON


def stems_of(word: str, language: str = "") -> tuple[str, ...]:
    """Return the stems of a word as terms: in its language, in both if that is unknown."""
    if language and language not in _STEMMERS:
        return ()
    codes = (language,) if language else tuple(_STEMMERS)
    return tuple(dict.fromkeys(STEM + _stem(word, code) for code in codes))


@lru_cache(maxsize=_CACHED)
def _stem(word: str, language: str) -> str:
    if language == "pt" and len(word) >= _SHORTEST_PLURAL:
        for plural, singular in _PLURALS:
            if word.endswith(plural):
                word = word.removesuffix(plural) + singular
                break
    return str(_STEMMERS[language].stemWord(word))


def mark_of(facet: str, value: str) -> str:
    """Return the term for a value of a facet; case, accents and punctuation do not matter."""
    text = f"{facet} {' '.join(words_of(value))}"
    return MARK + blake2b(text.encode(), digest_size=10).hexdigest()


def label_mark(text: str) -> str:
    """Return the term for a label or its beginning, as `mark_of` makes that of a value."""
    return mark_of("label", text)


def place_of(value: str) -> str:
    """Return the text by which a value is sorted among others."""
    return " ".join(words_of(value))[:LONGEST_PLACE]
