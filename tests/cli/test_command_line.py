"""The command line as a whole: names of commands, folders that do not exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.processes.shell import Shell


@pytest.mark.parametrize(
    ("arguments", "suggested"),
    [
        (("archve",), "archive"),
        (("discribe", "x"), "describe"),
        (("archive", "lst"), "list"),
        (("archive", "token", "ad"), "add"),
        (("resolver", "regster", "x"), "register"),
        (("minter", "confrm"), "confirm"),
        (("minter", "token", "lst"), "list"),
        (("deposit", "a.pdf"), "ibi archive deposit"),
        (("history",), "ibi archive history"),
        (("history",), "ibi resolver history"),
        (("unbound",), "ibi minter unbound"),
    ],
)
def test_an_unknown_command_gets_a_suggestion(
    tmp_path: Path, arguments: tuple[str, ...], suggested: str
) -> None:
    done = Shell(tmp_path).call(*arguments)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert "Did you mean" in line
    assert f"'{suggested}'" in line


def test_a_command_like_no_other_gets_none(tmp_path: Path) -> None:
    for arguments in (("xyzzy",), ("archive", "xyzzy")):
        line = Shell(tmp_path).refused(*arguments)
        assert "No such command 'xyzzy'" in line
        assert "Did you mean" not in line


@pytest.mark.parametrize(
    "command",
    [
        ("archive", "list"),
        ("archive", "serve"),
        ("archive", "rebuild"),
        ("archive", "deposit", "--title", "A"),
        ("resolver", "archives"),
        ("resolver", "serve"),
        ("resolve", "8JMKD3MGP7W/3EPGUE5"),
        ("backup", "target"),
    ],
)
def test_a_folder_that_does_not_exist_is_called_that(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    folder = "/no/such/folder"
    line = Shell(tmp_path).refused(*command, "--data", folder)
    assert folder in line
    assert "There is no folder" in line or "folder does not exist" in line
    assert not Path(folder).exists()
