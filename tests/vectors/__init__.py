"""Real identifiers in public use, as tests read them."""

from __future__ import annotations

from pathlib import Path


def rows(name: str) -> list[list[str]]:
    """Return the columns of each row of a file of vectors."""
    lines = Path(__file__).with_name(f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]
