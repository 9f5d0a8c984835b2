"""Records are written and read back, in plain values and in OAI Dublin Core."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from ibi.errors import MetadataError
from ibi.metadata.crosswalks import oai_dc
from ibi.metadata.json_record import record_as_dict, record_from
from ibi.metadata.orcid import read_orcid
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import Agent, MetadataRecord, Text

FORMS = Forms.parse("rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL8")
BASE = "http://urlib.net"

characters = st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff")
line = st.text(characters, min_size=1, max_size=30).map(str.strip).filter(bool)
lines = (
    st.text(characters | st.sampled_from("\n\t"), min_size=1, max_size=60)
    .map(str.strip)
    .filter(bool)
)
tags = st.sampled_from(["", "pt", "pt-BR", "en", "zh-Hant-TW", "x-any"])
plain_name = line.filter(lambda name: "," not in name and not name.endswith(")"))
orcids = st.sampled_from(["", "0000-0002-1825-0097", "0000-0002-1694-233X"])
dates = st.sampled_from(
    ["2009", "2009-02", "2009-02-16", "2009-02-16T17:46:00Z", "2009/2010", "2008-02-29"]
)
licences = st.sampled_from(["", "CC-BY-4.0", "CC0-1.0", "MIT", "https://example.org/licence"])


def records(agents: st.SearchStrategy[Agent], bodies: st.SearchStrategy[Agent]) -> Any:  # noqa: ANN401  # hypothesis infers
    texts = st.lists(st.builds(Text, line, tags), max_size=3).map(tuple)
    words = st.lists(line, max_size=3).map(tuple)
    people = st.lists(agents, max_size=3).map(tuple)
    return st.builds(
        MetadataRecord,
        titles=st.lists(st.builds(Text, line, tags), min_size=1, max_size=3).map(tuple),
        creators=people,
        subjects=texts,
        descriptions=st.lists(st.builds(Text, lines, tags), max_size=3).map(tuple),
        publishers=st.lists(bodies, max_size=3).map(tuple),
        contributors=people,
        dates=st.lists(dates, max_size=3).map(tuple),
        types=words,
        formats=words,
        identifiers=words,
        sources=words,
        languages=st.lists(tags.filter(bool), max_size=3).map(tuple),
        relations=words,
        coverages=texts,
        rights=texts,
        licence=licences,
    )


whole_agents = st.one_of(
    st.builds(Agent, name=line, orcid=orcids),
    st.builds(Agent, family=line, given=line | st.just(""), orcid=orcids),
)
catalogued = st.one_of(
    st.builds(Agent, name=plain_name),
    st.builds(Agent, family=plain_name, given=plain_name),
)


@given(records(whole_agents, whole_agents))
def test_nothing_is_lost_in_plain_values(record: MetadataRecord) -> None:
    plain = json.loads(json.dumps(record_as_dict(record)))
    assert record_from(plain) == record
    assert record_as_dict(record_from(plain)) == plain


@given(records(catalogued, st.builds(Agent, name=line)))
def test_oai_dc_keeps_what_it_can_carry(record: MetadataRecord) -> None:
    assert oai_dc.read(oai_dc.write(record, FORMS, BASE)) == record


any_text = st.text(st.characters(), max_size=30)


@given(st.builds(Text, any_text, any_text), st.builds(Agent, any_text, any_text, any_text))
def test_any_record_is_written_as_well_formed_xml(text: Text, agent: Agent) -> None:
    record = MetadataRecord(
        titles=(text,), creators=(agent,), descriptions=(text,), licence=text.value
    )
    assert etree.fromstring(oai_dc.write(record, FORMS, BASE)) is not None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | any_text,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["value", "language", "name", "family", "given", "orcid"]), inner
        )
    ),
    max_leaves=6,
)
element_names = st.sampled_from(
    ["titles", "title", "creators", "dates", "licence", "language", "x"]
)


@given(st.dictionaries(element_names, json_values, max_size=4))
def test_any_json_is_a_record_or_refused(plain: dict[str, object]) -> None:
    try:
        record = record_from(plain)
    except MetadataError as refused:
        assert str(refused).isprintable()  # noqa: PT017  # either way is good
        return
    assert record_from(record_as_dict(record)) == record


@given(st.integers(0, 10**15 - 1))
def test_one_check_digit_of_an_orcid_id_is_right(number: int) -> None:
    good = []
    for last in "0123456789X":
        try:
            good.append(read_orcid(f"{number:015}{last}"))
        except MetadataError:
            continue
    assert len(good) == 1


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(document: bytes) -> None:
    try:
        oai_dc.read(document)
    except MetadataError as refused:
        assert str(refused).isprintable()  # noqa: PT017  # nothing this short is a record
    else:
        raise AssertionError
