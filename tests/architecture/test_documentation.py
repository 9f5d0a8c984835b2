"""The commands and Python examples of the documentation give the output that it shows."""

from __future__ import annotations

import doctest
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.architecture.console_sessions import PATIENCE, sessions, without_minted
from tests.support.servers.port_reservation import reserved_port

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MINTING = ("ibi mint ", "ibi archive ", "python3 ")
"""Commands whose output contains labels, times or tokens that differ at each run."""
PORT = "8841"
"""The port of the archive in the tutorial; the test uses one that no other process has."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Return a folder for each page, in which all its commands run; end what they started."""
    made = {page.name: tmp_path_factory.mktemp(page.stem) for page in PAGES}
    yield made
    for folder in made.values():
        for left in folder.glob("*.pid"):
            with suppress(ProcessLookupError):
                os.kill(int(left.read_text()), signal.SIGKILL)


# Those of the README act on what `make up` runs: test_readme has it run.
SESSIONS = {page.name: found for page in PAGES[1:] if (found := sessions(page))}


@pytest.mark.parametrize("page", SESSIONS)
def test_commands_show_what_their_page_says(page: str, folders: dict[str, Path]) -> None:
    port = str(reserved_port())
    for _, *session in SESSIONS[page]:  # each acts on what those before it left
        command, shown = (text.replace(PORT, port) for text in session)
        said = run(command, str(folders[page]))
        clean = without_minted if command.startswith(MINTING) else str
        assert clean(said).rstrip("\n") == clean(shown).rstrip("\n"), command


def run(command: str, folder: str) -> str:
    commands = Path(sys.executable).parent
    done = subprocess.run(  # noqa: S602  # the documentation's own command lines
        command,
        shell=True,
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
            "IBI_MACHINE_FOLDER": folder,
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    return done.stdout


def test_there_are_sessions_to_check() -> None:
    assert sum(map(len, SESSIONS.values())) > 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_shows_what_the_page_says(page: Path) -> None:
    # Markdown ends an example with a fence, where doctest wants a blank line.
    text = page.read_text(encoding="utf-8").replace("\n```\n", "\n\n")
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner()
    runner.run(examples)
    assert runner.summarize(verbose=False).failed == 0
