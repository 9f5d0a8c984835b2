"""Threats, row 39: the password of a PostgreSQL server gets out of its file.

A resolver and an archive run on a server, with workers, and are checked, backed up and restored.
Their outputs, logs and command lines do not have the password, and the files that have it are for
their owner alone. URLs with slips, as people make them, are refused by messages that do not repeat
the password, and become no names of folders.
"""

from __future__ import annotations

import stat
from contextlib import ExitStack
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from tests.support.processes.environment import own_environment
from tests.support.processes.fork_server import run
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked import FULL, switched_off
from tests.support.servers.postgres import PostgresServer
from tests.support.servers.program import ProgramServer
from tests.support.servers.resolver import ResolverServer

PIECES: Final = ("Geh", "eiM")
"""The halves of a password, each of which no output may have."""
SLIPS: Final = [
    "postgresql://ibi:Geh{}eiM@127.0.0.1:1/db",
    "postgresql://127.0.0.1:1/db?user=ibi&pass%77ord=Geh{}eiM",
    "Postgresql://ibi:Geh{}eiM@127.0.0.1:1/db",
    "postgresql:/ibi:Geh{}eiM@127.0.0.1:1/db",
    "postgresql+asyncpg://ibi:Geh{}eiM@127.0.0.1:1/db",
]
BETWEEN: Final = ["", "/", "#", "?", "@", "[", "]", ":", "[1]", "%zz", "/1@"]
"""Characters that people leave as they are in a password."""
COMMANDS: Final = {
    "mint": ("mint", "--host", "m.example.org", "--ledger"),
    "resolver": ("resolver", "init", "--data", "r", "--address", "http://x.org", "--database"),
    "archive": ("archive", "init", "--data", "a", "--host", "a.example.org", "--catalogue"),
}
WITHOUT_GUARD: Final = """
from ibi.foundation import settings_file
from ibi.foundation.sql import postgres
from ibi.minting import wiring

settings_file.refuse_other_url = wiring.refuse_other_url = lambda given: None
postgres._is_ambiguous = lambda url: False
"""


def urls(command: str) -> list[str]:
    """Return the URLs that a command gets: all, or those that are likely to differ."""
    if FULL:
        return [slip.format(between) for slip in SLIPS for between in BETWEEN]
    usual = [slip.format("") for slip in SLIPS[1:4]]
    between = BETWEEN[1:] if command == "mint" else BETWEEN[1:3]
    return [*usual, *map(SLIPS[0].format, between)]


def leaks(folder: Path, command: str) -> set[str]:
    """Run a command with every slip; return the URLs of which a part was printed, or is a name."""
    found = set()
    for url in urls(command):
        done = run([*COMMANDS[command], url], own_environment(folder), folder)
        assert done.returncode != 0, url
        said = done.stdout + done.stderr
        names = "".join(str(path) for path in folder.rglob("*"))
        if any(piece in said + names for piece in PIECES):
            found.add(url)
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_no_message_and_no_name_has_a_part_of_the_password(tmp_path: Path, command: str) -> None:
    assert leaks(tmp_path, command) == set()


def test_the_slips_bite(tmp_path: Path) -> None:
    """The twin: without a look at the URL, the password is printed, and folders have its name."""
    url = SLIPS[0].format("/")
    with switched_off(tmp_path, WITHOUT_GUARD):
        done = run([*COMMANDS["mint"], url], own_environment(tmp_path), tmp_path)
        assert PIECES[0] in done.stderr
        run([*COMMANDS["mint"], SLIPS[2].format("")], own_environment(tmp_path), tmp_path)
    assert list(tmp_path.rglob("*Geh*"))


def _command_lines() -> bytes:
    found = b""
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += process.read_bytes()
        except OSError:
            continue
    return found


def _files_with(folder: Path, text: bytes) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in files if text in path.read_bytes()]


def test_the_password_stays_in_files_of_their_owner(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    password = urlsplit(postgres.url).password or ""
    said = ""
    with ExitStack() as stack:
        own = ("--catalogue", postgres.database(), "--ledger", postgres.database())
        resolver = ResolverServer(tmp_path / "r", "--database", postgres.database())
        archive = ArchiveServer(tmp_path / "a", *own)
        said += "".join([*resolver.made.values(), *archive.made.values()])
        servers: list[ProgramServer] = [resolver, archive]
        for server in servers:
            server.wanted_workers = "2"
            stack.enter_context(server)
            assert password.encode() not in _command_lines()
            environment, data = own_environment(server.folder), ("--data", str(server.data))
            backup = str(server.folder / "backup")
            for command in (
                ("doctor", *data),
                ("backup", backup, *data),
                ("restore", backup, "--data", str(server.folder / "restored"), "--yes"),
            ):
                done = run(command, environment, server.folder)
                said += done.stdout + done.stderr
    assert password not in said
    for path in _files_with(tmp_path, password.encode()):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
        assert path.name in {"resolver.toml", "archive.toml"}, path
