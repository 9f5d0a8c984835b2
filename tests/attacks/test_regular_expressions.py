"""Threats, row 12: no regular expression in the tree takes super-linear time.

The judge is recheck, which decides by automata and not by examples.
"""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import ibi
from tests.support.tools.recheck import verdicts

ROOT = Path(__file__).parents[2]
JUDGED = Path(__file__).with_name("judged_patterns.json")
SCANNING = {"findall", "finditer", "search", "split", "sub"}
"""Methods that try every place of a text; the others begin at one."""


def test_the_checker_finds_what_it_should() -> None:
    """The twin: planted patterns are found."""
    planted = ["(a+)+$", "(a|aa)+b", "^(a|b|ab)*c$", r"\s+$"]
    assert set(verdicts(planted).values()) == {"vulnerable"}


def _sources(folder: str) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def _methods_called(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Yield `name.method` of each call of a method on a plain name."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ):
            yield f"{node.func.value.id}.{node.func.attr}", node


def _scanned(folder: str) -> set[str]:
    """Return the names of patterns with which a text is scanned."""
    calls = [call for _, tree in _sources(folder) for call, _ in _methods_called(tree)]
    return {call.split(".")[0] for call in calls if call.split(".")[1] in SCANNING}


def ours() -> dict[str, str]:
    """Return all patterns of the tree, as they are used, and the name of each."""
    scanned = _scanned("src")
    found: dict[str, str] = {}
    for module_info in pkgutil.walk_packages(ibi.__path__, "ibi."):
        module = importlib.import_module(module_info.name)
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                written = value.pattern
                text = written.decode("iso-8859-1") if isinstance(written, bytes) else written
                pattern = text if name in scanned else f"^(?:{text})$"
                found[pattern] = f"{module_info.name}.{name}"
    assert len(found) > 15
    return found


def judged() -> set[str]:
    """Return the patterns that were found safe once: to judge all of them takes a minute."""
    return set(json.loads(JUDGED.read_text(encoding="utf-8")))


def not_safe(patterns: list[str]) -> dict[str, str]:
    """Return those that are not safe, with the verdict."""
    return {
        pattern: verdict for pattern, verdict in verdicts(patterns).items() if verdict != "safe"
    }


def test_ours_are_linear() -> None:
    """Patterns that `judged_patterns.json` does not list are judged here; it must list all."""
    asked = ours()
    found = not_safe([pattern for pattern in asked if pattern not in judged()])
    assert {asked[pattern]: verdict for pattern, verdict in found.items()} == {}
    assert {asked.get(pattern, pattern) for pattern in judged() ^ asked.keys()} == set()


@pytest.mark.long
def test_ours_were_judged_rightly() -> None:
    asked = ours()
    found = not_safe(list(asked))
    assert {asked[pattern]: verdict for pattern, verdict in found.items()} == {}


def test_ours_are_compiled_where_the_check_finds_them() -> None:
    for path, tree in _sources("src"):
        compiled = {
            id(statement.value)
            for statement in tree.body
            if isinstance(statement, ast.AnnAssign | ast.Assign)
        }
        for method, call in _methods_called(tree):
            if method.startswith("re."):
                assert method == "re.compile", f"{path}:{call.lineno}"
                assert id(call) in compiled, f"{path}:{call.lineno}"


@pytest.mark.long
def test_those_of_tests_and_benches_are_linear() -> None:
    places: dict[str, str] = {}
    for folder in ("tests", "bench"):
        for path, tree in _sources(folder):
            if path == Path(__file__):
                continue
            for method, call in _methods_called(tree):
                if method.startswith("re.") and call.args:
                    pattern = _written(call.args[0])
                    begun = method in {"re.match", "re.fullmatch", "re.compile"}
                    places[f"^(?:{pattern})" if begun else pattern] = f"{path}:{call.lineno}"
    found = verdicts(list(places))
    assert {places[pattern] for pattern in places if found[pattern] == "vulnerable"} == set()


def _written(pattern: ast.expr) -> str:
    """Return a pattern as written in a source file; a value put into it counts as one digit."""
    parts = pattern.values if isinstance(pattern, ast.JoinedStr) else [pattern]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "1" for part in parts)
