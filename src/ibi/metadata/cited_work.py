"""An item as citation managers see it: one work with a kind, authors, a year and an address.

CSL-JSON, BibTeX and RIS are written from this value. They have one title, one date and one kind
where Dublin Core has any number of texts, so the choice between those is made here, once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ibi.errors import MetadataError
from ibi.identifier.persistent_url import PersistentUrl
from ibi.metadata.dates import Moment, read_date
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import Agent, MetadataRecord


class WorkKind(StrEnum):
    """The kinds of works that citation formats tell apart."""

    ARTICLE = "article"
    BOOK = "book"
    CHAPTER = "chapter"
    CONFERENCE_PAPER = "conference paper"
    DATASET = "dataset"
    DOCTORAL_THESIS = "doctoral thesis"
    DOCUMENT = "document"
    IMAGE = "image"
    MAP = "map"
    MASTER_THESIS = "master thesis"
    PRESENTATION = "presentation"
    REPORT = "report"
    SOFTWARE = "software"
    SOUND = "sound"
    THESIS = "thesis"
    VIDEO = "video"
    WEB_PAGE = "web page"


@dataclass(frozen=True, slots=True)
class Person:
    """A person of a list of authors; `particle` is the "de" of "Alencar, Marina Tavares de"."""

    family: str
    given: str = ""
    particle: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedWork:
    """A work; a text is empty where the record has none."""

    label: str
    """The shorter label of the item."""
    url: str
    """The persistent URL of the item."""
    kind: WorkKind
    title: str
    authors: tuple[Person | str, ...] = ()
    """In their order; a text is the name of an organisation."""
    editors: tuple[Person | str, ...] = ()
    translators: tuple[Person | str, ...] = ()
    date: Moment | None = None
    publisher: str = ""
    language: str = ""
    """The language of the title if it is known, otherwise that of the item."""
    doi: str = ""
    isbn: str = ""
    issn: str = ""
    abstract: str = ""
    """In one line."""
    keywords: tuple[str, ...] = ()
    licence: str = ""


def cited_work(record: MetadataRecord, forms: Forms, base: str) -> CitedWork:
    """Return the item with these labels as a work; `base` begins persistent URLs."""
    tags = (record.title.language, *record.languages)
    return CitedWork(
        label=forms.short.spelling,
        url=PersistentUrl(forms.short).at(base),
        kind=kind_of(record.types),
        title=record.title.value,
        authors=tuple(map(_author, record.named_creators)),
        editors=_in_role(record, "Editor"),
        translators=_in_role(record, "Translator"),
        date=_date(record.dates),
        publisher=str(record.publishers[0]) if record.publishers else "",
        language=next((tag for tag in tags if tag), ""),
        doi=_identifier(_DOI, record.identifiers),
        isbn=_identifier(_ISBN, record.identifiers),
        issn=_identifier(_ISSN, record.identifiers),
        abstract=" ".join(record.descriptions[0].value.split()) if record.descriptions else "",
        keywords=tuple(subject.value for subject in record.subjects),
        licence=record.licence,
    )


# The DCMI types, the words of info:eu-repo and of OpenAIRE, the numbers of COAR's vocabulary of
# resource types, and what depositors write in English and Portuguese.
_WORDS: Final[dict[WorkKind, str]] = {
    WorkKind.ARTICLE: "article, journal article, preprint, artigo, artigo de periodico, c_6501, "
    "c_816b",
    WorkKind.BOOK: "book, monograph, livro, monografia, c_2f33",
    WorkKind.CHAPTER: "book part, book chapter, chapter, capitulo, capitulo de livro, c_3248",
    WorkKind.CONFERENCE_PAPER: "conference object, conference paper, conference proceedings, "
    "trabalho em evento, artigo em evento, c_5794, c_c94f",
    WorkKind.DATASET: "dataset, data set, database, conjunto de dados, base de dados, dados, "
    "c_ddb1",
    WorkKind.DOCTORAL_THESIS: "doctoral thesis, doctoral dissertation, phd thesis, tese, "
    "tese de doutorado, c_db06",
    WorkKind.IMAGE: "image, still image, photograph, imagem, fotografia, c_c513, c_ecc8",
    WorkKind.MAP: "map, cartographic material, mapa, carta, c_12cd, c_12cc",
    WorkKind.MASTER_THESIS: "master thesis, masters thesis, dissertacao, "
    "dissertacao de mestrado, c_bdcc",
    WorkKind.PRESENTATION: "presentation, lecture, slides, apresentacao, palestra, c_8544",
    WorkKind.REPORT: "report, technical report, relatorio, relatorio tecnico, c_93fc, c_18gh",
    WorkKind.SOFTWARE: "software, computer program, programa de computador, c_5ce6",
    WorkKind.SOUND: "sound, audio, som, c_18cc",
    WorkKind.THESIS: "thesis, dissertation, bachelor thesis, trabalho de conclusao de curso, tcc, "
    "c_46ec, c_7a1f",
    WorkKind.VIDEO: "moving image, video, film, filme, c_12ce, c_8a7e",
    WorkKind.WEB_PAGE: "web page, webpage, website, pagina da web, c_7ad9",
}
_KINDS: Final = {
    word.strip().replace(" ", ""): kind
    for kind, words in _WORDS.items()
    for word in words.split(",")
}
_FOLDED: Final = str.maketrans("áàâãéêíóôõúüç", "aaaaeeiooouuc")
_SEPARATORS: Final = re.compile(r"[\s'\u2019.-]+")


def kind_of(types: tuple[str, ...]) -> WorkKind:
    """Return the kind that the first known type names."""
    for text in types:
        word = _SEPARATORS.sub("", text.rpartition("/")[2].lower().translate(_FOLDED))
        if word in _KINDS:
            return _KINDS[word]
    return WorkKind.DOCUMENT


PARTICLE: Final = re.compile(
    r"al|d['\u2019]?|d[aeiou]|das|del|della|den|der|dos|du|e|el|l[ae]|las|los|te[nr]|van|von|y|zu|zu[mr]"
)
"""A word of a name, in lower case as catalogues write it; "e" and "y" join two family names."""


def _in_role(record: MetadataRecord, role: str) -> tuple[Person | str, ...]:
    return tuple(_author(each) for each in record.contributors if each.role == role)


def _author(agent: Agent) -> Person | str:
    if not agent.family:
        return agent.name
    # Catalogues put the particles of a Portuguese name behind the given names.
    words = agent.given.split(" ")
    end = len(words)
    while end > 1 and PARTICLE.fullmatch(words[end - 1]):
        end -= 1
    return Person(agent.family, " ".join(words[:end]), " ".join(words[end:]))


def _date(dates: tuple[str, ...]) -> Moment | None:
    """Return the beginning of the first valid date."""
    for text in dates:
        try:
            return read_date(text)[0]
        except MetadataError:
            continue
    return None


_DOI: Final = re.compile(
    r"(?:doi:\s?|https?://(?:dx\.)?doi\.org/)?(10\.[0-9]{4,9}/[^\s\x00-\x1f\"<>{}\\^|`]{1,300})",
    re.IGNORECASE,
)
_ISBN: Final = re.compile(r"(?:urn:)?isbn[:\s]\s?([0-9][0-9-]{8,15}[0-9X])", re.IGNORECASE)
_ISSN: Final = re.compile(r"(?:urn:)?issn[:\s]\s?([0-9]{4}-[0-9]{3}[0-9X])", re.IGNORECASE)


def _identifier(scheme: re.Pattern[str], identifiers: tuple[str, ...]) -> str:
    found = (scheme.fullmatch(text) for text in identifiers)
    return next((match[1] for match in found if match), "")
