"""Which items a list has, as a function of values."""

from __future__ import annotations

import pytest

from ibi.archive.rules.item_choice import EVERY_ITEM, ItemChoice, folded, words_of
from ibi.model.item import Item, State
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import Agent, MetadataRecord, Text

ITEM = Item(
    forms=Forms.of("arq.br/item/2020/01.01.00.00", "LK47B6W/362SFKH"), created=100, updated=900
)
RECORD = MetadataRecord(
    titles=(Text("Relatório da Chuva", "pt"),),
    creators=(Agent("Banon, Gerald"),),
    descriptions=(Text("Ein Bericht über die STRASSE"),),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("chuva", True),
        ("RELATORIO chuva", True),
        ("relatório", True),
        ("banon", True),
        ("straße UBER", True),
        ("arq.br/item", True),
        ("lk47b6w/362sfkh", True),
        ("chuva neve", False),
        ("neve", False),
    ],
)
def test_all_words_occur_in_labels_or_description(text: str, *, expected: bool) -> None:
    assert ItemChoice(words=words_of(text)).wants(ITEM, RECORD) == expected


def test_without_a_description_labels_are_left() -> None:
    assert ItemChoice(words=words_of("arq.br")).wants(ITEM, None)
    assert not ItemChoice(words=words_of("chuva")).wants(ITEM, None)


@pytest.mark.parametrize(
    ("since", "before", "expected"),
    [
        (0, 0, True),
        (100, 0, True),
        (101, 0, False),
        (0, 101, True),
        (0, 100, False),
        (1, 900, True),
    ],
)
def test_the_time_of_creation_decides(since: int, before: int, *, expected: bool) -> None:
    assert ItemChoice(since=since, before=before).wants(ITEM, RECORD) == expected


def test_the_state_decides() -> None:
    assert EVERY_ITEM.wants(ITEM, None)
    assert ItemChoice(state=State.ORIGINAL).wants(ITEM, None)
    assert not ItemChoice(state=State.COPY).wants(ITEM, None)


def test_letters_are_folded() -> None:
    assert folded("AÇÃO") == folded("ac\u0327a\u0303o") == "acao"
