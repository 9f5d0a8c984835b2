"""What an Accept header asks for: the item as readers get it, or a form of its metadata."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibi.identifier.persistent_url import PersistentUrl
from ibi.metadata.negotiation import Choice, accepts, choices, in_form, is_negotiable, negotiates

ITEM = "8JMKD3MGP8W/35MMLL8"
CHROME = (
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8,"
    "application/signed-exchange;v=b3;q=0.7"
)
OLD_WEBKIT = (
    "application/xml,application/xhtml+xml,text/html;q=0.9,text/plain;q=0.8,image/png,*/*;q=0.5"
)
CRATE = 'application/ld+json; profile="https://w3id.org/ro/crate/1.1, and more"'


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("", ""),
        ("*/*", ""),
        (CHROME, ""),
        (OLD_WEBKIT, ""),
        ("text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", ""),
        ("text/*", ""),
        ("application/json", "json"),
        ("application/x-bibtex, */*", "bibtex"),
        ("application/x-bibtex;q=0.3, text/html;q=0.5", ""),
        ("application/x-bibtex;q=0, */*", ""),
        ("text/turtle, application/rdf+xml, application/ld+json;q=.5, */*;q=0.1", "schema_org"),
        ("application/vnd.datacite.datacite+json, application/json;q=0.9", "datacite_json"),
        ("application/xml", "oai_dc"),
        ("application/xml, text/html;q=0.5", "oai_dc"),
        ("application/mods+xml;q=0.5, application/x-research-info-systems;q=0.50", "mods"),
        (CRATE, "ro_crate"),
        ("application/ld+json", "schema_org"),
        ("APPLICATION/X-BIBTEX", "bibtex"),
        ("text/turtle", None),
        ("application/pdf", None),
        ("text/html;q=nan, application/x-bibtex;q=1e9", None),
    ],
)
def test_the_dearest_form_is_chosen(accept: str, wanted: str | None) -> None:
    found = choices(accept)
    assert (found[0].format if found else None) == wanted
    assert negotiates(accept) is (wanted != "")


def test_a_citation_has_a_style_and_a_language() -> None:
    (citation,) = choices("text/x-bibliography; style=apa; locale=pt-BR")
    assert citation.pairs == ("style=apa", "locale=pt-BR")
    hostile = choices('text/x-bibliography; style="a&b=c\r\n"')[0]
    assert hostile.pairs == ("style=a%26b%3Dc%0D%0A",)


def test_the_rest_of_the_header_is_what_comes_next() -> None:
    names = [
        each.format for each in choices("application/x-bibtex, application/json;q=0.5, */*;q=0.1")
    ]
    assert names == ["bibtex", "json", ""]
    assert accepts("application/*;q=0.1", "application/pdf; x=y")
    assert not accepts("text/turtle", "application/pdf")


@pytest.mark.parametrize("verbs", ["", "!", "+", "!+", "+!", ":", "!:", "+:", "!+:", ":+"])
def test_a_form_joins_the_other_modifiers(verbs: str) -> None:
    wanted = PersistentUrl.parse(f"http://urlib.net/{ITEM}{verbs}")
    assert is_negotiable(wanted)
    asked = in_form(wanted, Choice("bibtex"))
    text = asked.at("http://urlib.net")
    assert ":(bibtex)" in text
    assert PersistentUrl.parse(text).verbs == asked.verbs
    assert not is_negotiable(asked)
    assert not is_negotiable(PersistentUrl.parse(f"http://urlib.net/{ITEM}/a.txt"))


@settings(max_examples=100)
@given(st.text(st.sampled_from('ab/*;=q01.," \\\t\xe9'), max_size=40))
def test_no_header_is_too_odd(accept: str) -> None:
    assert isinstance(choices(accept), tuple)
    assert accepts(accept, "text/html") in {True, False}
