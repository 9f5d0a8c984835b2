"""Threats, row 8, through the doors of a running archive: sent as a file, and taken apart there."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.support.hostile.zip_and_tar import Hostile, chosen, hostile, tarred, zipped
from tests.support.processes.fork_server import BEFORE_IMPORTS
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked import FULL, peak_memory
from tests.support.servers.attacked_archive import attacked, tree

COUNT: Final = 200 if FULL else 10
MEMORY: Final = 256 << 20
BEFORE: Final = {"mine.txt": b"mine", "b/mine.txt": b"mine too"}
"""What is in the deposit already."""

WITHOUT_CHECKS: Final = (
    BEFORE_IMPORTS
    + """
import os, tarfile, zipfile
from pathlib import Path
from ibi.archive.storage.unpack import unpack as unpacking

def unpack(source, write, limits=None):
    folder = Path(os.readlink(f"/proc/self/fd/{source.fileno()}")).parent
    if zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as file:
            file.extractall(folder)
    else:
        source.seek(0)
        with tarfile.open(fileobj=source) as file:
            file.extractall(folder, filter="fully_trusted")
    return []

unpacking.unpack = unpack
"""
)


class Desk:
    """A deposit for each hostile file, and a canary outside."""

    def __init__(self, archive: ArchiveServer, outside: Path) -> None:
        """Put the canary there."""
        self.archive = archive
        self._outside = outside
        outside.mkdir()
        (outside / "canary").write_bytes(b"sings")
        self._before = self._surroundings()

    def _surroundings(self) -> tuple[object, ...]:
        data = self.archive.data
        return tree(self._outside), tree(data / "col"), sorted(data.iterdir())

    def is_untouched(self) -> bool:
        """Tell whether nothing was written outside of the deposits."""
        return self._surroundings() == self._before

    def _listed(self, id_: str) -> dict[str, Any]:
        answer = self.archive.api("GET", f"deposits/{id_}").json()
        return {file["path"]: file for file in answer.get("files", [])}

    def unpack(self, each: Hostile) -> int:
        """Send one and have it taken apart; say by a status what became of it."""
        archive = self.archive
        id_ = archive.open_deposit()
        for path, content in BEFORE.items():
            assert archive.send(id_, path, content).status == 201
        sent = archive.send(id_, "archive.bin", each.make())
        assert sent.status == 201, sent.body
        before = self._listed(id_)
        answer = archive.api("POST", f"deposits/{id_}/unpacking", {"path": "archive.bin"})
        after = self._listed(id_)
        if answer.status == 200:
            files = answer.json()["files"]
            assert after.keys() == before.keys() - {"archive.bin"} | set(files), each.name
            after = {path: after[path] for path in BEFORE}
            before = {path: before[path] for path in BEFORE}
        assert after == before, each.name
        assert archive.api("DELETE", f"deposits/{id_}").status == 204
        assert not (archive.data / "incoming" / id_).exists(), each.name
        return answer.status


def test_nothing_gets_out_of_a_deposit(tmp_path: Path) -> None:
    with attacked(tmp_path / "archive") as archive:
        desk = Desk(archive, tmp_path / "outside")
        for each in chosen(tmp_path / "outside", COUNT):
            status = desk.unpack(each)
            assert status in {200, 400, 409}, each.name
            assert not (each.must_be_refused and status == 200), each.name
        assert desk.is_untouched()
        assert peak_memory(archive) < MEMORY


def test_what_was_there_stays_when_a_later_entry_is_refused(tmp_path: Path) -> None:
    clashing = [("mine.txt", b"evil"), ("../evil", b"evil")]
    with attacked(tmp_path / "archive") as archive:
        desk = Desk(archive, tmp_path / "outside")
        for make in (zipped, tarred):
            assert desk.unpack(Hostile("clashing", partial(make, *clashing))) in {400, 409}


def test_the_checks_bite(tmp_path: Path) -> None:
    """The twin: without them, a file gets out, and another is written through a link."""
    named = {each.name: each for each in hostile(tmp_path / "outside")}
    outwards = [each for name, each in named.items() if name.startswith("tar-path-")][-1]
    with attacked(tmp_path / "archive", WITHOUT_CHECKS) as archive:
        desk = Desk(archive, tmp_path / "outside")
        for each in (outwards, named["tar-link-and-through-it"]):
            id_ = archive.open_deposit()
            assert archive.send(id_, "archive.bin", each.make()).status == 201
            archive.api("POST", f"deposits/{id_}/unpacking", {"path": "archive.bin"})
        assert not desk.is_untouched()
        assert (tmp_path / "outside" / "evil").read_bytes() == b"evil"
