r"""The path of a file of an item, below `doc/`.

A tree of an archive is moved with plain file tools, from one system to another and back (spec
part 4). A path is therefore refused if any usual file system would refuse it, cut it, or take it
for another one: a file that a copy leaves out is lost without a message.

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

from ibi.errors import FileNameError, Sentence

LONGEST_PART: Final = 255
LONGEST_PATH: Final = 1024
"""Bytes of the longest path in UTF-8."""
DEEPEST: Final = 40
"""The most parts of a path: programs that walk a tree recursively stay far from their limits."""

_LONGEST_TEXT: Final = 4 * LONGEST_PATH
"""Characters of the longest path before normalisation, which joins at most three to one."""

# C0, DEL and C1 controls; line and paragraph separators.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# Python reads a byte of a name that is not UTF-8 as half of a surrogate pair (PEP 383).
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_TURNING: Final = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_REFUSED: Final = re.compile(r'[\\<>:"|?*]')
_DEVICE: Final = re.compile(
    r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9¹²³]) *(?:\..*)?", re.IGNORECASE
)


def check_path(text: str) -> str:
    """Return a path in Unicode normal form C; raise FileNameError if no file can have it."""
    if len(text) > _LONGEST_TEXT:
        raise FileNameError(
            text, Sentence("it is longer than %(longest)s bytes", longest=LONGEST_PATH)
        )
    _check_characters(text)
    path = unicodedata.normalize("NFC", text)
    _check_characters(path)  # normalisation changes some signs, such as the Greek ";"
    parts = path.split("/")
    for part in parts:
        if fault := _fault(part):
            raise FileNameError(text, fault)
    if len(path.encode()) > LONGEST_PATH:
        raise FileNameError(
            text, Sentence("it is longer than %(longest)s bytes", longest=LONGEST_PATH)
        )
    if len(parts) > DEEPEST:
        raise FileNameError(
            text, Sentence("it is deeper than %(deepest)s folders", deepest=DEEPEST)
        )
    return path


def _check_characters(text: str) -> None:
    if _SURROGATE.search(text):
        raise FileNameError(text, Sentence("its name is not valid UTF-8"))
    if _CONTROL.search(text):
        raise FileNameError(text, Sentence("it has a control character"))
    if _TURNING.search(text):
        raise FileNameError(
            text, Sentence("it has a character that turns the direction of writing")
        )
    if found := _REFUSED.search(text):
        raise FileNameError(
            text, Sentence("not every file system takes the character %(found)s", found=found[0])
        )


def _fault(part: str) -> str:
    """Return the fault of one part of a path; empty if there is none."""
    if not part:
        return Sentence("it is empty, begins or ends with a slash, or has two of them in a row")
    if part in {".", ".."}:
        return Sentence('"%(part)s" is not a name', part=part)
    if part.endswith(".") or part != part.rstrip():
        return Sentence("a dot or a blank at the end of a name is cut off by some file systems")
    if len(part.encode()) > LONGEST_PART:
        return Sentence("one of its names is longer than %(longest)s bytes", longest=LONGEST_PART)
    if _DEVICE.fullmatch(part):
        return Sentence("%(part)s is a device on some systems", part=part)
    return ""


_Names: TypeAlias = "dict[str, tuple[str, _Names | None]]"
"""Names by their case-folded key: the name as it is written and, for a folder, its content."""


class FilePaths:
    """The paths of one item, among which no two may clash.

    Two paths clash if some file system does not distinguish them, or if one is a file where the
    other needs a folder. Folders clash likewise: `Images/a` and `images/b` end up in one folder on
    a file system that ignores case.
    """

    def __init__(self, paths: Iterable[str] = ()) -> None:
        """Begin with paths that do not clash."""
        self._names: _Names = {}
        for path in paths:
            self.add(path)

    def clash(self, path: str) -> str | None:
        """Return the file or folder that a path clashes with; a path does not clash with itself."""
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
        """Add a path; return how many names of files and folders it adds."""
        names = self._names
        new = 0
        *folders, file = path.split("/")
        for folder in folders:
            new += _key(folder) not in names
            _, inner = names.setdefault(_key(folder), (folder, {}))
            if inner is None:
                raise FileNameError(path, Sentence("%(folder)s is a file", folder=folder))
            names = inner
        new += _key(file) not in names
        names[_key(file)] = (file, None)
        return new


def _key(name: str) -> str:
    # Unicode, D145: canonical caseless matching.
    decomposed = unicodedata.normalize("NFD", name)
    return unicodedata.normalize("NFD", decomposed.casefold())
