"""Threats, row 20, through the doors of a running archive.

Names of files, and all values of a request that an answer may repeat. Real Tcl reads the answers as
they came over the wire: the pairs that were meant, and no more of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

import pytest

from ibi.archive.rules.answer import BY_PATH
from ibi.archive.rules.file_path import check_path
from ibi.errors import FileNameError, PairListError
from ibi.wire import pairlist
from tests.attacks.test_pair_list_injection import NAMES, hostile
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked import FULL, connected
from tests.support.servers.attacked_archive import attacked
from tests.support.tools.tcl import NotAListError, Tcl

VALUES: Final = 100_000 if FULL else 1_000
FILES: Final = 1_000 if FULL else 10
AT_ONCE: Final = 50
"""Files in one item."""
CLIENT: Final = "clientinformation.ipaddress=10.0.0.1"
REFUSED: Final = {"status.error", "status.reason"}

WITHOUT_ESCAPING: Final = r"""
from ibi.wire import pairlist

def encode(pairs):
    given = pairs.items() if hasattr(pairs, "items") else pairs
    return "\r\n".join(f"{name} {{{value}}}" for name, value in given)

pairlist.encode = encode
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    with attacked(tmp_path_factory.mktemp("pairs")) as archive:
        yield archive


def names(rng: random.Random) -> Iterator[str]:
    """Yield names of files, hostile as far as they are taken."""
    for _ in range(20 * FILES):
        name = hostile(rng).replace("/", "").strip(" .")
        try:
            yield check_path(f"{name} {{{name}}}")
        except FileNameError:
            continue


def read_by_both(tcl: Tcl, body: bytes) -> dict[str, str]:
    """Return the pairs that Tcl reads; we read the same."""
    text = body.decode("ascii")
    elements = tcl.read(text)
    assert len(elements) % 2 == 0, body
    theirs = dict(zip(elements[::2], elements[1::2], strict=True))
    assert len(theirs) == len(elements) // 2, body
    assert pairlist.decode(text) == theirs
    return theirs


def ask_for_files(archive: ArchiveServer, tcl: Tcl, paths: list[str]) -> None:
    """Deposit files, and ask for each by its name."""
    item = archive.deposit(dict.fromkeys(paths, b"x"), target=paths[0])
    question = f"/{archive.service}?servicesubject=urlRequest&{CLIENT}"
    question += f"&parsedibiurl.ibi={item['ibip']}&parsedibiurl.filepath="
    with connected(archive) as client:
        for path in paths:
            for asked in (quote(path, safe=""), ""):
                pairs = read_by_both(tcl, client.ask(question + asked).body)
                assert pairs.keys() == NAMES, path
                start = f"{archive.address}/col/{item['rep']}/doc/"
                assert pairs["url"].startswith(start), path
                wanted = path if asked else paths[0]
                # A "?" of a name is percent-encoded: this one begins the mark of ADR 38.
                found = pairs["url"].removeprefix(start).removesuffix(f"?{BY_PATH}")
                assert unquote(found) == wanted


def test_no_name_of_a_file_becomes_a_pair(archive: ArchiveServer) -> None:
    rng = random.Random(20)  # noqa: S311  # repeatable, not secret
    paths = sorted({name.casefold(): name for name in names(rng)}.values())[:FILES]
    assert len(paths) >= min(FILES, 200)
    with Tcl() as tcl:
        for start in range(0, len(paths), AT_ONCE):
            ask_for_files(archive, tcl, paths[start : start + AT_ONCE])


def attack(archive: ArchiveServer, count: int) -> None:
    rng = random.Random(21)  # noqa: S311  # repeatable, not secret
    label = archive.deposit({"a.txt": b"x"})["ibip"]
    places = (
        f"urlRequest&{CLIENT}&parsedibiurl.ibi=",
        f"urlRequest&{CLIENT}&parsedibiurl.ibi={label}&parsedibiurl.verblist=",
        f"urlRequest&{CLIENT}&parsedibiurl.ibi={label}&parsedibiurl.filepath=",
        f"urlRequest&parsedibiurl.ibi={label}&clientinformation.ipaddress=",
        f"acknowledgment&{CLIENT}&contenttype=Data&urlkey=",
        f"acknowledgment&{CLIENT}&contenttype=",
        f"urlRequest&{CLIENT}&parsedibiurl.ibi={label}&",
        "",
    )
    with Tcl() as tcl, connected(archive) as client:
        for number in range(count):
            octets = hostile(rng).encode("utf-8", "surrogatepass")
            place = places[number % len(places)]
            answer = client.ask(
                f"/{archive.service}?servicesubject={place}{quote(octets, safe='')}"
            )
            pairs = read_by_both(tcl, answer.body)
            if answer.status == 400:
                assert pairs.keys() == REFUSED
            else:
                assert answer.status == 200
                assert pairs.keys() <= NAMES


def test_no_value_of_a_request_becomes_a_pair(archive: ArchiveServer) -> None:
    attack(archive, VALUES)


def test_the_attack_bites(tmp_path: Path) -> None:
    """The twin: an archive that only puts braces around what it says."""
    with (
        attacked(tmp_path, WITHOUT_ESCAPING) as archive,
        pytest.raises((AssertionError, NotAListError, PairListError, UnicodeDecodeError)),
    ):
        attack(archive, 100)
