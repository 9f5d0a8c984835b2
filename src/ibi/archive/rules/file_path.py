r"""The path of a file of an item, below `doc/`.

A tree of an archive is moved with plain file tools, from one system to another and back (spec
part 4). A path is therefore refused if any usual file system would refuse it, cut it, or take it
for another one: a file that stays behind on the way is lost, and nobody is told.

- Windows and its network drives refuse `< > : " | ? *`, read `\` as `/`, and `:` as the name of
  another stream of the file; they cut off a dot or a blank at the end; `nul.txt` is a device there.
- Programs that read lists of names, as those of a bag, cut off blanks of any kind at the end.
- macOS and Windows do not tell `A` from `a`, nor macOS two ways to write `é`.
- 255 bytes is the longest name on Linux, 1,024 the longest path on macOS.

Characters that turn the direction of writing are refused because they make a name look like
another one (`gpj.exe` as `exe.jpg`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final, TypeAlias

from ibi.errors import FileNameError

LONGEST_PART: Final = 255
LONGEST_PATH: Final = 1024
"""Bytes of UTF-8."""
DEEPEST: Final = 40
"""Parts. Python, and whoever else walks a tree by calling itself, stays far from its limits."""

_LONGEST_TEXT: Final = 4 * LONGEST_PATH
"""Characters before normalisation, which makes one of three at most."""

# C0, DEL and C1 controls; line and paragraph separators; halves of surrogate pairs.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_TURNING: Final = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_REFUSED: Final = re.compile(r'[\\<>:"|?*]')
_DEVICE: Final = re.compile(
    r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9¹²³]) *(?:\..*)?", re.IGNORECASE
)


def check_path(text: str) -> str:
    """Return a path in Unicode's normal form C, or say why no file can have it."""
    if len(text) > _LONGEST_TEXT:
        raise FileNameError(text, f"it is longer than {LONGEST_PATH} bytes")
    _check_characters(text)
    path = unicodedata.normalize("NFC", text)
    _check_characters(path)  # some signs are others in their normal form: the Greek ";" for one
    parts = path.split("/")
    for part in parts:
        if fault := _fault(part):
            raise FileNameError(text, fault)
    if len(path.encode()) > LONGEST_PATH:
        raise FileNameError(text, f"it is longer than {LONGEST_PATH} bytes")
    if len(parts) > DEEPEST:
        raise FileNameError(text, f"it is deeper than {DEEPEST} folders")
    return path


def _check_characters(text: str) -> None:
    if _CONTROL.search(text):
        raise FileNameError(text, "it has a control character")
    if _TURNING.search(text):
        raise FileNameError(text, "it has a character that turns the direction of writing")
    if found := _REFUSED.search(text):
        raise FileNameError(text, f"not every file system takes the character {found[0]}")


def _fault(part: str) -> str:
    """Say what is wrong with one part of a path; nothing if it is good."""
    if not part:
        return "it is empty, begins or ends with a slash, or has two of them in a row"
    if part in {".", ".."}:
        return f'"{part}" is not a name'
    if part.endswith(".") or part != part.rstrip():
        return "a dot or a blank at the end of a name is cut off by some file systems"
    if len(part.encode()) > LONGEST_PART:
        return f"one of its names is longer than {LONGEST_PART} bytes"
    if _DEVICE.fullmatch(part):
        return f"{part} is a device on some systems"
    return ""


_Names: TypeAlias = "dict[str, tuple[str, _Names | None]]"
"""By what no file system tells apart: the name as it is written, and for a folder what is in it."""


class FilePaths:
    """The paths of one item, among which no two may clash.

    Two clash that some file system does not tell apart, or of which one would have to be a folder
    and a file. So do two whose folders differ in the same way: `Images/a` and `images/b` come back
    as one folder from a journey.
    """

    def __init__(self, paths: Iterable[str] = ()) -> None:
        """Take paths that do not clash."""
        self._names: _Names = {}
        for path in paths:
            self.add(path)

    def clash(self, path: str) -> str | None:
        """Return the file or folder with which a path clashes; with itself it does not."""
        names = self._names
        trail: list[str] = []
        *folders, file = path.split("/")
        for folder in folders:
            spelling, inner = names.get(_key(folder), (folder, {}))
            trail.append(spelling)
            if inner is None or spelling != folder:
                return "/".join(trail)
            names = inner
        found = names.get(_key(file), (file, None))
        return None if found == (file, None) else "/".join([*trail, found[0]])

    def add(self, path: str) -> int:
        """Take one more; return how many names of files and folders are new by it."""
        names = self._names
        new = 0
        *folders, file = path.split("/")
        for folder in folders:
            new += _key(folder) not in names
            _, inner = names.setdefault(_key(folder), (folder, {}))
            if inner is None:
                raise FileNameError(path, f"{folder} is a file")
            names = inner
        new += _key(file) not in names
        names[_key(file)] = (file, None)
        return new


def clashes(existing: Iterable[str], new: str) -> str | None:
    """Return the path with which a new one clashes, if any; to be there already is no clash."""
    return FilePaths(existing).clash(new)


def _key(name: str) -> str:
    # Unicode, D145: canonical caseless matching.
    decomposed = unicodedata.normalize("NFD", name)
    return unicodedata.normalize("NFD", decomposed.casefold())
