"""Words that formats write in their own ways: types of works, languages, months."""

from __future__ import annotations

from functools import cache
from typing import Final

from ibi.errors import MetadataError
from ibi.metadata.choices import ITEM_TYPES, item_type
from ibi.metadata.cited_work import WorkKind, kind_of
from ibi.metadata.dates import read_date
from ibi.metadata.json_record import check_language_tag

OF_KINDS: Final = {
    WorkKind.ARTICLE: "Article",
    WorkKind.BOOK: "Book",
    WorkKind.CHAPTER: "Book chapter",
    WorkKind.CONFERENCE_PAPER: "Conference paper",
    WorkKind.DATASET: "Dataset",
    WorkKind.DOCTORAL_THESIS: "Doctoral thesis",
    WorkKind.IMAGE: "Image",
    WorkKind.MAP: "Map",
    WorkKind.MASTER_THESIS: "Master thesis",
    WorkKind.PRESENTATION: "Presentation",
    WorkKind.REPORT: "Report",
    WorkKind.SOFTWARE: "Software",
    WorkKind.SOUND: "Sound",
    WorkKind.THESIS: "Thesis",
    WorkKind.VIDEO: "MovingImage",
    WorkKind.WEB_PAGE: "Web page",
}
"""What a record says of each kind of works."""

_GENERAL: Final = {each.general: each.value for each in reversed(ITEM_TYPES)} | {
    "Audiovisual": "MovingImage",
    "ConferenceProceeding": "Book",
    "ComputationalNotebook": "Software",
    "DataPaper": "Article",
    "Image": "Image",
    "Text": "Text",
}
"""What a record says of each resourceTypeGeneral of DataCite."""
_OTHER_NAMES: Final = {
    "brazil": "pt-BR",
    "brazilian": "pt-BR",
    "português": "pt",
    "american": "en-US",
    "british": "en-GB",
    "usenglish": "en-US",
    "ukenglish": "en-GB",
    "ngerman": "de",
    "español": "es",
    "français": "fr",
    "deutsch": "de",
}
"""Names of babel, the package of LaTeX, and languages by their own names."""
_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)


def type_of(text: str) -> str:
    """Return a type as the list of types writes it, or the text itself."""
    listed = item_type(text)
    if listed is not None:
        return listed.value
    return OF_KINDS.get(kind_of((text,)), text)


def type_of_general(general: str) -> str:
    """Return the type for a resourceTypeGeneral of DataCite; the word itself if it has none."""
    return _GENERAL.get(general, general)


@cache
def _names() -> dict[str, str]:
    """Return the codes of languages by their names in English and Portuguese, in small letters."""
    from babel import Locale  # noqa: PLC0415  # its tables take long to load

    names: dict[str, str] = {}
    for spoken in ("en", "pt"):
        for code, name in Locale(spoken).languages.items():
            names.setdefault(name.lower(), code.replace("_", "-"))
    return names | _OTHER_NAMES


def language_of(text: str) -> str:
    """Return a language tag for a tag, a code of three letters or a name; empty if unknown."""
    from langcodes import standardize_tag  # noqa: PLC0415  # its tables take long to load
    from langcodes.tag_parser import LanguageTagError  # noqa: PLC0415

    text = text.strip().replace("_", "-")
    named = _names().get(text.lower())
    if named:
        return named
    if not text or len(text.partition("-")[0]) > 3:  # noqa: PLR2004  # longer ones are names
        return ""
    try:
        return check_language_tag(standardize_tag(text))
    except (LanguageTagError, MetadataError, ValueError):
        return ""


def month_of(text: str) -> str:
    """Return a month as two digits; empty if it is none."""
    text = text.strip().rstrip(".").lower()
    if text.isascii() and text.isdigit() and len(text) <= 2:  # noqa: PLR2004  # digits of a month
        return f"{int(text):02}" if 1 <= int(text) <= len(_MONTHS) else ""
    return f"{_MONTHS.index(text[:3]) + 1:02}" if text[:3] in _MONTHS else ""


def date_of(*parts: str) -> str:
    """Return a date of year, month and day, as far as it is one; empty if it is none at all."""
    for count in range(len(parts), 0, -1):
        text = "-".join(parts[:count])
        try:
            read_date(text)
        except MetadataError:
            continue
        return text
    return ""
