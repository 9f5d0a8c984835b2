"""The form of a record: what is typed comes back, and each fault is beside its field."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.errors import Sentence
from ibi.metadata.choices import COMMON_LICENCES, ITEM_TYPES, item_type, licence_choices
from ibi.metadata.form import (
    CREATORS,
    FIELDS,
    GROUPS,
    MOST_PAIRS,
    Form,
    Pair,
    Place,
    agent_of,
    form_from_record,
    written,
)
from ibi.metadata.form_reader import record_from_form
from ibi.metadata.json_record import LONGEST_TEXT, record_as_dict, record_from
from ibi.metadata.licence import check_listed
from ibi.metadata.vocabulary import RELATIONS, ROLES, SCHEMES
from ibi.model.metadata_record import (
    UNKNOWN,
    Agent,
    Funding,
    MetadataRecord,
    RelatedIdentifier,
    Text,
)

ORCID = "0000-0002-1825-0097"
WHOLE: list[Pair] = [
    ("title", "Soil moisture of the Caatinga"),
    ("title-language", "en"),
    ("type", "Dataset"),
    ("year", "2026"),
    ("date", "2026-11-19"),
    ("language", "en"),
    ("language", "pt-BR"),
    ("publisher", "Springer, Inc."),
    ("licence", "cc-by-4.0"),
    ("abstract", "Daily.\r\n\r\nAt 27 stations."),
    ("words", "soil\r\nwater\r\n"),
    *zip(CREATORS, ("Vilela, Renata Campos", ORCID, "INPE; USP"), strict=True),
    *zip(CREATORS, ("{Springer, Inc.}", "", ""), strict=True),
    ("contributor", "Holanda, Paulo de Sá"),
    ("contributor-role", "editor"),
    ("contributor-orcid", ""),
    ("contributor-affiliation", ""),
    ("in-language", "pt"),
    ("in-title", "Umidade do solo da Caatinga"),
    ("in-abstract", "Diária."),
    ("in-words", "solo\nágua"),
    ("relation", "IsSupplementTo"),
    ("related-scheme", "DOI"),
    ("related-identifier", "https://doi.org/10.1234/abc"),
    ("funder", "FAPESP"),
    ("funder-id", "https://ror.org/02ddkpn78"),
    ("award", "2020/01234-5"),
    ("award-title", "Water"),
]
RECORD = MetadataRecord(
    titles=(Text("Soil moisture of the Caatinga", "en"), Text("Umidade do solo da Caatinga", "pt")),
    creators=(
        Agent(family="Vilela", given="Renata Campos", orcid=ORCID, affiliation="INPE; USP"),
        Agent("Springer, Inc."),
    ),
    subjects=(Text("soil", "en"), Text("water", "en"), Text("solo", "pt"), Text("água", "pt")),
    descriptions=(Text("Daily.\n\nAt 27 stations.", "en"), Text("Diária.", "pt")),
    publishers=(Agent("Springer, Inc."),),
    contributors=(Agent(family="Holanda", given="Paulo de Sá", role="Editor"),),
    dates=("2026-11-19",),
    types=("Dataset",),
    languages=("en", "pt-BR"),
    licence="CC-BY-4.0",
    related=(RelatedIdentifier("IsSupplementTo", "DOI", "10.1234/abc"),),
    funding=(Funding("FAPESP", "https://ror.org/02ddkpn78", "2020/01234-5", "Water"),),
)


def test_a_whole_form_is_a_whole_record() -> None:
    reading = record_from_form(WHOLE)
    assert reading.faults == {}
    assert reading.record == RECORD
    assert record_from(record_as_dict(reading.record)) == RECORD


def test_a_record_fills_the_form_that_describes_it() -> None:
    pairs = form_from_record(RECORD)
    assert {name for name, _ in pairs} == set(FIELDS) - {"creator-unknown"}
    assert record_from_form(pairs) == (RECORD, {})


def test_an_empty_form_has_no_fault() -> None:
    assert record_from_form([]) == (MetadataRecord(titles=()), {})
    blank = [(name, " ") for name in FIELDS if name != "creator-unknown"]
    assert record_from_form(blank) == (MetadataRecord(titles=()), {})


FAULTS: list[tuple[list[Pair], Place, str]] = [
    ([("year", "20226")], Place("year"), "A year has four digits."),
    ([("year", "２０２６")], Place("year"), "A year has four digits."),
    ([("year", "2026"), ("date", "2025-01-01")], Place("date"), "not in the year 2026"),
    ([("date", "1 May")], Place("date"), "is not a date"),
    ([("title", "a\x00")], Place("title"), "control character"),
    ([("title", "a" * (LONGEST_TEXT + 1))], Place("title"), "more than 65536 bytes"),
    ([("title-language", "português")], Place("title-language"), "is not a language tag"),
    ([("licence", "CC-BY-5.0")], Place("licence"), "Did you mean"),
    ([("language", "pt"), ("language", "?")], Place("language", 1), "is not a language tag"),
    (
        [("creator", "A"), ("orcid", ""), ("creator", "B"), ("orcid", "0000-0002-1825-0098")],
        Place("orcid", 1),
        "check digit",
    ),
    ([("creator", ""), ("orcid", ORCID)], Place("creator"), "A name is missing"),
    ([("creator", UNKNOWN)], Place("creator"), "This is not a name."),
    ([("creator", "A (0000-0002-1825-0098)")], Place("creator"), "check digit"),
    ([("creator", "A"), ("creator-unknown", "yes")], Place("creator-unknown"), "either named or"),
    (
        [("contributor", "A"), ("contributor-role", "Cook")],
        Place("contributor-role"),
        "is not a role",
    ),
    ([("in-language", "?"), ("in-title", "x")], Place("in-language"), "is not a language tag"),
    ([("in-language", "pt"), ("in-words", "a\nb\x01")], Place("in-words"), "control character"),
    (
        [("relation", ""), ("related-scheme", "DOI"), ("related-identifier", "10.1/x")],
        Place("relation"),
        "This is missing.",
    ),
    (
        [("relation", "Cites"), ("related-scheme", "DOI"), ("related-identifier", "abc")],
        Place("related-identifier"),
        "is not an identifier of the kind DOI",
    ),
    ([("funder", " "), ("award", "1")], Place("funder"), "name of the funder is missing"),
]


@pytest.mark.parametrize(("pairs", "place", "what"), FAULTS)
def test_a_fault_stands_beside_its_field_and_the_rest_is_read(
    pairs: list[Pair], place: Place, what: str
) -> None:
    rest = [("type", "Dataset"), ("affiliation", "")]
    record, faults = record_from_form([*pairs, *rest])
    assert list(faults) == [place]
    assert what in faults[place]
    assert isinstance(faults[place], Sentence)
    assert record.types == ("Dataset",)
    assert Form.of(pairs).pairs == tuple(pairs)


def test_an_unknown_creator_is_said_on_purpose() -> None:
    record, faults = record_from_form([("creator-unknown", "yes"), ("creator", " ")])
    assert not faults
    assert record.creators == (Agent(UNKNOWN),)
    assert record.has_unknown_creator
    assert record.named_creators == ()
    assert record_from_form(form_from_record(record)).record == record


def test_relation_and_scheme_without_an_identifier_say_nothing() -> None:
    pairs = [("relation", "Cites"), ("related-scheme", "DOI"), ("related-identifier", " ")]
    assert record_from_form(pairs) == (MetadataRecord(titles=()), {})


def test_what_the_form_has_no_field_for_stays() -> None:
    base = replace(
        RECORD,
        dates=("2026-11-19", "2027"),
        types=("Dataset", "Text"),
        publishers=(Agent("A"), Agent("B")),
        formats=("text/csv",),
        identifiers=("doi:10.1234/x",),
        sources=("s",),
        relations=("r",),
        coverages=(Text("Caatinga"),),
        rights=(Text("all"),),
    )
    assert record_from_form(form_from_record(base), base) == (base, {})


def test_lists_of_other_versions_stay_what_they_are() -> None:
    later = MetadataRecord(
        titles=(Text("T"),),
        contributors=(Agent("A", role="Juggler"),),
        related=(RelatedIdentifier("Admires", "QID", "Q42"),),
        licence="Later-1.0",
    )
    pairs = form_from_record(later)
    assert record_from_form(pairs, later) == (later, {})
    assert set(record_from_form(pairs).faults) == {
        Place("contributor-role"),
        Place("related-identifier"),
        Place("licence"),
    }


def test_a_form_that_is_too_large_as_a_whole_is_refused_beside_the_abstract() -> None:
    pairs = [("in-language", "pt"), ("in-abstract", "x" * LONGEST_TEXT)] * 9
    record, faults = record_from_form([*pairs, ("title", "T")])
    assert list(faults) == [Place("abstract")]
    assert record.titles == (Text("T"),)


def test_a_form_has_a_bounded_number_of_pairs() -> None:
    assert len(Form.of([("creator", "x")] * (MOST_PAIRS + 1)).pairs) == MOST_PAIRS
    assert len(Form.of([("unknown", "x")] * 5).pairs) == 0
    _, faults = record_from_form([("creator", f"n{number}") for number in range(1001)])
    assert list(faults) == [Place("creator", 1000)]


# --- any form, any record -------------------------------------------------------------------------

texts = st.text(st.characters(), max_size=20) | st.sampled_from(
    ["", "2026", "pt", "Dataset", ORCID, "A, B", "MIT", "DOI", "Cites", "Editor", "10.1234/x"]
)


@given(st.lists(st.tuples(st.sampled_from(FIELDS), texts), max_size=25))
def test_whatever_is_typed_comes_back_and_the_record_is_valid(pairs: list[Pair]) -> None:
    assert Form.of(pairs).pairs == tuple(pairs)
    record, faults = record_from_form(pairs)
    present = {Place(name, number) for name in FIELDS for number in range(len(pairs))}
    assert set(faults) <= present
    if record.titles:
        assert record_from(record_as_dict(record)) == record
    assert record_from_form(form_from_record(record), record).faults == {}


line = (
    st.text(
        st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"),
        min_size=1,
        max_size=12,
    )
    .map(str.strip)
    .filter(bool)
)
part = line.filter(lambda name: not set(name) & set("{},()") and name != UNKNOWN)
orcids = st.sampled_from(["", ORCID])
agents = st.builds(Agent, name=line.filter(lambda name: name != UNKNOWN), orcid=orcids) | st.builds(
    Agent, family=part, given=part | st.just(""), orcid=orcids, affiliation=line | st.just("")
)
tags = st.sampled_from(["", "pt", "en-GB"])
dates = st.sampled_from(["2026", "2026-11", "2026-11-19", "2025/2026", "2026-11-19T10:00Z"])


@st.composite
def tagged(draw: st.DrawFn, values: st.SearchStrategy[str]) -> tuple[Text, ...]:
    """Texts in the order of the form: those of the main language first, then each language."""
    return tuple(
        Text(value, tag)
        for tag in ("en", "", "pt")
        for value in draw(st.lists(values, max_size=2, unique=True))
    )


body = (
    st.text(
        st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff")
        | st.just("\n"),
        min_size=1,
        max_size=30,
    )
    .map(str.strip)
    .filter(bool)
)
records = st.builds(
    MetadataRecord,
    titles=tagged(line).map(lambda rest: (Text("Main", "en"), *rest)),
    creators=st.lists(agents, max_size=3).map(tuple) | st.just((Agent(UNKNOWN),)),
    subjects=tagged(line),
    descriptions=tagged(body),
    publishers=st.lists(agents, max_size=2).map(tuple),
    contributors=st.lists(
        st.builds(replace, agents, role=st.sampled_from(["", *ROLES])), max_size=3
    ).map(tuple),
    dates=st.lists(dates, max_size=2).map(tuple),
    types=st.lists(line, max_size=2).map(tuple),
    languages=st.lists(st.sampled_from(["pt", "en", "de-AT"]), unique=True, max_size=3).map(tuple),
    formats=st.lists(line, max_size=1).map(tuple),
    licence=st.sampled_from(["", "MIT", "https://example.org/x"]),
    related=st.lists(
        st.builds(
            RelatedIdentifier,
            st.sampled_from([*RELATIONS]),
            st.sampled_from(["URN", "RRID"]),
            st.sampled_from(["urn:x:y", "abc"]),
        ),
        max_size=2,
    ).map(tuple),
    funding=st.lists(
        st.builds(Funding, line, line | st.just(""), line | st.just(""), line | st.just("")),
        max_size=2,
    ).map(tuple),
)


def in_form_order(record: MetadataRecord) -> MetadataRecord:
    """Texts by language: a form has those of one language together."""
    tags = [text.language for text in (*record.titles, *record.descriptions, *record.subjects)]

    def ordered(values: tuple[Text, ...]) -> tuple[Text, ...]:
        return tuple(sorted(values, key=lambda text: tags.index(text.language)))

    return replace(
        record,
        titles=ordered(record.titles),
        descriptions=ordered(record.descriptions),
        subjects=ordered(record.subjects),
    )


@given(records)
def test_any_record_comes_back_from_its_form(record: MetadataRecord) -> None:
    pairs = form_from_record(record)
    assert record_from_form(pairs, record) == (in_form_order(record), {})


@pytest.mark.parametrize(
    ("text", "agent"),
    [
        ("Vilela, Renata", Agent(family="Vilela", given="Renata")),
        ("INPE", Agent("INPE")),
        ("{Springer, Inc.}", Agent("Springer, Inc.")),
        ("{Banon},", Agent(family="Banon")),
        ("{A, B}, C", Agent(family="A, B", given="C")),
    ],
)
def test_names(text: str, agent: Agent) -> None:
    assert agent_of(text) == agent
    assert written(agent) == text


# --- lists ----------------------------------------------------------------------------------------


def test_types_are_found_in_any_spelling() -> None:
    for each in ITEM_TYPES:
        assert item_type(each.value.upper()) == each
    assert item_type("data set") == item_type("Dataset")
    assert item_type("poem") is None


def test_the_licences_of_the_list_are_accepted_and_the_common_ones_come_first() -> None:
    offered = [each.identifier for each in licence_choices()]
    assert tuple(offered[: len(COMMON_LICENCES)]) == COMMON_LICENCES
    assert len(offered) == len(set(offered)) > 600
    assert all(check_listed(each) == each for each in offered)


def test_groups_have_fields_of_their_own() -> None:
    assert len(FIELDS) == len(set(FIELDS))
    assert all(name in FIELDS for group in GROUPS for name in group)
    assert "IBI" in SCHEMES
