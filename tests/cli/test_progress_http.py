"""The progress of commands on a real terminal: every phase is named, and its bytes move."""

from __future__ import annotations

import os
import pty
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from ibi.archive.cli.bag_export import BagExporter, ExportProgress, entries_of
from ibi.archive.storage.bags.writer import BagWriter
from ibi.archive.storage.object_store.bucket import PART, Objects
from ibi.archive.storage.object_store.store import ObjectStore
from ibi.client.archive import RemoteArchive
from ibi.installation.backup.backup import back_up
from ibi.installation.backup.verification import faults_of
from tests.support.processes.environment import own_environment
from tests.support.processes.fork_server import fork
from tests.support.scenes.small_archive import SmallArchive
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.object_store import ObjectServer
from tests.support.values.citable import OPTIONS

SIZE: Final = 20 << 20
TOTAL: Final = "21.0 MB"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    """Return an archive with one item, whose file is large."""
    with ArchiveServer(tmp_path_factory.mktemp("archive")) as running:
        running.deposit({"large.bin": os.urandom(SIZE)})
        yield running


def on_a_terminal(folder: Path, *arguments: object) -> list[str]:
    """Run a command whose standard error is a terminal; return the lines that it showed there."""
    ours, theirs = pty.openpty()
    process = fork([str(each) for each in arguments], own_environment(folder), theirs)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65_536):
            shown += piece
    except OSError:  # how a terminal ends whose other side is closed
        pass
    os.close(ours)
    process.stdout.read()
    process.stdout.close()
    assert process.wait() == 0, shown.decode()
    found = re.split(r"[\r\n]+", shown.decode())
    return [line.strip() for line in found if line.strip()]


def phases(lines: list[str]) -> list[str]:
    """Return the phases that lines name, each once, in their order."""
    named = [re.split(r"  ", line)[0] for line in lines]
    return list(dict.fromkeys(named))


def test_backup_verification_and_restore(server: ArchiveServer, tmp_path: Path) -> None:
    backups, data = tmp_path / "backups", ("--data", server.data)
    lines = on_a_terminal(tmp_path, "backup", backups, *data)
    assert phases(lines) == [
        "Reading tables",
        "Copying files",
        "Listing checksums",
        "Writing to the disk",
    ]
    assert any(f"Copying files  100 %  {TOTAL} of {TOTAL}" in line for line in lines)
    lines = on_a_terminal(tmp_path, "restore", backups, "--verify")
    assert phases(lines) == ["Checking tables", "Checking files"]
    lines = on_a_terminal(tmp_path, "restore", backups, "--data", tmp_path / "again", "--yes")
    wanted = ["Checking tables", "Checking files", "Restoring tables", "Restoring files"]
    assert phases(lines)[:5] == [*wanted, "Writing to the disk"]
    assert any(f"Restoring files  100 %  {TOTAL} of {TOTAL}" in line for line in lines)


def test_export_and_import(server: ArchiveServer, tmp_path: Path) -> None:
    data = ("--data", server.data)
    lines = on_a_terminal(tmp_path, "archive", "export", "--all", tmp_path / "bag", *data)
    assert phases(lines) == ["Listing items", "Exporting", "Writing to the disk"]
    assert any(f"Exporting  100 %  {TOTAL} of {TOTAL}" in line for line in lines)
    other = tmp_path / "other"
    other.mkdir()
    with ArchiveServer(other, host="b.example.org", ip="150.163.34.1") as receiver:
        lines = on_a_terminal(
            tmp_path, "archive", "import", tmp_path / "bag", "--data", receiver.data
        )
    assert phases(lines) == ["Verifying", "Importing"]
    assert any(line.startswith("Importing  100 %") for line in lines)


def test_an_audit(server: ArchiveServer, tmp_path: Path) -> None:
    lines = on_a_terminal(tmp_path, "archive", "audit", "--data", server.data)
    assert phases(lines) == ["Checking files"]
    assert re.fullmatch(r"Checking files  100 %  (.+ MB) of \1(  .+/s  0:00 left)?", lines[-1])


def test_a_deposit(server: ArchiveServer, tmp_path: Path) -> None:
    (tmp_path / "new.bin").write_bytes(os.urandom(SIZE))
    given = ("--title", "Large", "--data", server.data, *OPTIONS)
    lines = on_a_terminal(tmp_path, "archive", "deposit", tmp_path / "new.bin", *given)
    assert phases(lines) == ["Sending", "Storing"]
    assert any(f"Sending  100 %  {TOTAL} of {TOTAL}" in line for line in lines)


def test_an_export_moves_within_a_file(server: ArchiveServer, tmp_path: Path) -> None:
    seen: list[int] = []

    def report(done: ExportProgress) -> None:
        seen.append(done.bytes)

    archive = RemoteArchive(server.address, server.token)
    writer = BagWriter(tmp_path / "bag", {})
    BagExporter(archive, writer, report).export(entries_of(archive, []))
    writer.close()
    assert seen == sorted(seen)
    assert sum(0 < each < SIZE for each in seen) >= 5
    assert seen[-1] >= SIZE


def test_a_backup_and_its_verification_move_within_a_file(
    server: ArchiveServer, tmp_path: Path
) -> None:
    seen: list[tuple[str, int, int]] = []

    def report(phase: str, done: int, total: int) -> None:
        seen.append((phase, done, total))

    made = back_up({"archive": server.data}, tmp_path / "backups", progress=report)
    assert list(faults_of(made.folder, report)) == []
    for phase in ("Copying files", "Checking files"):
        moved = [(done, total) for name, done, total in seen if name == phase]
        assert sum(0 < done < total for done, total in moved) >= 5, phase
        assert moved[-1][0] == moved[-1][1]


def test_the_upload_to_an_object_store_is_counted(
    object_server: ObjectServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = Objects(object_server.storage(), object_server.endpoint, object_server.region)
    store = ObjectStore(objects, tmp_path / "incoming")
    seen: list[int] = []
    put = Objects.put

    def watched(pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            seen.extend(store.stored(deposit) for deposit in store.staging.deposits())
            yield piece

    def watching(
        self: Objects,
        key: str,
        content: bytes | Path | Iterator[bytes],
        size: int = 0,
        attributes: Mapping[str, str] | None = None,
    ) -> None:
        if isinstance(content, Iterator):
            content = watched(content)
        put(self, key, content, size, attributes)

    monkeypatch.setattr(Objects, "put", watching)
    small = SmallArchive(tmp_path, store=lambda: store)
    small.label({"large.bin": os.urandom(SIZE)})
    small.close()
    assert seen == [0, PART, 2 * PART]
