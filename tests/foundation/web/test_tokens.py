"""Tokens: what each scope includes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ibi.archive.rules.scopes import SCOPES
from ibi.errors import ForbiddenError, RequestError, StateError, UnauthenticatedError
from ibi.foundation.web.tokens import Tokens, digest
from ibi.model.clock import SECOND
from tests.support.scenes.small_archive import SmallArchive

DAY = 86_400 * SECOND


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
        ("curate", {"read", "deposit", "curate"}),
        ("administer", {"read", "deposit", "receive", "curate", "administer"}),
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
    with pytest.raises(RequestError, match="read or deposit or receive or curate or administer"):
        tokens.add("name", "everything")


def test_a_token_expires_after_its_days(tmp_path: Path) -> None:
    small = SmallArchive(tmp_path)
    tokens = Tokens(small.catalogue.tokens, small.clock, SCOPES)
    header = f"Bearer {tokens.add('guest', 'read', 30)}"
    lasting = f"Bearer {tokens.add('librarian', 'read')}"
    tokens.refresh()
    [stored] = [each for each in small.catalogue.tokens.tokens() if each.name == "guest"]
    assert stored.expires == stored.created + 30 * DAY
    small.clock.now = stored.expires - 2 * SECOND  # of which each look takes one
    assert tokens.identify(header).name == "guest"
    with pytest.raises(UnauthenticatedError):
        tokens.identify(header)
    assert tokens.identify(lasting).name == "librarian"
    small.close()


def test_an_earlier_version_refuses_a_token_that_expires(tmp_path: Path) -> None:
    small = SmallArchive(tmp_path)
    secret = Tokens(small.catalogue.tokens, small.clock, SCOPES).add("guest", "read", 30)
    # It compares the whole column with the digest of the secret.
    with closing(sqlite3.connect(tmp_path / "catalogue.sqlite")) as database:
        [(column,)] = database.execute("SELECT digest FROM archive_token WHERE name = 'guest'")
    assert column != digest(secret)
    small.close()


def test_the_last_token_for_everything_that_does_not_expire_stays(tmp_path: Path) -> None:
    small = SmallArchive(tmp_path)
    tokens = Tokens(small.catalogue.tokens, small.clock, SCOPES)
    tokens.add("lasting", "administer")
    tokens.add("passing", "administer", 30)
    with pytest.raises(StateError, match="that does not expire"):
        tokens.remove("lasting")
    assert tokens.remove("passing")
    small.close()


@pytest.mark.parametrize("days", [-1, 3651])
def test_days_that_cannot_be(tokens: Tokens, days: int) -> None:
    with pytest.raises(RequestError, match="1 to 3650 days"):
        tokens.add("name", "read", days)
