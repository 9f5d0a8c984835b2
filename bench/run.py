"""`make bench`: run all benchmarks and write bench/RESULTS.md."""

from __future__ import annotations

import sys
from pathlib import Path

import label_lengths
import labels
import minting
import minting_http
from measure import machine, today

RESULTS = Path(__file__).with_name("RESULTS.md")

SECTIONS = {
    "Labels: parse and format": labels.parse_and_format,
    "Labels: `ibi describe --json`": labels.describe_a_million,
    "Minting: in process": minting.in_process,
    "Minting: over HTTP": minting_http.over_http,
    "Minting: how long labels get": label_lengths.under_poisson_traffic,
}


_INTRODUCTION = (
    "What `make bench` last printed. Ratios are against a reference measured in the same run, in "
    "rounds interleaved with it; absolute figures are of this machine and this day only."
)


def main() -> None:
    """Run every section, print it, and keep it."""
    page = [
        "# Results",
        "",
        _INTRODUCTION,
        "",
        f"- date: {today()}",
        f"- machine: {machine()}",
        "- command: `make bench`",
    ]
    for title, section in SECTIONS.items():
        sys.stderr.write(f"{title} ...\n")
        lines = ["", f"## {title}", "", *section()]
        print("\n".join(lines))
        page += lines
    RESULTS.write_text("\n".join(page) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
