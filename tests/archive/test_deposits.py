"""Deposits: from the first word about a new item to the moment when all of it is there."""

from __future__ import annotations

import io
import threading
import zipfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ibi.archive.deposits.deposits import DAY, LIFE
from ibi.errors import (
    ArchiveRequestError,
    FileNameError,
    StateError,
    UnknownError,
    UnpackError,
)
from ibi.model.change import Change
from tests.support.scenes.small_archive import SmallArchive, contents, file, forms, unchanged

ELSEWHERE = str(forms(7, "other.example.net").label)


def doc(small: SmallArchive, label: str) -> dict[str, bytes]:
    return contents(small.folder / "col" / label / "doc")


# --- new items ------------------------------------------------------------------------------------


def test_a_deposit_becomes_an_item_with_metadata_of_its_own(small: SmallArchive) -> None:
    id_ = small.open({"a/Relatório.pdf": b"pdf", "b": b""}, target="a/Relatório.pdf", language="pt")
    with pytest.raises(UnknownError):
        small.archive.get_described(forms(1).label)
    look = small.deposits.complete(id_, "me")
    item = look.item
    assert (item.forms, item.target, str(item.language)) == (forms(1), "a/Relatório.pdf", "pt")
    assert item.metadata == forms(2)
    assert look.metadata is not None
    assert look.metadata.item.describes == item.forms
    assert look.record is not None
    assert look.record.title.value == "A title"
    assert item.created == item.updated > 0
    assert doc(small, str(item.forms.label)) == {"a/Relatório.pdf": b"pdf", "b": b""}
    kept = [(each.path, each.size, each.sha256) for each in small.archive.files(look.held)]
    expected = [file("a/Relatório.pdf", b"pdf"), file("b", b"")]
    assert kept == [(each.path, each.size, each.sha256) for each in expected]
    [line] = small.catalogue.history.entries(0, 9)
    assert (line.who, line.act, line.label) == ("me", "deposit", item.forms.label.canonical)


def test_completed_twice_it_is_the_same_item(small: SmallArchive) -> None:
    id_ = small.open({"a": b"1"})
    look = small.deposits.complete(id_, "me")
    with unchanged(small):
        assert small.deposits.complete(id_, "other") == look
    small.restart()
    with unchanged(small):
        assert small.deposits.complete(id_, "me") == look
    small.archive.delete(look.item.forms.label, "me", "wrong")
    assert small.deposits.complete(id_, "me").item.forms == look.item.forms


def test_nobody_who_sends_a_file_waits_for_one_that_goes_to_a_store_elsewhere(
    small: SmallArchive,
) -> None:
    on_its_way, sent = threading.Event(), threading.Event()

    def prepare(_: Change) -> None:
        on_its_way.set()
        assert sent.wait(60)

    large, small_one = small.open({"large": b"..."}), small.open({})
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as threads:
        patch.setattr(small.store, "prepare", prepare)
        completing = threads.submit(small.deposits.complete, large, "me")
        assert on_its_way.wait(60)
        sending = threads.submit(small.send, small_one, {"a": b"1"})
        try:
            sending.result(60)
        finally:
            sent.set()
        assert completing.result(60).item.target == "large"
    small.deposits.complete(small_one, "me")


@pytest.mark.parametrize(
    ("files", "wanted", "target"),
    [
        (["a"], "", "a"),
        (["a/b"], "", "a/b"),
        ([], "", ""),
        (["a", "index.html"], "", "index.html"),
        (["a", "b"], "b", "b"),
        (["é"], "e\u0301", "é"),
        (["a", "b"], "", "a"),
        (["a", "x/index.html"], "", "a"),
        (["a"], "b", None),
        ([], "a", None),
    ],
)
def test_which_file_the_label_leads_to(
    small: SmallArchive, files: list[str], wanted: str, target: str | None
) -> None:
    id_ = small.open(dict.fromkeys(files, b""), target=wanted)
    if target is None:
        with unchanged(small), pytest.raises(ArchiveRequestError, match="target"):
            small.deposits.complete(id_, "me")
    else:
        assert small.deposits.complete(id_, "me").item.target == target


def test_no_act_takes_a_name_that_a_file_system_refuses(small: SmallArchive) -> None:
    id_ = small.open({"good": b"1"})
    acts: list[Callable[[], object]] = [
        lambda: small.send(id_, {"a/../b": b"1"}),
        lambda: small.deposits.remove(id_, "a/../b"),
        lambda: small.deposits.staged_file(id_, "a/../b"),
        lambda: small.deposits.unpack(id_, "a/../b"),
    ]
    for act in acts:
        with unchanged(small), pytest.raises(FileNameError):
            act()


def test_the_longest_names_are_taken(small: SmallArchive) -> None:
    paths = ["x" * 255, "é" * 127 + "x", "/".join(["d"] * 40), "/".join(["n" * 204] * 5)]
    look = small.deposit(dict.fromkeys(paths, b"1"), target=paths[0])
    assert sorted(doc(small, str(look.item.forms.label))) == sorted(paths)


@pytest.mark.parametrize(
    ("one", "other"), [("a", "A"), ("Images/a", "images/b"), ("ß", "ss"), ("é", "É")]
)
def test_names_that_some_system_does_not_tell_apart_do_not_lie_side_by_side(
    small: SmallArchive, one: str, other: str
) -> None:
    id_ = small.open({one: b"1", other: b"2"}, target=one)
    with unchanged(small), pytest.raises(ArchiveRequestError, match="side by side"):
        small.deposits.complete(id_, "me")
    label = small.label({one: b"1"})
    id_ = small.open({other: b"2"}, item=label)
    with unchanged(small), pytest.raises(ArchiveRequestError, match="side by side"):
        small.deposits.complete(id_, "me")


def test_a_half_file_keeps_a_deposit_open(small: SmallArchive) -> None:
    id_ = small.open({"a": b"1"})
    with small.deposits.receive(id_, "half.pdf", 0) as sink:
        sink.write(b"ha")
    with unchanged(small), pytest.raises(StateError, match=r"has not come whole: 'half\.pdf'"):
        small.deposits.complete(id_, "me")
    small.restart()
    assert [(each.path, each.size, each.file is None) for each in small.deposits.staged(id_)] == [
        ("a", 1, False),
        ("half.pdf", 2, True),
    ]
    with unchanged(small), pytest.raises(StateError, match="has not come whole"):
        small.deposits.complete(id_, "me")
    small.deposits.remove(id_, "half.pdf")
    with pytest.raises(UnknownError):
        small.deposits.remove(id_, "half.pdf")
    assert small.deposits.complete(id_, "me").item.target == "a"


def test_what_nobody_opened_is_unknown(small: SmallArchive) -> None:
    for id_ in ("0" * 32, "", "../col", "d\0", "\ud800", "é"):
        for act in (
            small.deposits.get,
            small.deposits.abandon,
            small.deposits.staged,
            lambda each: small.deposits.complete(each, "me"),
            lambda each: small.send(each, {"a": b""}),
        ):
            with unchanged(small), pytest.raises(UnknownError):
                act(id_)


# --- reserved labels ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["label", "short"])
def test_a_deposit_takes_a_reserved_label_by_either_form(small: SmallArchive, form: str) -> None:
    [reserved] = small.archive.reserve(1, "me")
    label = str(getattr(reserved.forms, form))
    late = small.open({"a": b"late"}, label=label)
    look = small.deposit({"a": b"1"}, label=label)
    assert look.item.forms == reserved.forms
    assert look.item.metadata is not None
    assert small.catalogue.reservations.page("", 9) == []
    with unchanged(small), pytest.raises(StateError, match="no label is given twice"):
        small.open({}, label=label)
    with unchanged(small), pytest.raises(StateError, match="no label is given twice"):
        small.deposits.complete(late, "me")


def test_its_own_reserved_label_is_no_further_name(small: SmallArchive) -> None:
    [reserved] = small.archive.reserve(1, "me")
    names = [str(label) for label in reserved.forms]
    look = small.deposit(label=names[0], further_names=names)
    assert look.item.further_names == ()


def test_a_label_that_is_reserved_for_another_is_no_further_name(small: SmallArchive) -> None:
    [reserved] = small.archive.reserve(1, "me")
    for label in reserved.forms:
        id_ = small.open({"a": b"1"}, further_names=[str(label)])
        with unchanged(small), pytest.raises(StateError, match="reserved"):
            small.deposits.complete(id_, "me")
    assert small.catalogue.reservations.page("", 9) == [reserved]


# --- files of items that are there ----------------------------------------------------------------


def test_files_come_and_go(small: SmallArchive) -> None:
    label = small.label({"a": b"1", "b/c": b"2", "b/d": b"3"}, target="a")
    before = small.archive.get(label).item
    look = small.deposit({"a": b"new", "e": b"4"}, item=label, remove=["b/c"], target="e")
    assert doc(small, label) == {"a": b"new", "b/d": b"3", "e": b"4"}
    assert (look.item.target, look.item.created) == ("e", before.created)
    assert look.item.updated > before.updated
    [old] = (small.folder / "col" / label / "old").iterdir()
    assert contents(old) == {"a": b"1", "b/c": b"2"}
    line = small.catalogue.history.entries(0, 9)[-1]
    assert (line.act, line.detail) == ("revise", '{"put":["a","e"],"removed":["b/c"]}')


def test_a_file_comes_where_a_folder_was_and_a_folder_where_a_file_was(
    small: SmallArchive,
) -> None:
    label = small.label({"a/b": b"1", "c": b"2"}, target="c")
    small.deposit({"a": b"3", "c/d": b"4"}, item=label, remove=["a/b", "c"], target="a")
    assert doc(small, label) == {"a": b"3", "c/d": b"4"}
    small.restart()
    small.deposit({"a/b": b"5"}, item=label, remove=["a", "a"], target="a/b")
    assert doc(small, label) == {"a/b": b"5", "c/d": b"4"}


@pytest.mark.parametrize(
    ("files", "request_"),
    [
        ({}, {}),
        ({}, {"remove": ["nothing"]}),
        ({"a": b"2"}, {"remove": ["a"]}),
        ({"c": b"2"}, {"target": "nothing"}),
        ({"a/x": b"2"}, {}),
        ({"b": b"2"}, {}),
        ({}, {"remove": ["a"], "target": "a"}),
    ],
    ids=["nothing", "unknown", "both", "target", "file as folder", "folder as file", "target gone"],
)
def test_changes_of_files_that_cannot_be(
    small: SmallArchive, files: Mapping[str, bytes], request_: dict[str, Any]
) -> None:
    label = small.label({"a": b"1", "b/c": b"2"}, target="a")
    id_ = small.open(files, item=label, **request_)
    with unchanged(small), pytest.raises(ArchiveRequestError):
        small.deposits.complete(id_, "me")


def test_the_target_stays_while_it_is_there(small: SmallArchive) -> None:
    label = small.label({"a": b"1", "b": b"2"}, target="b")
    assert small.deposit({"c": b"3"}, item=label).item.target == "b"
    left = small.deposit({}, item=label, remove=["b"]).item
    assert (left.target, left.target_chosen) == ("a", False)
    again = small.deposit({"d": b"4"}, item=label).item
    assert (again.target, again.target_chosen) == ("a", False)
    named = small.deposit({"e": b"5"}, item=label, target="a").item
    assert (named.target, named.target_chosen) == ("a", True)
    last = small.deposit({}, item=label, remove=["a", "d", "e"]).item
    assert (last.target, last.target_chosen) == ("c", True)
    assert small.deposit({}, item=label, remove=["c"]).item.target == ""
    assert doc(small, label) == {}


def test_two_who_change_the_files_of_an_item_take_turns(small: SmallArchive) -> None:
    label = small.label({"a": b"1"})
    one = small.open({"b": b"2"}, item=label)
    other = small.open({"c": b"3"}, item=label)
    small.deposits.complete(one, "me")
    small.deposits.complete(other, "me")
    assert doc(small, label) == {"a": b"1", "b": b"2", "c": b"3"}
    late = small.open({"d": b"4"}, item=label)
    small.archive.delete(label, "me", "wrong")
    with unchanged(small), pytest.raises(StateError):
        small.deposits.complete(late, "me")


# --- what is given up -----------------------------------------------------------------------------


def test_what_lies_open_for_too_long_and_what_is_nobodys_is_swept(small: SmallArchive) -> None:
    old = small.open({"a": b"1"})
    busy = small.open({})
    small.clock.sleep(LIFE - DAY)
    young = small.open({"a": b"2"})
    small.deposits.sweep()
    assert sorted(small.store.staging.deposits()) == sorted([old, young])
    with pytest.MonkeyPatch.context() as patch:
        # A file on its way in is not hindered.
        patch.setattr(small.store.staging, "sealed", pytest.fail)
        small.deposits.sweep()
    small.clock.sleep(2 * DAY)
    with small.store.staging.receive("nobody", "a", 0) as sink:
        sink.write(b"left")
    with small.deposits.receive(busy, "b", 0) as sink:
        small.deposits.sweep()
        sink.write(b"3")
        sink.finish()
    assert sorted(small.store.staging.deposits()) == sorted([busy, young])
    with pytest.raises(UnknownError):
        small.deposits.get(old)
    small.deposits.complete(busy, "me")
    small.deposits.complete(young, "me")
    assert small.store.staging.deposits() == []


# --- zip and tar ----------------------------------------------------------------------------------


def zipped(files: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return target.getvalue()


def test_unpacking_is_all_or_nothing_and_overwrites_nothing(small: SmallArchive) -> None:
    files = {
        "bad.zip": zipped({"x/new": b"1", "../evil": b"2"}),
        "clash.zip": zipped({"x/new": b"1", "mine": b"theirs"}),
        "self.zip": zipped({"x/new": b"1", "self.zip": b"2"}),
        "text.zip": b"no archive",
        "mine": b"mine",
    }
    id_ = small.open(files)
    for path in ("bad.zip", "clash.zip", "self.zip", "text.zip"):
        with unchanged(small), pytest.raises((UnpackError, StateError, FileNameError)):
            small.deposits.unpack(id_, path)
    for path in ("nothing", "mine/deeper"):
        with unchanged(small), pytest.raises(UnknownError):
            small.deposits.unpack(id_, path)
    with unchanged(small), pytest.raises(FileNameError):
        small.deposits.unpack(id_, "bad.zip", "../out")


def test_who_is_killed_while_unpacking_leaves_no_half(
    small: SmallArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_ = small.open({"all": zipped({"a": b"1", "b": b"2", "c": b"3"})})
    staging = small.store.staging
    finished: list[str] = []

    def killed(deposit: str, path: str) -> None:
        finished.append(path)
        if len(finished) == 3:
            raise KeyboardInterrupt
        type(staging).note_unpacking(staging, deposit, path)

    # As if nothing could be cleared up any more.
    monkeypatch.setattr(staging, "note_unpacking", killed)
    monkeypatch.setattr(staging, "end_unpacking", lambda *_: None)
    monkeypatch.setattr(staging, "unstage", lambda *_: True)
    with pytest.raises(KeyboardInterrupt):
        small.deposits.unpack(id_, "all")
    monkeypatch.undo()
    small.restart()
    assert [staged.path for staged in small.store.staging.staged(id_)] == ["a", "all", "b"]
    with pytest.raises(StateError, match="half"):
        small.deposits.complete(id_, "me")
    assert small.deposits.unpack(id_, "all") == ["a", "b", "c"]
    label = str(small.deposits.complete(id_, "me", "a").item.forms.label)
    assert doc(small, label) == {"a": b"1", "b": b"2", "c": b"3"}


def test_nobody_completes_a_deposit_in_the_middle_of_an_archive(
    small: SmallArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or half of what is in it would be in the item, and half nowhere."""
    id_ = small.open({"all": zipped({"index.html": b"1", "b": b"2"})})
    refused: list[str] = []
    unpacking = small.deposits._unpacking  # noqa: SLF001

    def slowly(source: Any, write: Any) -> Any:  # noqa: ANN401
        written = unpacking(source, write)
        for act in (small.deposits.complete, lambda each, _: small.deposits.unpack(each, "all")):
            with pytest.raises(StateError) as fault:
                act(id_, "me")
            refused.append(str(fault.value))
        return written

    monkeypatch.setattr(small.deposits, "_unpacking", slowly)
    small.deposits.unpack(id_, "all")
    assert len(refused) == 2
    label = str(small.deposits.complete(id_, "me").item.forms.label)
    assert doc(small, label) == {"index.html": b"1", "b": b"2"}
