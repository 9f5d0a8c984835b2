"""docs/conformance.md, made from the conformance tests: `make conformance` writes it."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
RESOLVING: Final = frozenset({"federation"})
"""Fixtures that run a resolver and archives (conftest.py)."""
ANSWERING: Final = frozenset({"archive", "mtc_m16c", "resolver_service", "minting_service"})
"""Fixtures of which a test asks one running service (conftest.py)."""
REPORT: Final = HERE.parents[1] / "docs" / "conformance.md"

_INTRODUCTION: Final = """\
# Conformance

This page lists every table, example, algorithm and figure of the two reports behind ABNT NBR
16066:2012, their rules in prose, and what two earlier reports say beyond them, with the tests that
cover each. `make conformance` generates it from the tests. A test fails when the page is out of
date, and `make test` fails when a test named here fails.

The column *how far* is not a claim of its author: it follows from what the tests start.

| how far | at least one test of the item |
| --- | --- |
| parsed | calls functions of the library, with values of the report |
| answered | asks a running archive, resolver or minting service over HTTP |
| resolved | follows persistent URLs at a running resolver to the bytes in running archives |

Where an item is about messages to an archive, or about archives that disagree, a test of the last
kind answers as an archive itself, and follows a persistent URL to the redirect.

Each service is a process of its own, at an address of this machine. It has the settings that `init`
writes, but for these, which a test compares with its files:

- Resolver: `allowed_networks` (by `init --allow-network`), so that it may ask archives on this
  machine; `archive_seconds` 30 for 2, so that a busy machine delays no verdict; no limit of
  requests and messages a second (`requests_a_second`, `messages_a_second`).
- Archives: `adopts`, so that they hold the items of the reports under the labels that are printed;
  `allowed_networks`, so that they may copy and transfer items on this machine; no limit of
  requests a second (`requests_a_second`); the texts of files are not searched (`full_text`).

Items that stay *parsed* are tables of digits, and of languages and countries, and a table of
requests at given times: tests compare all their rows with the program, and no service is asked row
by row.
"""
_TITLES: Final = {
    "000": "000: the report that 003 derives from",
    "001": "001: an early draft of the standard",
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
        lines.append("| item | what it is | how far | tests |\n| --- | --- | --- | --- |")
        for item, what in titles.items():
            tests = covered[document, item]
            names = ", ".join(f"`{name}`" for name in tests)
            lines.append(f"| {item} | {what} | {_how_far(tests.values())} | {names} |")
        lines.append("")
    return "\n".join(lines)


def _how_far(fixtures: Collection[frozenset[str]]) -> str:
    """Return how far an item is covered, by the fixtures of its tests."""
    started = frozenset().union(*fixtures)
    if RESOLVING & started:
        return "resolved"
    if ANSWERING & started:
        return "answered"
    return "parsed" if fixtures else "not built"


def _covered() -> dict[tuple[str, str], dict[str, frozenset[str]]]:
    """Return the tests of each item, with the names of their fixtures."""
    covered: dict[tuple[str, str], dict[str, frozenset[str]]] = defaultdict(dict)
    for path in sorted(HERE.glob("test_*.py")):
        module = importlib.import_module(f"tests.conformance.{path.stem}")
        for name, test in inspect.getmembers(module, inspect.isfunction):
            for mark in getattr(test, "pytestmark", []):
                if mark.name == "standard":
                    fixtures = frozenset(inspect.signature(test).parameters)
                    covered[mark.args][f"{path.stem}::{name}"] = fixtures
    return covered


if __name__ == "__main__":
    REPORT.write_text(report(), encoding="utf-8")
    sys.stdout.write(f"wrote {REPORT}\n")
