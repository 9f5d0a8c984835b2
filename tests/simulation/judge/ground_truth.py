"""The truth of the whole world: what was minted, deposited, and where everything is.

What an archive has is told by its disk, at every commit. Nothing is believed of those who are
judged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from ibi.archive.rules.manifest import read_kept
from ibi.identifier.label import Label
from ibi.model.item import State
from ibi.wire.requests import Acknowledgment
from tests.simulation.judge.access_counts import Accesses
from tests.simulation.judge.inclusion_log import Inclusions

if TYPE_CHECKING:
    from tests.simulation.programs.archive_host import ArchiveHost
    from tests.simulation.world.machines import Host
    from tests.simulation.world.world import World


@dataclass(slots=True)
class Holding:
    """How an archive has an item."""

    state: State
    since: float
    """When it came."""
    is_handed: bool = False
    original_until: float = -1.0
    """When it was last the Original, of one that is not."""


@dataclass(slots=True)
class Kept:
    """An item that a depositor was told is kept."""

    number: int
    label: Label
    contents: set[bytes]
    """What its file may be: more than one while nobody was told that a revision was made."""


class Truth:
    """Knows one world, and sees to what archives and minters promise."""

    def __init__(self, world: World) -> None:
        """Know nothing yet."""
        self._world = world
        self._labels: dict[str, str] = {}
        self._rows: dict[tuple[str, int], str] = {}
        self.holdings: defaultdict[str, dict[str, Holding]] = defaultdict(dict)
        """By label, and by host."""
        self._left: dict[tuple[str, str], float] = {}
        self.known: dict[str, Kept] = {}
        self.doomed: set[str] = set()
        """Labels that somebody wanted to be deleted."""
        self._deleted: set[str] = set()
        """Labels of which somebody was told that they are."""
        self.contested: set[str] = set()
        """Labels that somebody claims who has no right."""
        self.forged: dict[str, str] = {}
        """By which archive."""
        self.settled: dict[tuple[str, str], tuple[str, float]] = {}
        """For whom operators settled which label at which resolver, and when."""
        self.settling: set[tuple[str, str]] = set()
        """What they began to settle; it may be that nobody was told of the end of it."""
        self.inclusions = Inclusions(world.loop.time, self._violate)
        self.accesses = Accesses(self._violate, self.name)
        self.checks = 0

    def name(self, label: str) -> str:
        """Return what a person calls an item."""
        known = self.known.get(label)
        return f"item {known.number}" if known is not None else label

    # --- labels ---

    def minted(self, who: str, labels: Sequence[str]) -> None:
        """No label is given twice."""
        self.checks += 1
        for label in labels:
            if label in self._labels:
                self._violate(f"{label} was given by {self._labels[label]}, and then by {who}")
            self._labels[label] = who

    # --- what archives have ---

    def watch(self, host: ArchiveHost) -> None:
        """Look at an archive's disk at every commit."""
        changed: dict[int, None] = {}

        def row(_kind: int, _database: str, table: str, number: int) -> None:
            if table == "archive_item":
                changed[number] = None

        def commit() -> None:
            numbers = list(changed)
            changed.clear()
            for number in numbers:
                self._look(host, number)

        host.catalogue_disk.watch(row)
        host.catalogue_disk.on_commit = commit

    def _look(self, host: ArchiveHost, number: int) -> None:
        rows = host.catalogue_disk.look(
            "SELECT label, kind, state, document FROM archive_item WHERE id = $1", number
        )
        if not rows:
            label = self._rows.pop((host.name, number), "")
            if label and self.holdings[label].pop(host.name, None) is not None:
                self._left[label, host.name] = self._world.loop.now
                host.say(f"has {self.name(label)} no more")
                self._judge(label)
            return
        [(label, kind, state, document)] = rows
        if kind != "data":
            return
        self._rows[host.name, number] = label
        self._change(host, label, State(state), is_handed='"phase":"handed"' in document)

    def _change(self, host: ArchiveHost, label: str, state: State, *, is_handed: bool) -> None:
        now = self._world.loop.now
        before = self.holdings[label].get(host.name)
        after = before or Holding(state, now)
        self.holdings[label][host.name] = after
        if before is None or before.state is not state or before.is_handed is not is_handed:
            host.say(f"has {self.name(label)}: {state}{', handed over' if is_handed else ''}")
        if before is not None and before.state is State.ORIGINAL and state is not State.ORIGINAL:
            after.original_until = now
        if state is State.DELETED:
            self._left[label, host.name] = now
        after.state, after.is_handed = state, is_handed
        self._judge(label)

    def _judge(self, label: str) -> None:
        """One archive has the Original, or it is on its way; somebody has what was deposited."""
        self.checks += 1
        if label in self.contested:
            return
        holdings = self.holdings[label]
        originals = [host for host, each in holdings.items() if each.state is State.ORIGINAL]
        if len(originals) > 1:
            both = " and ".join(originals)
            self._violate(f"{both} both have the Original of {self.name(label)}")
        if originals and label in self._deleted:
            self._violate(f"{self.name(label)} was deleted, and {originals[0]} has its Original")
        if label not in self.known or originals or label in self.doomed:
            return
        if not holdings:
            self._violate(f"nobody has {self.name(label)} any more")
        elif not any(each.is_handed for each in holdings.values()):
            self._violate(f"nobody has the Original of {self.name(label)}, nor waits for it")

    def deleted(self, label: str) -> None:
        """What somebody was told is deleted stays so."""
        self._deleted.add(label)
        self._judge(label)

    def original(self, label: str) -> str:
        """Return who has the Original; empty if nobody has."""
        holdings = self.holdings[label].items()
        return next((host for host, each in holdings if each.state is State.ORIGINAL), "")

    # --- deposits ---

    def acknowledged(self, host: ArchiveHost, number: int, label: Label, content: bytes) -> None:
        """What a depositor was told is kept, is."""
        name = label.canonical
        self.known[name] = Kept(number, label, {content})
        host.say(f"keeps item {number}: {label}")
        if host.name not in self.holdings[name]:
            self._violate(f"{host.name} said that item {number} is kept, and has it not")
        self._judge(name)

    def started(self, host: Host) -> None:
        """Whatever an archive has, it has whole, and what was decided is finished."""
        if host.name.startswith("a"):
            archive = self._world.archive(host.name)
            if archive.tree.journal and not archive.disk.is_broken:
                self._violate(f"{host.name} is up, and did not finish what was decided")
            self.check_files(archive)

    def check_files(self, host: ArchiveHost) -> None:
        """What the catalogue says of files is what lies on the disk."""
        self.checks += 1
        rows = host.catalogue_disk.look(
            "SELECT i.label, f.path, f.sha256 "
            "FROM archive_file f JOIN archive_item i ON i.id = f.item"
        )
        places = {place.lower(): files for place, files in host.tree.items.items()}
        for label, path, digest in rows:
            stored = places.get(label.lower(), {}).get(path)
            if stored is None or sha256(stored.octets).hexdigest() != digest:
                self._violate(f"{host.name} lost {path} of {self.name(label)}")
        self._check_manifests(host)

    def _check_manifests(self, host: ArchiveHost) -> None:
        """What lies beside the files says the same as the catalogue."""
        rows = host.catalogue_disk.look("SELECT label, state FROM archive_item")
        states = dict(rows)
        for label, holdings in self.holdings.items():
            holding = holdings.get(host.name)
            if holding is not None and states.get(label) != holding.state:
                self._violate(f"{host.name} had {self.name(label)}, and lost it when it stopped")
        said = {
            kept.item.forms.label.canonical: str(kept.item.state)
            for kept in map(read_kept, host.tree.manifests.values())
        }
        for label, state in rows:
            if said.get(label) != state:
                self._violate(
                    f"{host.name} has {self.name(label)} as {state} in its catalogue, "
                    f"and as {said.get(label, 'nothing')} beside its files"
                )

    # --- accesses ---

    def told(self, host: ArchiveHost, said: Acknowledgment) -> None:
        """No access is told of twice."""
        self.checks += 1
        self.accesses.tell(host, said)

    def counted(self, host: ArchiveHost) -> None:
        """No access is counted twice."""
        self.checks += 1
        self.accesses.counted(host)

    def _violate(self, what: str) -> None:
        self._world.violate(what)
