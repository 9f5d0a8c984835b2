"""`ibi completion`: real shells complete `ibi` by what one command installs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes.shell import IBI, Shell, said

SERVERS = ("aiohttp", "asyncio", "sqlalchemy", "starlette", "uvicorn")
"""Libraries of the servers and their databases, which take long to load."""
LINES = {
    "ibi arch": ["archive"],
    "ibi archive dep": ["deposit"],
    "ibi minter st": ["status"],
    "ibi completion ": ["install", "show"],
    "ibi archive deposit --titl": ["--title", "--title-in"],
    "ibi completion install f": ["fish"],
}
"""Lines at whose end the Tab key is pressed, and the words that it proposes."""


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


def install(folder: Path, shell: str) -> str:
    """Install the completion for a user whose home is a folder of the test."""
    return Shell(folder).said("completion", "install", **home(folder, f"/usr/bin/{shell}"))


def home(folder: Path, shell: str) -> dict[str, str]:
    return {
        "HOME": str(folder),
        "SHELL": shell,
        "BASH_COMPLETION_USER_DIR": "",
        "XDG_CONFIG_HOME": "",
        "ZDOTDIR": "",
    }


def run(folder: Path, *command: str) -> list[str]:
    """Run a shell in which `ibi` is found; return the lines that it prints.

    Empty variables are not set at all: zsh takes an empty `ZDOTDIR` for the root of the disk.
    """
    path = f"{Path(IBI).parent}{os.pathsep}{os.environ['PATH']}"
    variables = {**os.environ, **home(folder, command[0]), "PATH": path}
    done = subprocess.run(  # noqa: S603
        command,
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in variables.items() if value},
    )
    return said(done).splitlines()


@pytest.mark.parametrize("line", LINES)
def test_bash_completes(tmp_path: Path, line: str) -> None:
    install(tmp_path, "bash")
    script = tmp_path / "data/bash-completion/completions/ibi"
    # As bash does at the Tab key: words of the line, the number of the last, the function's name.
    press = """
        source "$1"; words=($2); [[ $2 == *' ' ]] && words+=('')
        registered=$(complete -p ibi); function=${registered#*-F }; function=${function%% *}
        COMP_WORDS=("${words[@]}"); COMP_CWORD=$((${#words[@]} - 1)); "$function" ibi
        (( ! ${#COMPREPLY[@]} )) || printf '%s\\n' "${COMPREPLY[@]}"
    """
    found = run(tmp_path, "bash", "--norc", "-c", press, "press", str(script), line)
    assert found == LINES[line]


@needs("fish")
@pytest.mark.parametrize("line", LINES)
def test_fish_completes(tmp_path: Path, line: str) -> None:
    install(tmp_path, "fish")
    assert (tmp_path / ".config/fish/completions/ibi.fish").exists()
    found = run(tmp_path, "fish", "-c", f"complete --do-complete '{line}'")
    assert [each.split("\t")[0] for each in found] == LINES[line]


@needs("zsh")
def test_zsh_has_the_completion_when_it_starts(tmp_path: Path) -> None:
    install(tmp_path, "zsh")
    [found] = run(tmp_path, "zsh", "-i", "-c", "print $_comps[ibi]")
    assert found == "_ibi_completion"


@needs("zsh")
@pytest.mark.parametrize("line", LINES)
def test_zsh_completes(tmp_path: Path, line: str) -> None:
    install(tmp_path, "zsh")
    # Widgets need a terminal: the builtins that would show the proposals print them instead.
    press = """
        compadd() { print -l -- ${(P)@[-1]} }; _describe() { print -l -- ${${(P)3}%%:*} }
        words=(${(z)1}); [[ $1 == *' ' ]] && words+=('')
        CURRENT=$#words; $_comps[ibi]
    """
    assert run(tmp_path, "zsh", "-i", "-c", press, "press", line) == LINES[line]


@pytest.mark.parametrize("line", ["ibi ", "ibi archive ", "ibi resolver ", "ibi minter ", *LINES])
def test_completing_loads_no_server(line: str) -> None:
    count = len(line.split())
    code = (
        "import atexit, sys; from ibi.cli import main\n"
        f"loaded = lambda: sorted({set(SERVERS)} & set(sys.modules))\n"
        "atexit.register(lambda: print(loaded(), file=sys.stderr))\n"
        "main()"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={
            **os.environ,
            "COMP_WORDS": line,
            "COMP_CWORD": str(count if line.endswith(" ") else count - 1),
            "_IBI_COMPLETE": "bash_complete",
        },
    )
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_what_is_shown_is_what_is_installed(tmp_path: Path, shell: str) -> None:
    first = install(tmp_path, shell).splitlines()[0]
    written = Path(first.removeprefix("Wrote "))
    assert written.is_relative_to(tmp_path)
    assert written.read_text() == Shell(tmp_path).said("completion", "show", shell)


def test_zshrc_keeps_its_lines_and_gets_one_once(tmp_path: Path) -> None:
    zshrc = tmp_path / ".zshrc"
    zshrc.write_bytes(b"# caf\xe9\nexport EDITOR=vi")
    assert str(zshrc) in install(tmp_path, "zsh")
    assert str(zshrc) not in install(tmp_path, "zsh")
    *before, last = zshrc.read_bytes().splitlines()
    assert before == [b"# caf\xe9", b"export EDITOR=vi"]
    assert last.endswith(f"source {tmp_path}/data/zsh/site-functions/_ibi".encode())


@pytest.mark.parametrize("shell", ["", "/bin/dash"])
def test_a_shell_that_cannot_be_guessed_has_to_be_named(tmp_path: Path, shell: str) -> None:
    line = Shell(tmp_path).refused("completion", "install", SHELL=shell)
    assert "bash, fish, zsh" in line


def test_the_folders_that_a_user_set_are_used(tmp_path: Path) -> None:
    bash = f"{tmp_path}/own:{tmp_path}/other"
    Shell(tmp_path).said("completion", "install", "bash", BASH_COMPLETION_USER_DIR=bash)
    Shell(tmp_path).said("completion", "install", "fish", XDG_CONFIG_HOME=f"{tmp_path}/settings")
    assert (tmp_path / "own/completions/ibi").exists()
    assert (tmp_path / "settings/fish/completions/ibi.fish").exists()
