"""Each planted bug fits what it replaces, and the documentation lists it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from tests.simulation.planted.all_mutations import MUTATIONS
from tests.simulation.planted.mutation import Mutation

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "simulation.md"


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_what_a_planted_bug_replaces_exists(mutation: Mutation) -> None:
    with mutation.planted():
        pass


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_planted_function_takes_the_arguments_of_the_one_it_replaces(mutation: Mutation) -> None:
    # A function that does not fit fails in the first world, which looks as if the bug was found.
    for place, planted in mutation.patches.items():
        owner, _, name = place.rpartition(".")
        replaced = inspect.getattr_static(resolve_name(owner), name)
        if inspect.isfunction(replaced):
            assert _shape(planted) == _shape(replaced)


def _shape(function: Callable[..., Any]) -> tuple[bool, list[tuple[object, str]]]:
    """Return what a caller sees: whether it is awaited, and its parameters."""
    parameters = inspect.signature(function).parameters.values()
    return inspect.iscoroutinefunction(function), [
        (each.kind, each.name if each.kind is each.KEYWORD_ONLY else "") for each in parameters
    ]


def test_the_documentation_lists_each_planted_bug_with_its_module() -> None:
    rows = re.findall(
        r"^\| `([^`|]*)` \| ([^|]*) \| \d+ \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
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
