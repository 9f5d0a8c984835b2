"""What `ibi archive deposit` asks of every item, for tests that are about something else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

OPTIONS: Final = ("--creator-unknown", "--date", "2026", "--type", "Text")
RECORD: Final[dict[str, Any]] = {
    "creators": [{"name": ":unkn"}],
    "dates": ["2026"],
    "types": ["Text"],
}
"""What these options put into a record."""


def citable(arguments: Sequence[str]) -> list[str]:
    """Add creator, date and type to a deposit that does not say them."""
    given = list(arguments)
    if "deposit" not in given[:2] or "--help" in given:
        return given
    if not {"--creator", "--creator-unknown"} & set(given):
        given.append("--creator-unknown")
    for option, value in (("--date", "2026"), ("--type", "Text")):
        if option not in given:
            given += [option, value]
    return given
