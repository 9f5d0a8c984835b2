"""Environments of commands that know of nothing but the folder of their test."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from ibi.minting.storage.machine_folder import FOLDER

SETTINGS: Final = ("IBI_HOST", "IBI_IP", "IBI_LEDGER", "IBI_TOKEN")
"""Variables of the caller's shell that no test of minting may depend on."""
ENVIRONMENT: Final = ("IBI_DATA", "IBI_RESOLVER", "IBI_ARCHIVE", "IBI_TOKEN")
"""Variables of the caller's shell that no test of an instance may depend on."""


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return an environment in which minters meet in a folder of the test."""
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    return {**kept, FOLDER: str(folder / "machine"), "XDG_DATA_HOME": str(folder / "data"), **more}


def own_environment(folder: Path, **more: str) -> dict[str, str]:
    """Return an environment that knows of no instance but that of the test."""
    found = environment(folder, **more)
    return {name: value for name, value in found.items() if name not in ENVIRONMENT or name in more}
