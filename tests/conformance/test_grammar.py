"""The standard's grammars as oracles over generated strings: no disagreement but the Decisions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ibi import IbiError, Ibip, PersistentUrl, RepositoryName
from ibi.identifier.verbs import read_verblist
from tests.conformance import decisions, strings
from tests.conformance.grammar import accepts
from tests.conformance.standard import covers
from tests.support.extent import tried

COUNT = tried(2_000)
"""Strings a grammar here; `make fuzz` runs a million."""


def taken(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except IbiError:
        return False
    return True


def judge_repository_name(text: str) -> None:
    narrower = decisions.REPOSITORY_NAME_NARROWER.values()
    expected = accepts("repository", text) and not any(decides(text) for decides in narrower)
    assert taken(RepositoryName.parse, text) == expected, text


def judge_ibip(text: str) -> None:
    narrower = decisions.IBIP_NARROWER.values()
    expected = accepts("IBIp", text) and not any(decides(text) for decides in narrower)
    assert taken(Ibip.parse, text) == expected, text


def judge_verblist(text: str) -> None:
    # Wider: formats beyond oai_dc; a blank divides as well as "+". Narrower: Table A.1.
    oai = decisions.widened_verblist(text)
    expected = accepts("lista-de-verbos", oai) and not decisions.has_unknown_language(oai)
    assert taken(read_verblist, text) == expected, text


def judge_persistent_url(text: str) -> None:
    narrower = decisions.PERSISTENT_URL_NARROWER.values()
    expected = False
    for rule, label, rest in decisions.readings(decisions.at_urlib(text)):
        if decisions.is_label(rule, label):
            expected = accepts(*decisions.as_printed(rule, text)) and not any(
                decides(rest) for decides in narrower
            )
            break

    def read(url: str) -> PersistentUrl:
        return PersistentUrl.parse(url, strict=True)

    assert taken(read, text) == expected, text


JUDGES = {
    "003 Table 6.1": (strings.repository_name, judge_repository_name),
    "003 Table 7.1": (strings.ibip, judge_ibip),
    "004 Table 6.1": (strings.persistent_url, judge_persistent_url),
    "004 Table 6.4": (strings.verblist, judge_verblist),
}


def judge(table: str, seed: int, count: int) -> None:
    """Put generated strings before the grammar of a table and before our code."""
    make, decide = JUDGES[table]
    for text in strings.stream(make, seed, count):
        decide(text)


@covers("003", "Table 6.1")
@pytest.mark.many
def test_table_6_1_of_003() -> None:
    judge("003 Table 6.1", seed=1, count=COUNT)


@covers("003", "Table 7.1")
@pytest.mark.many
def test_table_7_1_of_003() -> None:
    judge("003 Table 7.1", seed=2, count=COUNT)


@covers("004", "Table 6.1")
@pytest.mark.many
def test_table_6_1_of_004() -> None:
    judge("004 Table 6.1", seed=3, count=COUNT)


@covers("004", "Table 6.4")
@pytest.mark.many
def test_table_6_4_of_004() -> None:
    judge("004 Table 6.4", seed=4, count=COUNT)


@pytest.mark.parametrize("table", JUDGES)
def test_the_strings_are_good_and_nearly_good(table: str) -> None:
    """A judge that only ever sees bad strings proves nothing."""
    make, _ = JUDGES[table]
    rules = {"003 Table 6.1": "repository", "003 Table 7.1": "IBIp"}
    rules |= {"004 Table 6.1": "URL-persistente", "004 Table 6.4": "lista-de-verbos"}
    verdicts = [accepts(rules[table], text) for text in strings.stream(make, 5, 300)]
    assert 30 < sum(verdicts) < 270
