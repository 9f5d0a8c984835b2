"""The phases of the fault suite that concern the archive."""

from __future__ import annotations

from typing import Final

from tests.faults.archive import disk_failures, power_losses, process_kills, transfer_kills
from tests.faults.phase import POSTGRES, SQLITE, Phase

ARCHIVE_PHASES: Final = (
    Phase("ARCHIVE KILL at random", process_kills.kill_at_random, 500, 5, (SQLITE,)),
    Phase("ARCHIVE KILL at random", process_kills.kill_at_random, 100, 3, (POSTGRES,)),
    Phase("ARCHIVE KILL at every 2nd step", process_kills.kill_at_every_step, 2, 0, (SQLITE,)),
    Phase("ARCHIVE KILL at every 9th step", process_kills.kill_at_every_step, 9, 0, (POSTGRES,)),
    Phase("ARCHIVE KILL of drafts", process_kills.kill_drafts, 300, 4, (SQLITE,)),
    Phase("ARCHIVE KILL of drafts", process_kills.kill_drafts, 100, 2, (POSTGRES,)),
    Phase(
        "  twin: DRAFT saved in memory",
        process_kills.kill_drafts_in_memory,
        60,
        0,
        twin=True,
    ),
    Phase("  twin: DRAFT published twice", process_kills.kill_drafts_twice, 60, 60, twin=True),
    Phase(
        "  twin: ARCHIVE without a journal", process_kills.kill_without_journal, 60, 60, twin=True
    ),
    Phase("  twin: ARCHIVE says it too early", process_kills.kill_hasty, 60, 60, twin=True),
    # On PostgreSQL a reader waits for the transaction, and never meets half a file.
    Phase(
        "  twin: ARCHIVE writes in place",
        process_kills.kill_in_place,
        60,
        60,
        (SQLITE,),
        twin=True,
    ),
    Phase("ARCHIVE TRANSFER killed", transfer_kills.kill_transfers, 600, 2, (SQLITE,)),
    Phase(
        "  twin: TRANSFER taken back alone",
        transfer_kills.kill_selfish,
        200,
        0,
        (SQLITE,),
        twin=True,
    ),
    Phase(
        "  twin: TRANSFER not remembered",
        transfer_kills.kill_forgetful,
        200,
        0,
        (SQLITE,),
        twin=True,
    ),
    Phase("ARCHIVE POWER lost", power_losses.lose_power, 200, 3, (SQLITE,)),
    Phase(
        "  twin: ARCHIVE syncs no folder",
        power_losses.lose_power_careless,
        40,
        40,
        (SQLITE,),
        twin=True,
    ),
    Phase("ARCHIVE DISK fails", disk_failures.fail_disk, 300, 4, (SQLITE,)),
    Phase("ARCHIVE DISK fails", disk_failures.fail_disk, 60, 0, (POSTGRES,)),
    Phase("  twin: ARCHIVE does not heal", disk_failures.fail_unhealed, 200, 200, twin=True),
    Phase("ARCHIVE DISK is full", disk_failures.fill_disk, 30, 1, (SQLITE,)),
    Phase("ARCHIVE loses its server", disk_failures.lose_server, 20, 2, (POSTGRES,)),
)
