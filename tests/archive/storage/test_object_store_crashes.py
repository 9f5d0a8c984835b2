"""Catalogue and object store together: whatever fails at whatever step, an act is done or not."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from ibi.archive.recovery import rebuild
from ibi.archive.rules.manifest import read_manifest
from ibi.errors import StorageError
from tests.archive.storage.test_crashes import ACTS, MINTED, Act, fill, without_times
from tests.support.failures.syscalls import Killed, disk_fails_at, killed_at
from tests.support.scenes.file_stores import ObjectStoreSetup
from tests.support.scenes.small_archive import SmallArchive
from tests.support.servers.object_store import ObjectServer

Seen: TypeAlias = dict[str, Any]


def opened(ground: ObjectStoreSetup, minted: int = 0) -> SmallArchive:
    return SmallArchive(ground.folder, minted=minted, store=ground.store)


@pytest.fixture(scope="module")
def template(
    object_server: ObjectServer, tmp_path_factory: pytest.TempPathFactory
) -> ObjectStoreSetup:
    """An archive with two items, and deposits that wait to be completed."""
    ground = ObjectStoreSetup(tmp_path_factory.mktemp("template"), object_server)
    small = opened(ground)
    fill(small)
    small.close()
    return ground


@contextmanager
def copied(
    template: ObjectStoreSetup, folder: Path
) -> Iterator[tuple[SmallArchive, ObjectStoreSetup]]:
    ground = template.copied(folder)
    small = opened(ground, MINTED)
    try:
        yield small, ground
    finally:
        small.close()
        shutil.rmtree(folder)


def view(small: SmallArchive, ground: ObjectStoreSetup) -> Seen:
    """Return what readers see, and check that catalogue and objects say the same."""
    seen: Seen = {}
    kept: set[str] = set()
    for held in small.catalogue.items.page(0, 100):
        place = held.item.forms.label.spelling
        item, files = read_manifest(small.store.manifest(place))
        doc = ground.contents(f"col/{place}/doc")
        assert item == held.item
        assert sorted(files, key=lambda each: each.path) == small.catalogue.items.files(held.id)
        assert {each.path: each.sha256 for each in files} == {
            path: hashlib.sha256(content).hexdigest() for path, content in doc.items()
        }
        old = ground.contents(f"col/{place}/old")
        kept |= {f"{place}/ibi.json"}
        kept |= {f"{place}/doc/{path}" for path in doc} | {f"{place}/old/{path}" for path in old}
        bare = {path.partition("/")[2]: each for path, each in old.items()}
        seen[str(held.item.forms)] = (held.item, doc, bare)
    assert set(small.store.keys()) == kept  # nothing else lies there
    acts = [(entry.act, entry.label) for entry in small.catalogue.history.entries(0, 100)]
    return {"items": seen, "history": acts}


def settled(
    small: SmallArchive, ground: ObjectStoreSetup, act: Act, states: tuple[Seen, Seen]
) -> Seen:
    """Return what is there after a restart; then do it again: it is done, once."""
    small.restart()
    assert ground.left() == []
    assert ground.contents("journal") == {}
    found = view(small, ground)
    assert found in states
    if act.again or found == states[0]:
        act.do(small)
        assert without_times(view(small, ground)) == without_times(states[-1])
    return found


@pytest.fixture(params=ACTS)
def act(request: pytest.FixtureRequest) -> Act:
    return ACTS[request.param]


@pytest.fixture
def states(template: ObjectStoreSetup, tmp_path: Path, act: Act) -> tuple[Seen, Seen]:
    """What is to be seen before and after the act."""
    with copied(template, tmp_path / "states") as (small, ground):
        before = view(small, ground)
        act.do(small)
        return before, view(small, ground)


def test_killed_at_any_step_an_act_is_done_or_not(
    template: ObjectStoreSetup, tmp_path: Path, act: Act, states: tuple[Seen, Seen]
) -> None:
    found = []
    for last in range(1, 1000):
        with copied(template, tmp_path / "it") as (small, ground):
            with killed_at(last, ground.steps) as steps, suppress(Killed):
                act.do(small)
            found.append(settled(small, ground, act, states))
        if steps.count < last:
            break
    assert states[0] in found
    assert found[-1] == states[1]
    assert len(found) > 3


@pytest.mark.parametrize(
    "stays", [pytest.param(False, marks=pytest.mark.long), True], ids=["once", "for good"]
)
def test_whatever_the_store_refuses_an_act_is_done_or_not(
    template: ObjectStoreSetup, tmp_path: Path, act: Act, states: tuple[Seen, Seen], *, stays: bool
) -> None:
    """And if it is said to be done, it is. One step in three, for they are much alike."""
    for last in range(1, 1000, 3):
        with copied(template, tmp_path / "it") as (small, ground):
            is_done = False
            failing = disk_fails_at(last, ground.failing, stays=stays)
            with failing as steps, suppress(StorageError):
                act.do(small)
                is_done = True
            found = settled(small, ground, act, states)
            assert found == states[1] or not is_done
        if steps.count < last:
            break
    assert is_done


def test_a_lost_catalogue_is_rebuilt_from_the_objects(
    template: ObjectStoreSetup, tmp_path: Path
) -> None:
    with copied(template, tmp_path / "it") as (small, ground):
        small.archive.reserve(2, "me")
        before = view(small, ground)["items"]
        reserved = {each.forms for each in small.catalogue.reservations.page("", 10)}
        small.lose_catalogue()
        assert small.catalogue.items.page(0, 10) == []
        assert [each.fault for each in rebuild.rebuild(small.archive)] == [""] * len(before)
        assert view(small, ground)["items"] == before
        assert {each.forms for each in small.catalogue.reservations.page("", 10)} == reserved
