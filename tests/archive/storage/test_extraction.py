"""The text of files, as the process returns it that extracts it."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

import pytest

from ibi.archive.ports.full_text import Extracted, TextKind
from ibi.archive.storage.extraction import child, extractor
from ibi.archive.storage.extraction.extractor import ProcessExtractor
from ibi.errors import StorageError
from tests.support.values.pdf_files import pdf


class DiskFile:
    """A file on a disk, or one that must be read from elsewhere."""

    modified = 0

    def __init__(self, content: bytes, folder: Path | None) -> None:
        """Write the file, if it has a folder."""
        self._content = content
        self.fd: int | None = None
        self.size = len(content)
        if folder is not None:
            place = folder / "file"
            place.write_bytes(content)
            self.fd = os.open(place, os.O_RDONLY)

    def read(self, offset: int, count: int) -> bytes:
        """Return some bytes."""
        return self._content[offset : offset + count]

    def close(self) -> None:
        """Close the file."""
        if self.fd is not None:
            os.close(self.fd)


def extract(content: bytes, kind: TextKind, folder: Path | None = None) -> Extracted | None:
    file = DiskFile(content, folder)
    try:
        return ProcessExtractor().extract(file, kind)
    finally:
        file.close()


def test_the_text_of_a_pdf(tmp_path: Path) -> None:
    content = pdf("Relatório do satélite", "(second) page")
    expected = Extracted("text", "Relatório do satélite (second) page")
    assert extract(content, "pdf", tmp_path) == expected
    assert extract(content, "pdf") == expected


def test_the_text_that_readers_of_a_page_see(tmp_path: Path) -> None:
    page = (
        "<!doctype html><title>A title</title><style>.hidden {}</style><script>hidden()</script>"
        "<p>One&amp;two<p>thr<b>ee</b><!-- hidden --><br>four&nbsp;five<template>hidden</template>"
    )
    found = extract(page.encode(), "html", tmp_path)
    assert found == Extracted("text", "A title One&two three four five")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("São José".encode(), "text"),
        (codecs.BOM_UTF8 + "São José".encode(), "text"),
        ("São José".encode("utf-16"), "text"),
        ("São José".encode("cp1252"), "text"),
        ("<p>São José".encode(), "html"),
        ("<p>São José".encode("utf-16"), "html"),
        ('<meta charset="iso-8859-1"><p>São José'.encode("iso-8859-1"), "html"),
    ],
)
def test_texts_in_many_encodings(content: bytes, kind: TextKind) -> None:
    assert extract(content, kind) == Extracted("text", "São José")


@pytest.mark.parametrize("kind", ["pdf", "html", "text"])
@pytest.mark.parametrize("content", [b"", b" \n\t ", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(100)])
def test_files_without_a_text(content: bytes, kind: TextKind) -> None:
    assert extract(content, kind) == Extracted("none")


def test_only_the_beginning_of_a_long_text_is_extracted(tmp_path: Path) -> None:
    found = extract(b"word " * child.LONGEST_TEXT, "text", tmp_path)
    assert found is not None
    assert child.LONGEST_TEXT - 5 <= len(found.text) <= child.LONGEST_TEXT


def test_what_changes_the_look_of_a_page_is_left_out() -> None:
    long = "x" * 200
    found = extract(f"a\u202eb\x07 c\u2028d{long}".encode(), "text")
    assert found == Extracted("text", f"a b c d{long}")


def test_a_pdf_that_is_too_large_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extractor, "LARGEST_FILE", 100)
    assert extract(pdf("text"), "pdf") == Extracted("large")


def test_a_library_that_is_missing_is_no_fault_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = tmp_path / "lacking.py"
    lacking.write_text(f"raise SystemExit({child.UNAVAILABLE})", encoding="utf-8")
    monkeypatch.setattr(child, "__file__", str(lacking))
    with pytest.raises(StorageError):
        extract(pdf("text"), "pdf")


def test_nothing_is_extracted_after_a_stop() -> None:
    stopped = ProcessExtractor()
    stopped.stop()
    assert stopped.extract(DiskFile(b"text", None), "text") is None
