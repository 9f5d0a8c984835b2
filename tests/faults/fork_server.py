"""The server process from which workers and archives are forked."""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Final

PRELOADED: Final = [
    "tests.faults.minting.worker",
    "tests.faults.minting.forks",
    "tests.faults.archive.server_process",
    "ibi.archive.cli",
    "ibi.archive.wiring.app",
    "ibi.archive.wiring.store_migration",
    "ibi.archive.peers.resolver_client",
    "ibi.archive.storage.unpack.unpack",
    "ibi.archive.web.item_pages",
    "ibi.foundation.sql.postgres",
    "jinja2.ext",
    "uvicorn.lifespan.on",
    "uvicorn.loops.uvloop",
]
"""Modules that the fork server imports, once for all phases.

A module that is missing here is imported anew by every archive that a phase starts.
"""

_PR_SET_PDEATHSIG: Final = 1


def exit_with_parent() -> None:
    """Have the kernel kill this process when the fork server ends, which ends with the suite."""
    if hasattr(os, "pidfd_open"):  # Linux
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
