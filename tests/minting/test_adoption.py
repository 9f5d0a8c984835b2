"""Labels of the past that items bring along: a real minter never issues one of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ibi import Minter, parse
from ibi.errors import BindingError, LabelInUseError, MinterClosedError
from ibi.foundation.sql.sqlite import Sqlite
from ibi.identifier.instant import Instant
from ibi.identifier.repository_name import RepositoryName
from ibi.minting.label_binding import LabelBindings, MintOrder
from ibi.minting.rules.subsystem import Subsystem
from ibi.minting.storage.ledger import SqlLedger
from tests.support.doubles.minting_machine import SECOND, FakeClock, MemoryMachine

HOST = "archive.example.org"
OWN = Subsystem(HOST, ip="150.163.34.243")


class Scene:
    """A minter on a real ledger, with a clock that is told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = FakeClock()
        self.machine = MemoryMachine()
        self.open()

    def open(self) -> None:
        """Open the ledger, again after `close`."""
        ledger = SqlLedger(Sqlite(self.folder / "ledger.sqlite"))
        self.minter = Minter(OWN, ledger, self.clock, self.machine, granularity="1")
        self.bindings = LabelBindings(self.minter)

    def next_minute(self) -> RepositoryName:
        """Let a minute pass after a label; return what the next label will be."""
        self.minter.mint()
        self.clock.sleep(60 * SECOND)
        return RepositoryName.mount(HOST, 80, Instant(self.clock.wall() // (60 * SECOND) * 60))

    def label(self, seconds_ago: int, host: str = HOST) -> RepositoryName:
        """Return a label of some time ago."""
        return RepositoryName.mount(host, 80, Instant(self.clock.wall() // SECOND - seconds_ago))


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.minter.close()


def test_the_next_label_comes_after_an_adopted_one(scene: Scene) -> None:
    """The minute that the next label would have had belongs to the item that came."""
    minute = scene.next_minute()
    scene.bindings.adopt(minute, "an archive")
    scene.minter.close()
    scene.open()
    assert scene.minter.mint().rep != minute.canonical


def test_without_adoption_it_would_have_been_issued(scene: Scene) -> None:
    minute = scene.next_minute()
    assert scene.minter.mint().rep == minute.canonical


def test_labels_of_the_time_of_the_ledger_are_refused(scene: Scene) -> None:
    scene.minter.mint()
    scene.clock.sleep(3600 * SECOND)
    scene.minter.mint()
    scene.clock.sleep(3600 * SECOND)
    for seconds_ago in (2 * 3600, 2 * 3600 - 1, 3600 + 60, -1):
        with pytest.raises(LabelInUseError, match="cannot be adopted"):
            scene.bindings.adopt(scene.label(seconds_ago), "an archive")
    scene.bindings.adopt(scene.label(2 * 3600 + 600), "an archive")  # before the first label
    scene.bindings.adopt(scene.label(10), "an archive")  # after the last one
    scene.bindings.adopt(parse("6qtX3pFwXQZGivnK2Y/SskcB"), "an archive")  # none is minted so


def test_another_prefix_is_entered_for_the_minter_that_may_use_it_one_day(scene: Scene) -> None:
    theirs = scene.label(0, "other.example.org")
    scene.bindings.adopt(theirs, "an archive")
    scene.bindings.adopt(theirs, "an archive")
    with pytest.raises(BindingError):
        scene.bindings.adopt(theirs, "another archive")
    scene.minter.close()
    ledger = SqlLedger(Sqlite(scene.folder / "ledger.sqlite"))
    subsystem = Subsystem("other.example.org")
    with Minter(subsystem, ledger, scene.clock, scene.machine, granularity="1") as minter:
        assert minter.mint().instant > theirs.instant
    scene.open()


def test_a_label_that_was_reserved_in_the_ledger_is_bound(scene: Scene) -> None:
    [minted] = scene.bindings.issue(MintOrder(reserve=True))
    label = parse(str(minted.ibip))
    scene.bindings.adopt(label, "an archive")
    found = scene.bindings.find(label)
    assert found is not None
    assert found[1].target == "an archive"


def test_a_closed_minter_adopts_nothing(scene: Scene) -> None:
    scene.minter.close()
    with pytest.raises(MinterClosedError):
        scene.bindings.adopt(scene.label(3600), "an archive")
    scene.open()
