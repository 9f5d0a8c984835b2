"""The reference pages of the HTTP APIs have the operations that the programs have."""

from __future__ import annotations

import pytest

from tests.architecture.api_reference import HEADING, PAGES, REFERENCE, page


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_not_stale(name: str) -> None:
    text = (REFERENCE / name).read_text(encoding="utf-8")
    assert text == page(name), "run: make reference"
    assert text.count(HEADING) == 1
    assert text.count("\n| `") >= len(PAGES[name])
