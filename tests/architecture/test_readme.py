"""The commands of the README work as shown, against the servers that `make up` runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.architecture.console_sessions import sessions, without_minted
from tests.support.servers.installation import InstallationServer

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


def test_the_commands_of_the_readme_show_what_it_says(tmp_path: Path) -> None:
    with InstallationServer(tmp_path) as installation:
        for _, command, shown in sessions(README):
            ports = (("8800", str(installation.port)), ("8801", str(installation.port + 1)))
            for usual, port in ports:
                for before in (":", "archive."):
                    shown = shown.replace(before + usual, before + port)  # noqa: PLW2901
            said = installation.shell(command).stdout
            if not command.startswith("ibi describe "):  # whose labels are the same every time
                said, shown = without_minted(said), without_minted(shown)  # noqa: PLW2901
            assert said.rstrip("\n") == shown.rstrip("\n"), command


def test_the_readme_says_how_it_is_started_and_what_it_says_then() -> None:
    text = README.read_text("utf-8")
    first = text[: text.index("```console")]
    assert "    make up " in first
    assert "    make test " in first
    assert "ready resolver=http://127.0.0.1:8800 archive=http://127.0.0.1:8801" in first


def test_make_up_runs_it_with_items_to_look_at() -> None:
    # -o: as if everything were installed.
    made = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "-o", ".venv/.installed", "up"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout == ".venv/bin/ibi up --demo\n"
