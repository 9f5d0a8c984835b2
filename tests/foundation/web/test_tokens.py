"""Tokens: what each scope includes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ibi.archive.rules.scopes import SCOPES
from ibi.errors import ForbiddenError, RequestError, UnauthenticatedError
from ibi.foundation.web.tokens import Tokens
from tests.support.scenes.small_archive import SmallArchive


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tokens]:
    folder: Path = tmp_path_factory.mktemp("tokens")
    small = SmallArchive(folder)
    yield Tokens(small.catalogue.tokens, small.clock, SCOPES)
    small.close()


@pytest.mark.parametrize(
    ("scope", "included"),
    [
        ("read", {"read"}),
        ("deposit", {"read", "deposit"}),
        ("receive", {"receive"}),
        ("administer", {"read", "deposit", "receive", "administer"}),
    ],
)
def test_scopes_of_an_archive(tokens: Tokens, scope: str, included: set[str]) -> None:
    header = f"Bearer {tokens.add(scope, scope)}"
    tokens.refresh()
    token = tokens.identify(header)
    assert token.name == scope
    allowed = set()
    for wanted in SCOPES.names:
        try:
            tokens.check_scope(token, wanted)
            allowed.add(wanted)
        except ForbiddenError:
            continue
    assert allowed == included


def test_who_brings_none_is_nobody(tokens: Tokens) -> None:
    tokens.refresh()
    for header in (None, "", "Bearer", "Bearer x", "Basic x"):
        with pytest.raises(UnauthenticatedError):
            tokens.identify(header)


def test_a_scope_that_is_none(tokens: Tokens) -> None:
    with pytest.raises(RequestError, match="read or deposit or receive or administer"):
        tokens.add("name", "everything")
