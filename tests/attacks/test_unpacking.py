"""Threats, row 8: zip and tar files in deposits.

Each is taken apart in a process whose peak of memory is measured. `IBI_ATTACKS=full` tries all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import pytest

from tests.support.hostile.zip_and_tar import chosen, harmless, hostile

COUNT: Final = 200 if os.environ.get("IBI_ATTACKS") == "full" else 20
MEMORY: Final = 256 << 20

# Ours, or the one of the standard library that trusts everybody.
WORKER: Final = """
import json, os, sys
from contextlib import contextmanager
from pathlib import Path

def ours(source, folder):
    from ibi.foundation.system.safe_open import create_beneath
    from ibi.archive.storage.unpack.unpack import UnpackLimits, unpack

    @contextmanager
    def write(path):
        with os.fdopen(create_beneath(folder, path.split("/")), "wb") as file:
            yield file

    return unpack(source, write, UnpackLimits(total=100 << 20))

def twin(source, folder):
    import tarfile, zipfile
    if zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as file:
            file.extractall(folder)
            return file.namelist()
    with tarfile.open(source) as file:
        file.extractall(folder, filter="fully_trusted")
        return file.getnames()

said = {}
for source in map(Path, sys.argv[2:]):
    folder = source.parent / "in"
    folder.mkdir()
    try:
        said[source.parent.name] = [globals()[sys.argv[1]](source, folder), ""]
    except Exception as error:
        said[source.parent.name] = [[], f"{type(error).__name__}: {error}"]
# Not ru_maxrss, which counts what the process that started this one had.
[peak] = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
said["memory"] = int(peak.split()[1]) * 1024
print(json.dumps(said))
"""


class Sandbox:
    """A folder for each archive, and a canary outside."""

    def __init__(self, root: Path) -> None:
        """Make it."""
        self.root = root
        self.outside = root / "outside"
        self.outside.mkdir()
        (self.outside / "canary").write_bytes(b"sings")

    def unpack(
        self, who: str, archives: Iterable[tuple[str, Callable[[], bytes]]]
    ) -> dict[str, tuple[list[str], str]]:
        """Take archives apart in another process; return what came out, or why nothing did."""
        sources = []
        for name, make in archives:
            source = self.root / "box" / name.replace("/", "_") / "archive"
            source.parent.mkdir(parents=True)
            source.write_bytes(make())
            sources.append(str(source))
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", WORKER, who, *sources],
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
        said = json.loads(done.stdout)
        self.memory = said.pop("memory")
        return {name: (files, error) for name, (files, error) in said.items()}

    def escaped(self) -> list[str]:
        """Return what lies where it should not, or is not what it should be."""
        found = []
        for path in self.root.rglob("*"):
            parts = path.relative_to(self.root).parts
            inside = parts[0] == "box" and (len(parts) <= 2 or parts[2] in {"archive", "in"})
            expected = inside or path in {self.outside, self.outside / "canary"}
            if not expected or path.is_symlink() or not (path.is_dir() or path.is_file()):
                found.append(str(path))
        if (self.outside / "canary").read_bytes() != b"sings":
            found.append("the canary")
        return found


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


def test_nothing_gets_out_of_the_sandbox(sandbox: Sandbox) -> None:
    archives = chosen(sandbox.outside, COUNT)
    said = sandbox.unpack("ours", [(each.name, each.make) for each in archives])
    assert sandbox.escaped() == []
    assert sandbox.memory < MEMORY
    for each in archives:
        files, error = said[each.name.replace("/", "_")]
        assert files or error.startswith("UnpackError: "), (each.name, error)
        assert not (each.must_be_refused and files), each.name
        assert error.isprintable()


def test_what_is_harmless_is_taken(sandbox: Sandbox) -> None:
    said = sandbox.unpack("ours", harmless())
    assert {files == ["a.txt", "b/c"] for files, _ in said.values()} == {True}


def test_the_checks_bite(sandbox: Sandbox) -> None:
    """The twin: without the guards, files get out, links get in, memory is filled."""
    named = {each.name: each for each in hostile(sandbox.outside)}
    wanted = ("tar-path-0", "tar-link-and-through-it", "zip-overlapping", "tar-pax-huge")
    said = sandbox.unpack("twin", [(name, named[name].make) for name in wanted])
    assert len(sandbox.escaped()) >= 3
    assert (sandbox.outside / "evil").read_bytes() == b"evil"
    assert said["tar-path-0"][0] == ["../evil"]
    assert sandbox.memory > MEMORY
