"""Starts the process that extracts the text of a file, or makes a picture, with a deadline."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

from ibi.archive.ports.file_store import OpenFile, pieces_of
from ibi.archive.ports.full_text import Extracted, TextKind
from ibi.archive.storage.extraction import child
from ibi.errors import StorageError

LARGEST_FILE: Final = 256 << 20
"""Bytes of a PDF that is tried: a scanned book of that size has images and no text. Of other files
only the beginning is read."""
DEADLINE: Final = child.DEADLINE + 5.0
"""Seconds after which the process is killed that has not ended by itself."""
_MOST_OUTPUT: Final = 4 * child.LONGEST_TEXT
"""Bytes that are accepted of the process."""
_READ: Final = {"pdf": LARGEST_FILE, "html": child.MOST_MARKUP, "text": child.MOST_OCTETS}
"""Bytes of a file that the process may read."""

# Control characters, and those that change the direction of the text around them.
_UNPRINTABLE: Final = re.compile(
    "[\\x00-\\x20\\x7f-\\xa0\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff\\ufffe\\uffff]+"
)


LARGEST_PICTURE: Final = 400_000
"""Bytes of the largest picture that is accepted of the process; most have less than a tenth."""


class ProcessExtractor:
    """Extracts texts and makes pictures, one at a time, each in a process of its own."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False

    def extract(self, file: OpenFile, kind: TextKind) -> Extracted | None:
        """Return the text of a file; None if `stop` was called meanwhile."""
        if kind == "pdf" and file.size > LARGEST_FILE:
            return Extracted("large")
        ended = self._run(file, kind, _READ[kind])
        if ended is None:
            return None
        status, output = ended
        if status == child.UNAVAILABLE:
            raise StorageError("of texts", f"the text of {kind} files cannot be extracted here")
        if status == child.NO_TEXT:
            return Extracted("none")
        if status != 0 or output is None:
            return Extracted("limit")
        text = _UNPRINTABLE.sub(" ", output.decode("utf-8", "replace")).strip()
        return Extracted("text", text[: child.LONGEST_TEXT]) if text else Extracted("none")

    def picture(self, file: OpenFile) -> bytes | None:
        """Return a picture of a PDF as WebP, empty if there can be none; None if stopped."""
        if file.size > LARGEST_FILE:
            return b""
        ended = self._run(file, child.PICTURE, LARGEST_FILE)
        if ended is None:
            return None
        status, output = ended
        if status == child.UNAVAILABLE:
            raise StorageError("of pictures", "pictures of PDF files cannot be made here")
        return output if status == 0 and output and _is_picture(output) else b""

    def _run(self, file: OpenFile, kind: str, most: int) -> tuple[int, bytes | None] | None:
        """Return the status and output of the process for a file; None if `stop` was called."""
        with _descriptor(file, most) as source:
            process = self._started(source, kind)
            if process is None:
                return None
            try:
                output = _output(process, time.monotonic() + DEADLINE)
            finally:
                process.kill()
                status = process.wait()
                assert process.stdout is not None  # noqa: S101  # a pipe was asked for
                process.stdout.close()
        return None if self._is_stopped else (status, output)

    def _started(self, source: int, kind: str) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._is_stopped:
                return None
            self._process = subprocess.Popen(  # noqa: S603  # our own program
                [sys.executable, "-P", str(child.__file__), kind],
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # Nothing of the environment, which may have passwords.
                env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                cwd="/",
                start_new_session=True,  # Ctrl-C is for the archive
            )
            return self._process

    def stop(self) -> None:
        """End the extraction that is under way, and begin no other."""
        with self._lock:
            self._is_stopped = True
            if self._process is not None:
                self._process.kill()


def _is_picture(output: bytes) -> bool:
    """Return whether the process made a small picture: it may be what a hostile file made it."""
    is_webp = output[:4] == b"RIFF" and output[8:12] == b"WEBP"
    return is_webp and len(output) <= LARGEST_PICTURE


@contextmanager
def _descriptor(file: OpenFile, most: int) -> Iterator[int]:
    """Open a file for a process: one on a disk as it is, one from elsewhere as a temporary copy."""
    if file.fd is not None:
        source = os.open(f"/proc/self/fd/{file.fd}", os.O_RDONLY)  # with an offset of its own
        try:
            yield source
        finally:
            os.close(source)
        return
    with tempfile.TemporaryFile() as copy:
        for piece in pieces_of(file):
            copy.write(piece)
            if copy.tell() >= most:
                break
        copy.seek(0)
        yield copy.fileno()


def _output(process: subprocess.Popen[bytes], end: float) -> bytes | None:
    """Return the output of a process; None if it is late or writes too much."""
    assert process.stdout is not None  # noqa: S101  # a pipe was asked for
    pipe = process.stdout.fileno()
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    found = bytearray()
    while (left := end - time.monotonic()) > 0 and len(found) <= _MOST_OUTPUT:
        if poll.poll(left * 1000):
            piece = os.read(pipe, 1 << 16)
            if not piece:
                try:
                    process.wait(max(0.0, end - time.monotonic()))
                except subprocess.TimeoutExpired:
                    return None
                return bytes(found)
            found += piece
    return None
