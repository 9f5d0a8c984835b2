"""docs/conformance.md says what the tests say."""

from __future__ import annotations

import tomllib

from tests.conformance.report import REPORT, report
from tests.conformance.report_archives import CHANGED, ReportFederation


def test_the_page_is_not_stale() -> None:
    assert REPORT.read_text(encoding="utf-8") == report(), "run: make conformance"


def test_the_page_names_all_settings_that_init_does_not_write(
    federation: ReportFederation,
) -> None:
    asked_by_init = {"name", "address", "listen", "host", "port", "ip", "administrator"}
    for server in (federation.resolver, *federation.archives):
        settings = tomllib.loads((server.data / f"{server.part}.toml").read_text("utf-8"))
        assert settings.keys() - asked_by_init == CHANGED[server.part]
        for name in CHANGED[server.part]:
            assert f"`{name}`" in report()
