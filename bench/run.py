"""`make bench`: run all benchmarks and write bench/RESULTS.md."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.archive import (
    copies,
    delivery,
    item_pages,
    large_deposit,
    large_drafts,
    search_index,
)
from bench.archive import requests as archive_requests
from bench.archive import search as archive_search
from bench.federation import scale, soak
from bench.labels import formats as labels
from bench.labels import lengths as label_lengths
from bench.minting import in_process as minting
from bench.minting import service as minting_http
from bench.resolver import cold, large_digest, warm
from bench.support.goals import rows
from bench.support.measure import machine, today

RESULTS = Path(__file__).with_name("RESULTS.md")

SECTIONS = {
    "Labels: parse and format": labels.parse_and_format,
    "Labels: ibi describe": labels.describe_a_million,
    "Minting: in process": minting.in_process,
    "Minting: over HTTP": minting_http.over_http,
    "Minting: how long labels get": label_lengths.under_poisson_traffic,
    "Archive: what resolvers ask, at a thousand and a million items": archive_requests.url_requests,
    "Archive: ten thousand and ten million items, on SQLite": (
        archive_requests.ten_million_on_sqlite
    ),
    "Archive: ten thousand and ten million items, on PostgreSQL": (
        archive_requests.ten_million_on_postgresql
    ),
    "Search: ten thousand and a million items, on SQLite": archive_search.on_sqlite,
    "Search: ten thousand and a million items, on PostgreSQL": archive_search.on_postgresql,
    "Search: deposits with the index, against without": search_index.deposits,
    "Archive: a large deposit, and the memory it takes": large_deposit.ten_gigabytes,
    "Drafts: ten gigabytes over a connection that breaks, and ten thousand files": (
        large_drafts.large_drafts
    ),
    "Copies: small items on a disk, against cp": copies.small_items_on_disk,
    "Copies: a hundred thousand small items in memory": copies.small_items_in_memory,
    "Copies: a large item, and what it consists of": copies.large_item,
    "Delivery: files, against nginx": delivery.against_nginx,
    "Pages: items with many files and editions, and a crowd of readers": item_pages.pages_of_items,
    "Resolution: warm, against nginx": warm.against_nginx,
    "Resolution: cold, among many archives": cold.among_many,
    "Resolution: a digest of fifty million names": large_digest.fifty_million_names,
    "Federation: 100,000 archives and a thousand million items, by statistics": (
        scale.by_statistics
    ),
    "Federation: an hour at half load, with faults": soak.soak,
}
AN_HOUR = frozenset({"Federation: an hour at half load, with faults"})
"""What runs only if it is asked for: `make soak`."""


_INTRODUCTION = """\
How quick this is, how much it takes, and what happens when much goes wrong, on one small machine.
Each section was measured by one command, which it names; `make bench` runs all of them but the
hour-long one. A figure of seconds belongs to that machine and that day. What can be compared are
the ratios: against a reference (nginx, `cp`, `uuid4()`, a constant answer, the same thing with
fewer items) that was measured in the same run, in rounds interleaved with it.

Where to begin: *minting* makes identifiers, an *archive* keeps items and answers for them, a
*resolver* finds which archive has what a reader clicked on. *Warm* is a click on what the resolver
already knows, *cold* one on what it has to ask archives for.
"""

_GLANCE = """\
## What was promised, and what was measured

| section | promise | measured | |
| --- | --- | --- | --- |"""


def main() -> None:
    """Run every section, or those with a word in their title; print and keep what they say."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    promises: list[str] = []
    sections: list[str] = []
    for title, section in SECTIONS.items():
        is_wanted = word.lower() in title.lower() and (word or title not in AN_HOUR)
        if is_wanted:
            sys.stderr.write(f"{title} ...\n")
            lines = ["", f"## {title}", "", *section(), "", _stamp(title)]
            print("\n".join(lines))
        else:
            lines = _kept(title)
        promises += rows(title, lines)
        sections += lines
    page = ["# Results", "", _INTRODUCTION, _GLANCE, *promises, *sections]
    RESULTS.write_text("\n".join(page) + "\n", encoding="utf-8")
    if soak.failures:
        sys.exit(1)


def _stamp(title: str) -> str:
    command = "make soak" if title in AN_HOUR else f'make bench ONLY="{title}"'
    return f"*{today()}, {machine()}: `{command}`*"


def _kept(title: str) -> list[str]:
    """Return what a section said the last time."""
    for section in RESULTS.read_text(encoding="utf-8").split("\n## ")[1:]:
        if section.startswith(f"{title}\n"):
            return ["", *f"## {section}".rstrip().splitlines()]
    return []


if __name__ == "__main__":
    main()
