"""The passage of a file that a result of a search shows."""

from __future__ import annotations

from ibi.archive.ports.full_text import FileText
from ibi.archive.rules.search.passage import Passage, PassageFinder
from ibi.archive.rules.search.query import SearchQuery


def find(words: str, *texts: str) -> Passage | None:
    files = [FileText(f"file {number}", text) for number, text in enumerate(texts)]
    return PassageFinder(SearchQuery(text=words).text_clauses).find(files)


def test_the_first_file_with_the_words_is_shown() -> None:
    assert find("forests", "no tree", "A Forest.", "forest") == Passage("file 1", "A Forest.")
    assert find("forest", "deforestation") is None
    assert find("", "any text") is None
    assert find("forest -tree", "A forest, a tree") == Passage("file 0", "A forest, a tree")


def test_accents_and_case_do_not_matter() -> None:
    assert find("relatorio", "O RELATÓRIO") == Passage("file 0", "O RELATÓRIO")
    assert find("森林", "日本の森林です") == Passage("file 0", "日本の森林です")


def test_the_passage_with_the_most_words_is_shown() -> None:
    far = "fire " + "x " * 1000
    found = find("fire savanna", far + "a savanna on fire. " + "y " * 1000)
    assert found is not None
    assert "a savanna on fire" in found.text
    assert len(found.text) < 1500


def test_a_word_that_is_everywhere_takes_no_longer() -> None:
    found = find("word", "word " * 40_000)
    assert found is not None
    assert found.text.startswith("word word")
