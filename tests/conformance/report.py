"""docs/conformance.md, made from the conformance tests: `make conformance` writes it."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections import defaultdict
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
REPORT: Final = HERE.parents[1] / "docs" / "conformance.md"

_INTRODUCTION: Final = """\
# Conformance

This page lists every table, example and algorithm of the two reports behind ABNT NBR 16066:2012,
and the diagrams of their messages, with the tests that cover each. `make conformance` generates it
from the tests. A test fails when the page is out of date, and `make test` fails when a test named
here fails.
"""
_TITLES: Final = {
    "003": "003: System for IBI Generation (RTC-10-I)",
    "004": "004: System for IBI Resolution",
}


def report() -> str:
    """Return the page as it should be."""
    items = importlib.import_module("tests.conformance.standard").ITEMS
    covered = _covered()
    lines = [_INTRODUCTION]
    for document, titles in items.items():
        built = sum(1 for item in titles if covered[document, item])
        lines.append(f"## {_TITLES[document]}\n\n{built} of {len(titles)} covered.\n")
        lines.append("| item | what it is | tests | state |\n| --- | --- | --- | --- |")
        for item, what in titles.items():
            tests = ", ".join(f"`{test}`" for test in covered[document, item])
            state = "covered" if tests else "not built"
            lines.append(f"| {item} | {what} | {tests} | {state} |")
        lines.append("")
    return "\n".join(lines)


def _covered() -> dict[tuple[str, str], list[str]]:
    covered: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in sorted(HERE.glob("test_*.py")):
        module = importlib.import_module(f"tests.conformance.{path.stem}")
        for name, test in inspect.getmembers(module, inspect.isfunction):
            for mark in getattr(test, "pytestmark", []):
                if mark.name == "standard":
                    covered[mark.args].append(f"{path.stem}::{name}")
    return covered


if __name__ == "__main__":
    REPORT.write_text(report(), encoding="utf-8")
    sys.stdout.write(f"wrote {REPORT}\n")
