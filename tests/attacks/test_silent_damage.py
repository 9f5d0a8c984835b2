"""Silent damage of stored files (threats, row 21): every flipped bit is found, none is invented.

The files of a running archive are spoiled under it, with their times as they were, while
depositors, revisers and deleters go on. `IBI_ATTACKS=full` flips 1,000 bits, each in a file of its
own. Then all is repaired from an archive that has copies, while they still go on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from random import Random
from threading import Event
from typing import Any, Final

import pytest

from tests.support.failures.disk_damage import flip, grow, swap, truncate
from tests.support.servers.archive import ArchiveServer, files_in
from tests.support.servers.attacked import FULL
from tests.support.servers.attacked_archive import attacked

FLIPS: Final = 1000 if FULL else 10
FILES: Final = 20
"""Of one item."""
OTHERS: Final = 5
"""Files of each other kind of damage: cut off, grown, missing, swapped with another."""
MOST: Final = 40_000
SEED: Final = 21

WITHOUT_CHECKSUMS: Final = """
from ibi.archive.fixity import audit
from ibi.archive.rules import fixity
audit.file_fault = lambda file, found: fixity.file_fault(
    file, found and fixity.Found(found.size, file.sha256, file.sha512)
)
audit.manifest_fault = lambda text, held, files: "" if text else fixity.MISSING
"""
"""Sizes are looked at, and whether a file is there; of its time the attack takes care."""


def filled(archive: ArchiveServer, random: Random) -> list[dict[str, Any]]:
    """Deposit enough files, of every size from one byte on."""
    items = []
    for _ in range((FLIPS + 5 * OTHERS) // FILES + 2):
        names = [f"{number}.bin" for number in range(FILES)]
        sizes = [random.choice((1, 100, MOST)) for _ in names]
        content = {
            name: random.randbytes(random.randint(1, size))
            for name, size in zip(names, sizes, strict=True)
        }
        items.append(archive.deposit(content, target="0.bin"))
    return items


def spoiled(archive: ArchiveServer, items: list[dict[str, Any]], random: Random) -> set[str]:
    """Damage files in every way; return where they lie."""
    col = archive.data / "col"
    paths = [path for item in items for path in (col / item["rep"]).rglob("*") if path.is_file()]
    random.shuffle(paths)
    left = iter(paths)
    found = [next(left) for _ in range(FLIPS)]
    for path in found:
        before = path.stat()
        flip(path, random)
        assert (path.stat().st_size, path.stat().st_mtime_ns) == (
            before.st_size,
            before.st_mtime_ns,
        )
    assert FULL is False or any(path.name == "ibi.json" for path in found)
    for spoil in (truncate, grow):
        for path in [next(left) for _ in range(OTHERS)]:
            spoil(path, random)
            found.append(path)
    for path in [next(left) for _ in range(OTHERS)]:
        path.unlink()
        found.append(path)
    files = (path for path in left if path.name != "ibi.json")
    for one, other in [(next(files), next(files)) for _ in range(OTHERS)]:
        if one.read_bytes() != other.read_bytes():
            swap(one, other)
            found += [one, other]
    return {path.relative_to(col).as_posix() for path in found}


@contextmanager
def going_on(archive: ArchiveServer) -> Iterator[None]:
    """Let somebody deposit, somebody revise and somebody delete meanwhile."""
    stop = Event()

    def work(number: int) -> int:
        random = Random(number)  # noqa: S311  # reproducible
        for done in count():
            if stop.is_set():
                return done
            item = archive.deposit({"a": random.randbytes(MOST), "b": b"b"}, target="a")
            for _ in range(3):
                revision = archive.open_deposit(item=item["rep"], metadata={})
                archive.send(revision, "a", random.randbytes(MOST))
                archive.complete(revision)
            reason = {"reason": "a reason"}
            assert archive.api("POST", f"items/{item['rep']}/deletion", reason).status == 200
        raise AssertionError

    with ThreadPoolExecutor(3) as workers:
        works = [workers.submit(work, number) for number in range(3)]
        try:
            yield
        finally:
            stop.set()
        assert all(work.result() for work in works)


def audited(archive: ArchiveServer, *options: str) -> tuple[int, dict[str, Any], set[str]]:
    """Audit an archive by its command; return how it ended, what it says, and what is damaged."""
    done = archive.ibi("audit", "--json", *options)
    assert not done.stderr, done.stderr
    told = json.loads(done.stdout)
    return done.returncode, told, {f"{each['label']}/{each['path']}" for each in told["damage"]}


def archive_in(folder: Path, name: str, number: int) -> ArchiveServer:
    home = folder / name
    home.mkdir()
    made = ArchiveServer(home, host=f"{name}.example.org", ip=f"150.163.34.{number}")
    made.set(allowed_networks=["127.0.0.0/8"], audit_days=0)
    return made


def test_all_damage_is_found_and_repaired_while_others_go_on(tmp_path: Path) -> None:
    random = Random(SEED)  # noqa: S311  # reproducible
    with ExitStack() as stack:
        archive, other = (
            stack.enter_context(archive_in(tmp_path, name, number))
            for number, name in enumerate(("spoiled", "other"), 1)
        )
        items = filled(archive, random)
        copied = other.ibi("copy", "--all", "--from", archive.address)
        assert copied.returncode == 0, copied.stderr
        folders = [archive.data / "col" / item["rep"] for item in items]
        before = [files_in(folder) for folder in folders]
        with going_on(archive):
            code, _, found = audited(archive)
            assert (code, found) == (0, set())
        damage = spoiled(archive, items, random)
        assert len(damage) >= FLIPS + 3 * OTHERS
        with going_on(archive):
            code, told, found = audited(archive)
        assert code == 1
        assert found == damage
        assert told["damaged"] == len(damage)
        with going_on(archive):
            code, told, found = audited(archive, "--repair", "--from", other.address)
        assert (code, found) == (0, set())
        assert told["repaired"] == len(damage)
        assert [files_in(folder) for folder in folders] == before
        assert archive.api("GET", "damage").json()["damage"] == []


def test_a_twin_that_looks_at_sizes_and_times_finds_no_flip(tmp_path: Path) -> None:
    random = Random(SEED)  # noqa: S311  # reproducible
    with attacked(tmp_path, WITHOUT_CHECKSUMS) as archive:
        item = archive.deposit(
            {f"{number}": random.randbytes(1000) for number in range(10)}, target="0"
        )
        files = sorted((archive.data / "col" / item["rep"]).rglob("*"))
        for path in files:
            if path.is_file():
                flip(path, random)
        assert audited(archive)[0] == 0
        files[-1].unlink()
        assert audited(archive)[0] == 1


@pytest.mark.parametrize("folder", ["doc", "."])
def test_what_somebody_slipped_in_is_told(tmp_path: Path, folder: str) -> None:
    with attacked(tmp_path) as archive:
        item = archive.deposit({"a": b"a"})
        path = archive.data / "col" / item["rep"] / folder / "slipped.html"
        path.write_bytes(b"<script>")
        code, _, found = audited(archive)
        assert code == 1
        [place] = found
        assert place.endswith("/slipped.html")
        assert archive.get(f"/col/{item['rep']}/doc/slipped.html").status == 404
