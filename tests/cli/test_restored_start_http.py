"""A restored archive and its original, on two machines: one of them does not start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ibi.cli import ibi
from tests.support.servers.archive import HOST, ArchiveServer
from tests.support.servers.federation import linked_archives
from tests.support.servers.installation import InstallationServer
from tests.support.servers.port_reservation import reserved_port
from tests.support.servers.program import ProgramServer
from tests.support.waiting import PATIENCE, wait_until

OVERRIDE = "--original-is-gone"


def run(*arguments: object) -> Result:
    """Run a command here: the libraries that make tables take long to load."""
    return CliRunner().invoke(ibi, [str(each) for each in arguments])


def back_up(data: Path, folder: Path) -> Path:
    done = run("backup", folder / "backups", "--data", data, "--json")
    assert done.exit_code == 0, done.output
    return Path(json.loads(done.stdout)["backup"])


class RestoredServer(ProgramServer):
    """An archive that was restored on another machine, with a port and a folder of its own."""

    part = "archive"

    def __init__(self, folder: Path, backup: Path) -> None:
        """Restore it."""
        folder.mkdir()
        super().__init__(folder, "log")
        done = run("restore", backup, "--data", self.data, "--yes")
        assert done.exit_code == 0, done.output
        self.said_by_restore = done.stderr

    def attempt(self) -> str:
        """Start it, which it must refuse; return what it wrote to its standard error."""
        self._log.unlink(missing_ok=True)
        try:
            with pytest.raises(AssertionError):
                self.begin()
        finally:
            self.kill()
        return self.log()

    def begin(self, *options: str) -> None:
        """Start it at its own port, whatever its public address is."""
        self.start("--listen", self.place, *options)

    def log(self) -> str:
        """Return what it wrote to its standard error."""
        return self._log.read_text("utf-8")


@pytest.fixture
def original(tmp_path: Path) -> ArchiveServer:
    return ArchiveServer(tmp_path)


def check_refusal(text: str, address: str) -> None:
    assert f"another instance of it answers at {address}" in text
    assert f"the same labels under {'.'.join(HOST.split('.')[1:])}/archive" in text
    assert OVERRIDE in text
    assert "Traceback" not in text


def test_a_restored_archive_does_not_start_while_its_original_answers(
    original: ArchiveServer, tmp_path: Path
) -> None:
    with original:
        original.deposit({"a.txt": b"a"})
        restored = RestoredServer(tmp_path / "other", back_up(original.data, tmp_path))
        assert "both would give out the same labels under" in restored.said_by_restore
        for _ in range(2):
            check_refusal(restored.attempt(), original.address)
        conceding = run("archive", "concede", "--data", restored.data, "--none", "--yes")
        assert "another instance of it answers" in str(conceding.exception)
        assert original.stop() == 0
    with restored:
        assert f"no other instance of this archive answers at {original.address}" in restored.log()
        assert "no Original is given away" in restored.log()


def test_the_address_in_the_backup_is_asked_after_the_settings_were_changed(
    original: ArchiveServer, tmp_path: Path
) -> None:
    with original:
        restored = RestoredServer(tmp_path / "other", back_up(original.data, tmp_path))
        restored.set(address=restored.address, listen=restored.place)
        check_refusal(restored.attempt(), original.address)


def test_the_administrator_states_once_that_the_original_is_gone(
    original: ArchiveServer, tmp_path: Path
) -> None:
    """Without the guard, both serve at once: it is the guard that refused before."""
    with original:
        original.deposit({"a.txt": b"a"})
        restored = RestoredServer(tmp_path / "other", back_up(original.data, tmp_path))
        check_refusal(restored.attempt(), original.address)
        restored.begin(OVERRIDE)
        about = [each.get("/api/v1/archive").json() for each in (original, restored)]
        assert about[0]["service"] == about[1]["service"]
        assert about[0]["instance"] != about[1]["instance"]
        found = run("doctor", "--data", restored.data)
        text = f"another instance of this archive answers at {original.address}"
        assert text in found.stdout
        assert text not in run("doctor", "--data", original.data).stdout
        assert restored.stop() == 0
        restored.begin()
        assert restored.get("/api/v1/archive").json() == about[1]
        assert restored.stop() == 0


def test_an_original_that_moved_since_the_backup_is_found_by_the_resolver(tmp_path: Path) -> None:
    with linked_archives(tmp_path, 1) as (resolver, [original]):
        backup = back_up(original.data, tmp_path)
        assert original.stop() == 0
        before, port = original.address, reserved_port()
        original.set(address=f"http://127.0.0.1:{port}", listen=f"127.0.0.1:{port}")
        original.address = f"http://127.0.0.1:{port}"
        original.start()

        def known() -> dict[str, str]:
            found: dict[str, str] = resolver.archives()[original.service]
            return found

        wait_until(lambda: known()["address"] == f"127.0.0.1:{port}")
        restored = RestoredServer(tmp_path / "other", backup)
        assert before in (restored.data / "archive.toml").read_text("utf-8")
        assert f"another instance of it answers at {original.address}" in restored.attempt()


def test_ibi_up_refuses_as_well(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("before", "after")]
    for folder in folders:
        folder.mkdir()
    again = InstallationServer(folders[1])
    with InstallationServer(folders[0]) as first:
        backup = back_up(first.data, tmp_path)
        assert run("restore", backup, "--data", again.data, "--yes").exit_code == 0
        again.begin()
        assert again.process
        assert again.process.wait(PATIENCE) == 1
        assert f"another instance of it answers at {first.archive}" in again.log()
        again.kill()
        again.start(OVERRIDE)
        assert again.stop() == 0
        assert first.stop() == 0
