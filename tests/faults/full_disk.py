"""A real file system that can be filled: a small tmpfs in a mount namespace.

The namespace ends with its process, so that no mount is left behind. `run_on_small_disk` starts a
module in it, and that module calls `main_on_small_disk`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.faults.figures import PATIENCE, Figures, Violation
from tests.faults.sites import Site, SqliteSite

_NO_MOUNT: Final = 77
"""Exit status of a process that may not mount a file system."""


def run_on_small_disk(module: str, site: Site, size: int, seed: int) -> Figures:
    """Run a module in a mount namespace of its own; return the figures that it printed."""
    assert isinstance(site, SqliteSite)
    rights = [] if os.geteuid() == 0 else ["--map-root-user"]
    inside = [sys.executable, "-m", module, str(site.folder), str(size), str(seed)]
    done = subprocess.run(  # noqa: S603
        ["unshare", "--mount", *rights, "--", *inside],  # noqa: S607
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE * (size + 2),
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    if done.returncode == _NO_MOUNT or "unshare:" in done.stderr:
        return Figures(skipped=f"no file system can be mounted here: {done.stderr.strip()}")
    if done.returncode:
        raise Violation(done.stderr)
    found = json.loads(done.stdout)
    figures = Figures(labels=found["labels"], kills=found["kills"], notes=found["notes"])
    figures.refusals.update(found["refusals"])
    return figures


def main_on_small_disk(megabytes: int, fill: Callable[[Path, int, int], Figures]) -> int:
    """Mount a small disk, call `fill` with it, the size and the seed, and print the figures."""
    folder, size, seed = sys.argv[1:]
    disk = Path(folder) / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "ibi-faults", str(disk)]
    if not shutil.which("mount") or subprocess.run(mount, check=False).returncode:  # noqa: S603
        return _NO_MOUNT
    figures = fill(disk, int(size), int(seed))
    facts = {
        "labels": figures.labels,
        "kills": figures.kills,
        "notes": figures.notes,
        "refusals": figures.refusals,
    }
    json.dump(facts, sys.stdout)
    return 0


def fill_up(ballast: Path, room: int = 0) -> None:
    """Let a file grow until the disk is full, except for `room` bytes."""
    with ballast.open("ab", buffering=0) as file:
        try:
            while file.write(bytes(4096)) == 4096:
                pass
        except OSError:
            file.truncate(max(0, file.tell() - room))
