"""Reads what people wrote into the form of a record, field by field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from ibi.errors import MetadataError, Sentence
from ibi.metadata.form import (
    CONTRIBUTORS,
    CREATORS,
    FUNDING,
    RELATED,
    TEXTS,
    YEAR_LENGTH,
    Form,
    Pair,
    Place,
    agent_of,
)
from ibi.metadata.json_record import (
    MOST_VALUES,
    checked_by_lists,
    record_as_dict,
    unfinished_record_from,
)
from ibi.model.metadata_record import (
    UNKNOWN,
    Agent,
    Funding,
    MetadataRecord,
    RelatedIdentifier,
    Text,
)

_REPEATED: Final = {
    "titles": "in-title",
    "descriptions": "in-abstract",
    "subjects": "words",
    "creators": "creator",
    "contributors": "contributor",
    "languages": "language",
    "related": "related-identifier",
    "funding": "funder",
}
"""The elements that a form has any number of, and the field beside which too many are a fault."""


class FormReading(NamedTuple):
    """What a form says: a record, which may lack its title, and the faults by field."""

    record: MetadataRecord
    faults: dict[Place, str]
    """A Sentence for each field whose text is not in the record."""


def record_from_form(pairs: Iterable[Pair], base: MetadataRecord | None = None) -> FormReading:
    """Return the record that a form describes, without the texts that have a fault.

    What the form has no field for comes from `base`: the record that the form was made of.
    """
    reader = _Reader(Form.of(pairs), base or MetadataRecord(titles=()))
    return FormReading(reader.record(), reader.faults)


class _Reader:
    """Reads one form; each part of it is checked by the rules of records, by itself."""

    def __init__(self, form: Form, base: MetadataRecord) -> None:
        self._form = form
        self._base = base
        self.faults: dict[Place, str] = {}

    def record(self) -> MetadataRecord:
        base = self._base
        texts = self._texts()
        parts: dict[str, Any] = {
            **texts,
            "creators": self._creators(),
            "contributors": self._agents(CONTRIBUTORS, "contributors"),
            "publishers": (*self._publisher(), *base.publishers[1:]),
            "dates": (*self._dates(), *base.dates[1:]),
            "types": (*self._each("types", "type"), *base.types[1:]),
            "languages": self._each("languages", "language"),
            "related": self._related(),
            "funding": self._funding(),
            "licence": self._licence(),
        }
        for element, field in _REPEATED.items():
            parts[element] = self._bounded(element, parts[element], field)
        record = replace(base, **parts)
        try:
            unfinished = unfinished_record_from(record_as_dict(record))
        except MetadataError as fault:  # the record as a whole is too large
            self._fault("abstract", 0, fault)
            return replace(record, descriptions=base.descriptions)
        return unfinished

    def _bounded(self, element: str, values: tuple[Any, ...], field: str) -> tuple[Any, ...]:
        if len(values) > MOST_VALUES:
            what = Sentence(
                "The element %(name)s has more than %(most)s values.",
                name=element,
                most=MOST_VALUES,
            )
            self._fault(field, MOST_VALUES if field in {"creator", "contributor"} else 0, what)
        return values[:MOST_VALUES]

    def _fault(self, field: str, number: int, fault: MetadataError | str) -> None:
        text = fault.message() if isinstance(fault, MetadataError) else fault
        self.faults.setdefault(Place(field, number), text)

    def _read(self, element: str, given: object, field: str, number: int = 0) -> tuple[Any, ...]:
        """Return the values of an element, as far as one field says them."""
        try:
            return tuple(getattr(unfinished_record_from({element: given}), element))
        except MetadataError as fault:
            self._fault(field, number, fault)
            return ()

    def _each(self, element: str, field: str) -> tuple[Any, ...]:
        found = [
            value
            for number, text in enumerate(self._form.values(field))
            for value in self._read(element, text, field, number)
        ]
        return tuple(dict.fromkeys(found))

    # --- people -----------------------------------------------------------------------------------

    def _creators(self) -> tuple[Agent, ...]:
        creators = self._agents(CREATORS, "creators")
        if not self._form.value("creator-unknown"):
            return creators
        if creators:
            what = Sentence("The creator is either named or unknown: both are said here.")
            self._fault("creator-unknown", 0, what)
            return creators
        return (Agent(UNKNOWN),)

    def _agents(self, group: Sequence[str], element: str) -> tuple[Agent, ...]:
        found = []
        for number, row in enumerate(self._form.rows(group)):
            texts = dict(zip(group, row, strict=True))
            agent = self._agent(element, texts, group[0], number)
            if agent is not None:
                found.append(agent)
        return tuple(found)

    def _agent(
        self, element: str, texts: Mapping[str, str], name: str, number: int
    ) -> Agent | None:
        agent = self._name(element, texts[name], name, number)
        prefix = "contributor-" if name == "contributor" else ""
        for part in ("role", "orcid", "affiliation"):
            field = f"{prefix}{part}"
            text = texts.get(field, "").strip()
            if not text:
                continue
            if agent is None:
                self._fault(name, number, Sentence("A name is missing here."))
                return None
            checked = self._read(element, {"name": "x", part: text}, field, number)
            for each in checked:
                agent = replace(agent, **{part: getattr(each, part)})
            agent = self._in_role(agent, field, number) if part == "role" else agent
        return agent

    def _name(self, element: str, text: str, field: str, number: int) -> Agent | None:
        try:
            agent = agent_of(text)
        except MetadataError as fault:
            self._fault(field, number, fault)
            return None
        if agent is None:
            return None
        if agent.name == UNKNOWN:
            self._fault(field, number, Sentence("This is not a name."))
            return None
        return next(iter(self._read(element, _plain_agent(agent), field, number)), None)

    def _in_role(self, agent: Agent, field: str, number: int) -> Agent:
        try:
            given = MetadataRecord(titles=(), contributors=(agent,))
            return checked_by_lists(given, self._base).contributors[0]
        except MetadataError as fault:
            self._fault(field, number, fault)
            return replace(agent, role="")

    def _publisher(self) -> tuple[Agent, ...]:
        agent = next(iter(self._base.publishers), None)
        text = self._form.value("publisher")
        if agent is not None and text == str(agent):
            return (agent,)
        return self._read("publishers", text, "publisher")

    # --- date, licence ----------------------------------------------------------------------------

    def _dates(self) -> tuple[str, ...]:
        year, date = (self._form.value(field).strip() for field in ("year", "date"))
        if year and not (len(year) == YEAR_LENGTH and year.isascii() and year.isdigit()):
            self._fault("year", 0, Sentence("A year has four digits."))
            year = ""
        dates = self._read("dates", date, "date") if date else ()
        if dates and year and not dates[0].startswith(year):
            what = Sentence("This date is not in the year %(year)s.", year=year)
            self._fault("date", 0, what)
            dates = ()
        return dates or ((year,) if year else ())

    def _licence(self) -> str:
        text = self._form.value("licence").strip()
        try:
            given = unfinished_record_from({"licence": text})
            return checked_by_lists(given, self._base).licence
        except MetadataError as fault:
            self._fault("licence", 0, fault)
            return ""

    # --- texts in languages -----------------------------------------------------------------------

    def _texts(self) -> dict[str, tuple[Text, ...]]:
        form = self._form
        texts: dict[str, list[Text]] = {"titles": [], "descriptions": [], "subjects": []}
        main = (*(form.value(each) for each in ("title-language", "title", "abstract", "words")),)
        names = ("title-language", "title", "abstract", "words")
        for number, row in enumerate((main, *form.rows(TEXTS))):
            fields = TEXTS if number else names
            for element, read in self._row(fields, row, max(number - 1, 0)):
                texts[element] += read
        return {element: tuple(found) for element, found in texts.items()}

    def _row(
        self, fields: Sequence[str], row: Sequence[str], number: int
    ) -> Iterator[tuple[str, tuple[Text, ...]]]:
        language, title, abstract, words = row
        tag = self._language(fields[0], language.strip(), number)
        if language.strip() and tag == "" and fields is TEXTS:
            return
        yield "titles", self._read("titles", _text(title, tag), fields[1], number)
        yield "descriptions", self._read("descriptions", _text(abstract, tag), fields[2], number)
        lines = [_text(line, tag) for line in words.replace("\r", "\n").split("\n")]
        yield "subjects", self._read("subjects", lines, fields[3], number)

    def _language(self, field: str, text: str, number: int) -> str:
        if not text:
            return ""
        return next(iter(self._read("languages", text, field, number)), "")

    # --- related items, funding -------------------------------------------------------------------

    def _related(self) -> tuple[RelatedIdentifier, ...]:
        found: list[RelatedIdentifier] = []
        for number, row in enumerate(self._form.rows(RELATED)):
            parts = dict(
                zip(("relation", "scheme", "identifier"), map(str.strip, row), strict=True)
            )
            if not parts["identifier"]:
                continue  # relation and scheme are chosen from lists, which begin with one
            place = self._missing(RELATED, row, number)
            if place is not None:
                self._fault(*place, Sentence("This is missing."))
                continue
            for each in self._read("related", parts, "related-identifier", number):
                found += self._identified(each, number)
        return tuple(found)

    @staticmethod
    def _missing(group: Sequence[str], row: Sequence[str], number: int) -> Place | None:
        pairs = zip(group, row, strict=True)
        return next((Place(field, number) for field, text in pairs if not text.strip()), None)

    def _identified(self, related: RelatedIdentifier, number: int) -> tuple[RelatedIdentifier, ...]:
        try:
            given = MetadataRecord(titles=(), related=(related,))
            return checked_by_lists(given, self._base).related
        except MetadataError as fault:
            self._fault("related-identifier", number, fault)
            return ()

    def _funding(self) -> tuple[Funding, ...]:
        found: list[Funding] = []
        for number, row in enumerate(self._form.rows(FUNDING)):
            parts = dict(zip(("funder", "funder_id", "award", "title"), row, strict=True))
            if not parts["funder"].strip() and any(text.strip() for text in row):
                what = Sentence("The name of the funder is missing.")
                self._fault("funder", number, what)
                continue
            found += self._read("funding", parts, "funder", number)
        return tuple(found)


def _plain_agent(agent: Agent) -> dict[str, str]:
    parts = {
        "name": agent.name,
        "family": agent.family,
        "given": agent.given,
        "orcid": agent.orcid,
    }
    return {name: text for name, text in parts.items() if text}


def _text(value: str, tag: str) -> dict[str, str]:
    return {"value": value, "language": tag} if tag else {"value": value}
