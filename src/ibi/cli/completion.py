"""The commands of `ibi completion`."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Final

import click

from ibi.errors import printable
from ibi.foundation.cli.shell_completion import (
    SHELLS,
    completion_file,
    completion_script,
    guessed_shell,
    source_from_zshrc,
)

_EXAMPLES: Final = """\b
Examples:
  ibi completion install
  ibi completion install zsh
  ibi completion show bash
"""

_shell_argument = click.argument("shell", required=False, type=click.Choice(SHELLS))


@click.group(epilog=_EXAMPLES)
def completion() -> None:
    """Let the shell complete commands and options of ibi at the Tab key."""


@completion.command(epilog="Example: ibi completion install")
@_shell_argument
def install(shell: str | None) -> None:
    """Install the completion of ibi for your user.

    The SHELL is bash, fish or zsh; without it, the one that the variable SHELL names. What was
    written is shown. Only for zsh a file of yours is changed: a line is appended to .zshrc, once.
    """
    chosen = shell or guessed_shell(os.environ)
    name, script = _script(chosen)
    file = completion_file(name, chosen, os.environ).absolute()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(script, "utf-8")
    click.echo(f"Wrote {printable(str(file))}")
    click.echo(_next_step(chosen, file))


@completion.command(epilog="Example: ibi completion show fish")
@_shell_argument
def show(shell: str | None) -> None:
    """Print the script that 'ibi completion install' installs."""
    _, script = _script(shell or guessed_shell(os.environ))
    click.echo(script, nl=False)


def _script(shell: str) -> tuple[str, str]:
    root = click.get_current_context().find_root()
    name = root.info_name or ""
    return name, completion_script(root.command, name, shell)


def _next_step(shell: str, file: Path) -> str:
    if shell == "fish":
        return "fish loads it at the next Tab."
    if shell == "zsh":
        zshrc = source_from_zshrc(file, os.environ)
        added = f"Appended a line that loads it to {printable(str(zshrc))}\n" if zshrc else ""
        return f"{added}Open a new zsh to use it."
    return (
        "Open a new bash to use it. The package bash-completion loads it; without that package, "
        f"add to ~/.bashrc:\n  source {printable(shlex.quote(str(file)))}"
    )
