"""docs/conformance.md says what the tests say."""

from __future__ import annotations

from tests.conformance.report import REPORT, report


def test_the_page_is_not_stale() -> None:
    assert REPORT.read_text(encoding="utf-8") == report(), "run: make conformance"
