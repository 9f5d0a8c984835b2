"""A record as plain values, for the JSON of the API, manifests and the command line.

    {"titles": [{"value": "Um título", "language": "pt"}], "creators": ["Banon, Gerald J. F."],
     "dates": ["2009-02"], "licence": "CC-BY-4.0"}

An element may also have its Dublin Core name (`title`), and a single value needs no list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from typing import Any, Final

from ibi.errors import MetadataError, Sentence, shown
from ibi.metadata.dates import read_date
from ibi.metadata.dublin_core import ELEMENTS
from ibi.metadata.licence import check_licence, check_listed
from ibi.metadata.orcid import looks_like_orcid, read_orcid
from ibi.metadata.related import read_identifier
from ibi.metadata.vocabulary import check_in_list, check_word
from ibi.model.metadata_record import Agent, Funding, MetadataRecord, RelatedIdentifier, Text

MAX_LANGUAGE_TAG: Final = 100
"""The longest language tag in characters. RFC 5646, 4.4.1 asks for 35; private tags are longer."""

#   langtag   = language ["-" script] ["-" region] *("-" variant) *("-" extension)
#               ["-" privateuse]
#   language  = 2*3ALPHA [extlang] / 4ALPHA / 5*8ALPHA
#   extlang   = 3ALPHA *2("-" 3ALPHA)
#   variant   = 5*8alphanum / (DIGIT 3alphanum)
#   extension = singleton 1*("-" (2*8alphanum))
#
# Tags that RFC 5646 keeps from before it (i-klingon) all have an equivalent of this form today.
_TAG: Final = re.compile(
    r"(?:[A-Za-z]{2,3}(?:-[A-Za-z]{3}){0,3}|[A-Za-z]{4,8})"
    r"(?:-[A-Za-z]{4})?"
    r"(?:-(?:[A-Za-z]{2}|[0-9]{3}))?"
    r"(?:-(?:[A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*"
    r"(?:-[0-9A-WYZa-wyz](?:-[A-Za-z0-9]{2,8})+)*"
    r"(?:-[Xx](?:-[A-Za-z0-9]{1,8})+)?"
    r"|[Xx](?:-[A-Za-z0-9]{1,8})+"
)


def check_language_tag(text: str) -> str:
    """Return the tag as it was written; MetadataError if it is not well-formed."""
    if len(text) > MAX_LANGUAGE_TAG or _TAG.fullmatch(text) is None:
        raise MetadataError(
            Sentence(
                "%(text)s is not a language tag: expected one as pt or pt-BR.", text=shown(text)
            )
        )
    return text


LONGEST_TEXT: Final = 65_536
"""The longest text in bytes of UTF-8."""
MOST_VALUES: Final = 1_000
"""The largest number of values of one element. Longer lists of authors have a group name."""
LARGEST_RECORD: Final = 524_288
"""The size of all texts together in bytes of UTF-8: half of what is read of an XML document."""

_FIELDS: Final = {field.name: field.name for field in fields(MetadataRecord)} | ELEMENTS

# Neither XML 1.0 (2.2) nor a terminal admits these.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_CONTROL_IN_LINES: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def record_from(plain: Mapping[str, object]) -> MetadataRecord:
    """Return the record made of plain values; MetadataError if one of them is not valid."""
    record = unfinished_record_from(plain)
    if not record.titles:
        raise MetadataError(Sentence("A record needs a title that is not blank."))
    return record


def unfinished_record_from(plain: Mapping[str, object]) -> MetadataRecord:
    """Return a record that is still being written, which may lack its title."""
    if not isinstance(plain, Mapping):
        raise MetadataError(
            Sentence('A record is an object of elements, as {"titles": ["A title"]}.')
        )
    read: dict[str, Any] = {}
    for given_name, given in plain.items():
        name = _FIELDS.get(given_name)
        if name is None:
            known = ", ".join(field.name for field in fields(MetadataRecord))
            raise MetadataError(
                Sentence(
                    "There is no element %(name)s, only %(known)s.",
                    name=shown(str(given_name)),
                    known=known,
                )
            )
        if name in read:
            raise MetadataError(
                Sentence("The element %(name)s is given twice, by two of its names.", name=name)
            )
        read[name] = _licence(given) if name == "licence" else _values(name, given)
    record = MetadataRecord(**{"titles": (), **read})
    _check_size(record)
    return record


def new_record_from(
    plain: Mapping[str, object], earlier: MetadataRecord | None = None
) -> MetadataRecord:
    """Return a record that a depositor wrote: licence, roles and relations are in their lists.

    What an earlier record of the item has already need not be.
    """
    return checked_by_lists(record_from(plain), earlier)


def checked_by_lists(
    record: MetadataRecord, earlier: MetadataRecord | None = None
) -> MetadataRecord:
    """Return a record with licence, roles and relations as their lists write them."""
    known = earlier or MetadataRecord(titles=())
    licence = record.licence
    return replace(
        record,
        licence=licence if licence in {"", known.licence} else check_listed(licence),
        contributors=tuple(
            each if each in known.contributors else in_role(each) for each in record.contributors
        ),
        related=tuple(
            each if each in known.related else identified(each) for each in record.related
        ),
    )


def in_role(agent: Agent) -> Agent:
    """Return a contributor with its role as the list writes it; else MetadataError."""
    return replace(agent, role=check_in_list("role", agent.role)) if agent.role else agent


def identified(related: RelatedIdentifier) -> RelatedIdentifier:
    """Return a related identifier as its lists and its scheme write it; else MetadataError."""
    scheme = check_in_list("scheme", related.scheme)
    return RelatedIdentifier(
        check_in_list("relation", related.relation),
        scheme,
        read_identifier(scheme, related.identifier),
    )


def record_as_dict(record: MetadataRecord) -> dict[str, Any]:
    """Return the plain values of a record, without empty ones."""
    plain = {name: value for name, value in asdict(record).items() if value}
    return {
        name: value if isinstance(value, str) else [_without_empty(each) for each in value]
        for name, value in plain.items()
    }


def _without_empty(value: str | dict[str, str]) -> str | dict[str, str]:
    if isinstance(value, str):
        return value
    return {name: part for name, part in value.items() if part}


def _check_size(record: MetadataRecord) -> None:
    size = 0
    for values in asdict(record).values():
        for value in [values] if isinstance(values, str) else values:
            parts = [value] if isinstance(value, str) else value.values()
            size += sum(len(part.encode()) for part in parts)
    if size > LARGEST_RECORD:
        raise MetadataError(
            Sentence(
                "The record has %(size)s bytes of text: %(largest)s are allowed.",
                size=size,
                largest=LARGEST_RECORD,
            )
        )


def _values(name: str, given: object) -> tuple[object, ...]:
    """Return all values of an element that are not blank."""
    if given is None:
        return ()
    values = given if isinstance(given, list | tuple) else [given]
    if len(values) > MOST_VALUES:
        raise MetadataError(
            Sentence(
                "The element %(name)s has more than %(most)s values.",
                name=name,
                most=MOST_VALUES,
            )
        )
    read = _READERS.get(name, _line)
    return tuple(value for value in (read(name, each) for each in values) if value is not None)


def _line(name: str, given: object) -> str | None:
    """Return a text of one line, None if it is blank."""
    return _checked(name, given, _CONTROL).strip() or None


def _checked(name: str, given: object, control: re.Pattern[str]) -> str:
    if not isinstance(given, str):
        raise MetadataError(
            Sentence("The element %(name)s has a value that is not a text.", name=name)
        )
    found = control.search(given)
    if found:
        raise MetadataError(
            Sentence(
                "The element %(name)s has a control character, %(found)s, in %(given)s.",
                name=name,
                found=shown(found[0]),
                given=shown(given),
            )
        )
    if len(given.encode()) > LONGEST_TEXT:
        raise MetadataError(
            Sentence(
                "The element %(name)s has a text of more than %(longest)s bytes.",
                name=name,
                longest=LONGEST_TEXT,
            )
        )
    return given


def _parts(name: str, given: Mapping[object, object], *known: str) -> dict[str, str]:
    """Return the parts of a value that is an object."""
    for part in given:
        if part not in known:
            expected = ", ".join(known)
            raise MetadataError(
                Sentence(
                    "The element %(name)s has no part %(part)s: %(expected)s.",
                    name=name,
                    part=shown(str(part)),
                    expected=expected,
                )
            )
    return {str(part): _line(name, value) or "" for part, value in given.items() if value}


def _text(name: str, given: object) -> Text | None:
    """Return a text of one line, with or without its language."""
    if not isinstance(given, Mapping):
        line = _line(name, given)
        return Text(line) if line else None
    return _tagged(_parts(name, given, "value", "language"))


def _lines(name: str, given: object) -> Text | None:
    """Return a text of any number of lines, with or without its language."""
    parts = dict(given) if isinstance(given, Mapping) else {"value": given}
    value = parts.pop("value", "")
    if isinstance(value, str):
        value = value.replace("\r\n", "\n").replace("\r", "\n")
    lines = _checked(name, value, _CONTROL_IN_LINES).strip()
    return _tagged(_parts(name, parts, "language") | {"value": lines})


def _tagged(parts: dict[str, str]) -> Text | None:
    if "language" in parts:
        check_language_tag(parts["language"])
    return Text(**parts) if parts.get("value") else None


def _organisation(name: str, given: object) -> Agent | None:
    """Return a publisher; a plain text is the name of an organisation."""
    if isinstance(given, Mapping):
        return _agent(name, given)
    line = _line(name, given)
    return Agent(line) if line else None


def _agent(name: str, given: object) -> Agent | None:
    """Return a creator or contributor, given in parts or as catalogues write a name."""
    if not isinstance(given, Mapping):
        line = _line(name, given)
        return catalogued(line) if line else None
    known = ("name", "family", "given", "orcid", "affiliation")
    roles = ("role",) if name == "contributors" else ()
    agent = Agent(**_parts(name, given, *known, *roles))
    if agent == Agent():
        return None
    if bool(agent.name) == bool(agent.family) or (agent.given and not agent.family):
        raise MetadataError(
            Sentence(
                "The element %(name)s has an agent with neither or both of name and family.",
                name=name,
            )
        )
    if agent.role:
        check_word("role", agent.role)
    return replace(agent, orcid=read_orcid(agent.orcid) if agent.orcid else "")


def _related(name: str, given: object) -> RelatedIdentifier | None:
    """Return a related identifier, which has all of its three parts."""
    parts = _parts(name, _object(name, given), "relation", "scheme", "identifier")
    if not any(parts.values()):
        return None
    if not all(parts.get(each) for each in ("relation", "scheme", "identifier")):
        raise MetadataError(
            Sentence("A related identifier needs its relation, its scheme and the identifier.")
        )
    check_word("relation", parts["relation"])
    check_word("scheme", parts["scheme"])
    return RelatedIdentifier(**parts)


def _funding(name: str, given: object) -> Funding | None:
    """Return a funding; a plain text is the name of the funder."""
    whole = _object(name, {"funder": given} if isinstance(given, str) else given)
    parts = _parts(name, whole, "funder", "funder_id", "award", "title")
    if not any(parts.values()):
        return None
    if not parts.get("funder"):
        raise MetadataError(Sentence("A funding needs the name of the funder."))
    return Funding(**parts)


def _object(name: str, given: object) -> Mapping[object, object]:
    if not isinstance(given, Mapping):
        raise MetadataError(
            Sentence("The element %(name)s has a value that is not an object.", name=name)
        )
    return given


def catalogued(text: str) -> Agent | None:
    """Parse "INPE", "Banon, Gerald" or "Banon, Gerald (0000-0002-1825-0097)"."""
    orcid = ""
    head, _, tail = text.removesuffix(")").rpartition("(")
    if text.endswith(")") and head.strip() and looks_like_orcid(tail.strip()):
        text, orcid = head.strip(), read_orcid(tail.strip())
    family, _, given = (part.strip() for part in text.partition(","))
    if family and given:
        return Agent(family=family, given=given, orcid=orcid)
    name = text.strip(", ")
    return Agent(name, orcid=orcid) if name else None


def _date(name: str, given: object) -> str | None:
    line = _line(name, given)
    if line:
        read_date(line)
    return line


def _language(name: str, given: object) -> str | None:
    line = _line(name, given)
    return check_language_tag(line) if line else None


def _licence(given: object) -> str:
    if given is None:
        return ""
    line = _line("licence", given)
    return check_licence(line) if line else ""


_READERS: Final[dict[str, Callable[[str, object], object]]] = {
    "titles": _text,
    "creators": _agent,
    "subjects": _text,
    "descriptions": _lines,
    "publishers": _organisation,
    "contributors": _agent,
    "dates": _date,
    "languages": _language,
    "coverages": _text,
    "rights": _text,
    "related": _related,
    "funding": _funding,
}
"""The parser of each element; all others are a text of one line."""
