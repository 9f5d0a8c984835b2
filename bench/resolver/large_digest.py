"""The largest digest that a resolver accepts: fifty million names of one archive."""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Final

from bench.support.clients import most_memory
from bench.support.goals import at_most
from ibi.wire.digest import FINGERPRINT_END, MAX_FINGERPRINTS, DigestPage, encode, fingerprint
from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.attacked_resolver import made_at, requests_for, service_of
from tests.support.servers.resolver import ResolverServer

NAMES: Final = int(os.environ.get("BENCH_DIGEST_NAMES", "50000000"))
"""Names in the large digest; the variable is for a quick try."""
FEW: Final = 10_000
"""Names in the digest of the reference."""
MOST_MEGABYTES: Final = 200
"""Megabytes that the resolver may take."""
MOST_TIMES: Final = 3.0
"""Times that a label that no digest lists may take what it takes with few names."""
ROUNDS: Final = 5
LABELS: Final = 200
"""Unlisted labels in a round."""
_HELD: Final = made_at("198.51.100.9", 7)
_PATIENCE: Final = 3 * 3600.0
"""Seconds after which the digest counts as never read."""


class LargeArchive(ArchiveDouble):
    """An archive that lists many names, the last of which is an item that it has."""

    def __init__(self, number: int, names: int) -> None:
        """List so many names."""
        super().__init__(service_of(number))
        self.publish()
        self.names = names
        self.hold(_HELD)
        self.digest = self._names

    def _names(self, query: dict[str, str]) -> bytes:
        after = int(query.get("after", "0"))
        last = min(self.names, after + MAX_FINGERPRINTS)
        chosen = random.Random(after)  # noqa: S311  # the same page each time
        found = {chosen.randrange(FINGERPRINT_END) for _ in range(last - after)}
        if last == self.names and found:
            found.pop()
            found.add(fingerprint(_HELD))
        more, held = last < self.names, tuple(sorted(found))
        return encode(DigestPage("5a" * 16, after, last, more=more, held=held, notifies=True))


def fifty_million_names() -> list[str]:
    """Read both digests, and look for labels that they list and do not list."""
    with tempfile.TemporaryDirectory() as folder:
        few = _measured(Path(folder, "few"), FEW)
        many = _measured(Path(folder, "many"), NAMES)
    rows = [
        f"| {row[0]:,} | {row[1]:.0f} | {row[2]:.0f} | {row[3]:.0f} | {row[4]:.2f} |"
        for row in (few, many)
    ]
    return [
        "| names | read in, s | memory, MB | database, MB | unlisted label, ms |",
        "| --- | --- | --- | --- | --- |",
        *rows,
        "",
        "The time of an unlisted label is the median over HTTP; the archive was asked for none.",
        "",
        at_most("memory with the large digest", many[2], MOST_MEGABYTES, " MB"),
        at_most("an unlisted label, in times of that with few names", many[4] / few[4], MOST_TIMES),
    ]


def _measured(folder: Path, names: int) -> tuple[int, float, float, float, float]:
    folder.mkdir()
    resolver = ResolverServer(folder)
    resolver.set(hot_seconds=10.0, digest_seconds=3600.0)
    with LargeArchive(7, names) as archive, resolver:
        began = time.monotonic()
        resolver.include(archive)
        while not _is_whole(resolver, archive):
            assert time.monotonic() < began + _PATIENCE, "the digest was never read"  # noqa: S101
            time.sleep(0.5)
        seconds = time.monotonic() - began
        assert resolver.get(f"/{_HELD}").status == 302  # noqa: S101, PLR2004
        asked = len(requests_for(archive))
        unlisted = [_unlisted(resolver, turn) for turn in range(ROUNDS)]
        assert len(requests_for(archive)) == asked  # noqa: S101
        size = sum(each.stat().st_size for each in resolver.data.glob("*.sqlite*")) / 1e6
        memory = most_memory(resolver.pid)
        return names, seconds, memory, size, statistics.median(unlisted) * 1000


def _is_whole(resolver: ResolverServer, archive: LargeArchive) -> bool:
    digest = resolver.archives()[archive.service].get("digest") or {}
    return bool(digest.get("whole")) and int(digest["names"]) >= archive.names - 1


def _unlisted(resolver: ResolverServer, turn: int) -> float:
    """Return the median seconds in which labels are found absent."""
    times = []
    for number in range(LABELS):
        label = made_at("198.51.100.9", 1000 + turn * LABELS + number)
        began = time.perf_counter()
        assert resolver.get(f"/{label}").status == 404  # noqa: S101, PLR2004
        times.append(time.perf_counter() - began)
    return statistics.median(times)
