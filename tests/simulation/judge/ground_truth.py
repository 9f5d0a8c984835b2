"""The true state of the whole world: labels minted, items deposited, and where each item is.

The state of an archive is read from its database after every commit, never from its messages.
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
from tests.simulation.judge.access_counts import AccessCounts
from tests.simulation.judge.inclusion_log import InclusionLog

if TYPE_CHECKING:
    from tests.simulation.programs.archive_host import ArchiveHost
    from tests.simulation.world.machines import Host
    from tests.simulation.world.world import World


@dataclass(slots=True)
class Holding:
    """State of an item in one archive."""

    state: State
    since: float
    """Time at which the archive first had it."""
    is_handed: bool = False
    original_until: float = -1.0
    """Time at which it ceased to be the Original."""


@dataclass(slots=True)
class AcknowledgedItem:
    """An item whose deposit was acknowledged."""

    number: int
    label: Label
    contents: set[bytes]
    """Possible contents of its file: several while a revision is not acknowledged."""


class GroundTruth:
    """Knows the state of one world, and checks the promises of archives and minters."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._labels: dict[str, str] = {}
        self._rows: dict[tuple[str, int], str] = {}
        self.holdings: defaultdict[str, dict[str, Holding]] = defaultdict(dict)
        """By label and by name of host."""
        self._left: dict[tuple[str, str], float] = {}
        self.items: dict[str, AcknowledgedItem] = {}
        self.deletion_requested: set[str] = set()
        """Labels whose deletion was requested."""
        self._deleted: set[str] = set()
        """Labels whose deletion was acknowledged."""
        self.contested: set[str] = set()
        """Labels with a forged Original."""
        self.forged: dict[str, str] = {}
        """The archive with the forged Original, by label."""
        self.settled: dict[tuple[str, str], tuple[str, float]] = {}
        """By resolver and label: the archive that an operator settled for, and when."""
        self.settling: set[tuple[str, str]] = set()
        """Resolver and label of decisions that were begun, whether acknowledged or not."""
        self.inclusions = InclusionLog(world.loop.time, self._violate)
        self.accesses = AccessCounts(self._violate, self.name)
        self.checks = 0

    def name(self, label: str) -> str:
        """Return a readable name of an item."""
        known = self.items.get(label)
        return f"item {known.number}" if known is not None else label

    # --- labels ---

    def check_minted(self, minter: str, labels: Sequence[str]) -> None:
        """Check that no label is given twice."""
        self.checks += 1
        for label in labels:
            if label in self._labels:
                self._violate(f"{label} was given by {self._labels[label]}, and then by {minter}")
            self._labels[label] = minter

    # --- what archives have ---

    def watch(self, host: ArchiveHost) -> None:
        """Read the changed rows of a catalogue after every commit."""
        changed: dict[int, None] = {}

        def row(_kind: int, _database: str, table: str, number: int) -> None:
            if table == "archive_item":
                changed[number] = None

        def commit() -> None:
            numbers = list(changed)
            changed.clear()
            for number in numbers:
                self._read_row(host, number)

        host.catalogue_database.watch(row)
        host.catalogue_database.on_commit = commit

    def _read_row(self, host: ArchiveHost, number: int) -> None:
        rows = host.catalogue_database.inspect(
            "SELECT label, kind, state, document FROM archive_item WHERE id = $1", number
        )
        if not rows:
            label = self._rows.pop((host.name, number), "")
            if label and self.holdings[label].pop(host.name, None) is not None:
                self._left[label, host.name] = self._world.loop.now
                host.log(f"has {self.name(label)} no more")
                self._check_holders(label)
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
            host.log(f"has {self.name(label)}: {state}{', handed over' if is_handed else ''}")
        if before is not None and before.state is State.ORIGINAL and state is not State.ORIGINAL:
            after.original_until = now
        if state is State.DELETED:
            self._left[label, host.name] = now
        after.state, after.is_handed = state, is_handed
        self._check_holders(label)

    def _check_holders(self, label: str) -> None:
        """Check that one archive has the Original of an item, or that it is being transferred."""
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
        if label not in self.items or originals or label in self.deletion_requested:
            return
        if not holdings:
            self._violate(f"no archive has {self.name(label)} any more")
        elif not any(each.is_handed for each in holdings.values()):
            self._violate(f"no archive has the Original of {self.name(label)}, nor expects it")

    def check_deleted(self, label: str) -> None:
        """Check that an item whose deletion was acknowledged has no Original."""
        self._deleted.add(label)
        self._check_holders(label)

    def holder_of_original(self, label: str) -> str:
        """Return the name of the host that has the Original, or ""."""
        holdings = self.holdings[label].items()
        return next((host for host, each in holdings if each.state is State.ORIGINAL), "")

    # --- deposits ---

    def check_deposit(self, host: ArchiveHost, number: int, label: Label, content: bytes) -> None:
        """Check that an acknowledged deposit is in the catalogue."""
        name = label.canonical
        self.items[name] = AcknowledgedItem(number, label, {content})
        host.log(f"keeps item {number}: {label}")
        if host.name not in self.holdings[name]:
            self._violate(f"{host.name} said that item {number} is kept, and has it not")
        self._check_holders(name)

    def check_started(self, host: Host) -> None:
        """Check that a started archive has finished its journal, and that its files are whole."""
        if host.name.startswith("a"):
            archive = self._world.archive(host.name)
            if archive.tree.journal and not archive.disk.is_broken:
                self._violate(f"{host.name} is up, and did not finish what was decided")
            self.check_files(archive)

    def check_files(self, host: ArchiveHost) -> None:
        """Check that catalogue and stored files agree."""
        self.checks += 1
        rows = host.catalogue_database.inspect(
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
        """Check that catalogue and manifests agree."""
        rows = host.catalogue_database.inspect("SELECT label, state FROM archive_item")
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

    def check_acknowledgment(self, host: ArchiveHost, said: Acknowledgment) -> None:
        """Check that no access is acknowledged twice."""
        self.checks += 1
        self.accesses.note_acknowledgment(host, said)

    def check_counts(self, host: ArchiveHost) -> None:
        """Check that no access is counted twice."""
        self.checks += 1
        self.accesses.counted(host)

    def _violate(self, what: str) -> None:
        self._world.violate(what)
