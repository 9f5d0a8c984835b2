"""The Makefile installs where the home of the user cannot be written."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
NO_HOME = "/proc/none"


def test_uv_works_without_a_home(tmp_path: Path) -> None:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environment = {**kept, "HOME": NO_HOME, "TMPDIR": str(tmp_path)}
    # -W: as if the lock file had changed. Nothing is installed: the recipe is only printed.
    made = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "-W", "requirements.lock", "install"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    recipe = made.stdout.replace("\\\n", " ")
    lines = [line for line in recipe.splitlines() if ".venv/bin/uv pip" in line]
    assert len(lines) == 2
    for line in lines:
        before, uv, _ = line.partition(".venv/bin/uv ")
        asked = f"{before}{uv}cache dir"
        where = subprocess.run(  # noqa: S602  # a line of our Makefile
            asked, shell=True, cwd=ROOT, capture_output=True, text=True, check=True, env=environment
        ).stdout
        assert not where.startswith(NO_HOME)
