"""Persistent URLs with thousands of modifiers or verbs: each costs time, and none is legal.

The longest composition of Table 6.2 has four modifiers. What is longer is refused as soon as the
fifth is found: the rest is not parsed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from ibi.errors import ModifierOrderError
from ibi.identifier import persistent_url, verbs
from ibi.identifier.persistent_url import PersistentUrl
from ibi.identifier.verbs import MAX_MODIFIERS, MAX_VERBS
from tests.support.servers.attacked import FULL, connected
from tests.support.servers.attacked_resolver import attacked, label

LONG: Final = 8_000 if FULL else 2_000
"""Characters of a composition: as many as a URL may have, or fewer."""
READINGS: Final = 3
"""A text is read as it is, cleaned, and with its closing punctuation again."""
TAILS: Final = {
    "last editions": "!" * LONG,
    "translations": "+(pt)" * (LONG // 5),
    "orders": "!+:+" * (LONG // 4),
    "one list of verbs": "?ibiurl.verblist=" + "+".join(["GetMetadata(oai_dc)"] * (LONG // 20)),
    "many lists of verbs": "?" + "&".join(["ibiurl.verblist=GetMetadata"] * (LONG // 28)),
}


def parsed_verbs(tail: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Parse a URL that is no composition; return how many of its verbs were parsed."""
    count = 0
    real = verbs._verb  # noqa: SLF001  # where the work is done

    def counted(*values: object) -> object:
        nonlocal count
        count += 1
        return real(*values)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(verbs, "_verb", counted)
        try:
            PersistentUrl.parse(f"http://urlib.net/{label(0)}{tail}")
        except ModifierOrderError as refused:
            assert refused.expected.startswith("one of : :+ ! ")  # noqa: PT017  # may not be raised
    return count


@pytest.mark.parametrize("name", TAILS)
def test_a_long_composition_is_refused_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModifierOrderError):
        PersistentUrl.parse(f"http://urlib.net/{label(0)}{TAILS[name]}")
    most = READINGS * max(MAX_MODIFIERS, MAX_VERBS + 1)
    assert parsed_verbs(TAILS[name], monkeypatch) <= most


@pytest.mark.parametrize("name", TAILS)
def test_the_long_compositions_bite(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: without the bounds every verb is parsed."""
    monkeypatch.setattr(verbs, "MAX_MODIFIERS", LONG + 1)
    for module in (verbs, persistent_url):
        monkeypatch.setattr(module, "MAX_VERBS", LONG + 1)
    assert parsed_verbs(TAILS[name], monkeypatch) >= LONG // 28


def test_a_resolver_says_which_compositions_there_are(tmp_path: Path) -> None:
    with attacked(tmp_path) as resolver, connected(resolver) as reader:
        for tail in ("!" * 5, "!" * 2_000, "?ibiurl.verblist=" + "+".join(["GetMetadata"] * 100)):
            answer = reader.ask(f"/{label(0)}{tail}", "Accept: application/json")
            assert answer.status == 400
            assert b"one of : :+ ! " in answer.body
