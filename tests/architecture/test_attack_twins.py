"""The lines of Python that take a guard away for the twin of an attack name what exists.

A twin whose lines patch a name that was moved patches nothing, or fails far from the cause.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

ATTACKS: Final = Path(__file__).parents[1] / "attacks"


def patches() -> Iterator[tuple[str, str]]:
    """Yield the name and the lines of each constant that patches a program."""
    for file in sorted(ATTACKS.glob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(
                node.value, ast.Constant
            ):
                lines = node.value.value
                if isinstance(lines, str) and "\nfrom ibi." in lines:
                    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
                    yield f"{file.stem}.{ast.unparse(target)}", lines


def missing(lines: str) -> list[str]:
    """Return the names of the programs that lines import or assign to, and that do not exist."""
    tree = ast.parse(lines)
    known: dict[str, object] = {}
    absent = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("ibi"):
            module = import_module(node.module) if find_spec(node.module) else None
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if hasattr(module, alias.name):
                    known[alias.asname or alias.name] = getattr(module, alias.name)
                elif module is not None and hasattr(module, "__path__") and find_spec(inner):
                    known[alias.asname or alias.name] = import_module(inner)
                else:
                    absent.append(inner)
    for place in ast.walk(tree):
        if isinstance(place, ast.Attribute) and isinstance(place.value, ast.Name):
            owner = known.get(place.value.id)
            if owner is not None and not hasattr(owner, place.attr):
                absent.append(f"{place.value.id}.{place.attr}")
    return absent


PATCHES: Final = dict(patches())


@pytest.mark.parametrize("name", PATCHES)
def test_what_a_twin_patches_exists(name: str) -> None:
    assert missing(PATCHES[name]) == []


def test_names_that_are_gone_are_found() -> None:
    lines = "\nfrom ibi.model import clock\nfrom ibi.model.gone import x\nclock.GONE = 1\n"
    assert missing(lines) == ["ibi.model.gone.x", "clock.GONE"]
    assert len(PATCHES) >= 10
