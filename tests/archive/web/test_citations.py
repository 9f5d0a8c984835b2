"""Citations: each style as its manual has it, in both languages, whatever a record says."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from ibi.archive.web.citations import STYLES, Citations
from ibi.metadata.cited_work import cited_work
from ibi.metadata.json_record import record_from
from ibi.model.clock import SECOND
from ibi.model.item import Item, State
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import Agent, MetadataRecord, Text
from tests.support.doubles.minting_machine import FakeClock

FORMS = Forms.parse("rep sid.example.br/mtc-m18@80/2009/07.21.14.43 ibip 8JMKD3MGP7W/3EPGUE5")
URL = "https://ibi.example/8JMKD3MGP7W/3EPGUE5"
TODAY = 1_793_836_800 * SECOND  # 5 November 2026
CITATIONS = Citations("Example Archive", FakeClock(TODAY))


def cited(record: MetadataRecord, language: str = "en") -> dict[str, str]:
    published = CITATIONS.published(Item(forms=FORMS), record)
    work = cited_work(published, FORMS, "https://ibi.example")
    return {each.style_id: each.html for each in CITATIONS.of(work, language)}


def record(title: str, language: str = "", **plain: Any) -> MetadataRecord:  # noqa: ANN401
    return record_from({"titles": [{"value": title, "language": language}], **plain})


ABNT_END = f"IBI: 8JMKD3MGP7W/3EPGUE5. Disponível em: {URL}. Acesso em: 5 nov. 2026."
VANCOUVER_END = f"[citado 2026 nov 5]. Disponível em: {URL}"
BOOK = record(
    "Um título simples", "pt", creators=["Banon, Gerald J. F."], dates=["2009-02"],
    types=["Livro"], publishers=["Editora X"],
)  # fmt: skip
THREE = record(
    "Desmatamento na Amazônia, 1988–2012: mapas anuais a 30 m", "pt",
    creators=["Alencar, Marina Tavares de", "Kuroda, João Batista", "Prado, Luísa Fontenele"],
    dates=["2013"], types=["Relatório"], publishers=["Editora X"],
)  # fmt: skip
ORGANISATION = record(
    "Relatório de águas: um estudo", "pt", creators=["Instituto Nacional"],
    publishers=["Instituto Nacional"], dates=["2013-05-03"], types=["Report"],
)  # fmt: skip
NO_AUTHOR = record("O desmatamento na Amazônia: um estudo", "pt", dates=["2013-05-03"])
NO_DATE = record("Sem tempo", "pt", creators=["Silva, Ana"])
DATASET = record(
    "Deforestation in the Legal Amazon: annual maps", "en",
    creators=["Silva, Ana", "Souza, Maria de Lourdes"], dates=["2013"], types=["Dataset"],
    publishers=["Editora X"],
)  # fmt: skip
THESIS = record(
    "Estudo da água", "pt", creators=["Silva, Ana"], dates=["2013"], types=["Tese"],
    publishers=["Universidade X"],
)  # fmt: skip
QUESTION = record(
    "What is an IBI?", "en", creators=[f"Silva{number}, Ana" for number in range(7)],
    dates=["2013"], types=["Book"], publishers=["Acme Inc."],
)  # fmt: skip

# By hand, from NBR 6023:2018, APA 7, Chicago 18 (author-date), the IEEE Reference Guide of 2023 and
# Citing Medicine.
PORTUGUESE = {
    "one author": (BOOK, {
        "abnt": f"BANON, G. J. F. <b>Um título simples</b>. [<i>S. l.</i>]: Editora X, 2009. "
                f"{ABNT_END}",
        "apa": f"Banon, G. J. F. (2009). <i>Um título simples</i>. Editora X. {URL}",
        "chicago": f"Banon, Gerald J. F. 2009. <i>Um título simples</i>. Editora X. {URL}.",
        "ieee": "G. J. F. Banon, <i>Um título simples</i>. Editora X, fev. 2009. [Online]. "
                f"Disponível em: {URL}",
        "vancouver": "Banon GJF. Um título simples [Internet]. Editora X; 2009 fev "
                     f"{VANCOUVER_END}",
    }),
    "three authors, a particle and a subtitle": (THREE, {
        "abnt": "ALENCAR, M. T. de; KURODA, J. B.; PRADO, L. F. "
                "<b>Desmatamento na Amazônia, 1988–2012</b>: mapas anuais a 30 m. "
                f"[<i>S. l.</i>]: Editora X, 2013. {ABNT_END}",
        "apa": "Alencar, M. T. de, Kuroda, J. B., &amp; Prado, L. F. (2013). <i>Desmatamento na "
               f"Amazônia, 1988–2012: Mapas anuais a 30 m</i>. Editora X. {URL}",
        "chicago": "Alencar, Marina Tavares de, João Batista Kuroda, e Luísa Fontenele Prado. "
                   "2013. <i>Desmatamento na Amazônia, 1988–2012: mapas anuais a 30 m</i>. "
                   f"Editora X. {URL}.",
        "ieee": "M. T. de Alencar, J. B. Kuroda, e L. F. Prado, “Desmatamento na Amazônia, "
                "1988–2012: mapas anuais a 30 m,” Editora X, 2013. [Online]. "
                f"Disponível em: {URL}",
        "vancouver": "Alencar MT de, Kuroda JB, Prado LF. Desmatamento na Amazônia, 1988–2012: "
                     f"mapas anuais a 30 m [Internet]. Editora X; 2013 {VANCOUVER_END}",
    }),
    "an organisation that is the publisher too": (ORGANISATION, {
        "abnt": "INSTITUTO NACIONAL. <b>Relatório de águas</b>: um estudo. [<i>S. l.</i>]: "
                f"Instituto Nacional, 2013. {ABNT_END}",
        "apa": f"Instituto Nacional. (2013). <i>Relatório de águas: Um estudo</i>. {URL}",
        "chicago": "Instituto Nacional. 2013. <i>Relatório de águas: um estudo</i>. "
                   f"Instituto Nacional. {URL}.",
        "ieee": "Instituto Nacional, “Relatório de águas: um estudo,” Instituto Nacional, "
                f"maio 2013. [Online]. Disponível em: {URL}",
        "vancouver": "Instituto Nacional. Relatório de águas: um estudo [Internet]. "
                     f"Instituto Nacional; 2013 maio 3 {VANCOUVER_END}",
    }),
    "no author": (NO_AUTHOR, {
        "abnt": "O DESMATAMENTO na Amazônia: um estudo. [<i>S. l.</i>]: Example Archive, 2013. "
                f"{ABNT_END}",
        "apa": "<i>O desmatamento na Amazônia: Um estudo</i>. (2013). Example Archive. " + URL,
        "chicago": "“O desmatamento na Amazônia: um estudo.” 2013. Example Archive. " + URL + ".",
        "ieee": "“O desmatamento na Amazônia: um estudo,” Example Archive, maio 2013. [Online]. "
                f"Disponível em: {URL}",
        "vancouver": "O desmatamento na Amazônia: um estudo [Internet]. Example Archive; "
                     f"2013 maio 3 {VANCOUVER_END}",
    }),
    "no date": (NO_DATE, {
        "abnt": "SILVA, A. <b>Sem tempo</b>. [<i>S. l.</i>]: Example Archive, [<i>s. d.</i>]. "
                f"{ABNT_END}",
        "apa": f"Silva, A. (s.d.). <i>Sem tempo</i>. Example Archive. {URL}",
        "chicago": f"Silva, Ana. s.d. “Sem tempo.” Example Archive. {URL}.",
        "ieee": f"A. Silva, “Sem tempo,” Example Archive. [Online]. Disponível em: {URL}",
        "vancouver": f"Silva A. Sem tempo [Internet]. Example Archive; [sem data] {VANCOUVER_END}",
    }),
    "a thesis": (THESIS, {
        "abnt": "SILVA, A. <b>Estudo da água</b>. 2013. Tese (Doutorado) – Universidade X, "
                f"[<i>S. l.</i>], 2013. {ABNT_END}",
        "apa": "Silva, A. (2013). <i>Estudo da água</i> [Tese de doutorado, Universidade X]. "
               f"{URL}",
        "chicago": f"Silva, Ana. 2013. “Estudo da água.” Tese de doutorado, Universidade X. {URL}.",
        "ieee": "A. Silva, “Estudo da água,” Tese de doutorado, Universidade X, 2013. [Online]. "
                f"Disponível em: {URL}",
        "vancouver": "Silva A. Estudo da água [tese de doutorado] [Internet]. Universidade X; 2013 "
                     f"{VANCOUVER_END}",
    }),
}  # fmt: skip
ENGLISH = {
    "a data set": (DATASET, {
        "abnt": "SILVA, A.; SOUZA, M. de L. <b>Deforestation in the Legal Amazon</b>: annual maps. "
                "[<i>S. l.</i>]: Editora X, 2013. IBI: 8JMKD3MGP7W/3EPGUE5. "
                f"Available at: {URL}. Accessed: 5 Nov. 2026.",
        "apa": "Silva, A., &amp; Souza, M. de L. (2013). <i>Deforestation in the Legal Amazon: "
               f"Annual maps</i> [Data set]. Editora X. {URL}",
        "chicago": "Silva, Ana, and Maria de Lourdes Souza. 2013. “Deforestation in the Legal "
                   f"Amazon: Annual Maps.” Data set. Editora X. {URL}.",
        "ieee": "A. Silva and M. de L. Souza, 2013, “Deforestation in the Legal Amazon: annual "
                f"maps,” Editora X. [Online]. Available: {URL}",
        "vancouver": "Silva A, Souza M de L. Deforestation in the Legal Amazon: annual maps "
                     "[data set] [Internet]. Editora X; 2013 [cited 2026 Nov 5]. "
                     f"Available from: {URL}",
    }),
    "seven authors, and marks that end a title": (QUESTION, {
        "abnt": "SILVA0, A. <i>et al.</i> <b>What is an IBI?</b> [<i>S. l.</i>]: Acme Inc., 2013. "
                "IBI: 8JMKD3MGP7W/3EPGUE5. "
                f"Available at: {URL}. Accessed: 5 Nov. 2026.",
        "apa": "Silva0, A., Silva1, A., Silva2, A., Silva3, A., Silva4, A., Silva5, A., &amp; "
               f"Silva6, A. (2013). <i>What is an IBI?</i> Acme Inc. {URL}",
        "chicago": "Silva0, Ana, Ana Silva1, Ana Silva2, et al. 2013. <i>What Is an IBI?</i> "
                   f"Acme Inc. {URL}.",
        "ieee": "A. Silva0 <i>et al.</i>, <i>What is an IBI?</i> Acme Inc., 2013. [Online]. "
                f"Available: {URL}",
        "vancouver": "Silva0 A, Silva1 A, Silva2 A, Silva3 A, Silva4 A, Silva5 A, et al. What is "
                     "an IBI? [Internet]. Acme Inc.; 2013 [cited 2026 Nov 5]. "
                     f"Available from: {URL}",
    }),
}  # fmt: skip


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("case", PORTUGUESE)
def test_a_citation_in_portuguese_is_as_its_manual_has_it(case: str, style: str) -> None:
    given_record, expected = PORTUGUESE[case]
    assert cited(given_record, "pt")[style] == expected[style]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("case", ENGLISH)
def test_a_citation_in_english_is_as_its_manual_has_it(case: str, style: str) -> None:
    given_record, expected = ENGLISH[case]
    assert cited(given_record)[style] == expected[style]


@pytest.mark.parametrize(
    ("creator", "apa", "vancouver", "chicago"),
    [
        ("王, 明", "王 明.", "王 明.", "王 明."),
        ("hooks, bell", "hooks, B.", "hooks B.", "hooks, bell."),
        ("Lima, Jean-pierre", "Lima, J.-P.", "Lima JP.", "Lima, Jean-pierre."),
        ("Paz, María de la Luz", "Paz, M. de la L.", "Paz M de la L.", "Paz, María de la Luz."),
        ("Reis, Ana maria", "Reis, A. M.", "Reis AM.", "Reis, Ana maria."),
        ("Sá, (Zé) 3 'Ivo", "Sá, Z. I.", "Sá ZI.", "Sá, (Zé) 3 'Ivo."),
        ("Silva, J. F. de", "Silva, J. F. de.", "Silva JF de.", "Silva, J. F. de."),
    ],
)
def test_initials_are_right(creator: str, apa: str, vancouver: str, chicago: str) -> None:
    work = cited_work(record("T", creators=[creator]), FORMS, "https://ibi.example")
    found = {each.style_id: each.text for each in CITATIONS.of(work, "en")}
    assert found["apa"].startswith(f"{apa} (n.d.).")
    assert found["vancouver"].startswith(f"{vancouver} T [Internet].")
    assert found["chicago"].startswith(f"{chicago} n.d.")


def test_a_copy_has_no_publisher_if_its_record_names_none() -> None:
    published = CITATIONS.published(Item(forms=FORMS, state=State.COPY), NO_AUTHOR)
    work = cited_work(published, FORMS, "https://ibi.example")
    found = {each.style_id: each.html for each in CITATIONS.of(work, "pt")}
    assert "um estudo. [<i>S. l.: s. n.</i>], 2013. IBI: " in found["abnt"]
    assert not [text for text in found.values() if "Example Archive" in text]


def test_a_full_stop_at_the_end_of_a_title_is_left_to_the_style() -> None:
    found = cited(record("Relatório final.", creators=["Silva, Ana"]))
    assert "<b>Relatório final</b>. [" in found["abnt"]
    assert "“Relatório final,”" in found["ieee"]
    assert "Relatório final [Internet]" in found["vancouver"]


def test_citations_of_a_changed_record_or_of_another_day_are_new() -> None:
    clock = FakeClock(TODAY)
    citations = Citations("Example Archive", clock)
    work = cited_work(BOOK, FORMS, "https://ibi.example")
    first = citations.of(work, "en")
    assert citations.of(work, "en") is first
    assert "Um título simples" in first[0].text
    changed = cited_work(THESIS, FORMS, "https://ibi.example")
    assert "Estudo da água" in citations.of(changed, "en")[0].text
    clock.sleep(86_400 * SECOND)
    assert "Accessed: 6 Nov. 2026." in citations.of(work, "en")[0].text


class _Tags(HTMLParser):
    """Collects the tags of a text, and its characters."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[object] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> _Tags:
    parser = _Tags()
    parser.feed(str(html))  # which would escape what is added to it
    parser.close()
    return parser


hostile = st.sampled_from(
    ["<script>alert(1)</script>", "<b>", "</b>", "&lt;", "&", "\ufdd0", "\ufdd3", "\ufdd4", "'"]
) | st.sampled_from(['<span class="nocase">', "</span>", ": ", "?", ".", '"', "-", "{}", "%s"])
characters = st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff")
words = (
    st.lists(hostile | st.text(characters, max_size=6), min_size=1, max_size=5)
    .map(lambda parts: "".join(parts).strip())
    .filter(bool)
)
agents = st.one_of(
    st.builds(Agent, name=words), st.builds(Agent, family=words, given=words | st.just(""))
)


@settings(max_examples=25)  # each makes ten citations
@given(
    st.builds(
        MetadataRecord,
        titles=st.builds(Text, words, st.sampled_from(["", "en", "pt"])).map(lambda text: (text,)),
        creators=st.lists(agents, max_size=4).map(tuple),
        publishers=st.lists(st.builds(Agent, name=words), max_size=1).map(tuple),
        dates=st.sampled_from([(), ("0001",), ("2013-05",), ("9999-12-31",)]),
        types=st.sampled_from([(), ("Dataset",), ("Tese",), ("Book",)]),
    )
)
@example(MetadataRecord(titles=(Text("<script>alert(1)</script>"),)))
@example(MetadataRecord(titles=(Text("\ufdd0<b>"),), creators=(Agent(family="<i>", given="."),)))
def test_no_text_becomes_markup(given_record: MetadataRecord) -> None:
    for language in ("en", "pt"):
        work = cited_work(given_record, FORMS, "https://ibi.example")
        made = CITATIONS.of(work, language)
        assert [each.style_id for each in made] == list(STYLES)
        for each in made:
            found = read(each.html)
            assert isinstance(each.html, Markup)
            assert found.tags <= {"b", "i"}
            assert found.attributes == []
            assert found.text == each.text
            assert URL in each.text
            assert not {"\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3", "\ufdd4", "\ufdd5"} & set(each.text)
