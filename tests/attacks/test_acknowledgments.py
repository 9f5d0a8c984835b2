"""Threats, row 5: forged and replayed acknowledgments.

Of twice as many keys as shall be counted, half are acknowledged honestly, three times each, and
all are acknowledged with one field altered, in any order.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

import pytest

from ibi.archive.rules import url_keys
from ibi.archive.rules.url_keys import Issuing, KeyTerms, Receipt, UrlKeys
from ibi.model.archive_record import UrlKey
from ibi.model.item import ContentType, State
from ibi.model.label_pair import Forms
from ibi.wire.requests import Acknowledgment, decode, encode

HONEST = 10_000 if os.environ.get("IBI_ATTACKS") == "full" else 100
TIMES = 3
NOW = 1_700_000_000


class Counter(Protocol):
    """Something that gives out keys and counts acknowledgments."""

    def issue(self, number: int) -> Acknowledgment:
        """Give out the key of a new answer; return the acknowledgment that it deserves."""
        ...

    def count(self, query: str) -> None:
        """Take an acknowledgment, good or bad."""
        ...

    def counted(self) -> int:
        """Return how many accesses were counted."""
        ...


class Core:
    """The rule alone, and a memory of what was used."""

    def __init__(self, *, single_use: bool = True) -> None:
        """Begin; without single use, every good acknowledgment counts."""
        self._keys = UrlKeys(b"a secret of some thirty-odd bytes")
        self._chance = random.Random(5)  # noqa: S311  # which nonces
        self._single_use = single_use
        self._used: set[Issuing] = set()
        self._counted = 0

    def issue(self, number: int) -> Acknowledgment:
        """Answer with the data and the metadata of an item, of which either is visited."""
        label = f"sid.inpe.br/mtc-m19/2013/09.04.{number // 3600:02}"
        forms = Forms.of(f"{label}.{number // 60 % 60:02}.{number % 60:02}")
        clients = (f"150.163.{number // 250}.{number % 250}", "150.163.68.1")
        offers = [
            KeyTerms(
                forms, f"http://archive.example.org/col/{forms.label}/doc/{name}", content, state
            )
            for name, content, state in (
                ("Relat%C3%B3rio%20Final.pdf", ContentType.DATA, State.ORIGINAL),
                ("", ContentType.METADATA, State.ORIGINAL),
            )
        ]
        nonce = self._chance.randrange(url_keys.NONCES)
        key = self._keys.issue(clients, offers, now=NOW, nonce=nonce)
        offer = offers[number % 2]
        return Acknowledgment(
            clients=clients,
            content=offer.content,
            url=offer.url,
            persistent_url=f"http://urlib.net/{forms.label}",
            key=key,
            forms=forms,
            state=offer.state,
        )

    def count(self, query: str) -> None:
        """Count what is good."""
        request = decode(query)
        assert isinstance(request, Acknowledgment)
        found = self._keys.check(request, now=NOW + 60)
        if isinstance(found, Receipt):
            self._counted += found.issued not in self._used
            if self._single_use:
                self._used.add(found.issued)

    def counted(self) -> int:
        """Return how many were."""
        return self._counted


def attack(counter: Counter, honest: int = HONEST) -> None:
    """Send what the row says; `honest` acknowledgments are to be counted."""
    chance = random.Random(55)  # noqa: S311  # what is altered, and the order
    issued = [counter.issue(number) for number in range(2 * honest)]
    sent = [*issued[:honest] * TIMES, *altered(issued, chance)]
    chance.shuffle(sent)
    for acknowledgment in sent:
        counter.count(encode(acknowledgment))


def altered(
    acknowledgments: Sequence[Acknowledgment], chance: random.Random
) -> Iterable[Acknowledgment]:
    """Alter one field of each: every field comes up, and the digits of a key at any place."""
    for number, acknowledgment in enumerate(acknowledgments):
        other = acknowledgments[number - 1]
        yield ALTERATIONS[number % len(ALTERATIONS)](acknowledgment, other, chance)


def _with_another_digit(
    acknowledgment: Acknowledgment, other: Acknowledgment, chance: random.Random
) -> Acknowledgment:
    del other
    text = acknowledgment.key.text
    at = chance.choice([at for at, digit in enumerate(text) if digit != "-"])
    digit = chance.choice([digit for digit in "0123456789" if digit != text[at]])
    return replace(acknowledgment, key=UrlKey(text[:at] + digit + text[at + 1 :]))


def _without_a_block(
    acknowledgment: Acknowledgment, other: Acknowledgment, chance: random.Random
) -> Acknowledgment:
    del other
    text = acknowledgment.key.text
    at = chance.choice(range(len(text) - 60, len(text), 20))
    return replace(acknowledgment, key=UrlKey(text[:at] + text[at + 20 :]))


Alteration = Callable[[Acknowledgment, Acknowledgment, random.Random], Acknowledgment]
OTHER_CONTENT = {
    ContentType.DATA: ContentType.METADATA,
    ContentType.METADATA: ContentType.DATA,
}
OTHER_STATE = {State.ORIGINAL: State.COPY, State.COPY: State.ORIGINAL}
# An odd number of them: each meets data and metadata.
ALTERATIONS: list[Alteration] = [
    lambda given, other, _: replace(given, clients=other.clients),
    lambda given, *_: replace(given, clients=given.clients[:1]),
    lambda given, *_: replace(given, content=OTHER_CONTENT[given.content]),
    lambda given, *_: replace(given, state=OTHER_STATE[given.state or State.ORIGINAL]),
    lambda given, other, _: replace(given, forms=other.forms),
    lambda given, other, _: replace(given, url=other.url),
    lambda given, *_: replace(given, url=f"{given.url}x"),
    lambda given, other, _: replace(given, key=other.key),
    _with_another_digit,
    _without_a_block,
    lambda given, *_: replace(given, key=UrlKey("1424636122-5331490054869684")),
]


def test_exactly_as_many_are_counted_as_were_issued_and_acknowledged() -> None:
    counter = Core()
    attack(counter)
    assert counter.counted() == HONEST


def test_twin_without_single_use_each_counts_whenever_it_comes() -> None:
    counter = Core(single_use=False)
    attack(counter)
    assert counter.counted() == TIMES * HONEST


def test_twin_without_the_binding_forged_ones_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(url_keys, "_is_among", lambda *_: True)
    counter = Core()
    attack(counter)
    assert counter.counted() > 1.5 * HONEST


def test_twin_without_the_seal_digits_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UrlKeys, "_sealed_with", lambda self, _: self._secrets[0])
    counter = Core()
    attack(counter)
    assert counter.counted() > HONEST
