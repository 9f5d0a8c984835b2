"""What the documentation shows at a prompt was run: here, now."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)


def sessions(page: Path) -> list[tuple[str, str]]:
    """Return each command of a page and what it shows."""
    found = []
    for block in CONSOLE.findall(page.read_text(encoding="utf-8")):
        for session in block.split("$ ")[1:]:
            command, _, shown = session.partition("\n")
            found.append((command, shown))
    return found


SESSIONS = [session for page in PAGES for session in sessions(page)]


@pytest.mark.parametrize(("command", "shown"), SESSIONS, ids=[command for command, _ in SESSIONS])
def test_a_command_shows_what_its_page_says(command: str, shown: str) -> None:
    commands = Path(sys.executable).parent
    done = subprocess.run(  # noqa: S602  # the documentation's own command lines
        command,
        shell=True,
        env={**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.stdout.rstrip("\n") == shown.rstrip("\n")


def test_there_are_sessions_to_check() -> None:
    assert len(SESSIONS) > 5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_shows_what_the_page_says(page: Path) -> None:
    # Markdown ends an example with a fence, where doctest wants a blank line.
    text = page.read_text(encoding="utf-8").replace("\n```\n", "\n\n")
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner()
    runner.run(examples)
    assert runner.summarize(verbose=False).failed == 0
