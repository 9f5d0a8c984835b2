"""Encoding and decoding of the text files of a bag (RFC 8493, "The BagIt File Packaging Format").

    bagit.txt               the version of the format
    bag-info.txt            the source, the date and the size
    manifest-sha256.txt     the checksum of each file below data/
    manifest-sha512.txt
    tagmanifest-sha256.txt  the checksum of each file beside data/
    tagmanifest-sha512.txt
    data/col/<label>/doc/<files>, data/col/<label>/ibi.json

The folder `data` has the layout of an archive's file store, so it can be used without this program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ibi.errors import BagError, shown
from ibi.identifier.label import Label, longest_match

ALGORITHMS: Final = ("sha256", "sha512")
DECLARATION_FILE: Final = "bagit.txt"
INFO_FILE: Final = "bag-info.txt"
FETCH_FILE: Final = "fetch.txt"
PAYLOAD: Final = "data"
ITEMS: Final = "data/col/"
MANIFEST: Final = "ibi.json"
DOC: Final = "/doc/"
HAND_OVER_FILE: Final = "hand-over.json"

LONGEST_LINE: Final = 16_384
"""Characters of a manifest line: a checksum and the longest path, percent-encoded."""
MOST_LINES: Final = 10_000_000
LONGEST_PATH: Final = 2_000
"""Characters of the longest path that a file of an archive can have."""

# RFC 8493, 2.1.1: bagit.txt "MUST consist of exactly two lines in this order".
_DECLARED: Final = ["BagIt-Version", "Tag-File-Character-Encoding"]
OLD: Final = "0.97"
"""The oldest version that is read; earlier ones use other file names."""
NEW: Final = "1.0"
_MARK: Final = "\ufeff"
_SUM: Final = re.compile("[0-9a-f]{64,128}")
_LENGTHS: Final = {"sha256": 64, "sha512": 128}
# RFC 8493, 2.1.3: "If a filepath includes a Line Feed (LF), a Carriage Return (CR), a
# Carriage-Return Line Feed (CRLF), or a percent sign (%), those characters (and only those) MUST
# be percent-encoded". Some readers then look for a file called %25 (bagit-python issue 157).
# Version 0.97 encodes nothing, so a bag with a percent sign in a file name is written as 0.97.
_ENCODED: Final = re.compile("%(25|0D|0A)", re.IGNORECASE)
_DECODED: Final = {"25": "%", "0d": "\r", "0a": "\n"}
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,100}")


def version_with(path: str) -> str:
    """Return the version that can list a file without percent-encoding its path."""
    return OLD if "%" in path else NEW


def declaration(version: str = NEW) -> str:
    """Return the content of bagit.txt."""
    return f"BagIt-Version: {version}\nTag-File-Character-Encoding: UTF-8\n"


def read_declaration(text: str) -> str:
    """Return the version of a bag; raise BagError for an invalid or unsupported declaration."""
    parts = [each.partition(": ") for each in text.splitlines()]
    if [name for name, _, _ in parts] != _DECLARED:
        raise BagError(f"{DECLARATION_FILE} is not what it should be (RFC 8493, 2.1.1)")
    version, encoding = (value for _, _, value in parts)
    if version not in {OLD, NEW}:
        raise BagError(f"it is of version {shown(version)}: {OLD} and {NEW} are known")
    if encoding.upper() != "UTF-8":
        raise BagError(f"its tag files are in {shown(encoding)}: only UTF-8 is read")
    return version


def manifest_file(algorithm: str, *, tags: bool = False) -> str:
    """Return the file name of a manifest."""
    return f"{'tag' if tags else ''}manifest-{algorithm}.txt"


def line(checksum: str, path: str) -> str:
    """Return a line of a manifest; paths of items contain no line ends (`file_path`)."""
    return f"{checksum}  {path}\n"


def decoded(text: str) -> str:
    """Decode a path; escapes that RFC 8493 does not define stay as they are."""
    return _ENCODED.sub(lambda found: _DECODED[found[1].lower()], text)


def read_line(text: str, algorithm: str, version: str = NEW) -> tuple[str, str]:
    """Parse a line of a manifest, without its line end; return the checksum and the path."""
    if text.startswith(_MARK):
        raise BagError("a manifest begins with a byte-order mark")
    length = _LENGTHS[algorithm]
    checksum, rest = text[:length].lower(), text[length:]
    path = rest.lstrip(" \t")
    if (
        _SUM.fullmatch(checksum) is None
        or len(checksum) != length
        or path in {"", rest}
        or len(text) >= LONGEST_LINE
    ):
        raise BagError(f"{shown(text)} is not a line of a manifest of {algorithm}")
    return checksum, path if version == OLD else decoded(path)


def is_inside(path: str) -> bool:
    """Return whether a path is canonical and stays inside the bag."""
    return (
        len(path) < LONGEST_LINE
        and "\0" not in path
        and "\\" not in path
        and not path.startswith("~")
        and not {"", ".", ".."} & set(path.split("/"))
    )


def named(path: str) -> str:
    """Quote a path for a message; unlike other foreign text, its end is kept."""
    return repr(path if len(path) <= LONGEST_PATH else path[:LONGEST_PATH] + "…")


def info(pairs: Iterable[tuple[str, str]]) -> str:
    """Return the content of bag-info.txt; white space in a value becomes single blanks."""
    return "".join(f"{name}: {' '.join(value.split())}\n" for name, value in pairs)


def read_info(text: str) -> list[tuple[str, str]]:
    """Parse bag-info.txt: names may repeat, and indented lines continue a value."""
    found: list[tuple[str, str]] = []
    for each in text.splitlines():
        if each[:1] in {" ", "\t"} and found:
            name, value = found[-1]
            found[-1] = (name, f"{value} {each.strip()}")
        elif each.strip():
            name, colon, value = each.partition(":")
            if not colon or _NAME.fullmatch(name.strip()) is None:
                raise BagError(f"{shown(each)} is not a line of {INFO_FILE}")
            found.append((name.strip(), value.strip()))
    return found


def oxum(size: int, count: int) -> str:
    """Return Payload-Oxum: the octets and the number of files of a bag (2.2.2)."""
    return f"{size}.{count}"


def divided(path: str) -> tuple[Label, str] | None:
    """Split a payload path into the label of an item and the path of its file.

    The path is empty for the manifest of an item. None if the path belongs to no item.
    """
    rest = path.removeprefix(ITEMS)
    label = longest_match(rest) if path.startswith(ITEMS) else None
    if label is None:
        return None
    tail = rest[len(label.spelling) :]
    if tail == f"/{MANIFEST}":
        return label, ""
    file = tail.removeprefix(DOC)
    return (label, file) if file and file != tail else None
