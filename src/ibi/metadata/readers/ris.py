"""RIS, read by rispy: the first reference of a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import rispy

from ibi.errors import MetadataError, Sentence, shown
from ibi.metadata.form import agent_of
from ibi.metadata.readers.reading import Gathering, Reading, one_line, text_of
from ibi.metadata.readers.words import date_of, language_of, type_of
from ibi.wire.addresses import is_web_address

_TAG: Final = re.compile(r"[A-Z][A-Z0-9]  -")
_TYPES: Final = {
    "ABST": "Text",
    "AGGR": "Dataset",
    "ART": "Image",
    "BLOG": "Web page",
    "BOOK": "Book",
    "CHAP": "Book chapter",
    "CHART": "Image",
    "COMP": "Software",
    "CONF": "Book",
    "CPAPER": "Conference paper",
    "DATA": "Dataset",
    "DBASE": "Dataset",
    "EBOOK": "Book",
    "ECHAP": "Book chapter",
    "EDBOOK": "Book",
    "EJOUR": "Article",
    "ELEC": "Web page",
    "FIGURE": "Image",
    "INPR": "Preprint",
    "JOUR": "Article",
    "MAP": "Map",
    "MGZN": "Article",
    "MPCT": "MovingImage",
    "NEWS": "Article",
    "RPRT": "Report",
    "SLIDE": "Presentation",
    "SOUND": "Sound",
    "STAND": "Text",
    "THES": "Thesis",
    "UNPB": "Text",
    "VIDEO": "MovingImage",
    "WEB": "Web page",
}
_TITLES: Final = ("TI", "T1")
_FURTHER_TITLES: Final = ("TT",)
_PEOPLE: Final = {"AU": "", "A1": "", "ED": "Editor", "A2": "Editor", "A4": "Translator"}
_DATES: Final = ("DA", "PY", "Y1")
_ABSTRACTS: Final = ("AB", "N2")
_WHOLE: Final = ("JO", "JF", "JA", "T2", "T3")
_READ: Final = frozenset(
    (
        *(*_TITLES, *_FURTHER_TITLES, *_PEOPLE, *_DATES, *_ABSTRACTS, *_WHOLE),
        *("TY", "ID", "ER", "KW", "PB", "LA", "DO", "SN", "UR", "AN", "M3", "VL", "IS", "SP"),
        *("EP", "ST", "Y2", "L1", "L2", "L4", "DB", "DP", "LB", "J2"),
    )
)


def read(content: bytes) -> Reading:
    """Read the first reference; MetadataError if there is none."""
    lines = list(_unfolded(text_of(content)))
    tags = {"TY", "ER", "UK", *(line[:2] for line in lines)}
    # Every tag keeps all its values, by its own name: what is said twice is not lost.
    references = rispy.loads(
        "\n".join(lines),
        mapping={tag: tag for tag in tags},
        list_tags=[*tags],
        delimiter_tags_mapping={},
    )
    if not references:
        raise MetadataError(Sentence("The file has no reference of RIS that can be read."))
    gathering = Gathering()
    if len(references) > 1:
        gathering.doubt(
            Sentence(
                "The file has %(count)s references: only the first was read.",
                count=len(references),
            )
        )
    fields = {tag: _values(value) for tag, value in references[0].items()}
    _gather(fields, gathering)
    return gathering.reading()


def _unfolded(text: str) -> Iterator[str]:
    """Yield lines with a tag each: a line without one goes on with the line before it.

    The parser does the same by adding to a text again and again, in quadratic time. It also needs
    the end of the last reference.
    """
    parts: list[str] = []
    for line in text.splitlines():
        if _TAG.match(line):
            if parts:
                yield " ".join(parts)
            parts = [line]
        elif parts and line.strip():
            parts.append(line.strip())
    if parts:
        yield " ".join(parts)
        if not parts[0].startswith("ER"):
            yield "ER  - "


def _values(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [text for text in (one_line(str(each)) for each in values) if text]


def _gather(fields: Mapping[str, list[str]], gathering: Gathering) -> None:
    def all_of(*tags: str) -> list[str]:
        return [text for tag in tags for text in fields.get(tag, ())]

    language = _language(all_of("LA"), gathering)
    main = all_of(*_TITLES) or all_of("T2")
    gathering.add_texts("titles", main, "TI", language)
    gathering.add_texts("titles", all_of(*_FURTHER_TITLES), "TT")
    for tag, role in _PEOPLE.items():
        for text in all_of(tag):
            _person(text, role, tag, gathering)
    gathering.add("types", _type(fields), "TY")
    gathering.add("dates", _date(all_of(*_DATES), gathering), "PY")
    gathering.add("publishers", all_of("PB"), "PB")
    gathering.add_texts("descriptions", all_of(*_ABSTRACTS), "AB", language)
    words = [word for text in all_of("KW") for word in text.split(";")]
    gathering.add_texts("subjects", map(str.strip, words), "KW")
    gathering.add("languages", language, "LA")
    _identifiers(all_of, gathering)
    source = _source(fields, all_of(*_WHOLE)[0] if all_of(*_TITLES) and all_of(*_WHOLE) else "")
    gathering.add("sources", source, "JO")
    gathering.left_out(sorted(set(fields) - _READ))


def _person(text: str, role: str, tag: str, gathering: Gathering) -> None:
    try:
        agent = agent_of(text)
    except MetadataError:
        agent = None
    if agent is None:
        gathering.doubt(Sentence("The name %(name)s cannot be read.", name=shown(text)))
        return
    parts = {"name": agent.name, "family": agent.family, "given": agent.given}
    known = {name: part for name, part in parts.items() if part}
    # The third part of a name is "Jr." and the like.
    given, _, suffix = agent.given.partition(",")
    if suffix.strip():
        known |= {"family": f"{agent.family} {suffix.strip()}", "given": given.strip()}
    orcid = {"orcid": agent.orcid} if agent.orcid else {}
    element = "contributors" if role else "creators"
    gathering.add(element, known | orcid | ({"role": role} if role else {}), tag)


def _type(fields: Mapping[str, list[str]]) -> str:
    kind = next(iter(fields.get("TY", ())), "").upper()
    said = next(iter(fields.get("M3", ())), "")
    known = _TYPES.get(kind, "")
    if known == "Thesis" or (not known and said):
        return type_of(said) if said else known
    return known


def _date(texts: list[str], gathering: Gathering) -> str:
    found = ""
    for text in texts:
        parts = [part.strip() for part in text.replace("-", "/").split("/")[:3]]
        padded = [each.zfill(2) if number else each for number, each in enumerate(parts) if each]
        date = date_of(*padded) if padded else ""
        found = max(found, date, key=len)
    if texts and not found:
        gathering.doubt(Sentence("The year %(year)s cannot be read.", year=shown(texts[0])))
    return found


def _language(texts: list[str], gathering: Gathering) -> str:
    for text in texts:
        tag = language_of(text)
        if tag:
            return tag
        gathering.doubt(Sentence("The language %(text)s is not known.", text=shown(text)))
    return ""


def _identifiers(all_of: Callable[..., list[str]], gathering: Gathering) -> None:
    labels = [text for text in all_of("AN") if text.startswith("ibi:")]
    for text in all_of("AN"):
        gathering.add_identifier(text, "AN")
    for text in all_of("DO"):
        gathering.add_identifier(text, "DO")
    for text in all_of("SN"):
        digits = text.replace("-", "").replace(" ", "")
        gathering.add_identifier(f"{'ISSN' if len(digits) == 8 else 'ISBN'} {text}", "SN")  # noqa: PLR2004  # digits of an ISSN
    ends = tuple(label.removeprefix("ibi:") for label in labels)
    for text in all_of("UR"):
        several = [each.strip() for each in text.split(";")]
        for address in several if all(map(is_web_address, several)) else [text]:
            if not (ends and address.endswith(ends)):
                gathering.add_identifier(address, "UR")


def _source(fields: Mapping[str, list[str]], whole: str) -> str:
    def first(tag: str) -> str:
        return next(iter(fields.get(tag, ())), "")

    number = f"({first('IS')})" if first("IS") else ""
    pages = "-".join(filter(None, (first("SP"), first("EP"))))
    return ", ".join(filter(None, (whole, f"{first('VL')}{number}", pages)))
