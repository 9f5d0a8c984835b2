"""Audits of a small archive on a real disk: what is damaged is found, and nothing else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from ibi.archive.fixity import audit as audit_module
from ibi.archive.fixity.audit import PIECE, Audit
from ibi.archive.fixity.audit_schedule import SOME, WHOLE, AuditRequest, AuditSchedule
from ibi.archive.fixity.damage_log import DamageLog
from ibi.archive.ports.catalogue import HistoryChoice
from ibi.archive.ports.file_store import OpenFile
from ibi.archive.ports.maintenance import Damage
from ibi.archive.rules.amendment import Amendment
from ibi.archive.rules.fixity import Found
from ibi.archive.tasks import InterruptedTaskError, TaskProgress, Tasks
from ibi.errors import StateError, StorageError
from ibi.model.change import ItemChange
from ibi.model.item import File, State
from ibi.model.task import Task, TaskState
from tests.support.failures.disk_damage import (
    RepairSources,
    audited,
    copied,
    damaged,
    flip,
    grow,
    result,
    swap,
    truncate,
)
from tests.support.scenes.small_archive import SECOND, SmallArchive, contents

RANDOM = Random(21)  # noqa: S311  # the same damage every time
FILES = {"a.txt": b"one", "folder/b.bin": bytes(range(256)) * 40, "empty": b""}
COPIES = "http://copies.example.org"


@pytest.fixture
def small(tmp_path: Path) -> Iterator[SmallArchive]:
    archive = SmallArchive(tmp_path / "here")
    yield archive
    archive.close()


def stored(small: SmallArchive) -> str:
    return small.label(FILES, target="a.txt")


def folder(small: SmallArchive, label: str) -> Path:
    return small.folder / "col" / label


def canonical(small: SmallArchive, label: str) -> str:
    return small.archive.get(label).item.forms.label.canonical


def test_an_archive_that_is_whole_is_said_to_be(small: SmallArchive) -> None:
    label = stored(small)
    small.deposit({"a.txt": b"another"}, item=label)  # of which the old bytes are kept
    small.archive.delete(small.label({"gone": b"gone"}), "me", "a reason")
    task = audited(small)
    size = sum(map(len, FILES.values())) + 4
    assert result(task) == {"files": 3, "bytes": size, "damaged": 0, "repaired": 0, "labels": []}
    assert (task.done, task.total) == (size, size)
    assert damaged(small) == {}


@pytest.mark.parametrize("spoil", [flip, truncate, grow])
def test_every_damage_is_found_named_and_told_once(
    small: SmallArchive, spoil: Callable[[Path, Random], object]
) -> None:
    label = stored(small)
    stored(small)
    spoil(folder(small, label) / "doc/folder/b.bin", RANDOM)
    news: list[Damage] = []
    assert result(audited(small, news=news))["damaged"] == 1
    [place] = damaged(small)
    assert place == f"{canonical(small, label)}/doc/folder/b.bin"
    assert [f"{each.label}/{each.path}" for each in news] == [place]
    assert news == small.catalogue.damages.page()
    audited(small, news=news)
    assert len(news) == 1  # it was told before
    assert len(damaged(small)) == 1


def test_files_that_are_missing_swapped_or_links_are_found(small: SmallArchive) -> None:
    one, two = stored(small), small.label({"a.txt": b"two", "c": b"c"}, target="c")
    swap(folder(small, one) / "doc/a.txt", folder(small, two) / "doc/a.txt")
    (folder(small, two) / "doc/c").unlink()
    (folder(small, one) / "doc/empty").unlink()
    (folder(small, one) / "doc/empty").symlink_to("/dev/null")
    audited(small)
    found = damaged(small)
    one, two = canonical(small, one), canonical(small, two)
    assert set(found) == {
        f"{one}/doc/a.txt",
        f"{two}/doc/a.txt",
        f"{two}/doc/c",
        f"{one}/doc/empty",
    }
    assert found[f"{two}/doc/c"] == "it is not there"


def test_a_disk_that_cannot_read_a_file_does_not_end_the_audit(
    small: SmallArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    label = stored(small)
    pread = os.pread

    def fail(descriptor: int, count: int, offset: int) -> bytes:
        if os.fstat(descriptor).st_size == len(FILES["folder/b.bin"]):
            raise OSError(5, os.strerror(5))
        return pread(descriptor, count, offset)

    monkeypatch.setattr(os, "pread", fail)
    audited(small)
    name = f"{canonical(small, label)}/doc/folder/b.bin"
    assert damaged(small) == {name: "it cannot be read: input/output error"}


def test_what_nobody_deposited_is_told_and_stays(small: SmallArchive) -> None:
    label = stored(small)
    place = folder(small, label)
    (place / "doc/folder/stray").write_bytes(b"x")
    (place / "beside").write_bytes(b"x")
    (small.folder / "col" / "stray").write_bytes(b"x")
    (place / "doc" / "leads").symlink_to("/etc")
    task = audited(small, RepairSources({}), repair=True)
    found = damaged(small)
    assert set(found) == {
        f"{canonical(small, label)}/doc/folder/stray",
        f"{canonical(small, label)}/doc/leads",
        f"/{label}/beside",
        "/stray",
    }
    assert all(what.startswith("nobody deposited it") for what in found.values())
    assert (result(task)["damaged"], result(task)["repaired"]) == (4, 0)
    for name in ("doc/folder/stray", "beside", "doc/leads"):
        (place / name).unlink()
    (small.folder / "col" / "stray").unlink()
    assert result(audited(small))["damaged"] == 0
    assert damaged(small) == {}


@pytest.mark.parametrize("place", ["doc", ".."])
def test_names_that_are_no_text_are_told_and_stay_on_the_list(
    small: SmallArchive, place: str
) -> None:
    within = os.fsencode(folder(small, stored(small)) / place)
    os.mkdir(within + b"/\xff")  # noqa: PTH102  # a path is a text
    (Path(os.fsdecode(within + b"/\xff")) / "x").touch()
    audited(small)
    [where] = damaged(small)
    assert where.endswith("/\\xff/x")
    audited(small)
    assert list(damaged(small)) == [where]


def test_a_manifest_is_no_pipe_no_link_and_no_folder(small: SmallArchive, tmp_path: Path) -> None:
    labels = [stored(small) for _ in range(3)]
    elsewhere = tmp_path / "elsewhere"
    pipe, link, inner = (folder(small, label) / "ibi.json" for label in labels)
    link.rename(elsewhere)
    link.symlink_to(elsewhere)
    pipe.unlink()
    os.mkfifo(pipe)
    inner.unlink()
    inner.mkdir()
    assert result(audited(small))["damaged"] == 3
    assert result(audited(small, repair=True))["repaired"] == 2
    [what] = damaged(small).values()
    assert what == "it is not there; it cannot be written: is a directory"


def test_an_item_that_the_catalogue_forgot_is_told_once(
    small: SmallArchive, tmp_path: Path
) -> None:
    other = SmallArchive(tmp_path / "other", minted=1000)
    label = stored(other)
    other.close()
    shutil.copytree(other.folder / "col", small.folder / "col", dirs_exist_ok=True)
    audited(small)
    found = damaged(small)
    assert len(found) == 2  # the item, and what describes it
    assert "rebuild" in found[f"{label}/"]
    shutil.rmtree(folder(small, label))
    audited(small)
    assert f"{label}/" not in damaged(small)
    (folder(small, label) / "doc").mkdir(parents=True)
    (folder(small, label) / "doc/x").write_bytes(b"x")
    audited(small)
    assert damaged(small)[f"{label}/"].startswith("nobody deposited it")


def test_a_twin_that_looks_at_sizes_and_times_finds_no_flip(
    small: SmallArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    label = stored(small)
    path = folder(small, label) / "doc/folder/b.bin"
    flip(path, RANDOM)

    def by_size_and_time(file: File, found: Found | None) -> str:
        is_same = found is not None and found.size == file.size
        same_time = file.path != "folder/b.bin" or path.stat().st_mtime_ns == file.modified
        return "" if is_same and same_time else "damaged"

    with monkeypatch.context() as patch:
        patch.setattr(audit_module, "file_fault", by_size_and_time)
        assert result(audited(small))["damaged"] == 0
    assert result(audited(small))["damaged"] == 1


def test_a_store_that_is_not_there_is_not_taken_for_damage(small: SmallArchive) -> None:
    stored(small)
    (small.folder / "col").rename(small.folder / "elsewhere")
    with pytest.raises(StorageError):
        audited(small)
    assert damaged(small) == {}


# --- repair ---------------------------------------------------------------------------------------


def test_what_is_damaged_is_fetched_from_who_has_it(small: SmallArchive, tmp_path: Path) -> None:
    label = stored(small)
    other = RepairSources(
        {"http://silent.example.org": None, COPIES: copied(small, tmp_path / "b")}
    )
    before = contents(small.folder / "col")
    times = {path: (folder(small, label) / "doc" / path).stat().st_mtime_ns for path in FILES}
    flip(folder(small, label) / "doc/a.txt", RANDOM)
    shutil.rmtree(folder(small, label) / "doc/folder")
    grow(folder(small, label) / "doc/empty", RANDOM)
    task = audited(small, other, repair=True)
    assert (result(task)["damaged"], result(task)["repaired"]) == (0, 3)
    assert damaged(small) == {}
    assert contents(small.folder / "col") == before
    for path, time in times.items():
        assert (folder(small, label) / "doc" / path).stat().st_mtime_ns == time
    choice = HistoryChoice(label=canonical(small, label), act="repair")
    lines = small.catalogue.history.entries(0, 10, choice)
    assert [line.who for line in lines] == ["me"] * 3
    assert lines[0].detail == f'{{"path":"doc/a.txt","from":"{COPIES}"}}'
    silent, source = other.sources
    assert (silent.asked, source.asked) == (5, 2)  # who is silent is not waited for again
    assert silent.closed
    assert source.closed
    assert list((small.folder / "incoming").iterdir()) == []


def test_the_archive_that_is_named_is_asked_first_and_then_the_origin(
    small: SmallArchive, tmp_path: Path
) -> None:
    label, store = stored(small), copied(small, tmp_path / "b")
    held, origin = small.archive.get(label), "http://origin.example.org"
    copy = replace(held.item, state=State.COPY, origin=origin, updated=small.clock.wall())
    change = ItemChange(item=copy, files=small.archive.files(held), version=held.version)
    archive, now = small.archive, small.clock.wall()
    archive.make(archive.change("copy", "me", copy.forms.label, [change], now))
    others = {"http://first.example.org": store, origin: store, COPIES: store}
    for given, expected in ((COPIES, [COPIES]), ("", [origin])):
        flip(folder(small, label) / "doc/a.txt", RANDOM)
        other = RepairSources(others)
        task = audited(small, other, source=given, repair=True)
        assert result(task)["repaired"] == 1
        assert [source.address for source in other.sources] == expected
    flip(folder(small, label) / "doc/a.txt", RANDOM)
    other = RepairSources({**others, COPIES: None, origin: None})
    audited(small, other, source=COPIES, repair=True)
    asked = [source.address for source in other.sources]
    assert asked == [COPIES, origin, "http://first.example.org"]
    assert damaged(small) == {}


def test_nobody_is_believed_who_sends_other_bytes(small: SmallArchive, tmp_path: Path) -> None:
    label = stored(small)
    bad, good = copied(small, tmp_path / "bad"), copied(small, tmp_path / "good")
    for path in ("a.txt", "folder/b.bin"):
        flip(folder(small, label) / "doc" / path, RANDOM)
        flip(tmp_path / "bad" / "col" / label / "doc" / path, RANDOM)
    before = contents(small.folder / "col")
    task = audited(small, RepairSources({"http://bad.example.org": bad}), repair=True)
    assert (result(task)["damaged"], result(task)["repaired"]) == (2, 0)
    assert all("http://bad.example.org" in what for what in damaged(small).values())
    assert contents(small.folder / "col") == before
    both = RepairSources({"http://bad.example.org": bad, COPIES: good})
    assert result(audited(small, both, repair=True))["repaired"] == 2
    assert damaged(small) == {}


def test_what_nobody_has_stays_on_the_list_with_the_reason(small: SmallArchive) -> None:
    label = stored(small)
    flip(folder(small, label) / "doc/a.txt", RANDOM)
    audited(small, repair=True)
    assert damaged(small)[f"{canonical(small, label)}/doc/a.txt"].endswith(
        "; No other archive is known to have it."
    )
    other = RepairSources({"http://silent.example.org": None})
    audited(small, other, repair=True)
    [what] = damaged(small).values()
    assert "http://silent.example.org does not answer: connection refused" in what


def test_what_was_repaired_is_read_back(
    small: SmallArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    label = stored(small)
    other = RepairSources({COPIES: copied(small, tmp_path / "b")})
    path = folder(small, label) / "doc/a.txt"
    flip(path, RANDOM)
    mend = small.store.mend

    def on_a_bad_disk(place: str, file: File, deposit: str) -> None:
        mend(place, file, deposit)
        flip(path, RANDOM)

    monkeypatch.setattr(small.store, "mend", on_a_bad_disk)
    task = audited(small, other, repair=True)
    assert (result(task)["damaged"], result(task)["repaired"]) == (1, 0)
    [what] = damaged(small).values()
    assert what.startswith("its bytes have changed")


def test_what_is_in_the_way_of_a_repair_is_told(small: SmallArchive, tmp_path: Path) -> None:
    label = stored(small)
    other = RepairSources({COPIES: copied(small, tmp_path / "b")})
    path = folder(small, label) / "doc/a.txt"
    path.unlink()
    (path / "stray").mkdir(parents=True)
    audited(small, other, repair=True)
    [what] = damaged(small).values()
    assert what.startswith(f"it is not there; {COPIES}: The storage")


def test_damaged_manifests_are_written_anew_from_the_catalogue(small: SmallArchive) -> None:
    label = stored(small)
    before = contents(small.folder / "col")
    metadata = small.archive.get_described(label).metadata
    assert metadata is not None
    described = metadata.item.forms.label.spelling
    flip(folder(small, label) / "ibi.json", RANDOM)
    (folder(small, described) / "ibi.json").unlink()
    audited(small)
    assert {path.rpartition("/")[2] for path in damaged(small)} == {"ibi.json"}
    task = audited(small, repair=True)
    assert (result(task)["damaged"], result(task)["repaired"]) == (0, 2)
    assert contents(small.folder / "col") == before
    assert damaged(small) == {}


def test_a_manifest_that_knows_more_than_the_catalogue_is_not_written_over(
    small: SmallArchive, tmp_path: Path
) -> None:
    label = stored(small)
    small.catalogue.close()
    shutil.copy(small.folder / "catalogue.sqlite", tmp_path / "older")
    small.restart()
    small.deposit({"a.txt": b"newer"}, item=label)
    small.catalogue.close()
    for path in small.folder.glob("catalogue.sqlite*"):
        path.unlink()
    shutil.copy(tmp_path / "older", small.folder / "catalogue.sqlite")
    small.restart()
    before = contents(small.folder / "col")
    audited(small, repair=True)
    found = damaged(small)
    assert "rebuild" in found[f"{canonical(small, label)}/ibi.json"]
    assert set(found) == {f"{canonical(small, label)}/{name}" for name in ("ibi.json", "doc/a.txt")}
    assert contents(small.folder / "col") == before


# --- others go on meanwhile -----------------------------------------------------------------------


def meanwhile(
    store: object, monkeypatch: pytest.MonkeyPatch, method: str, act: Callable[[], object]
) -> None:
    """Act between the audit's read of the catalogue and its first call of a method of a store."""
    done = getattr(store, method)
    acts = iter([act])

    def first(*given: object) -> object:
        for each in acts:
            each()
        return done(*given)

    monkeypatch.setattr(store, method, first)


@pytest.mark.parametrize("method", ["open", "manifest", "keys"])
@pytest.mark.parametrize("act", ["revise", "remove", "delete", "deposit", "describe"])
def test_what_others_change_just_then_is_not_reported(
    small: SmallArchive, monkeypatch: pytest.MonkeyPatch, method: str, act: str
) -> None:
    label = stored(small)
    acts: dict[str, Callable[[], object]] = {
        "revise": lambda: small.deposit({"a.txt": b"anew", "new": b"new"}, item=label),
        "remove": lambda: small.deposit({}, item=label, remove=["a.txt", "empty"], target=""),
        "delete": lambda: small.archive.delete(label, "me", "a reason"),
        "deposit": lambda: stored(small),
        "describe": lambda: small.archive.amend(label, Amendment(target="empty"), "me"),
    }
    meanwhile(small.store, monkeypatch, method, acts[act])
    news: list[Damage] = []
    assert result(audited(small, repair=True, news=news))["damaged"] == 0
    assert news == []
    assert damaged(small) == {}


def test_a_twin_that_does_not_look_again_reports_it(
    small: SmallArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    label = stored(small)
    monkeypatch.setattr(Audit, "_judged_file", lambda *_: "it seemed damaged")
    meanwhile(
        small.store, monkeypatch, "open", lambda: small.deposit({"a.txt": b"anew"}, item=label)
    )
    assert result(audited(small))["damaged"] == 1


def test_what_is_replaced_while_it_is_fetched_stays_as_it_is(
    small: SmallArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    label = stored(small)
    store = copied(small, tmp_path / "b")
    flip(folder(small, label) / "doc/a.txt", RANDOM)
    revise = lambda: small.deposit({"a.txt": b"anew"}, item=label)  # noqa: E731  # an act
    meanwhile(small.store.staging, monkeypatch, "busy", revise)
    audited(small, RepairSources({COPIES: store}), repair=True)
    assert damaged(small) == {}
    assert (folder(small, label) / "doc/a.txt").read_bytes() == b"anew"
    assert list((small.folder / "incoming").iterdir()) == []


# --- which items, how fast, how far ---------------------------------------------------------------


def test_some_items_are_checked_with_what_describes_them(small: SmallArchive) -> None:
    labels = [stored(small) for _ in range(3)]
    for label in labels:
        flip(folder(small, label) / "doc/a.txt", RANDOM)
    (folder(small, labels[1]) / "doc/stray").write_bytes(b"x")
    task = audited(small, items=[labels[1]])
    assert result(task)["files"] == 3
    assert len(result(task)["labels"]) == 2
    assert result(task)["damaged"] == 2
    name = canonical(small, labels[1])
    assert set(damaged(small)) == {f"{name}/doc/a.txt", f"{name}/doc/stray"}
    audited(small)
    assert len(damaged(small)) == 4


def test_damage_of_what_was_replaced_or_deleted_is_forgotten(small: SmallArchive) -> None:
    one, two, three = (stored(small) for _ in range(3))
    for label in (one, two, three):
        flip(folder(small, label) / "doc/a.txt", RANDOM)
    audited(small)
    small.deposit({"a.txt": b"anew"}, item=one)
    small.archive.delete(two, "me", "a reason")
    audited(small)
    assert set(damaged(small)) == {f"{canonical(small, three)}/doc/a.txt"}
    small.deposit({}, item=three, remove=["a.txt"], target="empty")
    audited(small, items=[three])
    assert damaged(small) == {}


def test_an_audit_rests_so_that_it_reads_no_faster_than_it_may(small: SmallArchive) -> None:
    small.label({"large": bytes(3 * PIECE)})
    before = small.clock.uptime()
    audited(small, rate=1)
    assert small.clock.uptime() - before >= 3 * SECOND


def test_an_audit_goes_on_after_the_last_file_that_it_judged(
    small: SmallArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"{number}.txt": b"x" for number in range(5)}
    labels = [small.label(files, target="1.txt") for _ in range(3)]
    flip(folder(small, labels[0]) / "doc/1.txt", RANDOM)
    flip(folder(small, labels[2]) / "doc/1.txt", RANDOM)
    read: list[str] = []
    opened = small.store.open

    def counted(place: str, path: str) -> OpenFile:
        read.append(path)
        return opened(place, path)

    monkeypatch.setattr(small.store, "open", counted)
    auditing = AuditSchedule(small.archive, DamageLog(small.catalogue.damages), RepairSources({}))
    task = Task(id="1", kind=WHOLE, who="me", begun=1)
    parts, tasks = 0, [task]

    def check(_: str) -> None:
        if len(read) >= 4:  # as if the process were told to end after every fourth file
            raise InterruptedTaskError

    while True:
        progress = TaskProgress(tasks[-1], small.catalogue.tasks.keep, small.clock, check)
        parts += 1
        try:
            auditing.audit(progress)
        except InterruptedTaskError:
            tasks.append(progress.task)
            read.clear()
        else:
            break
        assert parts < 40
    assert parts > 3
    assert result(progress.task) == {
        "files": 15,
        "bytes": 15,
        "damaged": 2,
        "repaired": 0,
        "labels": [],
    }
    names = {f"{canonical(small, label)}/doc/1.txt" for label in (labels[0], labels[2])}
    assert set(damaged(small)) == names


# --- who begins one -------------------------------------------------------------------------------


def test_the_whole_is_checked_once_at_a_time_and_whoever_waits_goes_first(
    small: SmallArchive,
) -> None:
    auditing = AuditSchedule(small.archive, DamageLog(small.catalogue.damages), RepairSources({}))
    tasks = Tasks(small.catalogue.tasks, small.clock, auditing.works)
    auditing.begin_if_due(tasks, 0, 50)
    assert tasks.newest(10) == []
    auditing.begin_if_due(tasks, 30, 50)
    auditing.begin_if_due(tasks, 30, 50)
    [scheduled] = tasks.newest(10)
    assert (scheduled.kind, scheduled.request) == (WHOLE, '{"rate":50}')
    mine = auditing.begin(tasks, AuditRequest(), "me")
    assert tasks.get(scheduled.id).state is TaskState.CANCELLED
    assert auditing.begin(tasks, AuditRequest(), "you").id == mine.id
    with pytest.raises(StateError, match=f"by task {mine.id}"):
        auditing.begin(tasks, AuditRequest(repair=True), "you")
    label = stored(small)
    assert auditing.begin(tasks, AuditRequest([label]), "you").kind == SOME
    alone = auditing.begin(tasks, AuditRequest(repair=True), "you", alone=True)
    assert tasks.get(mine.id).state is TaskState.CANCELLED
    small.clock.now += 31 * 86_400 * SECOND
    auditing.begin_if_due(tasks, 30, 50)
    assert len(tasks.newest(10, WHOLE)) == 3  # one that lasts is not begun again
    tasks.cancel(alone.id)
    auditing.begin_if_due(tasks, 30, 50)
    assert len(tasks.newest(10, WHOLE)) == 4
