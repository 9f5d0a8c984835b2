"""The texts of a bag, as RFC 8493 has them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ibi.archive.rules import bagit
from ibi.archive.rules.file_path import check_path
from ibi.errors import BagError, FileNameError

SHA256 = "ab" * 32
SHA512 = "cd" * 64


def _is_path(text: str) -> bool:
    with suppress(FileNameError):
        return check_path(text) == text
    return False


paths = st.text(min_size=1, max_size=60).filter(_is_path)


@given(paths)
@example("100%.txt")
@example("a%0Ab%25c")
def test_a_path_comes_back_from_its_line(path: str) -> None:
    line = bagit.line(SHA256, f"data/{path}")
    assert line.endswith("\n")
    assert "\r" not in line
    assert line.count("\n") == 1
    version = bagit.version_with(path)
    assert version == ("0.97" if "%" in path else "1.0")
    assert bagit.read_line(line[:-1], "sha256", version) == (SHA256, f"data/{path}")


@pytest.mark.parametrize(
    ("path", "encoded"),
    [
        ("data/a b.txt", "data/a b.txt"),
        ("data/100%.txt", "data/100%25.txt"),
        ("data/a\nb\rc", "data/a%0Ab%0Dc"),
        ("data/%0A", "data/%250A"),
        ("data/é", "data/é"),
    ],
)
def test_what_the_standard_has_encoded_is_decoded(path: str, encoded: str) -> None:
    assert bagit.read_line(f"{SHA256} {encoded}", "sha256") == (SHA256, path)
    assert bagit.read_line(f"{SHA256} {encoded}", "sha256", "0.97") == (SHA256, encoded)


def test_what_others_did_not_encode_stays() -> None:
    assert bagit.decoded("data/100%.txt") == "data/100%.txt"
    assert bagit.decoded("data/a%0ab") == "data/a\nb"


def test_a_line_may_have_any_blanks_between_and_a_sum_in_capitals() -> None:
    assert bagit.read_line(f"{SHA256.upper()} \t data/x", "sha256") == (SHA256, "data/x")
    assert bagit.read_line(f"{SHA512} data/x y", "sha512") == (SHA512, "data/x y")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "data/x",
        SHA256,
        f"{SHA256} ",
        f"{SHA256}data/x",
        f"{SHA256[:-1]} data/x",
        f"{SHA512} data/x",
        f" {SHA256} data/x",
        f"\ufeff{SHA256} data/x",
        f"{SHA256} data/{'x' * bagit.LONGEST_LINE}",
        "# a comment",
    ],
)
def test_what_is_no_line_is_refused(line: str) -> None:
    with pytest.raises(BagError):
        bagit.read_line(line, "sha256")


@pytest.mark.parametrize("text", [bagit.declaration(), bagit.declaration().replace("\n", "\r\n")])
def test_a_declaration_is_read(text: str) -> None:
    assert bagit.read_declaration(text) == "1.0"
    assert bagit.read_declaration(text.replace("1.0", "0.97")) == "0.97"
    assert bagit.read_declaration(text.rstrip()) == "1.0"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\ufeff" + bagit.declaration(),
        bagit.declaration() + "More: 1\n",
        bagit.declaration().replace("1.0", "2.0"),
        bagit.declaration().replace("UTF-8", "ISO-8859-1"),
        bagit.declaration().replace("BagIt-Version: ", "BagIt-Version:"),
        "\n".join(reversed(bagit.declaration().splitlines())),
    ],
)
def test_what_is_no_declaration_is_refused(text: str) -> None:
    with pytest.raises(BagError):
        bagit.read_declaration(text)


def test_info_comes_back() -> None:
    pairs = [("Source-Organization", "INPE"), ("External-Identifier", "a"), ("X", "a: b")]
    assert bagit.read_info(bagit.info(pairs)) == pairs
    assert bagit.info([("X", "a\nY: b")]) == "X: a Y: b\n"
    assert bagit.read_info("X: a\r\n\tb\r\n\r\nY: c\r\n") == [("X", "a b"), ("Y", "c")]
    with pytest.raises(BagError):
        bagit.read_info("no colon\n")


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../x", "data/../x", "data//x", "data/./x", "data\\x", "~/x", "a\0b", "x/"],
)
def test_what_leads_out_of_the_bag_is_not_inside(path: str) -> None:
    assert not bagit.is_inside(path)
    assert bagit.is_inside("data/x")


REP = "sid.inpe.br/doc/2013/09.04.12.27.57"


def test_a_path_is_divided_into_label_and_file() -> None:
    for label in (REP, "LK47B6W/362SFKH"):
        for path, expected in (
            (f"data/col/{label}/doc/doc/ibi.json", "doc/ibi.json"),
            (f"data/col/{label}/ibi.json", ""),
        ):
            found = bagit.divided(path)
            assert found is not None
            assert (found[0].spelling, found[1]) == (label, expected)
    for path in (
        f"data/{REP}/doc/x",
        f"data/col/{REP}/doc/",
        f"data/col/{REP}",
        f"data/col/{REP}/old/x",
        f"data/col/{REP}/docx",
        "data/col/ibi.json",
        "data/x.txt",
    ):
        assert bagit.divided(path) is None
