"""All phases of the suite: what each is called, what it runs, and how much of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from tests.faults import (
    archive_disks,
    archive_kills,
    archive_losses,
    archive_transfers,
    clocks,
    failures,
    forks,
    kills,
    losses,
    restores,
    snapshots,
)
from tests.faults.harness import Figures, Violation
from tests.faults.sites import Grounds, Say, Site

Scene = Callable[[Site, int, int, Say], Figures]

SQLITE, POSTGRES = "sqlite", "postgres"
BOTH: Final = (SQLITE, POSTGRES)


@dataclass(frozen=True, slots=True)
class Phase:
    """One kind of fault; a twin must find what the phase must not."""

    name: str
    scene: Scene
    full: int
    short: int
    """How often in `make test`; 0 leaves it out."""
    kinds: tuple[str, ...] = BOTH
    twin: bool = False

    def run(self, grounds: Grounds, kind: str, size: int, seed: int, say: Say) -> Figures:
        """Run it on a new ledger."""
        with closing(grounds.site(kind)) as site:
            figures = self.scene(site, size, seed, say)
        caught = figures.duplicates + figures.above_mark or figures.found
        if self.twin and not caught and not figures.skipped:
            raise Violation(
                f"{self.name} on {kind} found nothing: the suite is blind (seed {seed})"
            )
        return figures


PHASES: Final = (
    Phase("KILL eight on one ledger", kills.kill_eight, 700, 0),
    Phase("KILL eight, short stretches", kills.kill_eight_hasty, 400, 10),
    Phase("KILL one alone", kills.kill_one, 100, 2),
    Phase("  twin: ledger not durable", kills.kill_undurable, 50, 50, twin=True),
    Phase("STOP and overtake", kills.stop, 200, 5),
    Phase("CLOCK set back and forward", clocks.step_clock, 1000, 12),
    Phase("  twin: ledger has no mark", clocks.step_clock_forgetful, 50, 50, twin=True),
    Phase("FORK a warm minter", forks.fork, 40, 2),
    Phase("  twin: fork not noticed", forks.fork_careless, 50, 50, twin=True),
    Phase("RESTORE an old ledger", restores.restore, 5, 1),
    Phase("RESTORE a whole database", restores.restore_database, 5, 0, (POSTGRES,)),
    Phase("SNAPSHOT of the machine", snapshots.snapshot, 100, 3),
    Phase("  twin: uptime not looked at", snapshots.snapshot_careless, 50, 50, twin=True),
    Phase("POWER lost", losses.lose_power, 1000, 50, (SQLITE,)),
    Phase("  twin: no sync", losses.lose_power_careless, 100, 100, (SQLITE,), twin=True),
    Phase("DISK fails", failures.fail_disk, 60, 2, (SQLITE,)),
    Phase("DISK is full", failures.fill_disk, 20, 1, (SQLITE,)),
    Phase("SERVER stops", failures.stop_server, 20, 1, (POSTGRES,)),
)

ARCHIVE_PHASES: Final = (
    Phase("ARCHIVE KILL at random", archive_kills.kill_at_random, 500, 5, (SQLITE,)),
    Phase("ARCHIVE KILL at random", archive_kills.kill_at_random, 100, 3, (POSTGRES,)),
    Phase("ARCHIVE KILL at every 2nd step", archive_kills.kill_at_every_step, 2, 0, (SQLITE,)),
    Phase("ARCHIVE KILL at every 9th step", archive_kills.kill_at_every_step, 9, 0, (POSTGRES,)),
    Phase(
        "  twin: ARCHIVE without a journal", archive_kills.kill_without_journal, 60, 60, twin=True
    ),
    Phase("  twin: ARCHIVE says it too early", archive_kills.kill_hasty, 60, 60, twin=True),
    # On PostgreSQL a reader waits for the transaction, and never meets half a file.
    Phase(
        "  twin: ARCHIVE writes in place",
        archive_kills.kill_in_place,
        60,
        60,
        (SQLITE,),
        twin=True,
    ),
    Phase("ARCHIVE TRANSFER killed", archive_transfers.kill_transfers, 600, 2, (SQLITE,)),
    Phase(
        "  twin: TRANSFER taken back alone",
        archive_transfers.kill_selfish,
        200,
        0,
        (SQLITE,),
        twin=True,
    ),
    Phase(
        "  twin: TRANSFER not remembered",
        archive_transfers.kill_forgetful,
        200,
        0,
        (SQLITE,),
        twin=True,
    ),
    Phase("ARCHIVE POWER lost", archive_losses.lose_power, 200, 3, (SQLITE,)),
    Phase(
        "  twin: ARCHIVE syncs no folder",
        archive_losses.lose_power_careless,
        40,
        40,
        (SQLITE,),
        twin=True,
    ),
    Phase("ARCHIVE DISK fails", archive_disks.fail_disk, 300, 4, (SQLITE,)),
    Phase("ARCHIVE DISK fails", archive_disks.fail_disk, 60, 0, (POSTGRES,)),
    Phase("  twin: ARCHIVE does not heal", archive_disks.fail_unhealed, 200, 200, twin=True),
    Phase("ARCHIVE DISK is full", archive_disks.fill_disk, 30, 1, (SQLITE,)),
    Phase("ARCHIVE loses its server", archive_disks.lose_server, 20, 2, (POSTGRES,)),
)
