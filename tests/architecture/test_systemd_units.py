"""The systemd units in the documentation: systemd takes them, and `ibi` takes their commands."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.support.processes.shell import IBI, Shell

_PAGE: Final = Path(__file__).parents[2] / "docs/how-to/run-under-systemd.md"
_UNIT: Final = re.compile(
    r"`/etc/systemd/system/([a-z-]+)\.service`:\n\n```ini\n(.*?)```", re.DOTALL
)
UNITS: Final = dict(_UNIT.findall(_PAGE.read_text("utf-8")))


def command_of(unit: str) -> list[str]:
    [line] = re.findall("^ExecStart=(.*)$", unit, re.MULTILINE)
    return str(line).split()


def test_there_is_a_unit_for_each_program() -> None:
    assert UNITS.keys() == {"ibi", "ibi-archive", "ibi-resolver", "ibi-minter"}


@pytest.mark.parametrize("name", UNITS)
def test_the_command_of_a_unit_exists_with_its_options(tmp_path: Path, name: str) -> None:
    _, *arguments = command_of(UNITS[name])
    said = Shell(tmp_path).said(*arguments, "--help")
    assert all(option in said for option in arguments if option.startswith("--"))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd")
@pytest.mark.parametrize("name", UNITS)
def test_systemd_takes_the_unit(tmp_path: Path, name: str) -> None:
    unit = UNITS[name].replace(command_of(UNITS[name])[0], IBI).replace("User=ibi", "User=root")
    path = tmp_path / f"{name}.service"
    path.write_text(unit)
    done = subprocess.run(  # noqa: S603
        ["systemd-analyze", "verify", "--man=no", str(path)],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, str(path) in done.stderr) == (0, False), done.stderr
