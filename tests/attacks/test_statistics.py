"""Threats, row 26: statistics cannot be forged by an acknowledgment with many accesses.

Any client gets a urlkey, and a urlkey is good for one access. An archive that is linked to a
resolver gets sheets with true keys and with all proofs that a stranger can make. The resolver of
the link then reports as many accesses as it has readers, on the same keys.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from ibi.identifier.label import parse
from ibi.model.relation import Relation
from ibi.wire import responses
from ibi.wire.access_counts import proof
from ibi.wire.requests import Acknowledgment, UrlRequest, encode
from ibi.wire.responses import UrlList
from tests.support.doubles.resolver import ResolverDouble
from tests.support.scenes.link_secret import SECRET, linked, states
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked import FULL
from tests.support.servers.attacked_archive import attacked
from tests.support.waiting import wait_until

SHEETS: Final = 1000 if FULL else 20
CLIENT: Final = "203.0.113.66"
READERS: Final = 7
"""Readers that the resolver of the link reports of each item."""
End: TypeAlias = Callable[[ArchiveServer, ResolverDouble], None]
"""Ends the link of an archive to a resolver."""

# Every acknowledgment seems to come from a resolver of a link.
WITHOUT_PROOF: Final = """
from ibi.archive.web import protocol

protocol.is_proved = lambda secrets, key, counts, given: True
"""
# The secret of a link stays after its end.
WITH_OLD_SECRETS: Final = """
from ibi.archive.rules import announcement

announcement._without_secret = lambda link: link
"""


class Target:
    """An archive with two items, and a stranger who asks for keys."""

    def __init__(self, archive: ArchiveServer) -> None:
        """Deposit the items."""
        self.archive = archive
        self.labels = [str(archive.deposit({"a.txt": b"a"})["ibip"]) for _ in range(2)]

    def key(self) -> Acknowledgment:
        """Ask for the first item as a resolver; return the acknowledgment of one access."""
        label = parse(self.labels[0])
        found = responses.decode(self.send(encode(UrlRequest((CLIENT,), label)))[1])
        assert isinstance(found, UrlList)
        assert found.key
        related = found.related[Relation()]
        assert related.content
        persistent = f"http://urlib.net/{label.spelling}"
        return Acknowledgment(
            (CLIENT,), related.content, related.url, persistent, found.key, related.forms
        )

    def send(self, query: str, *, as_body: bool = False) -> tuple[int, bytes]:
        """Send a request to the archive service."""
        service = f"/{self.archive.service}"
        if as_body:
            answer = self.archive.ask("POST", service, query.encode(), token="")
        else:
            answer = self.archive.get(f"{service}?{query}")
        return answer.status, answer.body

    def counted(self) -> int:
        """Return how many accesses the archive has counted."""
        total: int = self.archive.api("GET", "statistics").json()["total"]
        return total


def sheets(target: Target, chance: random.Random) -> Iterator[tuple[Acknowledgment, str]]:
    """Yield an acknowledgment of one access, and a sheet that a stranger makes of it."""
    before = target.key()
    for number in range(SHEETS):
        one = target.key()
        others = ((target.labels[1], chance.randint(1, 500)),) if number % 2 else ()
        many = replace(one, accesses=chance.randint(2, 500), others=others)
        counts = many.accesses, many.others
        strangers = [
            "",
            "0" * 64,
            f"{chance.getrandbits(256):064x}",
            proof("00" * 32, many.key.text, *counts),
            proof(f"{chance.getrandbits(256):064x}", many.key.text, *counts),
            # What the resolver of the link proved is good for its own key and numbers alone.
            proof(SECRET, before.key.text, *counts),
            proof(SECRET, many.key.text, READERS, ()),
        ]
        yield one, encode(replace(many, proof=strangers[number % len(strangers)]))
        before = one


def attack(folder: Path, without: str = "") -> tuple[set[int], int, int]:
    """Send the sheets; return the statuses, what was counted of them, and of honest readers."""
    with attacked(folder, without) as archive, linked(archive):
        target = Target(archive)
        chance = random.Random(26)  # noqa: S311  # which numbers and proofs
        issued: list[Acknowledgment] = []
        statuses: set[int] = set()
        for one, sheet in sheets(target, chance):
            statuses.add(target.send(sheet, as_body=bool(len(issued) % 2))[0])
            issued.append(one)
        forged = target.counted()
        for one in issued:
            given = proof(SECRET, one.key.text, READERS, ())
            target.send(encode(replace(one, accesses=READERS, proof=given)))
        return statuses, forged, target.counted() - forged


def test_forged_sheets_count_nothing_and_use_up_no_key(tmp_path: Path) -> None:
    assert attack(tmp_path) == ({403}, 0, SHEETS * READERS)


def test_twin_without_the_proof_forged_sheets_are_counted(tmp_path: Path) -> None:
    statuses, forged, honest = attack(tmp_path, WITHOUT_PROOF)
    assert statuses == {200}
    assert forged > SHEETS
    assert honest == 0


def removed(archive: ArchiveServer, resolver: ResolverDouble) -> None:
    """Remove the link, and let the resolver exclude the archive."""
    assert archive.api("DELETE", f"resolvers/{resolver.address}").status < 300
    wait_until(lambda: not states(archive))


def leaving(archive: ArchiveServer, resolver: ResolverDouble) -> None:
    """Remove the link to a resolver that never answers again, so that the removal has no end."""
    resolver.behaviour = "hang up"
    assert archive.api("DELETE", f"resolvers/{resolver.address}").status < 300
    wait_until(lambda: states(archive)[resolver.address] == "leaving")


def refused(archive: ArchiveServer, resolver: ResolverDouble) -> None:
    """Let the operator of the resolver remove the archive."""
    resolver.registrations.clear()
    archive.restart()
    wait_until(lambda: states(archive)[resolver.address] == "refused")


def after_the_end(folder: Path, end: End, without: str = "") -> int:
    """End a link, and report many accesses by its secret; return what was counted."""
    with attacked(folder, without) as archive, linked(archive) as resolver:
        target = Target(archive)
        one = target.key()
        end(archive, resolver)
        given = proof(SECRET, one.key.text, READERS, ())
        target.send(encode(replace(one, accesses=READERS, proof=given)))
        return target.counted()


@pytest.mark.parametrize("end", [removed, leaving, refused])
def test_the_secret_of_a_link_proves_nothing_after_its_end(tmp_path: Path, end: End) -> None:
    assert after_the_end(tmp_path, end) == 0


@pytest.mark.parametrize("end", [leaving, refused])
def test_twin_with_old_secrets_many_accesses_are_counted(tmp_path: Path, end: End) -> None:
    assert after_the_end(tmp_path, end, WITH_OLD_SECRETS) == READERS
