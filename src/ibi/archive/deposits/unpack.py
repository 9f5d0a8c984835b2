"""Unpacks zip and tar files of a deposit: all files in one, or none.

Each path is noted before it is written. If the process is killed in between, the deposit cannot be
completed, and the next attempt removes what was written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import BinaryIO, TypeAlias

from ibi.archive.ports.file_store import Sink, StagingArea
from ibi.archive.rules.file_path import check_path
from ibi.errors import Sentence, StateError, shown

Unpacking: TypeAlias = Callable[
    [BinaryIO, Callable[[str], AbstractContextManager[Sink]]], Sequence[str]
]
"""Unpacks a zip or tar file, and writes each file by its path."""


def unpack(
    staging: StagingArea, deposit: str, source: str, within: str, unpacking: Unpacking
) -> list[str]:
    """Replace a staged zip or tar file by the files in it."""
    _clear(staging, deposit)
    written: list[str] = []

    @contextmanager
    def write(inner: str) -> Iterator[Sink]:
        target = check_path(f"{within}{inner}")
        if staging.staged_file(deposit, target) is not None:
            msg = Sentence(
                "%(target)s is here already: remove it, or unpack into a folder.",
                target=shown(target),
            )
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
    """Remove the files of an unpacking that did not end."""
    for path in staging.unpacking(deposit):
        staging.unstage(deposit, path)
    staging.end_unpacking(deposit)
