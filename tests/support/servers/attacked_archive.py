"""A running archive to be attacked, whole or with one guard switched off; and what is seen of it.

The twin of an attack is the same attack on an archive whose process runs a few lines first, which
take one guard away. All else is as it is shipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked import switched_off


@contextmanager
def attacked(folder: Path, without: str = "") -> Iterator[ArchiveServer]:
    """Run an archive; `without` are lines of Python that its process runs before all others."""
    with (
        switched_off(folder, without),
        ArchiveServer(folder, "--administrator", "admin@example.org") as archive,
    ):
        yield archive


def tree(folder: Path) -> dict[str, bytes | str]:
    """Return all that lies beneath a folder: files with what is in them, links with their ends."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        else:
            found[name] = path.read_bytes() if path.is_file() else "folder"
    return found
