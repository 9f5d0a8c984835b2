"""The digest over real sockets: what archives publish of their items, and a resolver fetches."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pytest

from ibi.wire.digest import MEDIA_TYPE, DigestPage, decode, fingerprint
from tests.support.clients.http import Answer
from tests.support.servers.archive import ArchiveServer, neighbour
from tests.support.servers.program import WORKERS
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_for, wait_until

DIGEST = "/api/v1/digest"
LEGACY = "6qtX3pFwXQZGivnK2Y/SskcB"


@dataclass
class Scene:
    """A resolver with two archives, both of which publish a digest."""

    resolver: ResolverServer
    one: ArchiveServer
    two: ArchiveServer

    def digest(self, archive: ArchiveServer) -> dict[str, Any]:
        """Return how much of an archive's digest the resolver says that it has."""
        found: dict[str, Any] = self.resolver.archives()[archive.service].get("digest", {})
        return found

    def names(self, archive: ArchiveServer) -> int:
        """Return how many names it has of it, once it is whole."""
        digest = self.digest(archive)
        return int(digest["names"]) if digest.get("whole") else -1


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("digest")
    with ExitStack() as stack:
        resolver = ResolverServer(folder)
        resolver.set(digest_seconds=1)
        stack.enter_context(resolver)
        archives = [stack.enter_context(neighbour(folder, number)) for number in (1, 2)]
        for archive in archives:
            key = resolver.register(archive.service)
            told = archive.ibi("link", resolver.address, "--key", key)
            assert told.returncode == 0, told.stderr
        yield Scene(resolver, *archives)


def ask(archive: ArchiveServer, before: DigestPage | None = None, **headers: str) -> Answer:
    query = f"?epoch={before.epoch}&after={before.last}" if before else ""
    return archive.get(f"{DIGEST}{query}", **headers)


def read(archive: ArchiveServer, before: DigestPage | None = None) -> DigestPage:
    wait_until(lambda: ask(archive).status == 200)
    answer = ask(archive, before)
    assert answer.headers["content-type"] == MEDIA_TYPE
    return decode(answer.body)


def names(*items: dict[str, Any]) -> set[int]:
    labels = [each[form] for each in items for form in ("rep", "ibip")]
    return {fingerprint(label) for label in labels}


def said(page: DigestPage) -> tuple[set[int], set[int]]:
    return set(page.held), set(page.dropped)


def test_every_act_on_an_item_is_told(scene: Scene) -> None:
    one, two = scene.one, scene.two
    begun = read(one)
    item = one.deposit({"a.txt": b"a"})
    described = item["metadata"]
    page = read(one, begun)
    assert page.after == begun.last
    assert said(page) == (names(item, described), set())
    assert said(read(one, page)) == (set(), set())

    amended = one.api("PATCH", f"items/{item['rep']}", {"further_names": [LEGACY]})
    assert amended.status == 200, amended.body
    next_page = read(one, page)
    further = {fingerprint(LEGACY)}
    assert said(next_page) == (names(item) | further, set())

    other = one.deposit({"a.txt": b"b"})
    edition = one.ibi("edition", item["rep"], other["rep"])
    assert edition.returncode == 0, edition.stderr
    page = read(one, next_page)
    assert said(page) == (names(item, other, other["metadata"]) | further, set())

    gone = one.api("POST", f"items/{other['rep']}/deletion", {"reason": "a test"})
    assert gone.status == 200, gone.body
    # A tombstone is something to tell of too.
    assert said(read(one, page))[0] >= names(other)

    before = read(two)
    copied = two.ibi("copy", item["rep"], "--from", one.address)
    assert copied.returncode == 0, copied.stderr
    page = read(two, before)
    assert said(page) == (names(item, described) | further, set())
    dropped = two.ibi("drop", item["rep"])
    assert dropped.returncode == 0, dropped.stderr
    assert said(read(two, page)) == (set(), names(item, described) | further)


def test_a_page_is_a_good_citizen_of_the_web(scene: Scene) -> None:
    one = scene.one
    page = read(one)
    answer = ask(one)
    assert answer.headers["cache-control"] == "no-cache"
    tag = answer.headers["etag"]
    same = ask(one, None, If_None_Match=tag)
    assert (same.status, same.body) == (304, b"")
    assert ask(one, page, If_None_Match=tag).status == 200
    one.deposit({"a.txt": b"c"})
    assert ask(one, None, If_None_Match=tag).status == 200
    for wrong in ("after=x", "after=-1", f"after={2**63}"):
        assert one.get(f"{DIGEST}?{wrong}").status == 400
    assert one.ask("POST", DIGEST, token="").status == 405
    assert decode(one.get(f"{DIGEST}?epoch=%00é&after=7").body).after == 0


def listed(resolver: ResolverServer, archive: ArchiveServer) -> dict[str, Any]:
    """Return what `ibi resolver archives` says of an archive."""
    rows: list[dict[str, Any]] = json.loads(resolver.ibi("archives", "--json").stdout)
    [found] = [row for row in rows if row["service_ibi"] == archive.service]
    return found


def test_a_resolver_fetches_what_changed_and_shows_it(scene: Scene) -> None:
    resolver, one = scene.resolver, scene.one
    wait_until(lambda: scene.names(one) == len(read(one).held))
    before = read(one)
    fetched = resolver.metric("ibi_resolver_digest_octets")
    item = one.deposit({"a.txt": b"d"})
    wait_until(lambda: scene.names(one) == len(read(one).held))
    assert len(ask(one, before).body) < len(ask(one).body)
    assert resolver.metric("ibi_resolver_digest_octets") > fetched
    assert resolver.get(f"/{item['rep']}").status == 302
    assert resolver.metric("ibi_resolver_digests") >= 1
    assert resolver.metric("ibi_resolver_digest_names") >= scene.names(one)
    assert resolver.metric("ibi_resolver_digest_age_seconds") >= 0
    # Of several workers one fetches, and others look at what it has now and again.
    wait_until(lambda: f"{scene.names(one)} names, 20" in resolver.ibi("archives").stdout)
    assert wait_for(lambda: listed(resolver, one), lambda row: "digest" in row)["digest"]["whole"]
    without = resolver.get("/api/v1/archives").json()["archives"]
    assert all("digest" not in each for each in without)


def test_a_resolver_goes_on_after_a_restart(scene: Scene) -> None:
    resolver, one = scene.resolver, scene.one
    wait_until(lambda: scene.names(one) == len(read(one).held))
    before = kept_by(resolver, one)
    resolver.restart()
    one.deposit({"a.txt": b"e"})
    wait_until(lambda: scene.names(one) == len(read(one).held))
    # A digest that is read from its beginning has another number.
    assert kept_by(resolver, one) == before


def kept_by(resolver: ResolverServer, archive: ArchiveServer) -> int:
    """Return the number of an archive's digest at a resolver."""
    connection = apsw.Connection(str(resolver.data / "registry.sqlite"))
    select = "SELECT number FROM resolver_digest WHERE archive = ?"
    [(number,)] = connection.execute(select, (archive.service,))
    connection.close()
    return int(number)


def set_back(folder: Path, state: Path) -> None:
    """Bring back an earlier state of an archive, but for its ledger: that would be noticed."""
    for name in ("col", "catalogue.sqlite", "catalogue.sqlite-wal", "catalogue.sqlite-shm"):
        if (folder / name).is_dir():
            shutil.rmtree(folder / name)
        (folder / name).unlink(missing_ok=True)
        if (state / name).is_dir():
            shutil.copytree(state / name, folder / name)
        elif (state / name).exists():
            shutil.copy2(state / name, folder / name)


def test_an_archive_that_was_set_back_or_rebuilt_is_noticed(scene: Scene, tmp_path: Path) -> None:
    two = scene.two
    kept = two.deposit({"a.txt": b"kept"})
    two.stop()
    state = tmp_path / "state"
    shutil.copytree(two.data, state)
    two.start()
    lost = two.deposit({"a.txt": b"lost"})
    last = read(two)
    assert set(last.held) >= names(kept, lost)
    wait_until(lambda: scene.names(two) == len(last.held))
    two.stop()
    set_back(two.data, state)
    two.start()
    again = read(two, last)
    assert (again.epoch, again.after) == (last.epoch, 0)
    assert not names(lost) & set(again.held)
    wait_until(lambda: scene.names(two) == len(again.held))
    two.stop()
    rebuilt = two.ibi("rebuild")
    assert rebuilt.returncode == 0, rebuilt.stderr
    two.start()
    anew = read(two, again)
    assert (anew.epoch != again.epoch, anew.after) == (True, 0)
    assert set(anew.held) == set(again.held)
    wait_until(lambda: scene.names(two) == len(anew.held))


def test_an_archive_may_publish_none(scene: Scene) -> None:
    resolver, two = scene.resolver, scene.two
    wait_until(lambda: scene.names(two) >= 0)
    two.stop()
    two.set(digest=False)
    two.start()
    assert two.get(DIGEST).status == 404
    # An archive that is switched off is not asked; it announces itself after it listens again.
    wait_until(lambda: resolver.archives()[two.service]["state"] == "included")
    wait_until(lambda: not scene.digest(two))
    item = two.deposit({"a.txt": b"f"})
    if WORKERS:  # another worker may learn a little later that there is no digest any more
        wait_until(lambda: resolver.get(f"/{item['rep']}").status == 302)
    assert resolver.get(f"/{item['rep']}").status == 302


def test_an_archive_notifies_its_resolver_of_changes(tmp_path: Path) -> None:
    """The digest is read again long before its time, and stands for the archive's answer."""
    resolver = ResolverServer(tmp_path)
    resolver.wanted_workers = ""  # others read what was fetched some seconds later
    resolver.set(digest_seconds=3600)
    with resolver, neighbour(tmp_path, 1) as archive:
        key = resolver.register(archive.service)
        assert archive.ibi("link", resolver.address, "--key", key).returncode == 0
        wait_until(lambda: resolver.metric("ibi_resolver_logs_followed") == 1)
        for number in (1, 2):
            before = int(resolver.archives()[archive.service]["digest"]["names"])
            archive.deposit({"a.txt": b"a" * number})
            wait_until(
                lambda b=before: (  # type: ignore[misc]
                    int(resolver.archives()[archive.service]["digest"]["names"]) > b
                )
            )
        assert resolver.metric("ibi_resolver_logs_followed") == 1
