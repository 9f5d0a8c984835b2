"""CSL-JSON, BibTeX and RIS, each read back by a library that others wrote."""

from __future__ import annotations

import json
from typing import Any

import pytest
import rispy
from citeproc.source.json import CiteProcJSON
from hypothesis import example, given
from hypothesis import strategies as st
from pybtex.database import BibliographyData, parse_string
from pybtex.scanner import PybtexSyntaxError
from pylatexenc.latex2text import (
    LatexNodes2Text,
    MacroTextSpec,
    get_default_latex_context_db,
)

from ibi.metadata.crosswalks import bibtex, csl_json, ris
from ibi.metadata.formats import FORMATS
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import Agent, MetadataRecord, Text

FORMS = Forms.parse("rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL8")
ONLY_REP = Forms.parse("rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43")
BASE = "http://urlib.net"
URL = "http://urlib.net/8JMKD3MGP8W/35MMLL8"
FULL = MetadataRecord(
    titles=(Text("Água & saneamento: 100% {de} cobertura", "pt"), Text("Water", "en")),
    creators=(
        Agent(family="Alencar", given="Marina Tavares de"),
        Agent(family="Banon", given="Gerald J. F.", orcid="0000-0002-1825-0097"),
        Agent("Instituto Nacional, Brasil and Partners"),
    ),
    subjects=(Text("água", "pt"), Text("saneamento", "pt")),
    descriptions=(Text("Uma linha.\n\nOutra.", "pt"),),
    publishers=(Agent("Editora & Cia."),),
    dates=("2009-07-21",),
    types=("Report",),
    identifiers=("https://doi.org/10.1000/182_3", "ISBN 978-85-17-00000-1", "ISSN 1234-567X"),
    languages=("pt", "en"),
    licence="CC-BY-4.0",
)
SIMPLE = MetadataRecord(titles=(Text("T"),))


def read_bibtex(written: bytes) -> tuple[str, str, Any, dict[str, str]]:
    """Return key, type, authors and fields of the only entry, as pybtex reads them."""
    entries = parse_string(written.decode(), "bibtex").entries
    ((key, entry),) = entries.items()
    persons = entry.persons.get("author", [])
    return key, entry.type, persons, dict(entry.fields.items())


def without_latex(text: str) -> str:
    context = get_default_latex_context_db()
    context.add_context_category(
        "braces",
        macros=[MacroTextSpec("textbraceleft", "{"), MacroTextSpec("textbraceright", "}")],
        prepend=True,
    )
    decoded = LatexNodes2Text(context, strict_latex_spaces=True, keep_comments=True)
    return str(decoded.latex_to_text(text)).replace("ˆ", "^")


def read_ris(written: bytes) -> dict[str, Any]:
    (entry,) = rispy.loads(written.decode())
    return dict(entry)


def test_a_full_record_as_bibtex() -> None:
    key, entry, persons, fields = read_bibtex(bibtex.write(FULL, FORMS, BASE))
    assert (key, entry) == ("ibi:8JMKD3MGP8W/35MMLL8", "techreport")
    verbatim = {"doi", "eprint", "url"}
    assert {
        name: value if name in verbatim else without_latex(value) for name, value in fields.items()
    } == {
        "title": FULL.title.value,
        "institution": "Editora & Cia.",
        "date": "2009-07-21",
        "year": "2009",
        "type": "Report",
        "language": "pt",
        "eprinttype": "ibi",
        "eprint": "8JMKD3MGP8W/35MMLL8",
        "url": URL,
        "doi": "10.1000/182_3",
        "isbn": "978-85-17-00000-1",
        "issn": "1234-567X",
        "copyright": "CC-BY-4.0",
        "keywords": "água, saneamento",
        "abstract": "Uma linha. Outra.",
    }
    marina, gerald, institute = persons
    assert (marina.prelast_names, marina.last_names) == (["de"], ["Alencar"])
    assert marina.first_names + marina.middle_names == ["Marina", "Tavares"]
    assert (gerald.last_names, gerald.first_names) == (["Banon"], ["Gerald"])
    assert institute.last_names == ["{Instituto Nacional, Brasil and Partners}"]


def test_a_full_record_as_ris() -> None:
    written = ris.write(FULL, FORMS, BASE)
    assert written.startswith(b"TY  - RPRT\r\n")
    assert written.endswith(b"ER  - \r\n")
    assert read_ris(written) == {
        "type_of_reference": "RPRT",
        "id": "8JMKD3MGP8W/35MMLL8",
        "title": FULL.title.value,
        "authors": [
            "Alencar, Marina Tavares de",
            "Banon, Gerald J. F.",
            "Instituto Nacional, Brasil and Partners",
        ],
        "year": "2009",
        "date": "2009/07/21/",
        "publisher": "Editora & Cia.",
        "language": "pt",
        "accession_number": "ibi:8JMKD3MGP8W/35MMLL8",
        "urls": [URL],
        "doi": "10.1000/182_3",
        "issn": "978-85-17-00000-1",
        "keywords": ["água", "saneamento"],
        "abstract": "Uma linha. Outra.",
    }


def test_a_full_record_as_csl_json() -> None:
    value = json.loads(csl_json.write(FULL, FORMS, BASE))
    assert value == {
        "id": "8JMKD3MGP8W/35MMLL8",
        "type": "report",
        "title": FULL.title.value,
        "author": [
            {"family": "Alencar", "given": "Marina Tavares", "dropping-particle": "de"},
            {"family": "Banon", "given": "Gerald J. F."},
            {"literal": "Instituto Nacional, Brasil and Partners"},
        ],
        "issued": {"date-parts": [[2009, 7, 21]]},
        "publisher": "Editora & Cia.",
        "language": "pt",
        "URL": URL,
        "DOI": "10.1000/182_3",
        "ISBN": "978-85-17-00000-1",
        "ISSN": "1234-567X",
        "abstract": "Uma linha. Outra.",
        "keyword": "água, saneamento",
        "note": "IBI: 8JMKD3MGP8W/35MMLL8",
    }
    assert CiteProcJSON([value])  # which warns of a variable that CSL has not


@pytest.mark.parametrize(
    ("text", "csl", "entry", "tag"),
    [
        ("Dataset", "dataset", "misc", "DATA"),
        ("Conjunto de dados", "dataset", "misc", "DATA"),
        ("http://purl.org/coar/resource_type/c_ddb1", "dataset", "misc", "DATA"),
        ("info:eu-repo/semantics/doctoralThesis", "thesis", "phdthesis", "THES"),
        ("Tese de Doutorado", "thesis", "phdthesis", "THES"),
        ("Dissertação de mestrado", "thesis", "mastersthesis", "THES"),
        ("master's thesis", "thesis", "mastersthesis", "THES"),
        ("Relatório técnico", "report", "techreport", "RPRT"),
        ("StillImage", "graphic", "misc", "FIGURE"),
        ("Software", "software", "misc", "COMP"),
        ("Livro", "book", "book", "BOOK"),
        ("Text", "document", "misc", "GEN"),
        ("anything else", "document", "misc", "GEN"),
    ],
)
def test_the_type_becomes_the_kind_of_each_format(
    text: str, csl: str, entry: str, tag: str
) -> None:
    record = MetadataRecord(titles=(Text("T"),), types=("Text", text))
    assert json.loads(csl_json.write(record, FORMS, BASE))["type"] == csl
    assert read_bibtex(bibtex.write(record, FORMS, BASE))[1] == entry
    assert read_ris(ris.write(record, FORMS, BASE))["type_of_reference"] == tag


@pytest.mark.parametrize(
    ("date", "parts", "day", "ris_day"),
    [
        ("2009", [2009], "2009", "2009///"),
        ("2009-02", [2009, 2], "2009-02", "2009/02//"),
        ("2009-02-16T17:46:00Z", [2009, 2, 16], "2009-02-16", "2009/02/16/"),
        ("2009/2010", [2009], "2009", "2009///"),
    ],
)
def test_a_date_is_as_precise_as_it_was(
    date: str, parts: list[int], day: str, ris_day: str
) -> None:
    record = MetadataRecord(titles=(Text("T"),), dates=("no date", date))
    assert json.loads(csl_json.write(record, FORMS, BASE))["issued"] == {"date-parts": [parts]}
    fields = read_bibtex(bibtex.write(record, FORMS, BASE))[3]
    assert (fields["date"], fields["year"]) == (day, "2009")
    read = read_ris(ris.write(record, FORMS, BASE))
    assert (read["date"], read["year"]) == (ris_day, "2009")


def test_a_record_of_a_title_alone() -> None:
    key, entry, persons, fields = read_bibtex(bibtex.write(SIMPLE, ONLY_REP, BASE))
    assert (key, entry, persons) == ("ibi:sid.inpe.br/mtc-m18-80/2009/07.21.14.43", "misc", [])
    assert fields["eprint"] == "sid.inpe.br/mtc-m18@80/2009/07.21.14.43"
    assert set(fields) == {"title", "eprinttype", "eprint", "url"}
    assert set(read_ris(ris.write(SIMPLE, FORMS, BASE))) == {
        "type_of_reference", "id", "title", "accession_number", "urls",
    }  # fmt: skip
    assert set(json.loads(csl_json.write(SIMPLE, FORMS, BASE))) == {
        "id", "type", "title", "URL", "note",
    }  # fmt: skip


def test_the_registry_has_their_media_types_and_file_names() -> None:
    types = {name: (each.media_type, each.file_name(FORMS)) for name, each in FORMATS.items()}
    assert {name: types[name] for name in ("oai_dc", "bibtex", "ris", "csl")} == {
        "oai_dc": ("text/xml", ""),
        "bibtex": ("application/x-bibtex", "8JMKD3MGP8W-35MMLL8.bib"),
        "ris": ("application/x-research-info-systems", "8JMKD3MGP8W-35MMLL8.ris"),
        "csl": ("application/vnd.citationstyles.csl+json", "8JMKD3MGP8W-35MMLL8.json"),
    }


characters = st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff")
hostile = st.sampled_from(
    ["{", "}", "}}", "\\", "\\{", '"', "@misc{x,", " and ", ",", "%", "$", "~", "^", "#", "&", "_"]
) | st.sampled_from(
    ["\nER  - ", "TY  - BOOK", "</script>", "\u2028", "\\input{x}", "<", ">", "AU  - "]
)
words = (
    st.lists(hostile | st.text(characters, max_size=8), min_size=1, max_size=6)
    .map(lambda parts: " ".join("".join(parts).split()))
    .filter(bool)
)
agents = st.one_of(
    st.builds(Agent, name=words), st.builds(Agent, family=words, given=words | st.just(""))
)
records = st.builds(
    MetadataRecord,
    titles=st.builds(Text, words).map(lambda text: (text,)),
    creators=st.lists(agents, max_size=3).map(tuple),
    subjects=st.lists(st.builds(Text, words), max_size=2).map(tuple),
    descriptions=st.lists(st.builds(Text, words), max_size=2).map(tuple),
    publishers=st.lists(st.builds(Agent, name=words), max_size=1).map(tuple),
)


def plain(text: str) -> str:
    """Return a text as TeX prints it: without ligatures and with single spaces."""
    for made, of in (("—", "---"), ("–", "--"), ("”", "''"), ("“", "``"), ("¡", "!`"), ("¿", "?`")):
        text = text.replace(of, made)
    return " ".join(text.replace('"', "”").replace("'", "’").replace("`", "‘").split())


@given(records)
@example(MetadataRecord(titles=(Text("unbalanced { brace"),)))
@example(MetadataRecord(titles=(Text("unbalanced } brace \\"),)))
@example(MetadataRecord(titles=(Text("T"),), creators=(Agent(family="A and B", given="C, D"),)))
def test_no_text_breaks_bibtex(record: MetadataRecord) -> None:
    _, _, persons, fields = read_bibtex(bibtex.write(record, FORMS, BASE))
    assert len(persons) == len(record.creators)
    assert plain(without_latex(fields["title"])) == plain(record.title.value)
    assert plain(without_latex(fields.get("publisher", ""))) == plain(
        str(record.publishers[0]) if record.publishers else ""
    )
    assert fields["url"] == URL
    assert set(fields) <= {
        "title", "publisher", "eprinttype", "eprint", "url", "keywords", "abstract",
    }  # fmt: skip


@given(records)
@example(MetadataRecord(titles=(Text("T\nER  - \nTY  - BOOK"),)))
def test_no_text_breaks_ris(record: MetadataRecord) -> None:
    read = read_ris(ris.write(record, FORMS, BASE))
    assert " ".join(read["title"].split()) == " ".join(record.title.value.split())
    assert len(read.get("authors", [])) == len(record.creators)
    assert read.get("keywords", []) == [subject.value for subject in record.subjects]
    assert read["urls"] == [URL]
    assert read["type_of_reference"] == "GEN"


@given(records)
@example(MetadataRecord(titles=(Text("\udc00 alone"),)))
def test_no_text_breaks_csl_json(record: MetadataRecord) -> None:
    value = json.loads(csl_json.write(record, FORMS, BASE))
    assert value["title"] == record.title.value
    assert len(value.get("author", [])) == len(record.creators)
    assert CiteProcJSON([value])


def test_the_reader_finds_a_broken_entry() -> None:
    # The twin: without the escapes, pybtex refuses what is written.
    broken = bibtex.write(SIMPLE, FORMS, BASE).replace(b"{T}", b"{unbalanced { brace}")
    with pytest.raises(PybtexSyntaxError, match=r"brace|premature|syntax"):
        BibliographyData.from_string(broken.decode(), "bibtex")
