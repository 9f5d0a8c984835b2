"""Zip and tar files of a deposit, taken apart: all of what is in one, or nothing.

What was written is noted before, so that whoever is killed in the middle of it leaves no half:
the deposit cannot be completed, and the next attempt begins by clearing up.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import BinaryIO, TypeAlias

from ibi.archive.ports.file_store import Sink, StagingArea
from ibi.archive.rules.file_path import check_path
from ibi.errors import StateError, shown

Unpacking: TypeAlias = Callable[
    [BinaryIO, Callable[[str], AbstractContextManager[Sink]]], Sequence[str]
]
"""Takes a zip or tar file apart, and writes each file by its path."""


def unpack(
    staging: StagingArea, deposit: str, source: str, within: str, unpacking: Unpacking
) -> list[str]:
    """Put the files that are in a zip or tar file, which is staged, in its place."""
    _clear(staging, deposit)
    written: list[str] = []

    @contextmanager
    def write(inner: str) -> Iterator[Sink]:
        target = check_path(f"{within}{inner}")
        if staging.staged_file(deposit, target) is not None:
            msg = f"{shown(target)} is here already: remove it, or unpack into a folder."
            raise StateError(msg)
        staging.note_unpacking(deposit, target)
        with staging.receive(deposit, target, 0) as sink:
            written.append(target)
            yield sink
            sink.finish()

    with os.fdopen(staging.open_staged(deposit, source), "rb") as file:
        try:
            unpacking(file, write)
        except BaseException:
            _clear(staging, deposit)
            raise
    staging.end_unpacking(deposit, source)
    return written


def _clear(staging: StagingArea, deposit: str) -> None:
    """Remove what an unpacking that did not end has left."""
    for path in staging.unpacking(deposit):
        staging.unstage(deposit, path)
    staging.end_unpacking(deposit)
