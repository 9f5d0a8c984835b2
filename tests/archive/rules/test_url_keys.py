"""Urlkeys: what one was issued for counts, and nothing else (004, Tables 5.1 and 6.11)."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.archive.rules.url_keys import (
    LIFE,
    MOST_OFFERS,
    NONCES,
    SKEW,
    Issuing,
    KeyTerms,
    Receipt,
    Refusal,
    UrlKeys,
    normalised,
)
from ibi.errors import ArchiveRequestError
from ibi.model.archive_record import LONGEST_KEY, UrlKey
from ibi.model.item import ContentType, State
from ibi.model.label_pair import Forms
from ibi.wire.requests import Acknowledgment

NOW = 1_424_636_122
NONCE = 533_149_005_486
KEYS = UrlKeys(b"secret" * 6)
CLIENTS = ("172.16.44.200", "150.163.68.1")
FORMS = Forms.parse("rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5")
OTHER = Forms.parse("rep sid.inpe.br/mtc-m19/2013/09.04.12.27.58")
PLACE = "http://mtc-m16d.sid.inpe.br/col/sid.inpe.br/mtc-m19/2013/09.04.12.27.57/doc/"
DATA = KeyTerms(FORMS, PLACE + "Relat%C3%B3rio%20Final.pdf", ContentType.DATA, State.ORIGINAL)
METADATA = KeyTerms(OTHER, PLACE + "metadata", ContentType.METADATA, State.COPY)


def issue(*offers: KeyTerms, now: int = NOW, nonce: int = NONCE, keys: UrlKeys = KEYS) -> UrlKey:
    return keys.issue(CLIENTS, offers, now=now, nonce=nonce)


def acknowledgment(offer: KeyTerms, key: UrlKey) -> Acknowledgment:
    return Acknowledgment(
        clients=CLIENTS,
        content=offer.content,
        url=offer.url,
        persistent_url="http://urlib.net/8JMKD3MGP7W/3EPGUE5",
        key=key,
        forms=offer.forms,
        state=offer.state,
    )


def check(
    given: Acknowledgment, *forms: Forms, now: int = NOW, keys: UrlKeys = KEYS
) -> Receipt | Refusal:
    return keys.check(given, now=now, forms=forms)


def test_a_key_says_when_it_was_issued_and_is_one_of_table_5_1() -> None:
    text = issue(DATA, METADATA).text
    assert text.startswith("1424636122-533149005486")
    assert len(text) == 10 + 1 + 12 + 2 * 20 + 20
    assert issue(DATA, now=7, nonce=0).text.startswith("0000000007-000000000000")


@pytest.mark.parametrize("offer", [DATA, METADATA])
def test_each_url_of_an_answer_is_acknowledged_by_the_same_key(offer: KeyTerms) -> None:
    found = check(acknowledgment(offer, issue(DATA, METADATA)))
    assert found == Receipt(Issuing(NOW, NONCE), offer)


@pytest.mark.parametrize("offer", [DATA, METADATA])
def test_state_and_forms_may_be_left_out(offer: KeyTerms) -> None:
    given = replace(acknowledgment(offer, issue(DATA, METADATA)), state=None, forms=None)
    found = check(given, OTHER, FORMS)
    assert found == Receipt(Issuing(NOW, NONCE), offer)


def test_forms_left_out_are_not_guessed() -> None:
    given = replace(acknowledgment(DATA, issue(DATA)), forms=None)
    assert check(given) is Refusal.FORGED
    assert check(given, OTHER) is Refusal.FORGED


@pytest.mark.parametrize("named", [Forms(FORMS.rep), Forms(ibip=FORMS.ibip), FORMS], ids=str)
def test_one_form_of_an_item_names_it(named: Forms) -> None:
    given = replace(acknowledgment(DATA, issue(DATA)), forms=named)
    assert check(given, FORMS) == Receipt(Issuing(NOW, NONCE), DATA)


def test_forms_of_two_items_name_neither() -> None:
    mixed = Forms(FORMS.rep, OTHER.ibip) if OTHER.ibip else Forms(OTHER.rep, FORMS.ibip)
    given = replace(acknowledgment(DATA, issue(DATA)), forms=mixed)
    assert check(given, FORMS, OTHER) is Refusal.FORGED


def test_a_label_counts_in_any_of_its_spellings() -> None:
    forms = Forms.parse("rep SID.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8jmkd3mgp7w/3epgue5")
    assert forms == FORMS
    assert isinstance(check(replace(acknowledgment(DATA, issue(DATA)), forms=forms)), Receipt)


ALTERED = [
    {"clients": ("172.16.44.201", "150.163.68.1")},
    {"clients": ("172.16.44.200",)},
    {"clients": tuple(reversed(CLIENTS))},
    {"clients": ()},
    {"content": ContentType.METADATA},
    {"state": State.COPY},
    {"state": State.DELETED},
    {"forms": OTHER},
    {"forms": Forms(FORMS.rep)},
    {"forms": Forms(ibip=FORMS.ibip)},
    {"url": METADATA.url},
    {"url": DATA.url + "?"},
    {"url": DATA.url[:-1]},
    {"url": DATA.url.replace("http:", "https:")},
    {"url": ""},
]


@pytest.mark.parametrize("altered", ALTERED, ids=str)
def test_whatever_is_altered_is_refused(altered: dict[str, object]) -> None:
    given = acknowledgment(DATA, issue(DATA, METADATA))
    assert isinstance(check(given), Receipt)
    # The fields of one acknowledgment with the values of another, of any type that it may have.
    assert check(replace(given, **altered)) is Refusal.FORGED  # type: ignore[arg-type]


def test_what_is_altered_at_the_edge_of_two_fields_is_refused() -> None:
    key = KEYS.issue(("a", "b"), [replace(DATA, url="c")], now=NOW, nonce=NONCE)
    given = replace(acknowledgment(DATA, key), clients=("a", "b"), url="c")
    assert isinstance(check(given), Receipt)
    assert check(replace(given, clients=("a",), url=" bc")) is Refusal.FORGED


def test_two_keys_of_one_answer_have_nothing_in_common() -> None:
    first, second = issue(DATA).text, issue(DATA, nonce=NONCE + 1).text
    assert not {first[23:43], first[43:]} & {second[23:43], second[43:]}


def test_what_two_urls_were_offered_with_is_not_mixed() -> None:
    given = acknowledgment(DATA, issue(DATA, METADATA))
    for content, state, forms in (
        (METADATA.content, METADATA.state, METADATA.forms),
        (DATA.content, METADATA.state, DATA.forms),
        (DATA.content, DATA.state, METADATA.forms),
    ):
        mixed = replace(given, content=content, state=state, forms=forms)
        assert check(mixed) is Refusal.FORGED


@given(st.data())
def test_any_digit_of_a_key_that_is_altered_makes_it_another(data: st.DataObject) -> None:
    text = issue(DATA, METADATA).text
    at = data.draw(st.integers(0, len(text) - 1).filter(lambda at: text[at] != "-"))
    digit = data.draw(st.sampled_from("0123456789").filter(lambda digit: digit != text[at]))
    altered = UrlKey(text[:at] + digit + text[at + 1 :])
    for offer in (DATA, METADATA):
        assert check(acknowledgment(offer, altered)) is Refusal.FORGED


def test_a_key_that_is_cut_put_together_or_stretched_is_none() -> None:
    whole = issue(DATA, METADATA).text
    head, pieces = whole[:23], [whole[at : at + 20] for at in range(23, len(whole), 20)]
    made = {head + "".join(some) for n in (1, 2, 3, 4) for some in permutations(pieces * 2, n)}
    made |= {"0" + whole, whole + "0", whole + "0" * 20, whole[:-1], whole.replace("-", "-0")}
    made |= {whole.replace("-", ""), "1234567890", "1234567890-1234567890"}
    made.discard(whole)
    assert {check(acknowledgment(DATA, UrlKey(text))) for text in made} == {Refusal.FORGED}


def test_a_key_expires() -> None:
    given = acknowledgment(DATA, issue(DATA))
    last = KEYS.until(Issuing(NOW, NONCE))
    assert last == NOW + LIFE
    assert isinstance(check(given, now=last), Receipt)
    assert check(given, now=last + 1) is Refusal.EXPIRED


def test_a_key_of_tomorrow_is_none_but_a_clock_may_be_set_back_a_little() -> None:
    given = acknowledgment(DATA, issue(DATA))
    assert isinstance(check(given, now=NOW - SKEW), Receipt)
    assert check(given, now=NOW - SKEW - 1) is Refusal.EARLY


def test_a_secret_rotates() -> None:
    first, second, third = b"a" * 32, b"b" * 32, b"c" * 32
    given = acknowledgment(DATA, issue(DATA, keys=UrlKeys(first)))
    assert isinstance(check(given, keys=UrlKeys(second, previous=first)), Receipt)
    assert check(given, keys=UrlKeys(third, previous=second)) is Refusal.FORGED
    renewed = UrlKeys(second, previous=first)
    assert issue(DATA, keys=renewed) == issue(DATA, keys=UrlKeys(second))


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(ArchiveRequestError, match="32 bytes"):
        UrlKeys(b"a" * 31)
    with pytest.raises(ArchiveRequestError, match="32 bytes"):
        UrlKeys(b"a" * 32, previous=b"")


def test_the_key_of_a_long_answer_is_still_a_key() -> None:
    offers = [replace(DATA, url=f"{PLACE}{number}") for number in range(MOST_OFFERS + 10)]
    key = KEYS.issue(CLIENTS, offers * 2, now=10**20 - 1, nonce=NONCES - 1)
    assert LONGEST_KEY - 20 < len(key.text) <= LONGEST_KEY
    given = acknowledgment(offers[MOST_OFFERS - 1], key)
    assert isinstance(check(given, now=10**20), Receipt)


def test_equal_offers_take_no_room() -> None:
    assert issue(DATA, DATA, METADATA) == issue(DATA, METADATA)


def test_an_answer_without_a_url_has_a_key_that_acknowledges_nothing() -> None:
    assert check(acknowledgment(DATA, issue())) is Refusal.FORGED


@pytest.mark.parametrize(
    "url",
    [
        PLACE + "Relat%C3%B3rio%20Final.pdf",
        PLACE + "Relat%f3rio%20Final.pdf",
        PLACE + "Relat%F3rio Final.pdf",
        PLACE + "Relatório Final.pdf",
        PLACE + "Relatório%20Final.pdf",
        quote(PLACE + "Relatório Final.pdf"),
        quote(quote(PLACE + "Relatório Final.pdf")),
    ],
)
def test_a_url_counts_however_often_it_was_encoded(url: str) -> None:
    given = replace(acknowledgment(DATA, issue(DATA)), url=url)
    assert isinstance(check(given), Receipt)


@given(st.text(max_size=40), st.integers(0, 5))
def test_encoding_adds_nothing(text: str, times: int) -> None:
    url = text
    for _ in range(times):
        url = quote(url, errors="surrogatepass")
    assert normalised(url) == normalised(text)


def test_a_url_that_is_encoded_without_end_ends() -> None:
    assert normalised("%" + "25" * 100_000).startswith("%25")


def test_how_many_accesses_there_were_is_not_known_when_a_key_is_issued() -> None:
    given = acknowledgment(DATA, issue(DATA))
    found = {check(replace(given, accesses=accesses)) for accesses in (1, 7, 1000)}
    assert found == {Receipt(Issuing(NOW, NONCE), DATA)}
