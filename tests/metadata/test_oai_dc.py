"""OAI Dublin Core: what is written is valid, what is read is checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from ibi.errors import MetadataError
from ibi.metadata.crosswalks import oai_dc
from ibi.metadata.dublin_core import ELEMENTS
from ibi.metadata.formats import FORMATS
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import (
    UNKNOWN,
    Agent,
    Funding,
    MetadataRecord,
    RelatedIdentifier,
    Text,
)

FORMS = Forms.parse("rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL8")
FULL = MetadataRecord(
    titles=(Text("Metadados & identificadores", "pt"), Text("Metadata <and> identifiers", "en")),
    creators=(Agent(family="Banon", given="Gerald J. F."), Agent("INPE")),
    subjects=(Text("identificação", "pt"),),
    descriptions=(Text("Uma linha.\n\nOutra.", "pt-BR"),),
    publishers=(Agent("Springer, Inc."),),
    contributors=(Agent(family="Ribeiro", given="M."),),
    dates=("2009-07-21", "2009/2010"),
    types=("Report",),
    formats=("application/pdf",),
    identifiers=("doi:10.1000/182", "https://doi.org/10.1000/182"),
    sources=("ISBN 0-00-000000-0",),
    languages=("pt", "en"),
    relations=("http://urlib.net/LK47B6W/362SFKH",),
    coverages=(Text("Brasil", "pt"),),
    rights=(Text("Livre", "pt"),),
    licence="CC-BY-4.0",
)

# The two schemas of which a harvester thinks, in their content: any of the fifteen elements, in
# any order and number, each a text with xml:lang or without.
SCHEMAS = {
    "xml.xsd": """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"
        targetNamespace="http://www.w3.org/XML/1998/namespace">
        <xs:attribute name="lang" type="xs:language"/></xs:schema>""",
    "dc.xsd": """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"
        xmlns="http://purl.org/dc/elements/1.1/" elementFormDefault="qualified"
        targetNamespace="http://purl.org/dc/elements/1.1/">
        <xs:import namespace="http://www.w3.org/XML/1998/namespace" schemaLocation="xml.xsd"/>
        <xs:complexType name="elementType"><xs:simpleContent><xs:extension base="xs:string">
        <xs:attribute ref="xml:lang"/></xs:extension></xs:simpleContent></xs:complexType>
        ELEMENTS</xs:schema>""".replace(
        "ELEMENTS", "".join(f'<xs:element name="{name}" type="elementType"/>' for name in ELEMENTS)
    ),
    "oai_dc.xsd": """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"
        xmlns:dc="http://purl.org/dc/elements/1.1/" elementFormDefault="qualified"
        targetNamespace="http://www.openarchives.org/OAI/2.0/oai_dc/">
        <xs:import namespace="http://purl.org/dc/elements/1.1/" schemaLocation="dc.xsd"/>
        <xs:element name="dc"><xs:complexType>
        <xs:choice minOccurs="0" maxOccurs="unbounded">ELEMENTS</xs:choice>
        </xs:complexType></xs:element></xs:schema>""".replace(
        "ELEMENTS", "".join(f'<xs:element ref="dc:{name}"/>' for name in ELEMENTS)
    ),
}


@pytest.fixture
def schema(tmp_path: Path) -> etree.XMLSchema:
    for name, text in SCHEMAS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return etree.XMLSchema(etree.parse(str(tmp_path / "oai_dc.xsd")))


def document(inside: str, attributes: str = "") -> bytes:
    return (
        f'<oai_dc:dc xmlns:oai_dc="{oai_dc.NAMESPACE}" '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/" {attributes}>{inside}</oai_dc:dc>'
    ).encode()


@pytest.mark.parametrize("record", [FULL, MetadataRecord(titles=(Text("T"),))])
def test_what_is_written_is_valid(schema: etree.XMLSchema, record: MetadataRecord) -> None:
    assert schema.validate(etree.fromstring(oai_dc.write(record, FORMS, "http://urlib.net")))


def test_the_schema_finds_what_is_invalid(schema: etree.XMLSchema) -> None:
    assert not schema.validate(etree.fromstring(document("<dc:author>x</dc:author>")))


def test_it_says_where_its_schema_is() -> None:
    root = etree.fromstring(oai_dc.write(FULL, FORMS, "http://urlib.net"))
    location = root.get("{http://www.w3.org/2001/XMLSchema-instance}schemaLocation")
    assert location == f"{oai_dc.NAMESPACE} {oai_dc.SCHEMA}"


def test_its_identifiers_are_the_persistent_url_and_every_form() -> None:
    root = etree.fromstring(oai_dc.write(FULL, FORMS, "http://urlib.net"))
    found = [each.text for each in root.iter("{http://purl.org/dc/elements/1.1/}identifier")]
    assert found == [
        "http://urlib.net/8JMKD3MGP8W/35MMLL8",
        "ibi:sid.inpe.br/mtc-m18@80/2009/07.21.14.43",
        "ibi:8JMKD3MGP8W/35MMLL8",
        *FULL.identifiers,
    ]


def test_what_is_written_is_read() -> None:
    assert oai_dc.read(oai_dc.write(FULL, FORMS, "http://urlib.net")) == FULL


def test_the_registry_writes_by_name() -> None:
    oai = FORMATS["oai_dc"]
    written = oai.write(FULL, FORMS, "http://urlib.net")
    assert oai.content_type == "text/xml; charset=utf-8"
    assert written == oai_dc.write(FULL, FORMS, "http://urlib.net")


@pytest.mark.parametrize("broken", ["\x00", "\x0b", "\x1b", "\ud800", "\ufffe", "]]>", "\r"])
def test_no_character_breaks_the_document(broken: str) -> None:
    # Such a record comes from no checker; an old catalogue may have one nonetheless.
    record = MetadataRecord(titles=(Text(f"a{broken}b", f"pt{broken}"),))
    root = etree.fromstring(oai_dc.write(record, FORMS, "http://urlib.net"))
    assert [each.text for each in root][-1] in {f"a{broken}b", "a\ufffdb"}


def test_a_language_may_be_said_once_for_all() -> None:
    inside = (
        '<dc:title>Um</dc:title><dc:title xml:lang="en">One</dc:title><dc:creator>A</dc:creator>'
    )
    read = oai_dc.read(document(inside, 'xml:lang="pt"'))
    assert read.titles == (Text("Um", "pt"), Text("One", "en"))
    assert read.creators == (Agent("A"),)


def test_lines_that_a_writer_broke_are_joined() -> None:
    read = oai_dc.read(document("<dc:title>\n  Um título\n  longo\n</dc:title><dc:subject/>"))
    assert read == MetadataRecord(titles=(Text("Um título longo"),))


def test_character_references_and_cdata_are_text() -> None:
    read = oai_dc.read(document("<dc:title>&lt;a&gt; &#233; <![CDATA[<!DOCTYPE x>]]></dc:title>"))
    assert read.title.value == "<a> é <!DOCTYPE x>"


def test_comments_and_instructions_may_come_first() -> None:
    prolog = b'\xef\xbb\xbf<?xml version="1.0"?>\r\n<!-- <!DOCTYPE > -->\n<?a <!DOCTYPE b>?> '
    assert oai_dc.read(prolog + document("<dc:title>T</dc:title>")).title == Text("T")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (b"", "not well-formed"),
        (b"no", "not well-formed"),
        (b"<!--", "not well-formed"),
        (b"<dc/>", "begins with 'dc'"),
        (document(""), "needs a title"),
        (document("<dc:title>T</dc:title>")[:-3], "not well-formed"),
        (document("<dc:title>T</dc:title><title>T</title>"), "where oai_dc has none"),
        (document("<dc:title>T<dc:title>T</dc:title></dc:title>"), "where oai_dc has none"),
        (document("<dc:title>T</dc:title><dc:date>yesterday</dc:date>"), "is not a date"),
        (document("<dc:title>&nbsp;</dc:title>"), "not well-formed"),
        (document("<dc:title>T</dc:title>" * 1001), "more than 1000 values"),
        (document(f"<dc:title>T</dc:title><!--{'x' * 1_048_576}-->"), "larger than"),
        (b"<!DOCTYPE dc>" + document("<dc:title>T</dc:title>"), "has a DOCTYPE"),
        ("<dc>é</dc>".encode("latin-1"), "not encoded in UTF-8"),
    ],
)
def test_what_is_no_record_is_refused_in_one_sentence(given: bytes, sentence: str) -> None:
    with pytest.raises(MetadataError, match=sentence) as refused:
        oai_dc.read(given)
    assert str(refused.value).isprintable()
    assert str(refused.value).endswith(".")


def test_related_items_are_relations_and_funders_contributors() -> None:
    record = MetadataRecord(
        titles=(Text("T"),),
        creators=(Agent(UNKNOWN),),
        contributors=(Agent("A", affiliation="INPE", role="Editor"),),
        relations=("r",),
        related=(
            RelatedIdentifier("Cites", "DOI", "10.1234/x"),
            RelatedIdentifier("Cites", "IBI", "8JMKD3MGP7W/3EPGUE5"),
            RelatedIdentifier("Cites", "RRID", "SCR_1"),
        ),
        funding=(Funding("CNPq", award="1"), Funding("CNPq", award="2")),
    )
    read = oai_dc.read(oai_dc.write(record, FORMS, "http://urlib.net"))
    assert read == MetadataRecord(
        titles=(Text("T"),),
        contributors=(Agent("A"), Agent("CNPq")),
        relations=("r", "https://doi.org/10.1234/x", "ibi:8JMKD3MGP7W/3EPGUE5", "rrid:SCR_1"),
    )
