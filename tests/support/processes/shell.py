"""Somebody's shell, in a folder of their own: `ibi` as its users run it."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ibi.cli import main
from tests.support.processes.environment import (
    ENVIRONMENT,
    SETTINGS,
    environment,
    own_environment,
)

IBI = str(Path(sys.executable).with_name("ibi"))

Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Shell:
    """A shell whose home, ledgers and machine folder lie in one folder."""

    folder: Path

    @property
    def ledger(self) -> Path:
        """Where the ledger lies if nobody says otherwise."""
        return self.folder / "data" / "ibi" / "ledger.sqlite"

    def run(self, *arguments: str, stdin: str = "", **more: str) -> Done:
        """Run `ibi` in a process of its own."""
        return subprocess.run(  # noqa: S603
            [IBI, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            env=environment(self.folder, **more),
        )

    def call(self, *arguments: str, stdin: str = "", **more: str) -> Done:
        """Run `ibi` in this process, by its entry point: the same, many times quicker."""
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
        with pytest.MonkeyPatch.context() as patch:
            for name in {*SETTINGS, *ENVIRONMENT}:
                patch.delenv(name, raising=False)
            for name, value in own_environment(self.folder, **more).items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["ibi", *arguments])
            patch.setattr(sys, "stdin", io.StringIO(stdin))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            with pytest.raises(SystemExit) as ended:
                main()
        said = []
        for stream in (out, err):
            stream.flush()
            stream.seek(0)
            said.append(stream.read())
        code = ended.value.code or 0
        assert isinstance(code, int)
        return Done(["ibi", *arguments], code, *said)

    def said(self, *arguments: str, **more: str) -> str:
        """Run what succeeds; return what it prints."""
        return said(self.call(*arguments, **more))

    def refused(self, *arguments: str, **more: str) -> str:
        """Run what cannot be; return the one line that it says."""
        return refusal(self.call(*arguments, **more))


def said(done: Done) -> str:
    """Return what a command that succeeds says; nothing else is on stderr."""
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def refusal(done: Done) -> str:
    """Return the one line that stands where a traceback would."""
    assert done.returncode in {1, 2}, done
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("ibi: ")
    assert line.isprintable()
    assert len(line) < 400
    return line
