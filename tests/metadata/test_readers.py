"""Files of other programs: what a record gets of them, and what is left as a doubt."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.errors import MetadataError, Sentence
from ibi.metadata.crosswalks import bibtex, csl_json, ris
from ibi.metadata.json_record import record_as_dict
from ibi.metadata.readers.formats import FORMATS, format_of, read_metadata
from ibi.metadata.readers.latex_text import decoded
from ibi.metadata.readers.reading import MOST_DOUBTS, Reading
from ibi.metadata.readers.words import language_of, month_of, type_of
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
BASE = "http://urlib.net"
ORCID = "0000-0002-1825-0097"

BIBTEX = rb"""A comment before it.
@string{jc = "Journal of Climate"}
@article{vilela2024,
  author    = {Vilela, Renata Campos and {Instituto Nacional de Pesquisas Espaciais}
               and Jo{\~a}o de S{\'a} Holanda and others},
  editor    = "M{\"u}ller, J{\"o}rg",
  title     = {Soil {M}oisture of the {Caatinga} -- {\'I}ndice \& m\'etodo},
  journal   = jc,
  year      = 2024, month = nov, volume = 12, number = {3}, pages = {1--20},
  doi       = {https://doi.org/10.1000/182\_3},
  keywords  = {soil, water; rain},
  language  = {english},
  issn      = {1234-567X},
  eprint    = {2101.00001}, archiveprefix = {arXiv},
  license   = {https://creativecommons.org/licenses/by/4.0/},
  note      = {foo},
}
@misc{other, title = {x}}
"""
RIS = b"""TY  - JOUR\r
AU  - Vilela, Renata Campos\r
AU  - INPE\r
ED  - Silva, Jose, Jr.\r
TI  - Soil moisture\r
  of the Caatinga\r
PY  - 2024\r
DA  - 2024/11/3/\r
KW  - soil; water\r
KW  - rain\r
SN  - 1234-5678\r
DO  - 10.1000/182_3\r
XX  - y\r
LA  - eng\r
JO  - J. Climate\r
VL  - 3\r
SP  - 1\r
EP  - 20\r
UR  - https://x.example/a;https://y.example/b\r
ER  - \r
"""
CSL = json.dumps(
    [
        {
            "id": "x",
            "type": "thesis",
            "genre": "PhD thesis",
            "title": "Soil moisture",
            "author": [
                {"family": "Holanda", "given": "Paulo", "dropping-particle": "de"},
                {"family": "Beethoven", "given": "Ludwig", "non-dropping-particle": "van"},
                {"literal": "INPE"},
            ],
            "issued": {"date-parts": [["2024", 11]]},
            "publisher": "INPE",
            "language": "pt_BR",
            "DOI": "10.1000/182_3",
            "URL": "https://x.example/a",
            "keyword": "soil, water",
            "abstract": "One.\n\nTwo.",
            "container-title": "Series",
            "volume": 3,
            "dimensions": "3 cm",
        },
        {"title": "other"},
    ]
).encode()
DATACITE: dict[str, object] = {
    "doi": "10.5072/example",
    "titles": [
        {"title": "Soil moisture", "lang": "en"},
        {"title": "A study", "titleType": "Subtitle"},
        {"title": "Umidade do solo", "lang": "pt", "titleType": "TranslatedTitle"},
    ],
    "creators": [
        {
            "name": "Vilela, Renata",
            "nameType": "Personal",
            "givenName": "Renata",
            "familyName": "Vilela",
            "affiliation": [{"name": "INPE"}, {"name": "USP"}],
            "nameIdentifiers": [
                {"nameIdentifier": f"https://orcid.org/{ORCID}", "nameIdentifierScheme": "ORCID"}
            ],
        },
        {"name": "Springer, Inc.", "nameType": "Organizational", "affiliation": ["Berlin"]},
    ],
    "contributors": [
        {"name": "Holanda, Paulo", "contributorType": "DataCurator"},
        {"name": "Somebody", "contributorType": "Juggler"},
    ],
    "publisher": {"name": "INPE"},
    "publicationYear": 2024,
    "types": {"resourceTypeGeneral": "Dataset", "resourceType": "Time series"},
    "dates": [{"date": "2024-11-03", "dateType": "Issued"}, {"date": "2019", "dateType": "Valid"}],
    "language": "en",
    "subjects": [{"subject": "soil", "lang": "en"}, {"subject": "water"}],
    "descriptions": [{"description": "One.\nTwo.", "descriptionType": "Abstract", "lang": "en"}],
    "formats": ["application/netcdf"],
    "rightsList": [
        {
            "rights": "Creative Commons Attribution 4.0 International",
            "rightsUri": "https://creativecommons.org/licenses/by/4.0/legalcode",
            "rightsIdentifier": "cc-by-4.0",
            "rightsIdentifierScheme": "SPDX",
        }
    ],
    "relatedIdentifiers": [
        {
            "relatedIdentifier": "10.1234/x",
            "relatedIdentifierType": "DOI",
            "relationType": "IsSupplementTo",
        },
        {"relatedIdentifier": "y", "relatedIdentifierType": "DOI", "relationType": "Cites"},
    ],
    "fundingReferences": [
        {
            "funderName": "FAPESP",
            "funderIdentifier": "https://ror.org/02ddkpn78",
            "awardNumber": "2020/1",
            "awardTitle": "Water",
        }
    ],
    "geoLocations": [{"geoLocationPlace": "Caatinga"}],
    "version": "1.0",
    "schemaVersion": "http://datacite.org/schema/kernel-4",
}
DATACITE_XML = f"""<?xml version="1.0" encoding="UTF-8"?>
<resource xmlns="http://datacite.org/schema/kernel-4">
  <identifier identifierType="DOI">10.5072/example</identifier>
  <!-- a comment -->
  <creators>
    <creator>
      <creatorName nameType="Personal">Vilela, Renata</creatorName>
      <givenName>Renata</givenName><familyName>Vilela</familyName>
      <nameIdentifier nameIdentifierScheme="ORCID" schemeURI="https://orcid.org">{ORCID}</nameIdentifier>
      <affiliation>INPE</affiliation><affiliation>USP</affiliation>
    </creator>
    <creator><creatorName nameType="Organizational">Springer, Inc.</creatorName><affiliation>Berlin</affiliation></creator>
  </creators>
  <titles>
    <title xml:lang="en">Soil moisture</title>
    <title titleType="Subtitle">A study</title>
    <title xml:lang="pt" titleType="TranslatedTitle">Umidade do solo</title>
  </titles>
  <publisher>INPE</publisher>
  <publicationYear>2024</publicationYear>
  <resourceType resourceTypeGeneral="Dataset">Time series</resourceType>
  <subjects><subject xml:lang="en">soil</subject><subject>water</subject></subjects>
  <contributors>
    <contributor contributorType="DataCurator"><contributorName>Holanda, Paulo</contributorName></contributor>
    <contributor contributorType="Juggler"><contributorName>Somebody</contributorName></contributor>
  </contributors>
  <dates><date dateType="Issued">2024-11-03</date><date dateType="Valid">2019</date></dates>
  <language>en</language>
  <relatedIdentifiers>
    <relatedIdentifier relatedIdentifierType="DOI" relationType="IsSupplementTo">10.1234/x</relatedIdentifier>
    <relatedIdentifier relatedIdentifierType="DOI" relationType="Cites">y</relatedIdentifier>
  </relatedIdentifiers>
  <formats><format>application/netcdf</format></formats>
  <version>1.0</version>
  <rightsList><rights rightsURI="https://creativecommons.org/licenses/by/4.0/legalcode" rightsIdentifier="cc-by-4.0" rightsIdentifierScheme="SPDX">CC BY</rights></rightsList>
  <descriptions><description xml:lang="en" descriptionType="Abstract">One.
Two.</description></descriptions>
  <geoLocations><geoLocation><geoLocationPlace>Caatinga</geoLocationPlace></geoLocation></geoLocations>
  <fundingReferences>
    <fundingReference><funderName>FAPESP</funderName><funderIdentifier funderIdentifierType="ROR">https://ror.org/02ddkpn78</funderIdentifier><awardNumber>2020/1</awardNumber><awardTitle>Water</awardTitle></fundingReference>
  </fundingReferences>
</resource>
""".encode()  # noqa: E501
CFF = f"""cff-version: 1.2.0
message: If you use this software, please cite it.
title: Soil tools
abstract: |
  One.
  Two.
type: software
version: 2.0
date-released: 2024-11-03
doi: 10.5281/zenodo.1
license: Apache-2.0
repository-code: "https://example.org/soil"
keywords: [soil, water]
authors:
  - family-names: Vilela
    given-names: Renata
    name-particle: da
    orcid: https://orcid.org/{ORCID}
    affiliation: INPE
  - name: INPE
contact:
  - family-names: Holanda
    given-names: Paulo
preferred-citation:
  type: article
""".encode()

READ_DATACITE = MetadataRecord(
    titles=(Text("Soil moisture: A study", "en"), Text("Umidade do solo", "pt")),
    creators=(
        Agent(family="Vilela", given="Renata", orcid=ORCID, affiliation="INPE; USP"),
        Agent("Springer, Inc.", affiliation="Berlin"),
    ),
    subjects=(Text("soil", "en"), Text("water")),
    descriptions=(Text("One.\nTwo.", "en"),),
    publishers=(Agent("INPE"),),
    contributors=(
        Agent(family="Holanda", given="Paulo", role="DataCurator"),
        Agent("Somebody"),
    ),
    dates=("2024-11-03",),
    types=("Dataset", "Time series"),
    formats=("application/netcdf",),
    identifiers=("https://doi.org/10.5072/example",),
    languages=("en",),
    coverages=(Text("Caatinga"),),
    licence="CC-BY-4.0",
    related=(RelatedIdentifier("IsSupplementTo", "DOI", "10.1234/x"),),
    funding=(Funding("FAPESP", "https://ror.org/02ddkpn78", "2020/1", "Water"),),
)
READ: list[tuple[str, bytes, MetadataRecord, list[str]]] = [
    (
        "bibtex",
        BIBTEX,
        MetadataRecord(
            titles=(Text("Soil Moisture of the Caatinga – Índice & método", "en"),),
            creators=(
                Agent(family="Vilela", given="Renata Campos"),
                Agent("Instituto Nacional de Pesquisas Espaciais"),
                Agent(family="Sá Holanda", given="João de"),
            ),
            contributors=(Agent(family="Müller", given="Jörg", role="Editor"),),
            subjects=(Text("soil"), Text("water"), Text("rain")),
            dates=("2024-11",),
            types=("Article",),
            identifiers=("arxiv:2101.00001", "https://doi.org/10.1000/182_3", "ISSN 1234-567X"),
            sources=("Journal of Climate, 12(3), 1–20",),
            languages=("en",),
            licence="CC-BY-4.0",
        ),
        ["has 2 entries: only the first, 'vilela2024'", "has others", "no place for 'note'"],
    ),
    (
        "ris",
        RIS,
        MetadataRecord(
            titles=(Text("Soil moisture of the Caatinga", "en"),),
            creators=(Agent(family="Vilela", given="Renata Campos"), Agent("INPE")),
            contributors=(Agent(family="Silva Jr.", given="Jose", role="Editor"),),
            subjects=(Text("soil"), Text("water"), Text("rain")),
            dates=("2024-11-03",),
            types=("Article",),
            identifiers=(
                "https://doi.org/10.1000/182_3",
                "ISSN 1234-5678",
                "https://x.example/a",
                "https://y.example/b",
            ),
            sources=("J. Climate, 3, 1-20",),
            languages=("en",),
        ),
        ["no place for 'XX'"],
    ),
    (
        "csl",
        CSL,
        MetadataRecord(
            titles=(Text("Soil moisture", "pt-BR"),),
            creators=(
                Agent(family="Holanda", given="Paulo de"),
                Agent(family="van Beethoven", given="Ludwig"),
                Agent("INPE"),
            ),
            subjects=(Text("soil"), Text("water")),
            descriptions=(Text("One.\n\nTwo.", "pt-BR"),),
            publishers=(Agent("INPE"),),
            dates=("2024-11",),
            types=("Doctoral thesis",),
            identifiers=("https://doi.org/10.1000/182_3", "https://x.example/a"),
            sources=("Series, 3",),
            languages=("pt-BR",),
        ),
        ["has 2 items: only the first", "no place for 'dimensions'"],
    ),
    (
        "datacite",
        json.dumps({"data": {"id": "x", "attributes": DATACITE}}).encode(),
        READ_DATACITE,
        [
            "'Juggler' of a contributor is not known",
            "'Valid'",
            "'y' is not an identifier",
            "version",
        ],
    ),
    ("datacite", json.dumps(DATACITE).encode(), READ_DATACITE, ["Juggler", "", "", ""]),
    (
        "datacite_xml",
        DATACITE_XML,
        READ_DATACITE,
        [
            "'Juggler' of a contributor is not known",
            "'Valid'",
            "'y' is not an identifier",
            "version",
        ],
    ),
    (
        "cff",
        CFF,
        MetadataRecord(
            titles=(Text("Soil tools"),),
            creators=(
                Agent(family="Vilela", given="Renata da", orcid=ORCID, affiliation="INPE"),
                Agent("INPE"),
            ),
            contributors=(Agent(family="Holanda", given="Paulo", role="ContactPerson"),),
            subjects=(Text("soil"), Text("water")),
            descriptions=(Text("One.\nTwo."),),
            dates=("2024-11-03",),
            types=("Software",),
            identifiers=("https://doi.org/10.5281/zenodo.1", "https://example.org/soil"),
            licence="Apache-2.0",
        ),
        ["no place for 'preferred-citation'", "no place for 'version'"],
    ),
]


@pytest.mark.parametrize(("name", "content", "record", "doubts"), READ)
def test_a_file_becomes_a_record_and_doubts(
    name: str, content: bytes, record: MetadataRecord, doubts: list[str]
) -> None:
    assert format_of(content) == name
    reading = read_metadata(content)
    assert reading.record == record
    assert len(reading.doubts) == len(doubts), reading.doubts
    assert all(said in doubt for said, doubt in zip(doubts, reading.doubts, strict=True))
    assert all(isinstance(doubt, Sentence) and doubt.isprintable() for doubt in reading.doubts)
    assert read_metadata(content, name) == reading


def test_what_archives_write_is_read_too() -> None:
    record = MetadataRecord(titles=(Text("T", "pt"),), creators=(Agent("INPE"),))
    assert read_metadata(json.dumps(record_as_dict(record)).encode()) == Reading(record)
    from_dc = read_metadata(FORMATS_DC.encode())
    assert from_dc == Reading(MetadataRecord(titles=(Text("T"),)))


FORMATS_DC = (
    '<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>T</dc:title></oai_dc:dc>'
)


def test_an_unknown_creator_of_datacite_is_unknown_here() -> None:
    given = {"titles": [{"title": "T"}], "creators": [{"name": ":unav"}], "publisher": "(:unav)"}
    record = read_metadata(json.dumps({"data": {"attributes": given}}).encode()).record
    assert record.creators == (Agent(UNKNOWN),)
    assert record.publishers == ()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "in none of the formats"),
        (b"Hello", "in none of the formats"),
        (b"\xff\xfe", "in none of the formats"),
        (b"@article{", "no entry of BibTeX"),
        (b"TY  - ", "describes nothing"),
        (b"{}", "describes nothing"),
        (b"[]", "no object of JSON"),
        (b"{", "cannot be read as JSON"),
        (b"<a/>", "begins with 'a'"),
        (b"<a", "not well-formed XML"),
        (b"cff-version: [", "cannot be read as YAML"),
        (b"cff-version: 1.2.0", "Software"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(content: bytes, said: str) -> None:
    if said == "Software":
        assert read_metadata(content).record.types == ("Software",)
        return
    with pytest.raises(MetadataError, match=said) as refused:
        read_metadata(content)
    assert isinstance(refused.value.message(), Sentence)


def test_a_format_that_is_not_read() -> None:
    with pytest.raises(MetadataError, match="'marc' is not a format that is read"):
        read_metadata(b"x", "marc")


def test_each_format_has_a_name_for_people() -> None:
    assert set(FORMATS) == {
        "bibtex",
        "ris",
        "csl",
        "datacite",
        "datacite_xml",
        "cff",
        "oai_dc",
        "ibi",
    }


@pytest.mark.parametrize(
    ("latex", "text", "unknown"),
    [
        (r"S\~ao Jos\'{e} dos Campos", "São José dos Campos", []),
        (r"{\'A}gua {\&} Solo \c{c}\~{a}o", "Água & Solo ção", []),
        (r"\'{\i}ndice {\ss} \o re", "índice ß øre", []),
        (r"\v{S}mid, \H{o}, \k a", "Šmid, ő, ą", []),
        (r"$\alpha$-decay", "α-decay", []),
        (r"\emph{very} \unknown{x}", "very x", ["unknown"]),
        (r"\input{/etc/passwd}", "/etc/passwd", ["input"]),
        ("plain, {braced}~x", "plain, braced\xa0x", []),
    ],
)
def test_latex(latex: str, text: str, unknown: list[str]) -> None:
    assert decoded(latex) == (text, unknown)


def test_words() -> None:
    assert [
        language_of(text) for text in ("eng", "Português", "brazilian", "pt_BR", "xyz zyx", "")
    ] == [
        "en",
        "pt",
        "pt-BR",
        "pt-BR",
        "",
        "",
    ]
    assert [month_of(text) for text in ("nov", "November", "11", "3", "13", "x")] == [
        "11",
        "11",
        "11",
        "03",
        "",
        "",
    ]
    assert type_of("data set") == "Dataset"
    assert type_of("tese de doutorado") == "Doctoral thesis"
    assert type_of("poem") == "poem"


# --- there and back -------------------------------------------------------------------------------

line = (
    st.text(
        st.characters(
            exclude_categories=["C", "Z", "M"], exclude_characters="{}\\,;#\u0131\u0237-~"
        )
        | st.just(" "),
        min_size=1,
        max_size=20,
    )
    .map(lambda text: " ".join(text.split()))
    .filter(bool)
)
name = line.filter(lambda text: "(" not in text and " " not in text and text.lower() != "others")
records = st.builds(
    MetadataRecord,
    titles=st.builds(Text, line, st.just("pt")).map(lambda text: (text,)),
    creators=st.lists(
        st.builds(Agent, family=name, given=name) | st.builds(Agent, name=name),
        max_size=3,
        unique=True,
    ).map(tuple),
    contributors=st.lists(
        st.builds(Agent, family=name, given=name, role=st.sampled_from(["Editor", "Translator"])),
        max_size=2,
        unique=True,
    ).map(lambda agents: tuple(sorted(agents, key=lambda agent: agent.role))),
    subjects=st.lists(st.builds(Text, line), max_size=3, unique=True).map(tuple),
    descriptions=st.lists(st.builds(Text, line, st.just("pt")), max_size=1).map(tuple),
    publishers=st.lists(st.builds(Agent, name=line), max_size=1).map(tuple),
    dates=st.sampled_from([(), ("2024",), ("2024-11",), ("2024-11-03",)]),
    types=st.sampled_from(
        [("Dataset",), ("Article",), ("Doctoral thesis",), ("Report",), ("Map",), ("Book",)]
    ),
    languages=st.just(("pt",)),
    identifiers=st.sampled_from(
        [(), ("https://doi.org/10.1000/182_3",), ("ISBN 978-85-17-00000-1",)]
    ),
)


def check_round_trip(record: MetadataRecord, reading: Reading) -> None:
    assert reading.record == record
    assert [str(doubt) for doubt in reading.doubts] == [
        "The label '8JMKD3MGP8W/35MMLL8' was left out: the item has labels of its own."
    ]


@given(records)
def test_bibtex_comes_back(record: MetadataRecord) -> None:
    check_round_trip(record, read_metadata(bibtex.write(record, FORMS, BASE)))


@given(records)
def test_ris_comes_back(record: MetadataRecord) -> None:
    check_round_trip(record, read_metadata(ris.write(record, FORMS, BASE)))


@given(records)
def test_csl_json_comes_back(record: MetadataRecord) -> None:
    check_round_trip(record, read_metadata(csl_json.write(record, FORMS, BASE)))


@given(st.binary(max_size=200), st.sampled_from(sorted(FORMATS)))
def test_any_bytes_are_read_or_refused(content: bytes, name: str) -> None:
    try:
        reading = read_metadata(content, name)
    except MetadataError as refused:
        assert str(refused).isprintable()  # noqa: PT017  # either way is good
        return
    assert all(doubt.isprintable() for doubt in reading.doubts)
    assert len(reading.doubts) <= MOST_DOUBTS


FRAGMENTS = st.lists(
    st.sampled_from(
        [
            *(
                "@article{a,",
                "title={",
                "}",
                "{",
                '"',
                ",",
                "=",
                "author = {A and B}",
                "\\'",
                "\\v",
            ),
            *(
                "@string{a=",
                "#",
                "TY  - JOUR\n",
                "AU  - x, y\n",
                "ER  - \n",
                "TI  - t\n",
                "UK  - z\n",
            ),
            *(
                '{"title":',
                '"x"}',
                "[",
                "]",
                '{"author":[{"family":1}]}',
                '{"titles":[{"title":"x"}]}',
            ),
            *(
                "cff-version: 1.2.0\n",
                "title: x\n",
                "authors:\n",
                " - name: a\n",
                "&a [*a]\n",
                "? :\n",
            ),
        ]
    ),
    max_size=12,
).map("".join)


@given(FRAGMENTS, st.sampled_from(sorted(FORMATS)))
def test_any_pieces_of_formats_are_read_or_refused(text: str, name: str) -> None:
    try:
        read_metadata(text.encode(), name)
    except MetadataError as refused:
        assert str(refused).isprintable()  # noqa: PT017  # either way is good
