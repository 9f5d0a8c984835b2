"""Citations of items in the styles that journals ask for, by citeproc-py.

The processor knows one item at a time, and its styles are in `citation_styles`. Beside the
variables of CSL-JSON they use some whose values CSL cannot make by itself:

    title-short         the title before its first colon
    annote              the subtitle: what follows the colon
    original-title      the title before its colon, with the first word in capitals
    publisher           the first publisher, or that of the archive
    original-publisher  the same, absent if it is the only author
    genre               what the work is, in the language of the citation: "Data set"
    author              the authors, with given names of which the processor makes right initials
    composer            the authors, with given names as they are
    medium              the degree of a thesis as Brazilian libraries write it: "Tese (Doutorado)"
    call-number         the label of the item
    accessed            the day of the citation
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from importlib.resources import files
from threading import Lock
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup, escape

from ibi.archive.rules.calendar import day_of
from ibi.errors import ArchiveRequestError, LanguageError, Sentence, shown
from ibi.foundation.translation.language import (
    CHOICES,
    page_language,
    preference_of,
    translations,
)
from ibi.identifier.language import Language
from ibi.metadata.cited_work import PARTICLE, CitedWork, Person, WorkKind
from ibi.metadata.crosswalks.csl_json import csl_value
from ibi.model.clock import SECOND, Clock
from ibi.model.item import Item
from ibi.model.metadata_record import MetadataRecord

if TYPE_CHECKING:
    from citeproc import CitationStylesStyle

STYLES: Final = {
    "abnt": "ABNT",
    "apa": "APA",
    "chicago": "Chicago",
    "ieee": "IEEE",
    "vancouver": "Vancouver",
}
"""The name of each style, by its id."""
LOCALES: Final = {"en": "en-US", "pt": "pt-BR"}
"""The locale of CSL for a language of pages; another language stands for itself."""
MOST_CACHED: Final = 2_000
"""Items whose citations are kept in memory, some 4 kB each."""


@dataclass(frozen=True, slots=True)
class Citation:
    """An item cited in one style."""

    style_name: str
    style_id: str
    html: Markup
    text: str


def check_style(style: str) -> None:
    """Raise ArchiveRequestError unless a style is known."""
    if style not in STYLES:
        raise ArchiveRequestError(
            Sentence(
                "%(style)s is not a style: expected one of %(known)s.",
                style=shown(style),
                known=", ".join(STYLES),
            )
        )


def language_of(locale: str, accept_language: str) -> str:
    """Return the language of pages that a locale names, or if it is empty the one preferred."""
    if not locale:
        return page_language(preference_of(accept_language)).code
    try:
        code = Language.parse(locale).code
    except LanguageError:
        code = ""
    if code not in LOCALES:
        raise ArchiveRequestError(
            Sentence(
                "%(locale)s is not a locale: expected one of %(known)s.",
                locale=shown(locale),
                known=", ".join(LOCALES.values()),
            )
        )
    return code


class Citations:
    """Cites the items of one archive, in the languages of its pages."""

    def __init__(self, publisher: str, clock: Clock) -> None:
        """`publisher` is that of an Original that names none."""
        self.publisher = publisher
        self._clock = clock
        self._processors = {code: _Processor(code) for code, _ in CHOICES}
        self._lock = Lock()
        self._cached = lru_cache(MOST_CACHED)(self._made)

    def published(self, item: Item, record: MetadataRecord) -> MetadataRecord:
        """Return the record of an item as it is cited, with a publisher if that is known."""
        return item.published(record, self.publisher)

    def of(self, work: CitedWork, language: str) -> tuple[Citation, ...]:
        """Return a work in every style, as it is cited today (UTC)."""
        today = day_of(self._clock.wall() // _DAY)
        # What no citation shows is not kept with it.
        return self._cached(replace(work, abstract="", keywords=(), licence=""), language, today)

    def _made(self, work: CitedWork, language: str, today: date) -> tuple[Citation, ...]:
        # A style keeps the state of the citation that it is making.
        with self._lock:
            return self._processors[language].cite(work, today)


class _Processor:
    """Makes citations in one language; the styles are read when they are first used."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._styles: dict[str, CitationStylesStyle] = {}
        self._translated: Callable[[str], str] = str

    def cite(self, work: CitedWork, today: date) -> tuple[Citation, ...]:
        # Loading the processor takes some 60 ms, which a program that cites nothing can spare.
        from citeproc import Citation as Cited  # noqa: PLC0415
        from citeproc import CitationItem, CitationStylesBibliography  # noqa: PLC0415
        from citeproc.source.json import CiteProcJSON  # noqa: PLC0415

        if not self._styles:
            self._translated = translations(self._language).gettext
            self._styles = {name: _style(name, self._language) for name in STYLES}
        source = CiteProcJSON([_variables(work, today, self._translated)])
        citations = []
        for name, style in self._styles.items():
            bibliography = CitationStylesBibliography(style, source, _FORMATTER)
            bibliography.register(Cited([CitationItem(_KEY)]))
            (written,) = bibliography.bibliography()
            citations.append(_citation(name, str(written)))
        return tuple(citations)


def _style(name: str, language: str) -> CitationStylesStyle:
    from citeproc import CitationStylesStyle  # noqa: PLC0415

    source = files(__package__).joinpath("citation_styles", f"{name}.csl")
    with source.open("rb") as opened:
        return CitationStylesStyle(opened, locale=LOCALES.get(language, language), validate=False)


_KEY: Final = "x"
_DAY: Final = 86_400 * SECOND

# The processor escapes only a part of the text that it is given. So it writes marks in place of
# tags, which are removed from all text before; its whole output is escaped, and the marks then
# become tags. The marks are noncharacters, which no text should have (Unicode, 23.7).
_BOLD: Final = "\ufdd0", "\ufdd1"
_ITALIC: Final = "\ufdd2", "\ufdd3"
_ENDED: Final = "\ufdd4"
"""Stands behind a text that ends in a question mark or an exclamation mark."""
_JOINED: Final = "\ufdd5"
"""Stands for a space within what is one word for the processor."""
_MARKS: Final = re.compile(r"[\ufdd0-\ufdd3]")
_TAGS: Final = {"\ufdd0": "<b>", "\ufdd1": "</b>", "\ufdd2": "<i>", "\ufdd3": "</i>"}
_UNFIT: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
# Of two marks of punctuation that meet, one is written; the processor does so in plain text only.
_PUNCTUATED_TWICE: Final = re.compile(r"\ufdd4([\ufdd1\ufdd3]?)[.,]|(?<=\.)([\ufdd1\ufdd3])\.")

_FORMATTER: Final = SimpleNamespace(
    preformat=str,
    Bold=lambda text: f"{_BOLD[0]}{text}{_BOLD[1]}",
    Italic=lambda text: f"{_ITALIC[0]}{text}{_ITALIC[1]}",
)


def _citation(style: str, written: str) -> Citation:
    marked = _PUNCTUATED_TWICE.sub(r"\1\2", written).replace(_ENDED, "").replace(_JOINED, " ")
    html = _MARKS.sub(lambda mark: _TAGS[mark[0]], str(escape(marked)))
    return Citation(STYLES[style], style, Markup(html), _MARKS.sub("", marked))  # noqa: S704  # escaped


_GENRES: Final[Mapping[WorkKind, str]] = {
    WorkKind.DATASET: "Data set",
    WorkKind.DOCTORAL_THESIS: "Doctoral dissertation",
    WorkKind.IMAGE: "Image",
    WorkKind.MAP: "Map",
    WorkKind.MASTER_THESIS: "Master's thesis",
    WorkKind.PRESENTATION: "Presentation",
    WorkKind.SOFTWARE: "Computer software",
    WorkKind.SOUND: "Audio",
    WorkKind.THESIS: "Thesis",
    WorkKind.VIDEO: "Video",
}
_DEGREES: Final[Mapping[WorkKind, str]] = {
    WorkKind.DOCTORAL_THESIS: "Thesis (Doctorate)",
    WorkKind.MASTER_THESIS: "Thesis (Master)",
    WorkKind.THESIS: "Thesis",
}
GENRE_TEXTS: Final = (*_GENRES.values(), *_DEGREES.values())
"""Texts of citations that are translated."""


def _variables(work: CitedWork, today: date, translated: Callable[[str], str]) -> dict[str, Any]:
    """Return the variables that the styles use."""
    title = work.title if work.title.endswith("..") else work.title.removesuffix(".")
    main, _, subtitle = (part.strip() for part in title.partition(": "))
    value = csl_value(work)
    texts = {
        "title": title,
        "title-short": main,
        "annote": subtitle,
        "original-title": _opened(main),
        "publisher": work.publisher,
        "original-publisher": "" if work.authors == (work.publisher,) else work.publisher,
        "genre": translated(_GENRES[work.kind]) if work.kind in _GENRES else "",
        "medium": translated(_DEGREES[work.kind]) if work.kind in _DEGREES else "",
        "call-number": work.label,
        "URL": work.url,
    }
    return {
        "id": _KEY,
        "type": value["type"],
        # Only titles in English have their words capitalised (CSL 1.0.2, text-case).
        "language": work.language or "und",
        "accessed": {"date-parts": [[today.year, today.month, today.day]]},
        **({"issued": value["issued"]} if "issued" in value else {}),
        **_names(work.authors),
        **{name: _ended(_clean(text)) for name, text in texts.items() if text},
    }


def _clean(text: str) -> str:
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", text)


def _ended(text: str) -> str:
    return text + _ENDED if text.endswith(("?", "!")) else text


# NBR 6023, 6.7: the first word is in capitals, with an article or word of one syllable before it.
_OPENING: Final = re.compile(
    r"(?:(?:an?|the|[ao]s?|um|uma|uns|umas|[eé]l|l[aoe]s?|une?|der|die|das|ein|eine) )?[^ ]+",
    re.IGNORECASE,
)


def _opened(title: str) -> str:
    opening = _OPENING.match(title)
    end = opening.end() if opening else 0
    return title[:end].upper() + title[end:]


def _names(authors: tuple[Person | str, ...]) -> dict[str, Any]:
    if not authors:
        return {}
    pairs = [_name(author) for author in authors]
    return {"author": [pair[0] for pair in pairs], "composer": [pair[1] for pair in pairs]}


def _name(author: Person | str) -> tuple[dict[str, str], dict[str, str]]:
    """Return a name of which initials can be made, and the same name as it is."""
    if isinstance(author, str):
        literal = {"literal": _ended(_clean(author))}
        return literal, literal
    family, given = _clean(author.family), _clean(author.given)
    abbreviable = _abbreviable(given)
    if given and not abbreviable:  # in a script without capital letters
        literal = {"literal": f"{family} {given}"}
        return literal, literal
    others = {"family": family}
    if author.particle:
        others["dropping-particle"] = author.particle
    if not given:
        return others, others
    return {**others, "given": abbreviable}, {**others, "given": given}


def _abbreviable(given: str) -> str:
    """Return given names of which the processor makes initials: it takes capital letters only.

    Particles between them stay as one word, because it would write a full stop behind each.
    """
    words: list[str] = []
    last = ""
    for word in given.split():
        if PARTICLE.fullmatch(word) and words:
            last = f"{last}{_JOINED}{word}" if last else word
            continue
        parts = [part for part in map(_capitalised, word.split("-")) if part]
        if parts:
            words += [last, "-".join(parts)] if last else ["-".join(parts)]
            last = ""
    return " ".join(words)


def _capitalised(word: str) -> str:
    """Return a word from its first letter that has a capital form on, with this capital."""
    for place, character in enumerate(word):
        capital = character.upper()
        if capital[0].isupper():
            return capital + word[place + 1 :]
    return ""
