"""recheck, a checker of regular expressions, which the package redos_linter brings along."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import cast

import deno  # type: ignore[import-untyped]
import redos_linter

_SCRIPT = Path(__file__).with_suffix(".js")
_BUNDLE = Path(redos_linter.__file__).with_name("recheck.bundle.js")


def verdicts(patterns: list[str]) -> dict[str, str]:
    """Return "safe", "vulnerable" or "unknown" for each pattern.

    redos_linter itself keeps the time limits of recheck, and a busy machine then changes verdicts.
    """
    command = [deno.find_deno_bin(), "run", "--allow-read", str(_SCRIPT), _BUNDLE.as_uri()]
    asked = json.dumps(patterns).encode()
    run = subprocess.run(command, input=asked, stdout=subprocess.PIPE, check=True)  # noqa: S603
    return cast("dict[str, str]", json.loads(run.stdout))
