"""Zip and tar files of a deposit, taken apart: all of what is in one, or nothing.

What was written is noted before, so that whoever is killed in the middle of it leaves no half:
the deposit cannot be completed, and the next attempt begins by clearing up.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import BinaryIO, TypeAlias

from ibi.archive.ports.file_store import FileStore, Sink
from ibi.archive.rules.file_path import check_path
from ibi.errors import StateError, shown

Unpacking: TypeAlias = Callable[
    [BinaryIO, Callable[[str], AbstractContextManager[Sink]]], Sequence[str]
]
"""Takes a zip or tar file apart, and writes each file by its path."""


def unpack(
    store: FileStore, deposit: str, source: str, within: str, unpacking: Unpacking
) -> list[str]:
    """Put the files that are in a zip or tar file, which is staged, in its place."""
    _clear(store, deposit)
    written: list[str] = []

    @contextmanager
    def write(inner: str) -> Iterator[Sink]:
        target = check_path(f"{within}{inner}")
        if store.staged_file(deposit, target) is not None:
            msg = f"{shown(target)} is here already: remove it, or unpack into a folder."
            raise StateError(msg)
        store.note_unpacking(deposit, target)
        with store.receive(deposit, target, 0) as sink:
            written.append(target)
            yield sink
            sink.finish()

    with os.fdopen(store.open_staged(deposit, source), "rb") as file:
        try:
            unpacking(file, write)
        except BaseException:
            _clear(store, deposit)
            raise
    store.end_unpacking(deposit, source)
    return written


def _clear(store: FileStore, deposit: str) -> None:
    """Remove what an unpacking that did not end has left."""
    for path in store.unpacking(deposit):
        store.unstage(deposit, path)
    store.end_unpacking(deposit)
