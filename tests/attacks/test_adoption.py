"""Threats, row 28: an archive adopts what a living archive has, to get its readers.

The rogue's settings name the prefixes of the victim. Where resolvers are asked, each adoption is
refused with the name of the holder. Where they are not, the rogue claims the Originals: a resolver
takes that for any other claim, records a conflict, and sends no reader to the rogue, whether the
victim answers or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from tests.support.servers.archive import ArchiveServer, neighbour
from tests.support.servers.attacked import FULL, switched_off
from tests.support.servers.attacked_resolver import (
    WITHOUT_TRUST,
    at_once,
    attacked,
    conflicts,
    metric,
)
from tests.support.servers.federation import link
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_for, wait_until

COUNT: Final = 1000 if FULL else 10
AT_ONCE: Final = 4
_NAMES_OF_ITEM: Final = 4
"""Names of a deposited item in a digest: two labels of the item, two of its metadata."""

WITHOUT_CHECK: Final = """
from ibi.archive.holder_check import HolderCheck

HolderCheck.check_adoptable = lambda self, label: ()
"""


class Scene:
    """A resolver, a victim with items, and a rogue that would have them."""

    def __init__(
        self, resolver: ResolverServer, victim: ArchiveServer, rogue: ArchiveServer
    ) -> None:
        """Let the victim have items."""
        self.resolver = resolver
        self.victim = victim
        self.rogue = rogue
        before = wait_for(self._digest_names, bool)
        self.items = at_once(AT_ONCE, lambda _: victim.deposit({"a": b"a"}), range(COUNT))
        # Before that, a short label has neither a home nor a digest, and the first claim counts.
        wait_until(lambda: self._digest_names() == before + _NAMES_OF_ITEM * COUNT)

    def _digest_names(self) -> int:
        """Return how many names the resolver has read in the digest of the victim."""
        digest = self.resolver.archives()[self.victim.service].get("digest", {})
        return int(digest["names"]) if digest.get("whole") else 0

    def adopt(self, *, offline: bool) -> list[tuple[int, dict[str, Any]]]:
        """Have the rogue adopt every item; return what its archive answers."""
        return at_once(AT_ONCE, lambda item: self._adopt(item, offline=offline), self.items)

    def _adopt(self, item: dict[str, Any], *, offline: bool) -> tuple[int, dict[str, Any]]:
        adoption = {"labels": [item["rep"], item["ibip"]], "offline": offline}
        body = {"metadata": {"titles": ["Mine"]}, "adoption": adoption}
        opened = self.rogue.api("POST", "deposits", body)
        if opened.status != 201:
            return opened.status, opened.json()
        id_ = opened.json()["id"]
        assert self.rogue.send(id_, "a.txt", b"false").status == 201
        made = self.rogue.api("POST", f"deposits/{id_}/completion")
        return made.status, made.json()

    def readers(self) -> Counter[str]:
        """Have readers follow both labels of all items; return where they were sent."""
        labels = [label for item in self.items for label in (item["rep"], item["ibip"])]
        return Counter(at_once(AT_ONCE, self._read, labels))

    def _read(self, label: str) -> str:
        answer = self.resolver.get(f"/{label}")
        location = answer.headers.get("location", "")
        for name, archive in (("victim", self.victim), ("rogue", self.rogue)):
            if location.startswith(f"{archive.address}/"):
                return name
        return str(answer.status)


@contextmanager
def scene(folder: Path, *, unchecked: str = "", untrusting: str = "") -> Iterator[Scene]:
    with ExitStack() as stack:
        resolver = stack.enter_context(attacked(folder / "resolver", untrusting, hot_seconds=0.0))
        victim = stack.enter_context(neighbour(folder, 1))
        prefixes = [victim.deposit()[form].rsplit("/", parts)[0] for form, parts in _FORMS]
        rogue = neighbour(folder, 2)
        rogue.set(adopts=prefixes)
        with switched_off(folder, unchecked):
            stack.enter_context(rogue)
        for archive in (victim, rogue):
            link(resolver, archive)
        yield Scene(resolver, victim, rogue)


_FORMS: Final = (("rep", 2), ("ibip", 1))
"""The forms of a label, and how many parts of each follow its prefix."""


def test_no_reader_is_sent_to_a_rogue_that_adopts(tmp_path: Path) -> None:
    (tmp_path / "resolver").mkdir()
    with scene(tmp_path) as all_of_it:
        victim, rogue = all_of_it.victim, all_of_it.rogue
        for status, problem in all_of_it.adopt(offline=False):
            assert status == 409
            assert f"Original at {victim.address} (archive {victim.service})" in problem["detail"]
        assert rogue.api("GET", "items?kind=data").json()["items"] == []

        assert {status for status, _ in all_of_it.adopt(offline=True)} == {200}
        everybody = {"victim": 2 * COUNT}
        assert all_of_it.readers() == everybody
        # The resolver meets the rival claims once it has read the digest of the rogue.
        wait_until(
            lambda: all_of_it.readers() == everybody and len(conflicts(all_of_it.resolver)) >= COUNT
        )
        names = {label for item in all_of_it.items for label in (item["rep"], item["ibip"])}
        for case in conflicts(all_of_it.resolver):
            assert case["label"] in names
            claimants = {claim["archive"] for claim in case["claims"]}
            assert claimants == {victim.service, rogue.service}

        # A reader may join a search that is still running, which has the answer of the victim.
        wait_until(lambda: metric(all_of_it.resolver, "searches_under_way") == 0)
        victim.kill()
        assert all_of_it.readers() == {"503": 2 * COUNT}
        victim.start()
        wait_until(lambda: all_of_it.readers() == everybody)


def test_the_check_of_the_archive_bites(tmp_path: Path) -> None:
    """The twin: an archive that does not heed its resolvers adopts everything."""
    (tmp_path / "resolver").mkdir()
    with scene(tmp_path, unchecked=WITHOUT_CHECK) as all_of_it:
        assert {status for status, _ in all_of_it.adopt(offline=False)} == {200}


def test_the_claims_of_the_rogue_bite(tmp_path: Path) -> None:
    """The twin: a resolver that believes the first answer sends readers to the rogue."""
    (tmp_path / "resolver").mkdir()
    with scene(tmp_path, untrusting=WITHOUT_TRUST) as all_of_it:
        all_of_it.adopt(offline=True)
        all_of_it.victim.kill()
        assert all_of_it.readers() == {"rogue": 2 * COUNT}
