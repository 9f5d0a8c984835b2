"""Threats, row 7, through the doors of a running archive.

The secret lies in a file outside the archive, in one that was replaced, and in a deposit of
somebody else; all paths that lead there are spelled in every way at every door that takes a path.
Then a folder of an item is swapped for a link while its files are read and revised: by the process
of the archive itself, right before each of its steps; in full counts also by a second process.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest

from tests.attacks.test_paths import IN_FULL, SECRET, SLASH, UP, swapping
from tests.support.clients.raw_http import Connection
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked import FULL, connected
from tests.support.servers.attacked_archive import attacked, tree

COUNT: Final = 5_000 if FULL else 50
SWAPPED_READS: Final = 20_000
SWAPPED_WRITES: Final = 300
LONG: Final = "x" * 300

WITHOUT_CHECKS: Final = """
import os
from ibi.archive.storage.files.folder_store import FolderStore
from ibi.archive.storage.files.folder_listing import LocalFile
from ibi.archive.storage.catalogue.items import SqlItems
from ibi.model.item import File
from ibi.archive.web import public_routes

public_routes.check_path = str
SqlItems.file = lambda self, item, path: File(path, 0, "", "", 0)
FolderStore.open = lambda self, place, path: LocalFile(
    os.open(self._col / place / "doc" / path, os.O_RDONLY)
)
"""
# A file beside these lines orders one swap: before which step from now on, and in which folder.
SWAP_ON_ORDER: Final = """
import os
from contextlib import suppress
from pathlib import Path
from threading import Lock

ORDER, STEPS, LOCK = Path(__file__).with_name("order"), {"doc", "swapped", "secret.txt"}, Lock()
plainly_opened = os.open

def swap_on_order():
    with LOCK, suppress(FileNotFoundError):
        number, doc = ORDER.read_text().split(" ", 1)
        if int(number):
            ORDER.write_text(f"{int(number) - 1} {doc}")
            return
        ORDER.unlink()
        for source, target in (("swapped", "aside"), ("link", "swapped"), ("aside", "link")):
            os.rename(f"{doc}/{source}", f"{doc}/{target}")

def swap_and_open(path, *args, **named):
    if os.path.basename(os.fsdecode(path)) in STEPS:
        swap_on_order()
    return plainly_opened(path, *args, **named)

os.open = swap_and_open
"""
# It rests between its check and its opening: a race is won on a slow machine too.
WITHOUT_WALKING: Final = """
import os
import time
from contextlib import suppress
from ibi.archive.storage.files.folder_store import FolderStore
from ibi.archive.storage.files.folder_listing import LocalFile
from ibi.errors import UnknownError

def opened(self, place, path):
    whole = self._col / place / "doc" / path
    with suppress(OSError):
        if whole.resolve().is_relative_to(self._col / place):
            time.sleep(0.001)
            return LocalFile(os.open(whole, os.O_RDONLY))
    raise UnknownError("file", path)

def put(self, change, folder, path):
    source = self.staging.files_of(change.deposit) / path
    if source.exists():
        self._keep_old(change.id, folder, path)
        source.rename(folder / "doc" / path)

def remove(self, change, folder, path):
    (folder / "doc" / path).unlink(missing_ok=True)

FolderStore.open, FolderStore._put, FolderStore._remove = opened, put, remove
"""


class Place:
    """An archive with an item, an open deposit, and secrets around them."""

    def __init__(self, archive: ArchiveServer, outside: Path) -> None:
        """Lay out the secrets."""
        self.archive = archive
        self.outside = outside
        outside.mkdir()
        (outside / "secret.txt").write_bytes(SECRET)
        item = archive.deposit({"a.txt": SECRET, "swapped/secret.txt": b"inside"}, target="a.txt")
        self.label = item["rep"]
        self.doc = archive.data / "col" / self.label / "doc"
        revision = archive.open_deposit(metadata={}, item=self.label)
        archive.send(revision, "a.txt", b"the new one")
        archive.complete(revision)
        self.others = archive.open_deposit()
        archive.send(self.others, "secret.txt", SECRET)
        self.deposit = archive.open_deposit()
        archive.send(self.deposit, "kept.txt", b"kept")
        (self.doc / "link").symlink_to(outside)
        (self.doc / "file-link").symlink_to(outside / "secret.txt")
        # Settings, manifest, replaced file: none of an item's files.
        data = archive.data
        old = next(path for path in data.rglob("a.txt") if "old" in path.parts)
        assert old.read_bytes() == SECRET
        secrets = [outside / "secret.txt", old, data / "archive.toml", self.doc.parent / "ibi.json"]
        secrets.append(next((data / "incoming" / self.others).rglob("secret.txt")))
        self.ways = [os.path.relpath(secret, self.doc) for secret in secrets]
        self.ways += [*map(str, secrets), "link/secret.txt", "file-link", "../../doc/a.txt"]

    def spellings(self, count: int) -> list[str]:
        """Return ways to the secrets, spelled for a URL."""
        chance = random.Random(7)  # noqa: S311  # which spellings
        made = [*self.ways, *(quote(way, safe="") for way in self.ways)]
        while len(made) < count:
            up, slash, way = chance.choice(UP), chance.choice(SLASH), chance.choice(self.ways)
            made.append(self._spelled(way, up, slash, chance))
        return made[:count]

    @staticmethod
    def _spelled(way: str, up: str, slash: str, chance: random.Random) -> str:
        parts = [up if part == ".." and chance.random() < 0.9 else part for part in way.split("/")]
        text = slash.join(parts)
        return chance.choice(
            [
                *[text] * 6,
                f"/{text}",
                f"a.txt/{slash.join(['..', *parts])}",
                f"swapped{slash}{slash.join(['..', *parts])}",
                f"C:{slash}{text}",
                f"file:{slash}{slash}{text}",
                f"{text}%00.txt",
                f"{text};x",
                f"{text}{slash}",
                f"{text}%23",
                f"{LONG}{slash}..{slash}{text}",
                quote(text, safe=""),
            ]
        )

    def state(self) -> tuple[object, ...]:
        """Return all that an attack must leave as it is."""
        data = self.archive.data
        incoming = tree(data / "incoming" / self.others)
        names = sorted(path.name for path in [*data.iterdir(), *data.parent.iterdir()])
        journal = tree(data / "journal")
        return self.archive.snapshot(), tree(self.outside), incoming, names, journal


class Attack:
    """Asks at every door that takes a path."""

    def __init__(self, place: Place, client: Connection) -> None:
        """Begin."""
        self._place = place
        self._client = client
        self.leaks: list[str] = []

    def _ask(self, method: str, target: str, body: object = None) -> None:
        token = f"Authorization: Bearer {self._place.archive.token}"
        data = (
            b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        )
        octets = target.encode()
        self._client.send(octets, token, f"Content-Length: {len(data)}", method=method)
        if data:
            self._client.socket.sendall(data)
        answer = self._client.receive()
        told = answer.body + repr(answer.headers).encode()
        if SECRET in told or b"listen = " in told or b'"forms": ' in told:
            self.leaks.append(f"{method} {target}")
        if answer.status >= 500:
            self.leaks.append(f"{method} {target}: {answer.status}")
        if "connection" in answer:  # what is not even HTTP
            self._client.close()
            self._client = connected(self._place.archive)

    def __call__(self, spelling: str) -> None:
        """Try one spelling."""
        label, deposit = self._place.label, self._place.deposit
        service = self._place.archive.service
        self.read(spelling)
        self._ask("GET", f"/col/{label}/{spelling}")
        self._ask("GET", f"/col/{spelling}")
        self._ask("GET", f"/displaydoccontent.cgi/{label}/{spelling}")
        self._ask("GET", f"/{label}/{spelling}")
        query = "servicesubject=urlRequest&clientinformation.ipaddress=10.0.0.1"
        query += f"&parsedibiurl.ibi={label}&parsedibiurl.filepath="
        self._ask("GET", f"/{service}?{query}{spelling}")
        for method in ("GET", "DELETE"):
            self._ask(method, f"/api/v1/deposits/{spelling}")
            self._ask(method, f"/api/v1/deposits/{deposit}/files/{spelling}")
            self._ask(method, f"/api/v1/deposits/{spelling}/files/secret.txt")
        self._ask("PUT", f"/api/v1/deposits/{deposit}/files/{spelling}", b"written")
        self._ask("PUT", f"/api/v1/deposits/{spelling}/files/evil.txt", b"written")
        self._ask("POST", f"/api/v1/deposits/{deposit}/unpacking", {"path": spelling})
        both = {"path": "kept.txt", "folder": spelling}
        self._ask("POST", f"/api/v1/deposits/{deposit}/unpacking", both)
        self._ask("GET", f"/api/v1/items/{spelling}")
        self._ask("GET", f"/api/v1/items/{label}/{spelling}")
        self._ask("DELETE", f"/api/v1/tokens/{spelling}")
        self._ask("DELETE", f"/api/v1/resolvers/{spelling}")

    def read(self, spelling: str) -> None:
        """Ask for a file."""
        self._ask("GET", f"/col/{self._place.label}/doc/{spelling}")


def remove_by_revision(place: Place, path: str) -> None:
    """Say that an item shall lose a file, and complete that if it is taken."""
    archive = place.archive
    wanted = {"item": place.label, "remove": [path]}
    opened = archive.api("POST", "deposits", wanted)
    assert opened.status in {201, 400}, opened.body
    if opened.status == 201:
        id_ = opened.json()["id"]
        assert archive.api("POST", f"deposits/{id_}/completion").status == 400
        assert archive.api("DELETE", f"deposits/{id_}").status == 204


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("paths")
    with attacked(folder / "archive", SWAP_ON_ORDER) as archive:
        yield Place(archive, folder / "outside")


def test_no_spelling_of_a_path_leads_out_of_an_item(place: Place) -> None:
    archive, before = place.archive, place.state()
    with connected(archive) as client:
        attack = Attack(place, client)
        for spelling in place.spellings(COUNT):
            attack(spelling)
    for spelling in place.spellings(COUNT)[:: len(place.ways)]:
        remove_by_revision(place, spelling)
    assert attack.leaks == []
    assert place.state() == before
    mine = tree(archive.data / "incoming" / place.deposit)
    assert not [path for path, content in mine.items() if str(content).startswith("-> ")]
    assert archive.get(f"/col/{place.label}/doc/a.txt").body == b"the new one"


def test_the_spellings_bite(tmp_path: Path) -> None:
    """The twin: paths that are simply opened lead to every secret."""
    with attacked(tmp_path / "archive", WITHOUT_CHECKS) as archive:
        place = Place(archive, tmp_path / "outside")
        with connected(archive) as client:
            attack = Attack(place, client)
            for spelling in place.spellings(len(place.ways)):
                attack.read(spelling)
        assert len([leak for leak in attack.leaks if leak.startswith("GET")]) >= 5


class Swapped:
    """Reads and revises an item while one of its folders is a link every other moment."""

    def __init__(self, place: Place) -> None:
        """Begin."""
        self._place = place
        self._archive = place.archive
        self.bodies: set[bytes] = set()
        self.statuses: set[int] = set()

    def read(self, times: int) -> None:
        """Ask for a file of the folder."""
        with connected(self._archive) as client:
            for _ in range(times):
                answer = client.ask(f"/col/{self._place.label}/doc/swapped/secret.txt")
                self.bodies.add(answer.body if answer.status == 200 else b"")

    def meets(self, *bodies: bytes) -> bool:
        """Tell whether all of them were among the answers; ask again if not."""
        if not self.bodies >= set(bodies):
            self.read(200)
        return self.bodies >= set(bodies)

    def is_revised(self) -> bool:
        """Tell whether a revision was made; try again if not."""
        if 200 not in self.statuses:
            self.revise(1)
        return 200 in self.statuses

    def writes(self, before: object) -> bool:
        """Revise once; tell whether something outside is other than before."""
        self.revise(1)
        return tree(self._place.outside) != before

    def revise(self, times: int) -> None:
        """Put files into the folder, replace and remove them."""
        for number in range(times):
            self._revise(f"swapped/{number % 3}", remove=[])
            self._revise("swapped/secret.txt", remove=[])
            self._revise("kept.txt", remove=["swapped/secret.txt"])

    def restore(self) -> None:
        """Let the file of the folder be there, which another test may have removed."""
        self._revise("swapped/secret.txt", remove=[], content=b"inside")
        assert self.statuses == {200, 201}

    def _revise(self, path: str, remove: list[str], content: bytes = b"written") -> None:
        label = self._place.label
        opened = self._archive.api("POST", "deposits", {"item": label, "remove": remove})
        if opened.status != 201:
            self.statuses.add(opened.status)
            return
        id_ = opened.json()["id"]
        sent = self._archive.send(id_, path, content)
        self.statuses.add(sent.status)
        self.statuses.add(self._archive.api("POST", f"deposits/{id_}/completion").status)


def swapped_before_each_step(place: Place, act: Callable[[], object]) -> int:
    """Act again and again, each time with a swap before the next step; return the number of steps.

    A step opens a folder or the file; at the end, once no step is left, nothing is swapped.
    """
    order = place.archive.folder / "without" / "order"
    for number in count():
        order.write_text(f"{number} {place.doc}", encoding="utf-8")
        act()
        if order.exists():
            order.unlink()
            return number
        assert (place.doc / "swapped").is_symlink()
        for source, target in (("swapped", "aside"), ("link", "swapped"), ("aside", "link")):
            (place.doc / source).rename(place.doc / target)
    raise AssertionError


def assert_nothing_led_outside(place: Place, before: object) -> None:
    assert tree(place.outside) == before
    kept = [path.read_bytes() for path in place.doc.parent.joinpath("old").rglob("secret.txt")]
    assert SECRET not in kept


def test_a_link_swapped_between_two_steps_is_not_followed_to_read(place: Place) -> None:
    swapped = Swapped(place)
    swapped.restore()
    steps = swapped_before_each_step(place, lambda: swapped.read(1))
    assert steps == len(("doc", "swapped", "secret.txt"))
    assert swapped.bodies == {b"", b"inside"}


def test_a_link_swapped_between_two_steps_is_not_followed_to_write(place: Place) -> None:
    before = tree(place.outside)
    statuses: list[set[int]] = []

    def revise() -> None:
        swapped = Swapped(place)
        swapped.revise(1)
        statuses.append(swapped.statuses)

    assert swapped_before_each_step(place, revise) > len(("doc", "swapped", "secret.txt"))
    assert_nothing_led_outside(place, before)
    assert 503 in statuses[0]
    assert statuses[-1] == {200, 201}


def test_the_swap_bites(tmp_path: Path) -> None:
    """The twin: what checks first and opens then reads the secret, and writes outside."""
    with attacked(tmp_path / "archive", SWAP_ON_ORDER + WITHOUT_WALKING) as archive:
        place = Place(archive, tmp_path / "outside")
        before = tree(place.outside)
        swapped = Swapped(place)
        swapped_before_each_step(place, lambda: swapped.read(1))
        assert SECRET in swapped.bodies
        swapped_before_each_step(place, lambda: swapped.revise(1))
        assert tree(place.outside) != before


@IN_FULL
def test_a_link_swapped_in_a_loop_is_not_followed_to_read(place: Place) -> None:
    swapped = Swapped(place)
    swapped.restore()
    with swapping(place.doc):
        swapped.read(SWAPPED_READS)
        met = any(swapped.meets(b"", b"inside") for _ in range(1000))
    assert SECRET not in swapped.bodies
    assert met, "the swapping was never met"
    assert swapped.bodies == {b"", b"inside"}


@IN_FULL
def test_a_link_swapped_in_a_loop_is_not_followed_to_write(place: Place) -> None:
    before = tree(place.outside)
    swapped = Swapped(place)
    with swapping(place.doc):
        swapped.revise(SWAPPED_WRITES)
        done = any(swapped.is_revised() for _ in range(1000))
    assert_nothing_led_outside(place, before)
    assert done


@IN_FULL
def test_the_swapping_bites(tmp_path: Path) -> None:
    """The twin: who checks first and opens then reads the secret, and writes outside.

    Read first: once something was written outside, the secret may be gone.
    """
    with attacked(tmp_path / "archive", WITHOUT_WALKING) as archive:
        place = Place(archive, tmp_path / "outside")
        before = tree(place.outside)
        swapped = Swapped(place)
        with swapping(place.doc):
            assert any(swapped.meets(SECRET) for _ in range(1000)), "the race was never won"
            assert any(swapped.writes(before) for _ in range(1000)), "the race was never won"
