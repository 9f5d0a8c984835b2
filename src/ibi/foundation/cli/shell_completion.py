"""Completion of commands by a shell: the script that a shell needs, and where it looks for it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Final

import click
from click.shell_completion import get_completion_class

from ibi.foundation.settings_file import data_home

SHELLS: Final = ("bash", "fish", "zsh")
"""The shells that have a completion script."""


def guessed_shell(environ: Mapping[str, str]) -> str:
    """Return the user's login shell; raise UsageError if it has no completion script."""
    name = PurePath(environ.get("SHELL", "")).name
    if name not in SHELLS:
        msg = f"SHELL does not say which shell you use: name it, {', '.join(SHELLS)}."
        raise click.UsageError(msg)
    return name


def completion_script(command: click.Command, name: str, shell: str) -> str:
    """Return the script by which a shell completes the command that is called `name`."""
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"There is no completion for {shell}.")
    return kind(command, {}, name, f"_{name}_complete".upper()).source()


def completion_file(name: str, shell: str, environ: Mapping[str, str]) -> Path:
    """Return the file of the user from which a shell loads the script."""
    if shell == "bash":
        # bash-completion reads the same variables; the first of its folders takes precedence.
        own = environ.get("BASH_COMPLETION_USER_DIR", "").split(":")[0]
        return Path(own or data_home() / "bash-completion") / "completions" / name
    if shell == "fish":
        settings = environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
        return Path(settings) / "fish" / "completions" / f"{name}.fish"
    return data_home() / "zsh" / "site-functions" / f"_{name}"


def source_from_zshrc(script: Path, environ: Mapping[str, str]) -> Path | None:
    """Append a line that loads the script to .zshrc; return None if it is there already.

    No folder of a user is among those from which zsh loads completions by default. Sourcing works
    at the end of .zshrc; a folder would have to be named before the call of compinit in it.
    """
    zshrc = Path(environ.get("ZDOTDIR") or Path.home()) / ".zshrc"
    name = shlex.quote(str(script))
    line = (
        "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }; "
        f"[[ ! -r {name} ]] || source {name}"
    )
    written = zshrc.read_bytes() if zshrc.exists() else b""
    if line.encode() in written.splitlines():
        return None
    gap = b"" if not written or written.endswith(b"\n") else b"\n"
    with zshrc.open("ab") as file:
        file.write(gap + line.encode() + b"\n")
    return zshrc
