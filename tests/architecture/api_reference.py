"""Writes the tables of operations on the reference pages of the three HTTP APIs.

`make reference` does it; test_api_reference.py fails while a page is stale.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from ibi.archive.web.api import operations as archive
from ibi.foundation.web.authorization import OptionalScope, Policy
from ibi.foundation.web.operations import Operation
from ibi.minting.web import operations as minting
from ibi.resolver.web import operations as resolver

REFERENCE: Final = Path(__file__).parents[2] / "docs" / "reference"
PAGES: Final = {
    "minting-api.md": minting.OPERATIONS,
    "archive-api.md": archive.OPERATIONS,
    "resolver-api.md": resolver.OPERATIONS,
}
HEADING: Final = "## All operations\n"
_INTRODUCTION: Final = """
From the table of the program (`make reference`). Problems that every operation may answer are not
listed.

| operation | scope | | answer | problems |
| --- | --- | --- | --- | --- |
"""


def page(name: str) -> str:
    """Return a page as it should be: what stands before its table, and the table."""
    text = (REFERENCE / name).read_text(encoding="utf-8")
    before = text.partition(HEADING)[0].rstrip("\n")
    return f"{before}\n\n{HEADING}{_INTRODUCTION}{''.join(_rows(PAGES[name]))}"


def _rows(operations: Iterable[Operation]) -> Iterable[str]:
    for each in operations:
        problems = ", ".join(map(str, each.problems))
        scope = _scope(each)
        yield f"| `{each}` | {scope} | {each.summary} | {each.status} | {problems} |\n"


def _scope(operation: Operation) -> str:
    access = operation.scope
    if isinstance(access, OptionalScope):
        return f"{access.scope}, optional"
    if isinstance(access, Policy):
        return access.name
    fields = operation.body.scopes if operation.body else {}
    further = "".join(f"; {scope} for `{name}`" for name, scope in fields.items())
    return f"{access}{further}" if isinstance(access, str) else ""


if __name__ == "__main__":
    for each in PAGES:
        (REFERENCE / each).write_text(page(each), encoding="utf-8")
