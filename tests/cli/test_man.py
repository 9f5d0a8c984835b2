"""`ibi man`: each command has a page, with the texts of --help, that real formatters take."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from ibi.cli import ibi
from tests.support.processes.shell import Shell


def needs(formatter: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        shutil.which(formatter) is None, reason=f"{formatter} is not installed"
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder into which `ibi man` writes for a user."""
    home = tmp_path_factory.mktemp("home")
    said = Shell(home).said("man")
    assert str(home / "data/man/man1") in said
    return home / "data/man/man1"


def contexts(
    command: click.Command = ibi, name: str = "ibi", parent: click.Context | None = None
) -> Iterator[click.Context]:
    context = click.Context(command, parent, name, **command.context_settings)
    yield context
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found
            yield from contexts(found, inner, context)


def run(*command: str | Path, **more: str) -> str:
    """Run a formatter that has nothing to complain of, and return what it prints."""
    done = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, check=True, env={**os.environ, **more}
    )
    assert done.stderr == ""
    return done.stdout


def test_every_command_has_a_page(folder: Path) -> None:
    names = {context.command_path.replace(" ", "-") for context in contexts()}
    assert {"ibi", "ibi-archive-token-add", "ibi-man"} < names
    assert {page.name for page in folder.iterdir()} == {f"{name}.1" for name in names}


@needs("groff")
def test_pages_show_the_texts_of_help(folder: Path) -> None:
    pages = sorted(folder.iterdir())
    plain = ("-P-c", "-P-b", "-P-u", "-P-o", "-rLL=999n")
    shown = " ".join(run("groff", "-man", "-Tutf8", "-ww", *plain, *pages).split())
    for context in contexts():
        command = context.command
        for option in command.get_params(context):
            left, right = option.get_help_record(context) or ("", "")
            assert " ".join(f"{left} {right}".split()) in shown, context.command_path
        for text in (command.help or "", command.epilog or ""):
            for line in text.replace("\b", "").splitlines():
                words = line.strip().removeprefix("Examples:").removeprefix("Example:")
                assert " ".join(words.split()) in shown, context.command_path


@needs("man")
def test_man_finds_a_page(folder: Path) -> None:
    shown = run("man", "-P", "cat", "ibi-archive-deposit", MANPATH=str(folder.parent))
    assert "IBI-ARCHIVE-DEPOSIT(1)" in shown
    assert "Um relatório" in shown


@needs("mandoc")
def test_mandoc_has_no_warning(folder: Path) -> None:
    # A page without a date is the same for the same version; the exit status counts that warning.
    found = subprocess.run(  # noqa: S603
        ("mandoc", "-Tlint", "-Wwarning", *sorted(folder.iterdir())),  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stderr == ""
    assert [line for line in found.stdout.splitlines() if "missing date" not in line] == []


def test_other_users_can_read_pages_in_a_given_folder(tmp_path: Path) -> None:
    place = tmp_path / "share/man/man1"
    Shell(tmp_path).said("man", "--to", str(place))
    assert {page.stat().st_mode & 0o777 for page in place.iterdir()} == {0o644}
    assert place.stat().st_mode & 0o777 == 0o755


def test_a_page_of_an_earlier_version_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "ibi.1").write_text("old")
    Shell(tmp_path).said("man", "--to", str(tmp_path))
    assert "SYNOPSIS" in (tmp_path / "ibi.1").read_text()
