"""Console sessions of a page: the commands at a prompt, and the output of each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

CONSOLE: Final = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)

# Minted labels, the ports in them, times and tokens differ at each run; their shape does not.
MINTED: Final = re.compile(
    r"20[0-9]{2}([-/])[0-9]{2}[-.][0-9]{2}[T.][0-9:.]+(Z?)|(?<=W)[2-9A-HJ-NP-U]*/[2-9A-U]+(?:W[2-9A-U]+)?"
    r"|(?<=ibi_)[A-Za-z0-9_-]{43}|(?<=/invitation/)[A-Za-z0-9_-]{43}"
)
PATIENCE: Final = 120
"""Seconds, for a command that may wait for another."""


def sessions(page: Path) -> list[tuple[str, str, str]]:
    """Return the name of a page with each of its commands and the output that it shows."""
    found = []
    for block in CONSOLE.findall(page.read_text(encoding="utf-8")):
        for session in block.split("$ ")[1:]:
            command, _, shown = session.partition("\n")
            found.append((page.name, command, shown))
    return found


def without_minted(text: str) -> str:
    """Return a text without the parts that differ at each run."""
    return MINTED.sub(r"\1\2", text)
