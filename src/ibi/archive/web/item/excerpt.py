"""The beginning of a text or of a table, from the first bytes of a file."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator
from typing import Final

MAX_CHARACTERS: Final = 6_000
"""Characters of a text on a page: some three screens."""
MAX_ROWS: Final = 21
"""Rows of a table on a page, with the names of its columns."""
MAX_COLUMNS: Final = 20
MAX_CELL: Final = 200
"""Characters of a cell on a page."""

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SEPARATORS: Final = ",;\t|"


def decoded(beginning: bytes, *, is_whole: bool) -> str:
    """Return the text of the first bytes of a file; empty if they are not those of a text.

    Without a mark it is UTF-8, otherwise Windows-1252, which has a character for almost all bytes.
    """
    marked = next((name for mark, name in _MARKS if beginning.startswith(mark)), "")
    if not marked and b"\0" in beginning:
        return ""
    for encoding in [marked] if marked else ["utf-8", "cp1252"]:
        try:
            # A character may be cut in two where the beginning ends.
            return codecs.getincrementaldecoder(encoding)().decode(beginning, is_whole)
        except UnicodeDecodeError:
            continue
    return beginning.decode("latin-1") if not marked else ""


def text_excerpt(text: str, *, is_whole: bool) -> tuple[str, bool]:
    """Return the first lines of a text, and whether it goes on."""
    if len(text) <= MAX_CHARACTERS:
        return (text, False) if is_whole else (_whole_lines(text), True)
    return _whole_lines(text[:MAX_CHARACTERS]), True


def _whole_lines(text: str) -> str:
    head, newline, _ = text.rpartition("\n")
    return head if newline and len(head) > len(text) // 2 else text


def table_excerpt(
    text: str, *, separator: str = "", is_whole: bool
) -> tuple[tuple[tuple[str, ...], ...], bool]:
    """Return the first rows of a table and whether it goes on; no rows if it is none."""
    head = text if is_whole else text.rpartition("\n")[0]
    rows: list[tuple[str, ...]] = []
    is_cut = not is_whole
    try:
        for row in _rows(head, separator or _separator(head)):
            if len(rows) == MAX_ROWS:
                is_cut = True
                break
            is_cut = is_cut or len(row) > MAX_COLUMNS
            rows.append(tuple(cell[:MAX_CELL] for cell in row[:MAX_COLUMNS]))
    except csv.Error:
        return (), True
    return _rectangular(rows), is_cut


def _rows(text: str, separator: str) -> Iterator[list[str]]:
    lines = text.splitlines(keepends=True)
    return (row for row in csv.reader(lines, delimiter=separator) if row)


def _rectangular(rows: list[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    width = max(map(len, rows), default=0)
    return tuple((*row, *[""] * (width - len(row))) for row in rows)


def _separator(text: str) -> str:
    """Return the separator that the first line has most often; a comma if it has none."""
    first = text.partition("\n")[0]
    return max(_SEPARATORS, key=first.count)
