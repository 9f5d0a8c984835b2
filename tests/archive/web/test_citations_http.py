"""Citations over HTTP: the API, without a token, and the page of an item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clients.http import Answer
from tests.support.servers.archive import ArchiveServer

METADATA = {
    "titles": [{"value": "Água <b>doce</b> & sal: um estudo", "language": "pt"}],
    "creators": ["Alencar, Marina Tavares de", "Kuroda, João Batista"],
    "dates": ["2013"],
    "types": ["Dataset"],
    "publishers": ["Editora X"],
}
TITLE = "Água &lt;b&gt;doce&lt;/b&gt; &amp; sal: Um estudo"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    with ArchiveServer(tmp_path_factory.mktemp("archive")) as started:
        yield started


@pytest.fixture(scope="module")
def item(archive: ArchiveServer) -> dict[str, Any]:
    return archive.item(archive.deposit({"a.pdf": b"%PDF"}, metadata=METADATA)["rep"])


def citation(archive: ArchiveServer, label: str, query: str = "", **headers: str) -> Answer:
    return archive.get(f"/api/v1/items/{label}/citation{query}", **headers)


def test_an_item_is_cited_in_all_styles_without_a_token(
    archive: ArchiveServer, item: dict[str, Any]
) -> None:
    answer = citation(archive, item["ibip"])
    assert answer.status == 200
    assert answer.json()["locale"] == "en-US"
    found = {each["style"]: each for each in answer.json()["citations"]}
    assert list(found) == ["abnt", "apa", "chicago", "ieee", "vancouver"]
    url = f"{archive.address}/{item['ibip']}"
    assert found["apa"] == {
        "style": "apa",
        "name": "APA",
        "text": "Alencar, M. T. de, & Kuroda, J. B. (2013). Água <b>doce</b> & sal: Um estudo "
        f"[Data set]. Editora X. {url}",
        "html": f"Alencar, M. T. de, &amp; Kuroda, J. B. (2013). <i>{TITLE}</i> [Data set]. "
        f"Editora X. {url}",
    }
    assert f"IBI: {item['ibip']}. Available at: {url}. Accessed: " in found["abnt"]["text"]


@pytest.mark.parametrize("form", ["rep", "ibip"])
def test_every_label_of_an_item_cites_it(
    archive: ArchiveServer, item: dict[str, Any], form: str
) -> None:
    expected = citation(archive, item["ibip"], "?style=apa").json()
    assert len(expected["citations"]) == 1
    for label in (item[form], item["metadata"][form]):
        assert citation(archive, label, "?style=apa").json() == expected


@pytest.mark.parametrize(
    ("query", "accepted"),
    [("&locale=pt-BR", ""), ("&locale=pt", "en"), ("", "pt-BR,pt;q=0.9,en;q=0.5")],
)
def test_the_words_are_in_the_language_asked_for(
    archive: ArchiveServer, item: dict[str, Any], query: str, accepted: str
) -> None:
    headers = {"Accept_Language": accepted} if accepted else {}
    answer = citation(archive, item["ibip"], f"?style=apa{query}", **headers).json()
    assert answer["locale"] == "pt-BR"
    assert "[Conjunto de dados]" in answer["citations"][0]["text"]


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("?style=mla", 400, "abnt, apa, chicago, ieee, vancouver"),
        ("?locale=de-DE", 400, "en-US, pt-BR"),
        ("?locale=../x", 400, "en-US, pt-BR"),
    ],
)
def test_what_is_not_offered_is_refused_with_what_is(
    archive: ArchiveServer, item: dict[str, Any], query: str, status: int, words: str
) -> None:
    answer = citation(archive, item["ibip"], query)
    assert answer.status == status
    assert words in answer.json()["detail"]


def test_an_unknown_item_is_not_cited(archive: ArchiveServer) -> None:
    assert citation(archive, "LK47B6W/362SFKH").status == 404


def test_a_changed_description_is_cited_at_once(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.txt": b"a"}, metadata={"titles": ["Before"]})
    assert "Before" in citation(archive, item["ibip"], "?style=apa").json()["citations"][0]["text"]
    changed = {"metadata": {"titles": ["After"]}}
    assert archive.api("PATCH", f"items/{item['rep']}", changed).status == 200
    assert "After" in citation(archive, item["ibip"], "?style=apa").json()["citations"][0]["text"]


def test_all_readers_cite_an_item_in_its_own_language(archive: ArchiveServer) -> None:
    titles = [{"value": "Datas", "language": "pt"}, {"value": "Dates", "language": "en"}]
    made = archive.deposit({"a.txt": b"a"}, language="en", metadata={"titles": titles})
    item = archive.item(made["rep"])
    for query in ("", "?lang=pt"):
        text = page(archive, item, query).body.decode()
        assert "<i>Dates</i>" in text
        assert "<i>Datas</i>" not in text
    assert "Dates" in citation(archive, item["ibip"], "?style=apa").json()["citations"][0]["text"]


def page(archive: ArchiveServer, item: dict[str, Any], query: str = "") -> Answer:
    return archive.get(f"/col/{item['metadata']['rep']}/doc/{query}")


def test_the_page_of_an_item_cites_it_in_all_styles(
    archive: ArchiveServer, item: dict[str, Any]
) -> None:
    text = page(archive, item).body.decode()
    for style in ("abnt", "apa", "chicago", "ieee", "vancouver"):
        assert text.count(f'<input class="unseen" type="radio" name="style" id="s-{style}"') == 1
        assert text.count(f'<p class="cite {style}" dir="auto">') == 1
    assert f"<i>{TITLE}</i> [Data set]" in text
    assert "[Conjunto de dados]" in page(archive, item, "?lang=pt").body.decode()


@pytest.mark.parametrize(
    ("choice", "extension"), [("bibtex", "bib"), ("ris", "ris"), ("csl", "json")]
)
def test_the_page_of_an_item_links_to_files_for_reference_managers(
    archive: ArchiveServer, item: dict[str, Any], choice: str, extension: str
) -> None:
    assert f'href="?choice={choice}" download' in page(archive, item).body.decode()
    answer = page(archive, item, f"?choice={choice}")
    name = f"{item['ibip'].replace('/', '-')}.{extension}"
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
