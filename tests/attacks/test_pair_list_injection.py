"""Threats, row 20: pair-list injection.

Spaces, braces, backslashes, quotation marks and line ends in what an archive says: in the names of
its files, and in the reasons of its errors, which repeat what was asked. Real Tcl and we read the
same pairs, and no more of them than were meant.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from ibi.archive.rules.answer import Identity, answer
from ibi.errors import PairListError
from ibi.model.item import Item
from ibi.model.label_pair import Forms
from ibi.wire import pairlist, responses
from ibi.wire.requests import UrlRequest
from ibi.wire.responses import ErrorAnswer, UrlList
from tests.support.doubles.answer_source import MemoryAnswerSource, issue_key
from tests.support.tools.tcl import NotAListError, Tcl

VALUES = 100_000 if os.environ.get("IBI_ATTACKS") == "full" else 1_000
PIECES = [
    *(" ", "  ", "{", "}", "{}", "}{", "\\", "\\\\", '"', '""', "\n", "\r\n", "\t", "\v", "\0"),
    *("\\}", "\\{", '\\"', "\\\n", "\\x7d", "\\u007d", "\\175", "} url http://evil/ x {", "#", ";"),
    *('" url http://evil/ x "', "\nurl http://evil/", "%20", "%7D", "%", "[exit]", "$a", "a", "é"),
    *(
        "url",
        "state",
        "Original",
        "\u2028",
        "\x85",
        "\xa0",
        "\ud800",
        "\U0001f600",
        "//",
        "..",
        "~",
    ),
]
ITEM = Item(forms=Forms.of("arq.br/item/2020/01.01.00.00"), target="a")
IDENTITY = Identity("http://archive.example", Forms.of("arq.br/service/2020/01.01.00.00"))
NAMES = {"archiveaddress", "contenttype", "ibi", "ibi.archiveservice", "ibi.platformsoftware"}
NAMES |= {"state", "timestamp", "url", "urlkey"}


def hostile(rng: random.Random) -> str:
    return "".join(rng.choices(PIECES, k=rng.randint(1, 8)))


def read_by_both(tcl: Tcl, text: str, meant: Mapping[str, str]) -> None:
    """Tcl reads the pairs that were meant, and so do we."""
    elements = tcl.read(text)
    assert len(elements) == 2 * len(meant), repr(text)
    theirs = dict(zip(elements[::2], elements[1::2], strict=True))
    assert theirs == {name: pairlist.escaped(value) for name, value in meant.items()}, repr(text)
    assert pairlist.decode(text) == theirs


def attack(count: int, encode: Callable[[Mapping[str, str]], str]) -> None:
    rng = random.Random(20)  # noqa: S311  # repeatable, not secret
    with Tcl() as tcl:
        for _ in range(count):
            meant = {"status.error": "bad-value", "status.reason": hostile(rng)}
            read_by_both(tcl, encode(meant), meant)


def test_no_value_becomes_a_pair() -> None:
    attack(VALUES, pairlist.encode)


def _without_escaping(pairs: Mapping[str, str]) -> str:
    return "\r\n".join(f"{name} {{{value}}}" for name, value in pairs.items())


def test_the_attack_finds_an_encoder_without_escaping() -> None:
    """The twin: braces alone around a value are not enough."""
    with pytest.raises((AssertionError, NotAListError, PairListError)):
        attack(100, _without_escaping)


def test_no_name_of_a_file_and_no_reason_becomes_a_pair() -> None:
    rng = random.Random(21)  # noqa: S311  # repeatable, not secret
    with Tcl() as tcl:
        for _ in range(VALUES // 10):
            name = hostile(rng)
            shelf = MemoryAnswerSource(replace(ITEM, target=name))
            request = UrlRequest(("10.0.0.1",), ITEM.forms.label)
            text = responses.encode(answer(shelf, IDENTITY, request, issue_key))
            elements = tcl.read(text)
            assert (set(elements[::2]), len(elements)) == (NAMES, 2 * len(NAMES)), repr(name)
            listed = responses.decode(text)
            assert isinstance(listed, UrlList)
            urls = [related.url for related in listed.related.values()]
            assert [url.startswith("http://archive.example/col/arq.br/") for url in urls] == [True]
            refused = responses.decode(responses.encode(ErrorAnswer("bad-value", name)))
            assert refused == ErrorAnswer("bad-value", pairlist.escaped(name))
