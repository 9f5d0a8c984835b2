"""Other users of the machine read what instances write (threats, row 27): they can read nothing.

Archive, resolver, ledger, `ibi up`, backup, restore and export are made under umask 000, each in a
folder that existed with mode 0777. Every file is then tried by the user `nobody` while all of it
runs; where the tests may not become another user, the modes of files and folders are judged.
"""

from __future__ import annotations

import json
import os
import pwd
import select
import shutil
import signal
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.request import Request, urlopen

import pytest

from tests.support.processes.child import child_process
from tests.support.processes.environment import own_environment
from tests.support.processes.fork_server import BEFORE_IMPORTS, ForkedProcess, fork, run
from tests.support.processes.other_user import NEEDS_ROOT
from tests.support.servers.attacked import switched_off
from tests.support.servers.port_reservation import reserved_port
from tests.support.values.citable import OPTIONS
from tests.support.waiting import PATIENCE

PARTS: Final = ("archive", "resolver", "ledger", "up", "backups", "restored", "export")
WITHOUT_MODES: Final = (
    BEFORE_IMPORTS
    + """
from ibi.foundation.system import private_files
private_files.UMASK = 0
private_files.create_private = lambda path: path.touch(0o666)
private_files.close_database = lambda path: None
private_files.close_folder = lambda folder, mark: None
private_files.make_private = lambda folder: folder.mkdir(parents=True, exist_ok=True)
"""
)
"""Files get their modes by the umask, and an open folder stays open."""
WITHOUT_OWNERS: Final = """
from ibi.foundation.system import private_files
private_files.refuse_planted = lambda folder: None
"""
"""It does not matter which user made a file."""


class Victim:
    """Somebody whose umask is 000, and whose folders are open to all."""

    def __init__(self, folder: Path, home: Path) -> None:
        """Make the folders; what the machine shares lies in `home`."""
        self.folder = folder
        self.home = home
        self.environment = own_environment(home)
        self.ports = reserved_port(4)
        self.servers: list[ForkedProcess] = []
        for part in PARTS:
            (folder / part).mkdir()
            (folder / part).chmod(0o777)

    def run(self, *arguments: str) -> None:
        """Run a command that succeeds."""
        done = run(arguments, self.environment, self.home, umask=0)
        assert done.returncode == 0, done

    def serve(self, *arguments: str) -> None:
        """Start a server, and wait until it is ready."""
        with (self.home / "log").open("ab") as log:
            server = fork(arguments, self.environment, log.fileno(), folder=self.home, umask=0)
        self.servers.append(server)
        said = b""
        while b"ready " not in said:
            ready, _, _ = select.select([server.stdout], [], [], PATIENCE)
            piece = os.read(server.stdout.fileno(), 4096) if ready else b""
            assert piece, (self.home / "log").read_text("utf-8")
            said += piece

    def place(self, part: str) -> str:
        """Return the path of a part."""
        return str(self.folder / part)

    def run_archive(self) -> None:
        """Make an archive with an item and a draft, and serve it."""
        place = f"127.0.0.1:{self.ports}"
        named = ("--host", "archive.example.org", "--name", "An archive")
        given = ("--address", f"http://{place}", "--listen", place)
        data = ("--data", self.place("archive"))
        self.run("archive", "init", *data, *named, *given)
        self.serve("archive", "serve", *data)
        self.run("archive", "deposit", "--title", "A secret", __file__, *OPTIONS, *data)
        token = (self.folder / "archive" / "token").read_text("ascii").strip()
        api = f"http://{place}/api/v1/deposits"
        opened = self._call(api, token, "POST", b'{"metadata": {"titles": ["A draft"]}}')
        self._call(f"{api}/{opened['id']}/files/draft", token, "PUT", b"not finished")

    def _call(self, address: str, token: str, method: str, body: bytes) -> dict[str, str]:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = Request(address, body, headers, method=method)  # noqa: S310
        with urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
            found: dict[str, str] = json.load(answer)
        return found

    def run_all(self) -> None:
        """Make and run one of everything."""
        self.run_archive()
        place = f"127.0.0.1:{self.ports + 1}"
        resolver = ("--data", self.place("resolver"))
        given = ("--address", f"http://{place}", "--listen", place, "--name", "A resolver")
        self.run("resolver", "init", *resolver, *given)
        self.serve("resolver", "serve", *resolver)
        self.run("mint", "--host", "m.example.org", "--ledger", self.place("ledger/l.sqlite"))
        self.serve("up", "--data", self.place("up"), "--port", str(self.ports + 2))
        archive = ("--data", self.place("archive"))
        self.run("backup", self.place("backups"), *archive)
        self.run("restore", self.place("backups"), "--data", self.place("restored"), "--yes")
        self.run("archive", "export", "--all", self.place("export"), *archive)

    def end(self) -> None:
        """End the servers."""
        for server in self.servers:
            server.send_signal(signal.SIGTERM)
            server.wait(PATIENCE)
            server.stdout.close()
        self.servers.clear()


@contextmanager
def victim(home: Path, without: str = "") -> Iterator[Victim]:
    """Yield a victim in a folder that all users of the machine reach."""
    # Not in the folder of the test: no other user reaches that.
    folder = Path(tempfile.mkdtemp(dir=tempfile.gettempdir()))
    folder.chmod(0o777)
    found = Victim(folder, home)
    try:
        with switched_off(home, without):
            found.environment = own_environment(home)
            yield found
    finally:
        found.end()
        shutil.rmtree(folder)


def files_in(folder: Path) -> list[Path]:
    """Return all files in a folder and its subfolders."""
    return [path for path in folder.rglob("*") if not path.is_dir()]


def readable(paths: list[Path]) -> set[str]:
    """Return the names of the files that another user can read."""
    if os.geteuid():
        return {path.name for path in paths if stat.S_IMODE(path.stat().st_mode) & 0o077}
    reading, writing = os.pipe()
    with child_process(lambda: _try_as_nobody(paths, writing)) as child:
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as names:
            found = set(names.read().split("\n")) - {""}
        assert child.end() == 0
    return found


def _try_as_nobody(paths: list[Path], told: int) -> None:
    nobody = pwd.getpwnam("nobody")
    os.setgroups([])
    os.setgid(nobody.pw_gid)
    os.setuid(nobody.pw_uid)
    for path in paths:
        with suppress(OSError):
            os.close(os.open(path, os.O_RDONLY))
            os.write(told, f"{path.name}\n".encode())


def test_no_file_is_readable_for_another_user(tmp_path: Path) -> None:
    with victim(tmp_path) as found:
        found.run_all()
        for part in PARTS:
            files = files_in(found.folder / part)
            assert files, part
            assert readable(files) == set(), part
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) & 0o077 for path in files}
            assert set(modes.values()) == {0}, (part, modes)
        names = {path.name for path in files_in(found.folder / "archive")}
        assert {"catalogue.sqlite", "catalogue.sqlite-wal", "ledger.sqlite", "draft"} <= names
        for part in ("archive", "resolver", "up", "backups", "restored"):
            assert stat.S_IMODE((found.folder / part).stat().st_mode) == 0o700, part


def test_the_attack_bites(tmp_path: Path) -> None:
    with victim(tmp_path, WITHOUT_MODES) as found:
        found.run_archive()
        names = readable(files_in(found.folder / "archive"))
        assert {"catalogue.sqlite", "catalogue.sqlite-wal", "ledger.sqlite"} <= names


@pytest.mark.parametrize("mode", [0o755, 0o1777])
def test_a_folder_of_others_is_refused_and_not_closed(tmp_path: Path, mode: int) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter").write_text("mine", encoding="utf-8")
    home.chmod(mode)
    given = ("archive", "init", "--data", str(home), "--host", "a.example.org")
    done = run(given, own_environment(tmp_path))
    assert done.returncode == 1
    assert "is open to other users, and has other files" in done.stderr
    assert stat.S_IMODE(home.stat().st_mode) == mode
    assert [path.name for path in home.iterdir()] == ["letter"]


def test_an_instance_of_an_earlier_version_is_closed(tmp_path: Path) -> None:
    with victim(tmp_path, WITHOUT_MODES) as found:
        found.run_archive()
        found.end()
        assert readable([found.folder / "archive" / "catalogue.sqlite"])
        found.environment.pop("PYTHONPATH")
        found.serve("archive", "serve", "--data", found.place("archive"))
        assert readable(files_in(found.folder / "archive")) == set()
        assert stat.S_IMODE((found.folder / "archive").stat().st_mode) == 0o700


def init_with_planted_files(folder: Path, without: str = "") -> tuple[int, str, bytes]:
    """Make an archive in an open folder where another user made files of its names.

    Return the exit status, the error, and what that user reads in a file that was kept open.
    """
    with victim(folder, without) as found:
        place = found.folder / "archive"
        nobody = pwd.getpwnam("nobody")
        for name in ("lock", "token", "catalogue.sqlite"):
            (place / name).touch()
            (place / name).chmod(0o666)
            os.chown(place / name, nobody.pw_uid, nobody.pw_gid)
        with (place / "token").open("rb") as kept_open:
            given = ("archive", "init", "--data", str(place), "--host", "a.example.org")
            done = run(given, found.environment, found.home, umask=0)
            return done.returncode, done.stderr, kept_open.read()


@NEEDS_ROOT
def test_a_folder_in_which_another_user_made_files_is_refused(tmp_path: Path) -> None:
    status, error, read = init_with_planted_files(tmp_path)
    assert (status, read) == (1, b"")
    assert "who made 'catalogue.sqlite', 'lock', 'token' in it: name a new folder" in error


@NEEDS_ROOT
def test_planted_files_bite(tmp_path: Path) -> None:
    """The twin: the administrator's token is written into the file of another user."""
    status, _, read = init_with_planted_files(tmp_path, WITHOUT_OWNERS)
    assert status == 0
    assert read.startswith(b"ibi_")
