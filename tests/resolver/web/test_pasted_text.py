"""What a person pastes: whatever it is, it is told, and never an error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.identifier.cleanup import CleanUp
from ibi.identifier.description import LabelWarning
from ibi.identifier.instant import Instant
from ibi.identifier.persistent_url import PersistentUrl
from ibi.resolver.web.pasted_text import Kind, what_is

NOW = Instant(1_700_000_000)
LABEL = "8JMKD3MGP7W/3EPGUE5"
NAME = "sid.inpe.br/mtc-m19/2013/09.04.12.27.57"


@pytest.mark.parametrize(
    ("text", "kind", "address"),
    [
        ("", Kind.NOTHING, ""),
        (" \n\t", Kind.NOTHING, ""),
        (LABEL, Kind.LABEL, f"/{LABEL}"),
        (NAME, Kind.LABEL, f"/{NAME}"),
        ("6qtX3pFwXQZGivnK2Y/SskcB", Kind.LABEL, "/6qtX3pFwXQZGivnK2Y/SskcB"),
        (f"IBI: <{LABEL}>.", Kind.LABEL, f"/{LABEL}"),
        (f"ibi:{LABEL}", Kind.LABEL, f"/{LABEL}"),
        (f"http://urlib.net/{LABEL}", Kind.LABEL, f"/{LABEL}"),
        (f"https://r.example/ibi/{LABEL}!+(pt-BR)", Kind.PERSISTENT_URL, f"/{LABEL}!+(pt-BR)"),
        (f"{LABEL}/a b.pdf", Kind.PERSISTENT_URL, f"/{LABEL}/a%20b.pdf"),
        (f"{LABEL}??", Kind.PERSISTENT_URL, f"/{LABEL}:"),
        (
            f"{LABEL}?ibiurl.verblist=GetMetadata&x=1",
            Kind.PERSISTENT_URL,
            f"/{LABEL}:?x=1",
        ),
        (
            f"{LABEL}?ibiurl.requireditemstatus=Original",
            Kind.PERSISTENT_URL,
            f"/{LABEL}?ibiurl.requireditemstatus=Original",
        ),
        ("10.1000/182", Kind.GATEWAY, "/doi/10.1000/182"),
        ("doi:10.1000/182", Kind.GATEWAY, "/doi/10.1000/182"),
        ("DOI: 10.1000/182", Kind.GATEWAY, "/doi/10.1000/182"),
        ("/doi/10.1000/182", Kind.GATEWAY, "/doi/10.1000/182"),
        ("https://doi.org/10.1000/182", Kind.GATEWAY, "/doi/10.1000/182"),
        ("http://dx.doi.org/10.1000/182", Kind.GATEWAY, "/doi/10.1000/182"),
        ("https://r.example/doi/10.1000/182", Kind.GATEWAY, "/doi/10.1000/182"),
        ("10.1002/(SICI)1:1<1::AID>3#?", Kind.GATEWAY, "/doi/10.1002/(SICI)1:1%3C1::AID%3E3%23%3F"),
        ("hdl:2027/ab", Kind.GATEWAY, "/hdl/2027/ab"),
        ("info:hdl/2027/ab", Kind.GATEWAY, "/hdl/2027/ab"),
        ("https://hdl.handle.net/2027/ab", Kind.GATEWAY, "/hdl/2027/ab"),
        ("ark:/12148/btv1b8449691v", Kind.GATEWAY, "/ark:/12148/btv1b8449691v"),
        ("ark:12148/btv1b8449691v", Kind.GATEWAY, "/ark:/12148/btv1b8449691v"),
        ("https://n2t.net/ark:/12148/btv1", Kind.GATEWAY, "/ark:/12148/btv1"),
        ("URN:nbn:de:101:1-2011", Kind.GATEWAY, "/urn:nbn:de:101:1-2011"),
        ("https://nbn-resolving.org/urn:nbn:de:1", Kind.GATEWAY, "/urn:nbn:de:1"),
        ("https://www.inpe.br/", Kind.WEB_ADDRESS, ""),
        ("https://github.com/python/cpython", Kind.WEB_ADDRESS, ""),
        ("hello world", Kind.UNKNOWN, ""),
        ("doi:abc", Kind.UNKNOWN, ""),
        ("doi/abc", Kind.UNKNOWN, ""),
        ("doi:10.1000/\x00", Kind.UNKNOWN, ""),
        (f"{LABEL}:!", Kind.UNKNOWN, ""),
        ("javascript:alert(1)", Kind.UNKNOWN, ""),
        ("x" * 100_000, Kind.UNKNOWN, ""),
        ("doi:10.1000/" + "x" * 100_000, Kind.UNKNOWN, ""),
    ],
)
def test_a_text_is_what_it_is(text: str, kind: Kind, address: str) -> None:
    pasted = what_is(text, NOW)
    assert (pasted.kind, pasted.address) == (kind, address)
    assert pasted.given == text
    assert bool(pasted.fault) == (kind is Kind.UNKNOWN)


def test_a_label_says_where_and_when_it_was_made() -> None:
    pasted = what_is(f" {NAME}, ", NOW)
    assert pasted.description is not None
    facts = pasted.description.as_dict()
    assert (facts["host"], facts["port"]) == ("mtc-m19.sid.inpe.br", 80)
    assert facts["instant"] == "2013-09-04T12:27:57Z"
    assert pasted.cleaned == (CleanUp.SPACE_AROUND, CleanUp.FINAL_PUNCTUATION)


def test_a_label_of_the_future_is_told_so() -> None:
    assert what_is(NAME, Instant(0)).warnings == (LabelWarning.IN_THE_FUTURE,)
    assert what_is(NAME, NOW).warnings == ()


@pytest.mark.parametrize(
    ("text", "suggested"),
    [
        ("8JMKD3MGP7W/3EPGU05", ("8JMKD3MGP7W/3EPGUQ5",)),
        (f"{LABEL}:!", (LABEL,)),
        (f"see {LABEL} and <{NAME}>.", (LABEL, NAME)),
        (f"http://mtc-m19.sid.inpe.br/col/{NAME}/doc/x.pdf", (NAME,)),
        ("https://github.com/python/cpython", ()),
        (f"{NAME} in the future", ()),
    ],
)
def test_labels_are_suggested(text: str, suggested: tuple[str, ...]) -> None:
    now = Instant(1_000_000_000) if "future" in text else NOW
    assert what_is(text, now).suggestions == suggested


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("IBI: 8JMKD3MGP7W/3EPGUEI5", "8JMKD3MGP7W/3EPGUEI5"),
        ("ibi: <8JMKD3MGP7W/3EPGUEI5>.", "8JMKD3MGP7W/3EPGUEI5"),
        ("ibi: ibi:8JMKD3NGP7W/3EPGUE5", "8JMKD3NGP7W/3EPGUE5"),
        ("LINS, B. Rivers. Recife, 2013. IBI: 8JMKD3MGP7W/ 3EPGUEI5. Rev.", "3EPGUEI5"),
    ],
)
def test_a_mistyped_label_is_no_text_to_search_for(text: str, label: str) -> None:
    pasted = what_is(text, NOW)
    assert pasted.kind is Kind.UNKNOWN
    assert pasted.is_called_label
    assert pasted.given == text
    assert label in pasted.fault


def test_a_label_with_look_alikes_is_suggested_in_a_reference() -> None:
    pasted = what_is("LINS, B. Rivers. IBI: <8JMKD3MGP7W/3EPGU05>.", NOW)
    assert pasted.suggestions == ("8JMKD3MGP7W/3EPGUQ5",)


@pytest.mark.parametrize(
    "text",
    [
        f"LINS, B. Rivers. IBI: {LABEL}. Available at: http://urlib.net/{LABEL}.",
        f"LINS, B. Rivers. Available at: http://urlib.net/{LABEL}. Access: 2026.",
        f"LINS, B. Rivers and/or lakes. <http://urlib.net/{NAME}>.",
    ],
)
@pytest.mark.parametrize("line_end", ["/ ", "/\n", "/  \r\n"])
def test_a_label_is_found_that_columns_break_after_its_slash(text: str, line_end: str) -> None:
    label = NAME if NAME in text else LABEL
    prefix, _, suffix = label.rpartition("/")
    pasted = what_is(text.replace(label, f"{prefix}{line_end}{suffix}"), NOW)
    assert (pasted.kind, pasted.found) == (Kind.UNKNOWN, (label,))
    assert what_is(text, NOW).found == (label,)


@pytest.mark.parametrize("line_end", ["\n", "-\n", " ", "\r\n  "])
@pytest.mark.parametrize("place", range(1, len(LABEL)))
def test_a_label_in_brackets_is_whole_wherever_it_is_broken(line_end: str, place: int) -> None:
    broken = LABEL[:place] + line_end + LABEL[place:]
    pasted = what_is(f"LINS, B. Rivers. 2013. IBI: <{broken}>. Accessed: 10 May 2026.", NOW)
    assert (pasted.kind, pasted.found) == (Kind.UNKNOWN, (LABEL,))


@pytest.mark.parametrize("line_end", ["\n", "-\n", "\r\n  "])
@pytest.mark.parametrize("place", [1, 6, 11, 12, 13, 15])
def test_a_label_is_found_that_a_line_end_breaks(line_end: str, place: int) -> None:
    broken = LABEL[:place] + line_end + LABEL[place:]
    found = what_is(f"LINS, B. Rivers. 2013. IBI: {broken}. Accessed: 10 May 2026.", NOW).found
    assert found[:1] == (LABEL,)


def test_the_beginning_of_a_broken_label_comes_after_the_whole_one() -> None:
    broken = f"LINS, B. Rivers. 2013. IBI: {LABEL[:17]} {LABEL[17:]}. Accessed: 10 May 2026."
    assert what_is(broken, NOW).found == (LABEL, LABEL[:17])
    assert what_is(f"See {LABEL} and {NAME} 12 times.", NOW).found == (LABEL, NAME)


@pytest.mark.parametrize("text", ["ibi: fires and/or floods", f"IBI: {LABEL} and IBI: x/y", "ibi:"])
def test_other_texts_name_no_mistyped_label(text: str) -> None:
    assert not what_is(text, NOW).is_called_label


def test_there_are_few_suggestions() -> None:
    many = " ".join(f"sid.inpe.br/a{number}/2013/09.04.12.27.57" for number in range(9))
    assert len(what_is(f"x {many}", NOW).suggestions) == 3


@given(st.text())
def test_nothing_is_an_error(text: str) -> None:
    pasted = what_is(text, NOW)
    assert pasted.address == "" or pasted.address.startswith("/")
    assert not pasted.address.startswith(("//", "/\\"))
    assert pasted.address.isascii()


@given(st.text(), st.sampled_from(["doi:10.1000/", "hdl:2027/", "ark:/12148/", "urn:nbn:"]))
def test_identifiers_of_other_systems_stay_on_this_resolver(text: str, system: str) -> None:
    address = what_is(system + text, NOW).address
    assert not set(address) & set("?#\\ ")
    assert address == "" or address.startswith(f"/{system[:3]}")


@given(st.text(), st.sampled_from([LABEL, NAME]))
def test_an_address_means_what_was_pasted(text: str, label: str) -> None:
    pasted = what_is(label + text, NOW)
    if pasted.wanted is not None:
        assert PersistentUrl.parse(pasted.address) == pasted.wanted
