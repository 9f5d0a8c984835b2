"""Threats, row 11: files that describe a work, made to exhaust or to betray their reader.

Each attack is read within its limits; its twin shows what the same file does to a reader without.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import rispy
import yaml
from bibtexparser.entrypoint import parse_string
from lxml import etree
from pylatexenc.latex2text import LatexNodes2Text
from rispy.parser import RisParser

from ibi.errors import MetadataError
from ibi.metadata.readers import bibtex
from ibi.metadata.readers.formats import read_metadata
from ibi.metadata.readers.latex_text import decoded

CANARY = "the canary of a file that nobody should read"


def yaml_bomb(levels: int) -> bytes:
    lines = ["cff-version: 1.2.0", "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]"
        for level in range(1, levels + 1)
    ]
    return "\n".join([*lines, f"keywords: *a{levels}"]).encode()


def test_an_alias_of_yaml_is_refused() -> None:
    for levels in (1, 5, 20):
        with pytest.raises(MetadataError, match="has an alias of YAML"):
            read_metadata(yaml_bomb(levels))


def test_the_aliases_bite() -> None:
    """The twin: half a kilobyte of aliases becomes megabytes."""
    bomb = yaml_bomb(5)
    loaded = yaml.load(bomb, yaml.BaseLoader)  # noqa: S506  # the twin
    assert len(bomb) < 1_000
    assert len(msgspec.json.encode(loaded["keywords"])) > 1_000_000


DEEP_YAML = b"cff-version: 1.2.0\ntitle: " + b"[" * 5_000


def test_deep_yaml_is_refused() -> None:
    with pytest.raises(MetadataError, match="nested too deep"):
        read_metadata(DEEP_YAML)


def test_the_depth_bites() -> None:
    """The twin: the same loader without its limit exhausts the stack."""
    with pytest.raises(RecursionError):
        yaml.load(DEEP_YAML, yaml.BaseLoader)  # noqa: S506  # the twin


def test_deep_json_is_refused() -> None:
    for deep in (b"[" * 100_000, b'{"title":' * 50_000, b'{"author":[' + b"[" * 300):
        with pytest.raises(MetadataError, match="nested too deep"):
            read_metadata(deep, "csl")


def entity(file: Path) -> bytes:
    return (
        f'<!DOCTYPE x [<!ENTITY e SYSTEM "{file.as_uri()}">]>'
        '<resource xmlns="http://datacite.org/schema/kernel-4">'
        "<titles><title>&e;</title></titles></resource>"
    ).encode()


def test_xml_of_datacite_has_no_entities(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(CANARY)
    for name in ("", "datacite_xml", "oai_dc"):
        with pytest.raises(MetadataError, match="has a DOCTYPE"):
            read_metadata(entity(tmp_path / "secret"), name)


def test_the_entities_bite(tmp_path: Path) -> None:
    """The twin: a parser that does as it is told reads the file."""
    (tmp_path / "secret").write_text(CANARY)
    parser = etree.XMLParser(resolve_entities=True, load_dtd=True)
    root = etree.fromstring(entity(tmp_path / "secret"), parser)
    assert CANARY in "".join(map(str, root.itertext()))


MANY = b"@a{" * (bibtex.MOST_MARKS + 1)


def test_a_file_of_too_many_entries_is_not_parsed() -> None:
    with pytest.raises(MetadataError, match="too many entries"):
        read_metadata(MANY, "bibtex")


def test_the_entries_bite() -> None:
    """The twin: the parser takes each of them for the beginning of an entry."""
    assert len(parse_string("@a{b\n" * 500).blocks) >= 500


NESTED = "{" * 20_000 + "x" + "}" * 20_000


def test_nested_braces_are_read_in_one_pass() -> None:
    assert decoded(NESTED) == ("x", [])
    assert decoded("\\'" * 20_000)[0] == ""
    title = b"@misc{a, title = {" + NESTED.encode() + b"}}"
    assert read_metadata(title, "bibtex").record.title.value == "x"


def test_the_braces_bite() -> None:
    """The twin: a converter of whole documents goes down brace by brace."""
    with pytest.raises(RecursionError):
        LatexNodes2Text().latex_to_text(NESTED)


FOLDED = b"TY  - JOUR\nTI  - a\n" + b"b\n" * 20_000 + b"ER  - \n"


class Counting(RisParser):  # type: ignore[misc]  # the library ships no types
    """Counts how often a text is copied to be made longer."""

    copies = 0

    def _add_single_value(self, *given: object, is_multi: bool = False) -> None:
        Counting.copies += is_multi
        super()._add_single_value(*given, is_multi=is_multi)

    def _add_tag(self, *given: object, extend_multiline: bool = False) -> None:
        Counting.copies += extend_multiline
        super()._add_tag(*given, extend_multiline=extend_multiline)


def test_lines_that_go_on_are_joined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loads = rispy.loads
    monkeypatch.setattr(
        rispy, "loads", lambda text, **options: loads(text, implementation=Counting, **options)
    )
    Counting.copies = 0
    reading = read_metadata(FOLDED)
    assert len(reading.record.title.value) == 40_001
    assert Counting.copies == 0


def test_the_lines_bite() -> None:
    """The twin: the parser alone copies the text for each line, in quadratic time."""
    Counting.copies = 0
    rispy.loads("TY  - JOUR\nTI  - a\n" + "b\n" * 500 + "ER  - \n", implementation=Counting)
    assert Counting.copies >= 500


@pytest.mark.parametrize("name", ["bibtex", "ris", "csl", "datacite", "datacite_xml", "cff", "ibi"])
def test_a_file_larger_than_any_description_is_refused_unread(name: str) -> None:
    with pytest.raises(MetadataError, match="larger than"):
        read_metadata(b" " * (2 << 20), name)
