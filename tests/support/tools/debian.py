"""Programs of Debian that judge our work in some tests; `make judges` installs them beforehand."""

from __future__ import annotations

import os
import shutil
import subprocess


def program(name: str, package: str, why: str) -> str:
    """Return where a program is, after installing its package where that is allowed."""
    found = shutil.which(name)
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        for arguments in (["update"], ["install", "--yes", "--no-install-recommends", package]):
            subprocess.run(  # noqa: S603
                ["apt-get", "--quiet", *arguments],  # noqa: S607
                check=False,
                stdout=subprocess.DEVNULL,
            )
        found = shutil.which(name)
    if found is None:
        raise RuntimeError(f"{why}: install {name} (Debian: {package}).")
    return found
