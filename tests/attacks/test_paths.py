"""Threats, row 7: paths that lead out of an item, and links that are put in the way.

`IBI_ATTACKS=full` tries 5,000 paths.
"""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest

from ibi.archive.rules.file_path import check_path
from ibi.errors import FileNameError
from ibi.foundation.system.safe_open import create_beneath
from tests.support.clients.raw_http import Connection
from tests.support.servers.file_delivery import file_app, opened_beneath, served

FULL: Final = os.environ.get("IBI_ATTACKS") == "full"
COUNT: Final = 5_000 if FULL else 50
SWAPS: Final = 20_000 if FULL else 500
SECRET: Final = b"SECRET"
IN_FULL: Final = pytest.mark.skipif(not FULL, reason="races are run in the full count alone")

UP: Final = [
    *("..", "%2e%2e", ".%2e", "%2E.", "%252e%252e", "..%00", "...", "....", "..;", "%c0%ae%c0%ae"),
    *("%ef%bc%8e%ef%bc%8e", "%e2%80%a5", ".", "", "%2e", "..%20", "..%09", "link", "folder"),
]
SLASH: Final = ["/", "%2f", "%2F", "\\", "%5c", "%252f", "//", "/./", "%c0%af", "%ef%bc%8f"]
TARGETS: Final = ["outside/secret.txt", "secret.txt", "outside%2fsecret.txt", "secret.txt%00.pdf"]


def paths(root: Path) -> list[bytes]:
    """Return paths of URLs, as they go over the wire."""
    chance = random.Random(7)  # noqa: S311  # which paths
    absolute = str(root.parent / "outside" / "secret.txt")
    made = ["../outside/secret.txt", "%2e%2e/outside/secret.txt", "..%2foutside%2fsecret.txt"]
    made += ["link/secret.txt", "file-link", f"/{absolute}", absolute.replace("/", "%2f")]
    while len(made) < COUNT:
        path = ""
        for _ in range(chance.randint(1, 5)):
            path += chance.choice(UP) + chance.choice(SLASH)
        made.append(path + chance.choice(TARGETS))
    return [b"/doc/" + path.encode() for path in made]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_bytes(SECRET)
    root = tmp_path / "root"
    for folder in ("folder", "swapped"):
        (root / folder).mkdir(parents=True)
        (root / folder / "secret.txt").write_bytes(b"inside")
    (root / "link").symlink_to(outside)
    (root / "file-link").symlink_to(outside / "secret.txt")
    os.mkfifo(root / "pipe")
    return root


def plainly_opened(root: Path, path: str) -> int:
    """Open as one would who thinks of no evil."""
    return os.open(root / path, os.O_RDONLY)


def secrets_read(root: Path, opened: Callable[[Path, str], int]) -> list[bytes]:
    """Return the paths by which the secret was read."""
    found = []
    with served(file_app(root, opened)) as server, Connection(server) as client:
        for path in paths(root):
            answer = client.ask(path)
            if SECRET in answer.body:
                found.append(path)
        assert client.ask("/doc/folder/secret.txt").body == b"inside"
    return found


def test_no_path_leads_out(root: Path) -> None:
    assert secrets_read(root, opened_beneath) == []


def test_the_check_bites(root: Path) -> None:
    """The twin: paths that are simply opened lead out."""
    assert len(secrets_read(root, plainly_opened)) >= 5


@pytest.mark.parametrize("name", ["pipe", "link", "file-link", "folder", "nothing", "folder/x/y"])
def test_what_is_no_regular_file_is_not_there(root: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError):
        opened_beneath(root, name)


@pytest.mark.parametrize(
    "parts", [["..", "outside", "secret.txt"], ["a/b"], [""], [], ["."], ["\0"]]
)
def test_the_second_lock_holds_alone(root: Path, parts: list[str]) -> None:
    with pytest.raises(FileNameError):
        create_beneath(root, parts)


@pytest.mark.parametrize("path", ["link/new", "file-link", "pipe/new", "folder/secret.txt/new"])
def test_nothing_is_written_through_what_is_in_the_way(root: Path, path: str) -> None:
    with pytest.raises(FileExistsError):
        create_beneath(root, path.split("/"))
    assert [file.name for file in (root.parent / "outside").iterdir()] == ["secret.txt"]


def outside_of(root: Path) -> list[str]:
    """Return the names of what was written outside."""
    return [file.name for file in (root.parent / "outside").iterdir() if file.name != "secret.txt"]


@contextmanager
def swapped_before(root: Path, number: int) -> Iterator[None]:
    """Swap a folder for a link once, right before a call of `os.open`."""
    opened, calls = os.open, itertools.count()

    def swap_and_open(*args: Any, **named: Any) -> int:  # noqa: ANN401  # as of `os.open`
        if next(calls) == number:
            (root / "swapped").rename(root / "aside")
            (root / "link").rename(root / "swapped")
        return opened(*args, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", swap_and_open)
        yield
    assert (root / "swapped").is_symlink(), "nothing was swapped"


def checked_and_opened(root: Path, path: str) -> int:
    """Check first and open then."""
    if not (root / path).resolve().is_relative_to(root):
        raise FileNotFoundError
    return plainly_opened(root, path)


def plainly_created(root: Path, parts: list[str]) -> int:
    return os.open(root.joinpath(*parts), os.O_WRONLY | os.O_CREAT | os.O_EXCL)


@pytest.mark.parametrize(("number", "expected"), [(0, b""), (1, b""), (2, b"inside")])
def test_a_link_swapped_between_two_steps_is_not_followed(
    root: Path, number: int, expected: bytes
) -> None:
    """The steps open the root, the folder and the file."""
    body = b""
    with swapped_before(root, number), suppress(FileNotFoundError):
        body = os.read(opened_beneath(root, "swapped/secret.txt"), 100)
    assert body == expected


@pytest.mark.parametrize("number", [0, 1, 2])
def test_nothing_is_written_through_a_link_swapped_between_two_steps(
    root: Path, number: int
) -> None:
    with swapped_before(root, number), suppress(FileExistsError):
        os.close(create_beneath(root, ["swapped", "new"]))
    assert outside_of(root) == []


def test_the_swap_bites(root: Path) -> None:
    """The twin: what checks first and opens then reads the secret, and writes outside."""
    with swapped_before(root, 0):
        assert os.read(checked_and_opened(root, "swapped/secret.txt"), 100) == SECRET
    os.close(plainly_created(root, ["swapped", "new"]))
    assert outside_of(root) == ["new"]


# Both are always there: renameat2 with RENAME_EXCHANGE swaps them at once.
SWAPPER: Final = """
import ctypes, os, sys
folder, link = [os.fsencode(name) for name in sys.argv[1:]]
libc = ctypes.CDLL(None)
print("swapping", flush=True)
while not libc.renameat2(-100, folder, -100, link, 2):
    pass
"""


@contextmanager
def swapping(root: Path) -> Iterator[None]:
    """Have another process swap a folder for a link, again and again."""
    command = [sys.executable, "-c", SWAPPER, str(root / "swapped"), str(root / "link")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)  # noqa: S603
    try:
        assert process.stdout
        process.stdout.readline()
        yield
        assert process.poll() is None, "the swapping ended"
    finally:
        process.kill()
        process.communicate()


def read_while_swapped(root: Path, opened: Callable[[Path, str], int]) -> set[bytes]:
    bodies = set()
    with swapping(root):
        for _ in range(SWAPS):
            try:
                file = opened(root, check_path("swapped/secret.txt"))
            except FileNotFoundError:
                bodies.add(b"")
                continue
            bodies.add(os.read(file, 100))
            os.close(file)
    return bodies


@IN_FULL
def test_a_link_swapped_in_a_loop_is_never_followed(root: Path) -> None:
    bodies: set[bytes] = set()
    for _ in range(100):
        bodies |= read_while_swapped(root, opened_beneath)
        assert SECRET not in bodies
        if bodies == {b"", b"inside"}:
            return
    pytest.fail("the swapping was never met")


@IN_FULL
def test_the_swapping_bites(root: Path) -> None:
    """The twin: whoever checks first and opens then reads the secret."""

    def late_opened(root: Path, path: str) -> int:
        with suppress(OSError):  # what was a link a moment ago
            if (root / path).resolve().is_relative_to(root):
                time.sleep(0.001)  # it dawdles: the race is won on a slow machine too
                return plainly_opened(root, path)
        raise FileNotFoundError

    bodies: set[bytes] = set()
    for _ in range(100):
        bodies |= read_while_swapped(root, late_opened)
        if SECRET in bodies:
            return
    pytest.fail("the race was never won")


def write_while_swapped(root: Path, create: Callable[[Path, list[str]], int]) -> list[str]:
    """Return the names of what was written outside."""
    with swapping(root):
        for number in range(SWAPS):
            with suppress(FileExistsError, FileNotFoundError):
                os.close(create(root, ["swapped", f"{number}"]))
    return outside_of(root)


@IN_FULL
def test_nothing_is_written_through_a_link_swapped_in_a_loop(root: Path) -> None:
    assert write_while_swapped(root, create_beneath) == []


@IN_FULL
def test_the_swapping_bites_who_writes(root: Path) -> None:
    """The twin: a plain open writes outside."""
    assert any(write_while_swapped(root, plainly_created) for _ in range(100))
