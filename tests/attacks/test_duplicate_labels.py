"""Row 19 of the threats, by the door that users use: duplicate labels by crashes and two minters.

The whole of it, with clocks, forks, old ledgers and disks, is in tests/faults.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ibi.minting.storage.machine_folder import FOLDER
from tests.support.servers.attacked import switched_off

MINTERS = 4

# Minters that know nothing of each other mint the same label only if they mint at the same moment:
# here a clock that stands still but for its sleeps gives them the same moments.
ONE_TIME = """
from ibi.foundation.system.clock import SystemClock

passed = 0

def sleep(nanoseconds):
    global passed
    passed += nanoseconds

def time():
    return 1_800_000_000 * 10**9 + passed

def made(self):
    self.uptime = time

SystemClock.__init__ = made
SystemClock.wall = staticmethod(time)
SystemClock.sleep = staticmethod(sleep)
"""


def minted(folder: Path, *, apart: bool) -> list[str]:
    """Return what several commands at once print, of which some are killed."""
    chance = random.Random(19)  # noqa: S311  # when to kill
    processes = []
    for number in range(MINTERS):
        # Apart, none knows of the others: neither by the ledger nor by the machine's folder.
        own = folder / str(number) if apart else folder
        own.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "ibi", "mint", "-n", "2", "--granularity", "1"]
        command += ["--host", "archive.example.org", "--ledger", str(own / "ledger")]
        processes.append(
            subprocess.Popen(  # noqa: S603
                command,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | {FOLDER: str(own / "machine"), "PYTHONUNBUFFERED": "1"},
            )
        )
    labels = []
    for number, process in enumerate(processes):
        if number % 2:
            try:
                said, _ = process.communicate(timeout=chance.uniform(0.5, 2))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                said, _ = process.communicate()
        else:
            said, _ = process.communicate(timeout=120)
        labels += said.split()
    return labels


@pytest.mark.parametrize("apart", [False, True], ids=["together", "twin: apart"])
def test_commands_at_once_some_of_them_killed(tmp_path: Path, *, apart: bool) -> None:
    with switched_off(tmp_path, ONE_TIME if apart else ""):
        labels = minted(tmp_path, apart=apart)
    assert len(labels) >= 2 * MINTERS // 2
    assert (len(set(labels)) < len(labels)) is apart
