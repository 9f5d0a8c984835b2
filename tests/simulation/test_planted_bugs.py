"""Each planted bug replaces something that exists, and the documentation lists it."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.simulation.planted.all_mutations import MUTATIONS
from tests.simulation.planted.mutation import Mutation

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "simulation.md"


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_what_a_planted_bug_replaces_exists(mutation: Mutation) -> None:
    with mutation.planted():
        pass


def test_the_documentation_lists_each_planted_bug_with_its_module() -> None:
    rows = re.findall(r"^\| `(.*)` \| (.*) \| \d+ \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert {name: module for module, name in rows} == {
        mutation.name: _module(next(iter(mutation.patches))) for mutation in MUTATIONS
    }


def _module(place: str) -> str:
    """Return the module of a place; a name of a class follows it, or a name of its own."""
    path = place.rpartition(".")[0]
    try:
        import_module(path)
    except ModuleNotFoundError:
        path = path.rpartition(".")[0]
    return path.removeprefix("ibi.")
