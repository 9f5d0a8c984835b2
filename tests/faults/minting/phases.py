"""The phases of the fault suite that concern minting."""

from __future__ import annotations

from typing import Final

from tests.faults.minting import (
    clock_steps,
    disk_failures,
    forks,
    ledger_restores,
    machine_snapshots,
    power_losses,
    process_kills,
)
from tests.faults.phase import POSTGRES, SQLITE, Phase

MINTING_PHASES: Final = (
    Phase("KILL eight on one ledger", process_kills.kill_eight, 700, 0),
    Phase("KILL eight, short stretches", process_kills.kill_eight_short_stretches, 400, 10),
    Phase("KILL one alone", process_kills.kill_one, 100, 2),
    Phase("  twin: ledger not durable", process_kills.kill_undurable, 50, 50, twin=True),
    Phase("STOP and overtake", process_kills.stop, 200, 5),
    Phase("CLOCK set back and forward", clock_steps.step_clock, 1000, 12),
    Phase("  twin: ledger has no mark", clock_steps.step_clock_forgetful, 50, 50, twin=True),
    Phase("FORK a warm minter", forks.fork, 40, 2),
    Phase("  twin: fork not noticed", forks.fork_careless, 50, 50, twin=True),
    Phase("RESTORE an old ledger", ledger_restores.restore, 5, 1),
    Phase("RESTORE a whole database", ledger_restores.restore_database, 5, 0, (POSTGRES,)),
    Phase("SNAPSHOT of the machine", machine_snapshots.snapshot, 100, 3),
    Phase("  twin: uptime not looked at", machine_snapshots.snapshot_careless, 50, 50, twin=True),
    Phase("POWER lost", power_losses.lose_power, 1000, 50, (SQLITE,)),
    Phase("  twin: no sync", power_losses.lose_power_careless, 100, 100, (SQLITE,), twin=True),
    Phase("DISK fails", disk_failures.fail_disk, 60, 2, (SQLITE,)),
    Phase("DISK is full", disk_failures.fill_disk, 20, 1, (SQLITE,)),
    Phase("SERVER stops", disk_failures.stop_server, 20, 1, (POSTGRES,)),
)
