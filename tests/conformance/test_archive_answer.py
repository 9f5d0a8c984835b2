"""004, chapters 7 and 8: what an archive answers, and the two worked examples from end to end.

The print is mended where its own links or other examples have it right: mtc-m18@80 for
mtc-m18080, mtc-m16c for mtc-mi6c, hosts that are shortened to dots. Blanks between name and value
align in the print, and are one here.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import pytest
from abnf import Rule

from ibi import Ibip, Language, PersistentUrl, RepositoryName, parse
from ibi.archive.rules.answer import Identity, answer, filtered, respond, url_list
from ibi.errors import MessageError
from ibi.identifier.verbs import GetMetadata, GetTranslation, Verb, read_modifiers
from ibi.model.archive_record import UrlKey
from ibi.model.item import Item, Kind, State, Tombstone
from ibi.model.label_pair import Forms
from ibi.model.relation import Relation
from ibi.wire import pairlist, requests, responses
from ibi.wire.query import Query
from ibi.wire.requests import Acknowledgment, InclusionConfirmationRequest, UrlRequest
from ibi.wire.responses import Confirmation, Notice, UrlList
from tests.conformance.grammar import LANGUAGES, accepts
from tests.conformance.standard import covers
from tests.conformance.test_protocol import accepts as accepted_by
from tests.conformance.test_protocol import taken
from tests.support.doubles.answer_source import KEY, MemoryAnswerSource, issue_key, nanoseconds

CLIENT: Final = ("150.163.2.175",)
PLATFORM: Final = Forms.of("dpi.inpe.br/banon/1998/08.02.08.56")
MTC_M16C: Final = Identity(
    "http://mtc-m16c.sid.inpe.br",
    Forms.of("sid.inpe.br/mtc-m18@80/2008/03.17.15.17"),
    PLATFORM,
)
MTC_M16D: Final = Identity(
    "http://mtc-m16d.sid.inpe.br",
    Forms.of("sid.inpe.br/mtc-m19@80/2009/08.21.17.02"),
    PLATFORM,
)


def item(forms: Forms, target: str, updated: str, *, kind: Kind = "data") -> Item:
    return Item(forms=forms, target=target, updated=nanoseconds(updated), kind=kind)


# Examples 4.2, 7.4, 7.6, 7.8 and 7.10.
FINAL_REPORT: Final = replace(
    item(
        Forms.of("sid.inpe.br/mtc-m19/2013/09.04.12.27.57", "8JMKD3MGP7W/3EPGUE5"),
        "Relatório Final.pdf",
        "2013-10-04T14:32:14Z",
    ),
    metadata=Forms.of("sid.inpe.br/mtc-m19/2013/09.04.12.27.58"),
)
FINAL_REPORT_METADATA: Final = item(
    Forms.of("sid.inpe.br/mtc-m19/2013/09.04.12.27.58"),
    "metadata.cgi",
    "2013-10-04T14:32:14Z",
    kind="metadata",
)
# Examples 7.9, 7.11 and 7.12.
BANON: Final = item(
    Forms.of("iconet.com.br/banon/2009/09.09.22.01", "LK47B6W/362SFKH"),
    "@relatorio.pdf",
    "2009-09-09T22:01:00Z",
)
SHELF_16D: Final = MemoryAnswerSource(
    FINAL_REPORT, FINAL_REPORT_METADATA, BANON, files={BANON: {"reference.bib"}}
)

# Examples 7.2 and 7.3. Of its own language it knows no more than the repository name.
CCSDS_643: Final = replace(
    item(
        Forms.of("sid.inpe.br/mtc-m18@80/2009/07.21.13.23", "8JMKD3MGP8W/35MME4E"),
        "CCSDS 643.0-B-1.pdf",
        "2009-07-21T13:23:45Z",
    ),
    language=Language("en"),
    metadata=Forms.of("sid.inpe.br/mtc-m18@80/2009/07.21.13.23.47"),
    translations=(
        (Language("en"), Forms.of("sid.inpe.br/mtc-m18@80/2009/07.21.13.23")),
        (Language("pt"), Forms.of("sid.inpe.br/mtc-m18@80/2009/08.25.19.43")),
    ),
)
CCSDS_643_METADATA: Final = item(
    Forms.of("sid.inpe.br/mtc-m18@80/2009/07.21.13.23.47"),
    "metadata.cgi",
    "2014-04-04T17:39:54Z",
    kind="metadata",
)
RTC_07: Final = item(
    Forms.of("sid.inpe.br/mtc-m18@80/2009/08.25.19.43"), "RTC-07.pdf", "2011-09-22T14:45:11Z"
)
SHELF_7_2: Final = MemoryAnswerSource(CCSDS_643, CCSDS_643_METADATA, RTC_07)


def printed(text: str) -> list[str]:
    """Return the lines of an answer as the report prints it, with one blank for many."""
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def lines(listed: UrlList | None) -> list[str]:
    assert listed is not None
    text = responses.encode(listed)
    assert responses.decode(text) == listed
    return text.split("\r\n")


def pairs(
    shelf: MemoryAnswerSource, identity: Identity, request: UrlRequest, relation: str
) -> dict[str, str]:
    """CriarPar, CriarParIbi and CriarParUrl: the pairs of one relation, by prefix."""
    listed = url_list(shelf, identity, request, issue_key, [Relation.parse(relation)])
    written = dict(line.split(" ", 1) for line in lines(listed))
    prefixes = ("ibi", "url", "contenttype", "state", "timestamp")
    names = (f"{prefix}{relation}" for prefix in prefixes)
    return {name: f"{name} {written[name]}" for name in names if name in written}


@covers("004", "Example 4.2")
def test_example_4_2() -> None:
    """The answer to Example 4.1.

    Ours writes the name of the file in UTF-8, %C3%B3; the example in ISO 8859-1, %f3, "adopted
    when the name was made". The recognition has 14:32:147Z for the time.
    """
    request = UrlRequest(CLIENT, parse("8JMKD3MGP7W/3EPGUE5"))
    name = "sid.inpe.br/mtc-m19/2013/09.04.12.27.57"
    folder = f"http://mtc-m16d.sid.inpe.br/col/{name}/doc/"
    assert lines(answer(SHELF_16D, MTC_M16D, request, issue_key)) == printed(f"""
        archiveaddress       mtc-m16d.sid.inpe.br
        contenttype          Data
        ibi                  {{rep {name} ibip 8JMKD3MGP7W/3EPGUE5}}
        ibi.archiveservice   {{rep sid.inpe.br/mtc-m19@80/2009/08.21.17.02}}
        ibi.platformsoftware {{rep dpi.inpe.br/banon/1998/08.02.08.56}}
        state                Original
        timestamp            2013-10-04T14:32:14Z
        url                  {folder}Relat%C3%B3rio%20Final.pdf
        urlkey               {KEY}
    """)


@covers("004", "Example 7.1")
@covers("004", "Table 7.1")
def test_example_7_1_decodqs() -> None:
    query = (
        "servicesubject=urlRequest&clientinformation.ipaddress=150.163.2.175"
        "&parsedibiurl.ibi=8JMKD3MGP7W/3EPGUE5"
    )
    assert Query.parse(query).text("servicesubject") == "urlRequest"


# "Each archive may have its own subset of relations": the one of Example 7.2.
RELATIONS_7_2: Final = [
    Relation.parse(text)
    for text in (
        "",
        ".lastedition",
        ".lastedition.metadata",
        ".lastedition.metadata(oai_dc)",
        ".metadata",
        ".metadata(oai_dc)",
        ".metadata.translation",
        ".translation(en)",
        ".translation(pt)",
    )
]
HEAD: Final = "http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18@80/2009"
REP: Final = "rep sid.inpe.br/mtc-m18@80/2009"
EXAMPLE_7_2: Final = f"""
    archiveaddress                           mtc-m16c.sid.inpe.br
    contenttype                              Data
    contenttype.lastedition                  Data
    contenttype.lastedition.metadata         Metadata
    contenttype.lastedition.metadata(oai_dc) Metadata
    contenttype.metadata                     Metadata
    contenttype.metadata(oai_dc)             Metadata
    contenttype.metadata.translation         Metadata
    contenttype.translation(en)              Data
    contenttype.translation(pt)              Data
    ibi                                      {{{REP}/07.21.13.23 ibip 8JMKD3MGP8W/35MME4E}}
    ibi.archiveservice                       {{rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}}
    ibi.lastedition                          {{{REP}/07.21.13.23 ibip 8JMKD3MGP8W/35MME4E}}
    ibi.lastedition.metadata                 {{{REP}/07.21.13.23.47}}
    ibi.lastedition.metadata(oai_dc)         {{{REP}/07.21.13.23.47}}
    ibi.metadata                             {{{REP}/07.21.13.23.47}}
    ibi.metadata(oai_dc)                     {{{REP}/07.21.13.23.47}}
    ibi.metadata.translation                 {{{REP}/07.21.13.23.47}}
    ibi.platformsoftware                     {{rep dpi.inpe.br/banon/1998/08.02.08.56}}
    ibi.translation(en)                      {{{REP}/07.21.13.23}}
    ibi.translation(pt)                      {{{REP}/08.25.19.43}}
    state                                    Original
    state.lastedition                        Original
    state.lastedition.metadata               Original
    state.lastedition.metadata(oai_dc)       Original
    state.metadata                           Original
    state.metadata(oai_dc)                   Original
    state.metadata.translation               Original
    state.translation(en)                    Original
    state.translation(pt)                    Original
    timestamp                                2009-07-21T13:23:45Z
    timestamp.lastedition                    2009-07-21T13:23:45Z
    timestamp.lastedition.metadata           2014-04-04T17:39:54Z
    timestamp.lastedition.metadata(oai_dc)   2014-04-04T17:39:54Z
    timestamp.metadata                       2014-04-04T17:39:54Z
    timestamp.metadata(oai_dc)               2014-04-04T17:39:54Z
    timestamp.metadata.translation           2014-04-04T17:39:54Z
    timestamp.translation(en)                2009-07-21T13:23:45Z
    timestamp.translation(pt)                2011-09-22T14:45:11Z
    url                                      {HEAD}/07.21.13.23/doc/CCSDS%20643.0-B-1.pdf
    url.lastedition                          {HEAD}/07.21.13.23/doc/CCSDS%20643.0-B-1.pdf
    url.lastedition.metadata                 {HEAD}/07.21.13.23.47/doc/metadata.cgi
    url.lastedition.metadata(oai_dc)         {HEAD}/07.21.13.23.47/doc/metadata.cgi?choice=oai_dc
    url.metadata                             {HEAD}/07.21.13.23.47/doc/metadata.cgi
    url.metadata(oai_dc)                     {HEAD}/07.21.13.23.47/doc/metadata.cgi?choice=oai_dc
    url.metadata.translation                 {HEAD}/07.21.13.23.47/doc/metadata.cgi
    url.translation(en)                      {HEAD}/07.21.13.23/doc/CCSDS%20643.0-B-1.pdf
    url.translation(pt)                      {HEAD}/08.25.19.43/doc/RTC-07.pdf
    urlkey                                   1426387214-9164566186556927
"""
REQUEST_7_2: Final = UrlRequest(CLIENT, parse("8JMKD3MGP8W/35MME4E"))


@covers("004", "Example 7.2")
@covers("004", "Table 7.2")
def test_example_7_2_montarlistadeurl() -> None:
    listed = url_list(SHELF_7_2, MTC_M16C, REQUEST_7_2, issue_key, RELATIONS_7_2)
    assert lines(listed) == printed(EXAMPLE_7_2)


@covers("004", "Example 7.2")
def test_example_7_2_is_part_of_all_that_we_know() -> None:
    listed = url_list(SHELF_7_2, MTC_M16C, REQUEST_7_2, issue_key)
    assert set(printed(EXAMPLE_7_2)) < set(lines(listed))


@covers("004", "Example 7.3")
def test_example_7_3_filtrarlistadeurl() -> None:
    expected = printed(f"""
        archiveaddress              mtc-m16c.sid.inpe.br
        contenttype.translation(en) Data
        contenttype.translation(pt) Data
        ibi                         {{{REP}/07.21.13.23 ibip 8JMKD3MGP8W/35MME4E}}
        ibi.archiveservice          {{rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}}
        ibi.platformsoftware        {{rep dpi.inpe.br/banon/1998/08.02.08.56}}
        ibi.translation(en)         {{{REP}/07.21.13.23}}
        ibi.translation(pt)         {{{REP}/08.25.19.43}}
        state.translation(en)       Original
        state.translation(pt)       Original
        timestamp.translation(en)   2009-07-21T13:23:45Z
        timestamp.translation(pt)   2011-09-22T14:45:11Z
        url.translation(en)         {HEAD}/07.21.13.23/doc/CCSDS%20643.0-B-1.pdf
        url.translation(pt)         {HEAD}/08.25.19.43/doc/RTC-07.pdf
        urlkey                      1426387214-9164566186556927
    """)
    listed = url_list(SHELF_7_2, MTC_M16C, REQUEST_7_2, issue_key, RELATIONS_7_2)
    assert listed is not None
    assert lines(filtered(listed, (GetTranslation(),))) == expected
    request = replace(REQUEST_7_2, verbs=(GetTranslation(),))
    assert lines(answer(SHELF_7_2, MTC_M16C, request, issue_key)) == expected


REPORT: Final = UrlRequest(CLIENT, parse("8JMKD3MGP7W/3EPGUE5"))
REPOSITORY: Final = UrlRequest(CLIENT, parse("LK47B6W/362SFKH"))


@covers("004", "Example 7.4")
def test_example_7_4_criarpar_for_a_state() -> None:
    assert pairs(SHELF_16D, MTC_M16D, REPORT, "")["state"] == "state Original"


@covers("004", "Example 7.5")
@pytest.mark.parametrize(
    ("relation", "modifiers"),
    [
        (".lastedition", "!"),
        (".translation", "+"),
        (".translation(pt-BR)", "+(pt-BR)"),
        (".metadata", ":"),
        (".metadata(oai_dc)", ":(oai_dc)"),
        (".lastedition.translation", "!+"),
        (".lastedition.translation(pt-BR)", "!+(pt-BR)"),
        (".lastedition.metadata", "!:"),
        (".lastedition.metadata(oai_dc)", "!:(oai_dc)"),
        (".translation(pt-BR).lastedition", "+(pt-BR)!"),
        (".translation(en).metadata", "+(en):"),
        (".metadata.translation(en)", ":+(en)"),
    ],
)
def test_example_7_5(relation: str, modifiers: str) -> None:
    assert Relation.parse(relation).steps == read_modifiers(modifiers)[0]
    assert str(Relation.parse(relation)) == relation


@covers("004", "Example 7.6")
def test_example_7_6_criarpar_for_a_last_edition() -> None:
    forms = "{rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5}"
    found = pairs(SHELF_16D, MTC_M16D, REPORT, ".lastedition")
    assert found["ibi.lastedition"] == f"ibi.lastedition {forms}"


@covers("004", "Example 7.7")
def test_example_7_7_juntar() -> None:
    """Two pairs joined by the rule espaco, which is a blank or a line end: here a line end."""
    both = pairlist.encode({"archiveaddress": "mtc-m16d.sid.inpe.br", "state": "Original"})
    assert both.replace("\r\n", " ") == "archiveaddress mtc-m16d.sid.inpe.br state Original"
    assert pairlist.encode({"state": "Original"}) == "state Original"
    assert pairlist.encode({}) == ""


@covers("004", "Example 7.8")
def test_example_7_8_criarparibi() -> None:
    found = pairs(SHELF_16D, MTC_M16D, REPORT, ".metadata")
    assert found["ibi.metadata"] == "ibi.metadata {rep sid.inpe.br/mtc-m19/2013/09.04.12.27.58}"


@covers("004", "Example 7.9")
def test_example_7_9_criarparurl_for_an_item() -> None:
    assert pairs(SHELF_16D, MTC_M16D, REPOSITORY, "")["url"] == (
        "url http://mtc-m16d.sid.inpe.br/col/iconet.com.br/banon/2009/09.09.22.01"
        "/doc/@relatorio.pdf"
    )


@covers("004", "Example 7.10")
def test_example_7_10_criarparurl_for_metadata() -> None:
    """The print has the relation in Portuguese, .metadados, which Table 7.5 has not."""
    assert pairs(SHELF_16D, MTC_M16D, REPORT, ".metadata")["url.metadata"] == (
        "url.metadata http://mtc-m16d.sid.inpe.br/col/sid.inpe.br/mtc-m19/2013/09.04.12.27.58"
        "/doc/metadata.cgi"
    )


@covers("004", "Example 7.11")
def test_example_7_11_criarparurl_for_a_file() -> None:
    request = replace(REPOSITORY, path="reference.bib")
    assert pairs(SHELF_16D, MTC_M16D, request, "")["url"] == (
        "url http://mtc-m16d.sid.inpe.br/col/iconet.com.br/banon/2009/09.09.22.01/doc/reference.bib"
    )


@covers("004", "Example 7.12")
@pytest.mark.parametrize("path", ["", "/reference.bib"])
def test_example_7_12_criarparurl_for_a_list_of_files(path: str) -> None:
    """If both are given, the verb wins over the path."""
    request = replace(REPOSITORY, file_list=True, path=path)
    assert pairs(SHELF_16D, MTC_M16D, request, "")["url"] == (
        "url http://mtc-m16d.sid.inpe.br/displaydoccontent.cgi/LK47B6W/362SFKH?displaytype=FileList"
    )


def test_criarparurl_may_choose_by_the_address_of_the_user() -> None:
    """By its readers, the item or its metadata.

    Section 7.2: "um Arquivo pode, por razão de licença de uso de um determinado item de
    informação, querer que uma URL persistente aponte para o item de informação ou para seus
    metadados, dependendo do IP do usuário."
    """
    limited = replace(FINAL_REPORT, readers=("150.163.0.0/16",))
    shelf = MemoryAnswerSource(limited, FINAL_REPORT_METADATA)
    inside = pairs(shelf, MTC_M16D, replace(REPORT, clients=("150.163.2.175",)), "")
    assert inside == pairs(SHELF_16D, MTC_M16D, REPORT, "")
    outside = pairs(shelf, MTC_M16D, replace(REPORT, clients=("192.0.2.1",)), "")
    assert outside == {
        **inside,
        "url": (
            "url http://mtc-m16d.sid.inpe.br/col/sid.inpe.br/mtc-m19/2013/09.04.12.27.58"
            "/doc/metadata.cgi"
        ),
        "contenttype": "contenttype Metadata",
    }


@covers("004", "Table 7.3")
def test_table_7_3_every_x_is_of_its_domain() -> None:
    next_edition = Forms.of("sid.inpe.br/mtc-m18/2012/07.12.18.08")
    shelf = MemoryAnswerSource(replace(CCSDS_643, next_edition=next_edition), CCSDS_643_METADATA)
    listed = url_list(shelf, MTC_M16C, REQUEST_7_2, issue_key)
    for line in lines(listed):
        name, value = line.split(" ", 1)
        prefix = name.partition(".")[0]
        if prefix == "ibi":
            assert accepted_by(FormsGrammar, "formas-de-ibi", value.strip("{}")), line
        elif prefix == "timestamp":
            assert value.endswith("Z")
            assert nanoseconds(value) in {CCSDS_643.updated, CCSDS_643_METADATA.updated}
        else:
            assert prefix in {"archiveaddress", "contenttype", "state", "url", "urlkey"}
    assert f"ibi.nextedition {{{next_edition}}}" in lines(listed)


class FormsGrammar(Rule):
    """Table 7.4, on the grammars of 003 that `conformance.grammar` has made."""


class RelationGrammar(Rule):
    """Table 7.5. Its languages and countries are two letters each; Table A.1 is narrower."""


for _grammar, _rules in (
    (
        FormsGrammar,
        """
formas-de-ibi = forma-rep / forma-ibip / (forma-rep " " forma-ibip)
forma-rep     = "rep " 1*rep-caractere
forma-ibip    = "ibip " 1*ibip-caractere
rep-caractere = ALPHA / DIGIT / "." / "-" / "@" / "/"
ibip-caractere = ALPHA / DIGIT / "/"
""",
    ),
    (
        RelationGrammar,
        """
relacao = ([u [t]] / [t [u]]) [m [t]]
u       = ".lastedition"
t       = ".translation" ["(" idioma ["-" pais] ")"]
idioma  = 2ALPHA
pais    = 2ALPHA
m       = ".metadata" ["(" formato ")"]
formato = "oai_dc"
""",
    ),
):
    for _rule in _rules.strip().splitlines():
        _grammar.create(_rule)


@covers("004", "Table 7.4")
def test_table_7_4() -> None:
    """The frame is judged here; repositorio and IBIp by their own grammars, in either place."""
    rng = random.Random(8)  # noqa: S311  # repeatable, not secret
    forms = ("rep", "rep", "ibip", "ibip", "x")
    labels = ("a.br/b/2020/01.01.00.00", "LK47B6W/362SFKH", "LK47B6W")
    verdicts = []
    for _ in range(1_000):
        count = rng.choice((1, 1, 2, 2, 3))
        parts = [f"{rng.choice(forms)} {rng.choice(labels)}" for _ in range(count)]
        text = " ".join(parts)
        words = text.split(" ")
        expected = accepted_by(FormsGrammar, "formas-de-ibi", text) and all(
            accepts("repository" if form == "rep" else "IBIp", label)
            for form, label in zip(words[::2], words[1::2], strict=True)
        )
        assert taken(Forms.parse, text) == expected, text
        verdicts.append(expected)
    assert 50 < sum(verdicts) < 950
    both = Forms.parse("rep a.br/b/2020/01.01.00.00 ibip LK47B6W/362SFKH")
    assert (type(both.rep), type(both.ibip)) == (RepositoryName, Ibip)
    assert str(both) == "rep a.br/b/2020/01.01.00.00 ibip LK47B6W/362SFKH"


@covers("004", "Table 7.5")
def test_table_7_5() -> None:
    """Wider on purpose: formats beyond oai_dc. Narrower: languages that Table A.1 lacks."""
    rng = random.Random(9)  # noqa: S311  # repeatable, not secret
    steps = [".lastedition", ".translation", ".translation(pt)", ".translation(pt-BR)"]
    steps += [".metadata", ".metadata(oai_dc)", ".lastedition(pt)", ".metadata()", "translation"]
    verdicts = []
    for _ in range(1_000):
        text = "".join(rng.choices(steps, weights=[9] * 6 + [1] * 3, k=rng.randint(0, 4)))
        expected = accepted_by(RelationGrammar, "relacao", text)
        assert taken(Relation.parse, text) == expected, text
        verdicts.append(expected)
    assert 100 < sum(verdicts) < 900
    assert Relation.parse(".metadata(bibtex)").steps == (GetMetadata("bibtex"),)
    assert "xx" not in LANGUAGES
    assert not taken(Relation.parse, ".translation(xx)")


@covers("004", "Algorithm 1")
def test_algorithm_1_montarresposta() -> None:
    def response(query: str) -> str:
        request = requests.decode(query)
        return responses.encode(respond(SHELF_16D, MTC_M16D, request, issue_key))

    assert response("servicesubject=inclusionConfirmationRequest") == "confirmation yes"
    acknowledgment = (
        "servicesubject=acknowledgment&clientinformation.ipaddress=::1&contenttype=Data"
        "&url=http://a/b&url.persistent=http://a/LK47B6W/362SFKH&urlkey=1234567890"
    )
    assert response(acknowledgment) == "notice {acknowledgment received}"
    base = "servicesubject=urlRequest&clientinformation.ipaddress=150.163.2.175&parsedibiurl.ibi="
    assert response(f"{base}LK47B6W/362SFKH").endswith(f"urlkey {KEY}")
    with_path = f"{base}LK47B6W/362SFKH&parsedibiurl.filepath=/reference.bib"
    assert "/doc/reference.bib\r\n" in response(with_path)
    with_verbs = f"{base}LK47B6W/362SFKH&parsedibiurl.verblist=GetFileList"
    assert "?displaytype=FileList\r\n" in response(with_verbs)
    # What it does not print: subjects that only a resolver serves.
    with pytest.raises(MessageError) as refused:
        response(INCLUSION)
    assert refused.value.code == "unknown-subject"


INCLUSION: Final = (
    "servicesubject=inclusionRequest&archiveaddress=a.br&archiveserviceibi=LK47B6W/362SFKH"
    "&archiveip=10.0.0.1&archiveprotocol=HTTP&archiveplatformversion=1"
    "&archiveadmemailaddress=a@b.br&registrationkey=1234567890"
)


@covers("004", "Algorithm 2")
def test_algorithm_2_lines_1_to_4_unknown() -> None:
    request = UrlRequest(CLIENT, parse("8JMKD3MGP8W/34PGRBS"))
    assert answer(SHELF_16D, MTC_M16D, request, issue_key) is None
    assert responses.encode(None) == ""
    assert responses.decode("") is None


@covers("004", "Algorithm 2")
@pytest.mark.parametrize("modifiers", ["", "!", "+", ":(oai_dc)"])
def test_algorithm_2_lines_6_to_15_deleted(modifiers: str) -> None:
    """Line 11 compares the pair `state Deleted` with "Deleted": its value is meant."""
    gone = Tombstone(nanoseconds("2020-02-02T02:02:02Z"), who="a", reason="b")
    shelf = MemoryAnswerSource(
        replace(CCSDS_643, state=State.DELETED, tombstone=gone), CCSDS_643_METADATA
    )
    verbs = read_modifiers(modifiers)[0]
    no_software = replace(MTC_M16C, platform_software=None)
    request = replace(REQUEST_7_2, verbs=verbs)
    listed = answer(shelf, no_software, request, issue_key)
    assert lines(listed) == printed(f"""
        archiveaddress       mtc-m16c.sid.inpe.br
        ibi                  {{{REP}/07.21.13.23 ibip 8JMKD3MGP8W/35MME4E}}
        ibi.archiveservice   {{rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}}
        ibi.platformsoftware {{}}
        state                Deleted
        timestamp            2020-02-02T02:02:02Z
    """)
    assert lines(url_list(shelf, no_software, request, issue_key)) == lines(listed)


@covers("004", "Algorithm 2")
def test_algorithm_2_lines_21_to_32_what_is_elsewhere_has_labels_and_no_url() -> None:
    shelf = MemoryAnswerSource(CCSDS_643)
    listed = url_list(shelf, MTC_M16C, REQUEST_7_2, issue_key, RELATIONS_7_2)
    found = lines(listed)
    assert f"ibi.metadata {{{REP}/07.21.13.23.47}}" in found
    assert f"ibi.translation(pt) {{{REP}/08.25.19.43}}" in found
    without = {"metadata", "metadata(oai_dc)", "translation(pt)"}
    assert not [
        line
        for line in found
        if line.split(" ")[0].partition(".")[2] in without and not line.startswith("ibi.")
    ]


# Chapter 8.

CLIENTS_8: Final = ("172.16.44.200", "150.163.68.1")
CCSDS_650: Final = replace(
    item(
        Forms.of("sid.inpe.br/mtc-m18@80/2009/07.21.14.43", "8JMKD3MGP8W/35MMLL8"),
        "CCSDS 650.0-B-1.pdf",
        "2009-07-21T14:43:31Z",
    ),
    next_edition=Forms.of("sid.inpe.br/mtc-m18/2012/07.12.18.08"),
)
SECOND_EDITION: Final = replace(
    item(
        Forms.of("sid.inpe.br/mtc-m18/2012/07.12.18.08", "8JMKD3MGP8W/3C9EP6P"),
        "CCSDS 650.0-M-2.pdf",
        "2012-07-12T18:08:00Z",
    ),
    metadata=Forms.of("sid.inpe.br/mtc-m18/2012/07.12.18.08.49"),
)
SECOND_EDITION_METADATA: Final = item(
    Forms.of("sid.inpe.br/mtc-m18/2012/07.12.18.08.49"),
    "metadata.cgi",
    "2014-04-04T17:36:01Z",
    kind="metadata",
)
SERVICE: Final = "http://mtc-m16c.sid.inpe.br/sid.inpe.br/mtc-m18@80/2008/03.17.15.17"


def in_any_order(url: str) -> tuple[str, list[str]]:
    """Return the base of a message and its pairs, which "may appear in any order"."""
    base, _, query = url.partition("?")
    return base, sorted(query.split("&"))


class Archive:
    """The archive's side: a URL comes, a text goes."""

    def __init__(self, *items: Item, key: str) -> None:
        """Take what it has, and the key that it gives out next."""
        self._shelf = MemoryAnswerSource(*items)
        self._key = UrlKey(key)

    def get(self, url: str) -> str:
        """Serve a message."""
        base, _, query = url.partition("?")
        assert base == SERVICE
        request = requests.decode(query.encode("ascii"))
        return responses.encode(respond(self._shelf, MTC_M16C, request, lambda _: self._key))


def url_request(url: PersistentUrl, label: str | None = None) -> UrlRequest:
    asked = parse(label) if label else url.label
    return UrlRequest(CLIENTS_8, asked, url.verbs, url.file_list, url.path)


def acknowledgment(listed: UrlList, verbs: Iterable[Verb], persistent_url: str) -> Acknowledgment:
    related = listed.related[Relation(tuple(verbs))]
    assert listed.key is not None
    assert related.content is not None
    return Acknowledgment(
        CLIENTS_8,
        related.content,
        related.url,
        persistent_url,
        listed.key,
        related.forms,
        related.state,
    )


@covers("004", "Section 8.1")
def test_section_8_1() -> None:
    archive = Archive(CCSDS_650, key="1427244889-5349022633744855")
    url = PersistentUrl.parse("http://urlib.net/8JMKD3MGP8W/35MMLL8", strict=True)
    asking = requests.at(SERVICE, url_request(url))
    assert in_any_order(asking) == in_any_order(
        f"{SERVICE}?clientinformation.ipaddress=172.16.44.200%20150.163.68.1"
        "&parsedibiurl.ibi=8JMKD3MGP8W/35MMLL8&servicesubject=urlRequest"
    )
    told = archive.get(asking)
    # A backslash before %20 is of the typesetter.
    assert told.split("\r\n") == printed("""
        archiveaddress       mtc-m16c.sid.inpe.br
        contenttype          Data
        ibi                  {rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL8}
        ibi.archiveservice   {rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}
        ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}
        state                Original
        timestamp            2009-07-21T14:43:31Z
        url                  http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18@80/2009/07.21.14.43/doc/CCSDS%20650.0-B-1.pdf
        urlkey               1427244889-5349022633744855
    """)  # as printed
    listed = responses.decode(told)
    assert isinstance(listed, UrlList)
    found = (
        "http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18@80/2009/07.21.14.43/doc/"
        "CCSDS%20650.0-B-1.pdf"
    )
    assert listed.related[Relation()].url == found
    thanks = requests.at(
        SERVICE, acknowledgment(listed, (), "http://urlib.net:80/8JMKD3MGP8W/35MMLL8")
    )
    assert in_any_order(thanks) == in_any_order(
        f"{SERVICE}?clientinformation.ipaddress=172.16.44.200%20150.163.68.1&contenttype=Data"
        "&ibi=rep%20sid.inpe.br/mtc-m18@80/2009/07.21.14.43%20ibip%208JMKD3MGP8W/35MMLL8"
        f"&servicesubject=acknowledgment&state=Original&url={found}"
        "&url.persistent=http://urlib.net:80/8JMKD3MGP8W/35MMLL8"
        "&urlkey=1427244889-5349022633744855"
    )
    assert archive.get(thanks) == "notice {acknowledgment received}"
    assert responses.decode("notice {acknowledgment received}") == Notice()


@covers("004", "Section 8.2")
def test_section_8_2() -> None:
    """Two archives here: in the print one answers twice, as if it had forgotten between.

    An archive that has both editions gives the last one at once: `test_answer` shows it.
    """
    first = Archive(CCSDS_650, key="1426286454-36108967764060357")
    second = Archive(SECOND_EDITION, SECOND_EDITION_METADATA, key="1426286454-36108967764060357")
    url = PersistentUrl.parse("http://urlib.net/8JMKD3MGP8W/35MMLL8!:(oai_dc)", strict=True)
    asking = requests.at(SERVICE, url_request(url))
    # The first client's proxy is printed 150.163.68.11, and in the link 150.163.68.1.
    assert in_any_order(asking) == in_any_order(
        f"{SERVICE}?clientinformation.ipaddress=172.16.44.200%20150.163.68.1"
        "&parsedibiurl.ibi=8JMKD3MGP8W/35MMLL8"
        "&parsedibiurl.verblist=GetLastEdition%20GetMetadata(oai_dc)&servicesubject=urlRequest"
    )
    told = first.get(asking)
    assert told.split("\r\n") == printed("""
        archiveaddress       mtc-m16c.sid.inpe.br
        ibi                  {rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL8}
        ibi.archiveservice   {rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}
        ibi.nextedition      {rep sid.inpe.br/mtc-m18/2012/07.12.18.08}
        ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}
    """)
    assert second.get(asking) == ""
    listed = responses.decode(told)
    assert isinstance(listed, UrlList)
    assert listed.next_edition is not None
    again = requests.at(SERVICE, url_request(url, listed.next_edition.label.spelling))
    assert in_any_order(again) == in_any_order(
        f"{SERVICE}?clientinformation.ipaddress=172.16.44.200%20150.163.68.1"
        "&parsedibiurl.ibi=sid.inpe.br/mtc-m18/2012/07.12.18.08"
        "&parsedibiurl.verblist=GetLastEdition%20GetMetadata(oai_dc)&servicesubject=urlRequest"
    )
    told = second.get(again)
    assert told.split("\r\n") == printed("""
        archiveaddress                           mtc-m16c.sid.inpe.br
        contenttype.lastedition.metadata(oai_dc) Metadata
        ibi                                      {rep sid.inpe.br/mtc-m18/2012/07.12.18.08 ibip 8JMKD3MGP8W/3C9EP6P}
        ibi.archiveservice                       {rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}
        ibi.lastedition.metadata(oai_dc)         {rep sid.inpe.br/mtc-m18/2012/07.12.18.08.49}
        ibi.platformsoftware                     {rep dpi.inpe.br/banon/1998/08.02.08.56}
        state.lastedition.metadata(oai_dc)       Original
        timestamp.lastedition.metadata(oai_dc)   2014-04-04T17:36:01Z
        url.lastedition.metadata(oai_dc)         http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18/2012/07.12.18.08.49/doc/metadata.cgi?choice=oai_dc
        urlkey                                   1426286454-36108967764060357
    """)  # noqa: E501  # as printed
    listed = responses.decode(told)
    assert isinstance(listed, UrlList)
    thanks = requests.at(
        SERVICE,
        acknowledgment(listed, url.verbs, "http://urlib.net:80/8JMKD3MGP8W/35MMLL8!:(oai_dc)"),
    )
    assert in_any_order(thanks) == in_any_order(
        f"{SERVICE}?clientinformation.ipaddress=172.16.44.200%20150.163.68.1&contenttype=Metadata"
        "&ibi=rep%20sid.inpe.br/mtc-m18/2012/07.12.18.08.49&servicesubject=acknowledgment"
        "&state=Original&url=http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18/2012/"
        "07.12.18.08.49/doc/metadata.cgi%3Fchoice%3Doai_dc"
        "&url.persistent=http://urlib.net:80/8JMKD3MGP8W/35MMLL8!:(oai_dc)"
        "&urlkey=1426286454-36108967764060357"
    )
    assert second.get(thanks) == "notice {acknowledgment received}"
    received = requests.decode(thanks.partition("?")[2])
    assert isinstance(received, Acknowledgment)
    assert received.url == listed.related[Relation(url.verbs)].url


def test_the_confirmation_of_algorithm_1_is_one_value() -> None:
    confirmed = respond(SHELF_16D, MTC_M16D, InclusionConfirmationRequest(), issue_key)
    assert confirmed == Confirmation()
