"""Threats, row 38: a stranger claims items while the resolver cannot read its database.

The holder is the recorded owner of the items, or its digest lists them, and is silent. The stranger
was registered first, and claims whatever it is asked for. The tables that tell which archive holds
the items cannot be read: readers get a copy if there is one, and are else sent nowhere. An archive
at the place in the label is trusted all the same.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final

import pytest

from ibi.wire.digest import DigestPage, encode, fingerprint
from tests.support.doubles.archive import ArchiveDouble, EarlyClaimingArchive
from tests.support.servers.attacked import FULL
from tests.support.servers.attacked_resolver import at_once, attacked, label, made_at, service_of
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

ITEMS: Final = 90 if FULL else 6
"""Items that are at home nowhere; of every third there is a copy."""
READERS: Final = 8
EPOCH: Final = "00112233445566778899aabbccddeeff"
WITHOUT_DOUBT: Final = """
from ibi.resolver.rules.evidence import Evidence

Evidence.is_overruled_by_unread = lambda self, archive: False
"""
TABLES: Final = {"owner": "resolver_owner", "digest": "resolver_holding"}
"""The table that has what each kind of holder is known by."""
EXPECTED: Final = Counter(copy=(ITEMS + 2) // 3, nowhere=ITEMS - (ITEMS + 2) // 3)


class Scene:
    """A stranger, a holder, and an archive with some copies."""

    def __init__(self, resolver: ResolverServer, stack: ExitStack, kind: str) -> None:
        """Let the holder be known as the owner of the items, or by its digest."""
        self.resolver = resolver
        self.table = TABLES[kind]
        self.stranger = stack.enter_context(EarlyClaimingArchive(service_of(9)))
        self.holder = stack.enter_context(ArchiveDouble(service_of(1)))
        self.copier = stack.enter_context(ArchiveDouble(service_of(2)))
        self.names = [label(number) for number in range(ITEMS)]
        self.at_home = [made_at("198.51.0.3", number + 1) for number in range(ITEMS)]
        for number, name in enumerate(self.names):
            self.holder.hold(name)
            if number % 3 == 0:
                self.copier.hold(name, state="Copy")
        for name in self.at_home:
            self.copier.hold(name)
        if kind == "digest":
            self.holder.platform = "ibi-1"
            self.holder.digest = self._page
        # The stranger is the senior one, and not asked before the holder is known.
        key = resolver.register(self.stranger.service)
        resolver.include(self.holder)
        resolver.include(self.copier)
        if kind == "digest":
            wait_until(lambda: "digest" in resolver.archives()[self.holder.service])
        else:
            assert self.sent(self.names) == Counter(holder=ITEMS)
            wait_until(lambda: self._owners() == ITEMS)
        self.holder.behaviour = "hang up"
        resolver.announce(self.stranger, key)

    def _page(self, query: dict[str, str]) -> bytes:
        if query.get("after"):
            return encode(DigestPage(EPOCH, 1, 1, more=False))
        held = tuple(sorted(map(fingerprint, self.names)))
        return encode(DigestPage(EPOCH, 0, 1, more=False, held=held))

    def _database(self) -> sqlite3.Connection:
        return sqlite3.connect(self.resolver.data / "registry.sqlite", isolation_level=None)

    def _owners(self) -> int:
        with closing(self._database()) as database:
            [[number]] = database.execute("SELECT count(*) FROM resolver_owner")
        return int(number)

    def hide(self) -> None:
        """Let the resolver find the table no more."""
        with closing(self._database()) as database:
            database.execute(f"ALTER TABLE {self.table} RENAME TO hidden")

    def show(self) -> None:
        """Let the resolver find the table again."""
        with closing(self._database()) as database:
            database.execute(f"ALTER TABLE hidden RENAME TO {self.table}")

    def sent(self, names: list[str]) -> Counter[str]:
        """Let readers ask for items; return where they were sent."""
        return Counter(at_once(READERS, self._read, names))

    def _read(self, name: str) -> str:
        answer = self.resolver.get(f"/{name}")
        location = answer.headers.get("location", "")
        if not location:
            assert answer.status == 503, answer.body
            assert answer.headers["retry-after"]
            return "nowhere"
        places = {"stranger": self.stranger, "copy": self.copier, "holder": self.holder}
        return next(
            each
            for each, archive in places.items()
            if location == archive.items.get(name, {}).get("url")
        )


@contextmanager
def scene(folder: Path, kind: str, without: str = "") -> Iterator[Scene]:
    with ExitStack() as stack:
        resolver = stack.enter_context(attacked(folder, without, hot_seconds=0.0))
        yield Scene(resolver, stack, kind)


@pytest.mark.parametrize("kind", TABLES)
def test_no_claim_counts_that_what_is_unread_could_overrule(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind) as all_of_it:
        all_of_it.hide()
        assert all_of_it.sent(all_of_it.names) == EXPECTED
        assert all_of_it.sent(all_of_it.at_home) == Counter(copy=ITEMS)
        refused = all_of_it.resolver.get(f"/{all_of_it.names[1]}").json()
        assert "cannot be read" in refused["detail"]
        all_of_it.show()
        assert all_of_it.sent(all_of_it.names) == EXPECTED
        all_of_it.holder.behaviour = "archive"
        service = all_of_it.holder.service
        wait_until(lambda: all_of_it.resolver.archives()[service]["state"] == "included")
        assert all_of_it.sent(all_of_it.names) == Counter(holder=ITEMS)


@pytest.mark.parametrize("kind", TABLES)
def test_the_unread_record_bites(tmp_path: Path, kind: str) -> None:
    """The twin: who takes an unread record for an empty one sends readers to the stranger."""
    with scene(tmp_path, kind, WITHOUT_DOUBT) as all_of_it:
        all_of_it.hide()
        assert all_of_it.sent(all_of_it.names) == Counter(stranger=ITEMS)
