"""Paths of files below `doc/`."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.archive.rules.file_path import FilePaths, check_path
from ibi.errors import FileNameError

GOOD = [
    "utilities1.tcl",
    "a/b/c.pdf",
    ".htaccess",
    "..a",
    "São José dos Campos/ações.pdf",
    "e\u0301tude.txt",
    "%2e%2e/x",
    "COM.pdf",
    "console.log",
    "nul-set.txt",
    " a",
    "x" * 255,
    "/".join(["a"] * 40),
    "文書/🛰.tif",
]


@pytest.mark.parametrize("path", GOOD)
def test_a_good_path_is_returned_in_normal_form_c(path: str) -> None:
    assert check_path(path) == unicodedata.normalize("NFC", path)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty"),
        ("/a", "slash"),
        ("a/", "slash"),
        ("a//b", "slash"),
        (".", "not a name"),
        ("a/../b", "not a name"),
        ("a/./b", "not a name"),
        ("a\0b", "control"),
        ("a\nb", "control"),
        ("a\x7fb", "control"),
        ("a\x85b", "control"),
        ("a\u2028b", "control"),
        ("a\udc80b", "not valid UTF-8"),
        ("a\\b", "character"),
        ("c:a", "character"),
        ('a"b', "character"),
        ("what?", "character"),
        ("a*", "character"),
        ("a<b", "character"),
        ("a|b", "character"),
        ("exe\u202egpj.exe", "direction"),
        ("a\u2066b", "direction"),
        ("a.", "cut off"),
        ("a /b", "cut off"),
        ("...", "cut off"),
        ("NUL", "device"),
        ("a/con.txt", "device"),
        ("Aux.tar.gz", "device"),
        ("lpt1 .txt", "device"),
        ("COM¹", "device"),
        ("x" * 256, "255 bytes"),
        ("é" * 128, "255 bytes"),
        ("/".join(["x" * 200] * 6), "1024 bytes"),
        ("x" * 1_000_000, "1024 bytes"),
        ("/".join(["a"] * 41), "40 folders"),
    ],
)
def test_a_bad_path_is_refused_with_its_reason(path: str, reason: str) -> None:
    with pytest.raises(FileNameError) as refused:
        check_path(path)
    assert reason in refused.value.reason
    assert str(refused.value).isprintable()


@given(st.text(max_size=60))
def test_what_is_accepted_is_accepted_again_unchanged(text: str) -> None:
    try:
        path = check_path(text)
    except FileNameError:
        return
    assert check_path(path) == path
    assert ".." not in path.split("/")
    path.encode()


@pytest.mark.parametrize(
    ("existing", "new", "clash"),
    [
        ("a/b.txt", "a/b.txt", None),
        ("a/b.txt", "a/c.txt", None),
        ("a/b.txt", "a/B.TXT", "a/b.txt"),
        ("straße", "STRASSE", "straße"),
        ("caf\u00e9", "cafe\u0301", "caf\u00e9"),
        ("a", "a/b", "a"),
        ("a", "A/b", "a"),
        ("a/b", "a", "a"),
        ("a/b/c", "A", "a"),
        ("Images/a", "images/b", "Images"),
        ("a/b/c", "a/B/d", "a/b"),
        ("a/b", "b/a", None),
        ("ab", "a/b", None),
    ],
)
def test_what_some_file_system_does_not_tell_apart_clashes(
    existing: str, new: str, clash: str | None
) -> None:
    assert FilePaths(["x/y", existing]).clash(new) == clash


def test_paths_count_the_names_that_are_new() -> None:
    paths = FilePaths()
    assert [paths.add(path) for path in ("a/b/c", "a/b/d", "a/b/d", "e")] == [3, 1, 0, 1]
    with pytest.raises(FileNameError, match="is a file"):
        paths.add("e/f")
