"""Manifests: what lies beside the files says all of an item, and brings it back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.archive.ports.catalogue import Reservation
from ibi.archive.recovery.rebuild import Rebuilt, rebuild
from ibi.archive.rules.amendment import Amendment
from ibi.archive.rules.manifest import VERSION, document, manifest, read_document, read_manifest
from ibi.archive.rules.reserved_labels import read_reserved, reserved_text
from ibi.errors import StorageError
from ibi.foundation.system.instance_lock import token_of
from ibi.identifier.label import parse
from ibi.identifier.language import Language
from ibi.model.item import File, Item, Phase, State, Tombstone, Transfer
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import Agent, Funding, MetadataRecord, RelatedIdentifier, Text
from tests.support.scenes.small_archive import SmallArchive, file, forms, tables, unchanged

LEGACY = parse("6qtX3pFwXQZGivnK2Y/SskcB")

# --- there and back -------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(0, 2**63 - 1)
some_forms = st.integers(1, 10**6).flatmap(
    lambda number: st.sampled_from(
        [
            forms(number),
            Forms(forms(number).rep),
            Forms(None, forms(number).ibip),
            Forms.of(LEGACY),
        ]
    )
)
languages = st.sampled_from(list(map(Language.parse, ("en", "pt", "pt-BR", "fr", "de"))))
agents = st.builds(
    Agent,
    name=texts,
    family=texts,
    given=texts,
    orcid=texts,
    affiliation=texts,
    role=texts,
)
labelled = st.lists(st.builds(Text, texts, texts), max_size=2).map(tuple)
records = st.builds(
    MetadataRecord,
    titles=labelled,
    creators=st.lists(agents, max_size=2).map(tuple),
    dates=st.lists(texts, max_size=2).map(tuple),
    rights=labelled,
    licence=texts,
    related=st.lists(st.builds(RelatedIdentifier, texts, texts, texts), max_size=2).map(tuple),
    funding=st.lists(st.builds(Funding, texts, texts, texts, texts), max_size=2).map(tuple),
)
transfers = st.builds(
    Transfer,
    id=texts,
    peer=texts,
    phase=st.sampled_from(get_args(Phase)),
    since=numbers,
    receipt=texts,
    was_here=st.booleans(),
)
items = st.builds(
    Item,
    forms=some_forms,
    further_names=st.lists(some_forms.map(lambda each: each.label), max_size=3).map(tuple),
    state=st.sampled_from(State),
    kind=st.sampled_from(["data", "metadata", "service"]),
    transferable=st.booleans(),
    language=st.none() | languages,
    target=texts,
    runs_at=texts,
    created=numbers,
    updated=numbers,
    metadata=st.none() | some_forms,
    describes=st.none() | some_forms,
    previous_edition=st.none() | some_forms,
    next_edition=st.none() | some_forms,
    translations=st.dictionaries(languages, some_forms).map(lambda each: tuple(each.items())),
    list_public=st.booleans(),
    readers=st.lists(texts, max_size=2).map(tuple),
    platform_software=st.none() | some_forms,
    origin=texts,
    transfer=st.none() | transfers,
    custody=st.lists(texts, max_size=2).map(tuple),
    record=st.none() | records,
    tombstone=st.none() | st.builds(Tombstone, numbers, texts, texts, st.none() | some_forms),
)
files = st.lists(st.builds(File, texts, numbers, texts, texts, numbers, texts), max_size=3)


@given(items, files)
def test_whatever_is_written_is_read_again(item: Item, known: list[File]) -> None:
    written = manifest(item, known)
    assert read_manifest(written) == (item, tuple(known))
    assert manifest(*read_manifest(written)) == written
    assert read_document(document(item)) == item
    assert str(read_manifest(written)[0].forms) == str(item.forms)


OF_BEFORE = b"""{
  "version": 1,
  "forms": "rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43",
  "state": "Original",
  "record": {
    "titles": [
      {
        "value": "A title",
        "language": "en"
      }
    ],
    "creators": [
      {
        "name": "",
        "family": "Banon",
        "given": "Gerald",
        "orcid": "0000-0002-1825-0097"
      }
    ],
    "subjects": [],
    "descriptions": [],
    "publishers": [],
    "contributors": [
      {
        "name": "INPE",
        "family": "",
        "given": "",
        "orcid": ""
      }
    ],
    "dates": [
      "2009"
    ],
    "types": [],
    "formats": [],
    "identifiers": [],
    "sources": [],
    "languages": [],
    "relations": [],
    "coverages": [],
    "rights": [],
    "licence": ""
  }
}
"""
"""A manifest as it was written before records had roles, affiliations, relations and funding."""


def test_a_manifest_of_before_is_written_as_it_was() -> None:
    """Its bytes are compared: with its re-encoding, with checksums of bags, between archives."""
    item, known = read_manifest(OF_BEFORE)
    assert item.record is not None
    assert not item.record.related
    assert not item.record.funding
    assert manifest(item, known) == OF_BEFORE


def test_people_can_read_it(tmp_path: Path) -> None:
    text = manifest(Item(forms=forms(1), target="é.pdf"), [file("é.pdf", b"1")]).decode()
    assert text.endswith("}\n")
    assert '  "target": "é.pdf",\n' in text
    assert json.loads(text)["files"][0]["path"] == "é.pdf"
    assert "tombstone" not in text
    assert not list(tmp_path.iterdir())


GOOD = manifest(Item(forms=forms(1), language=Language.parse("pt")), [file("a")])


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"\x00" * 100,
        b"null",
        b"[]",
        b"{}",
        GOOD[:-20],
        GOOD + b"x",
        GOOD.replace(b'"rep ', b'"rip '),
        GOOD.replace(b'"pt"', b'"portuguese"'),
        GOOD.replace(b'"size": 5', b'"size": "5"'),
        GOOD.replace(b'"language"', b'"state": "Lost", "language"'),
        GOOD.replace(b'"language"', b'"kind": "nonsense", "language"'),
        GOOD.replace(b'"language"', b'"translations": {"xx": "rep x"}, "language"'),
        GOOD.replace(b'"language"', b'"target": "\xff", "language"'),
        GOOD.replace(b'"language"', b'"target": "\\ud800", "language"'),
        GOOD.replace(b'"language"', b'"transfer": {"id": "x", "phase": "lost"}, "language"'),
        GOOD.replace(b'"language"', b'"readers": "10.0.0.0/8", "language"'),
    ],
)
def test_a_damaged_manifest_is_a_fault_of_the_storage(damaged: bytes) -> None:
    assert damaged != GOOD
    with pytest.raises(StorageError, match=r"storage the/place cannot be used: its manifest"):
        read_manifest(damaged, "the/place")


def test_a_newer_manifest_is_not_guessed_at() -> None:
    newer = GOOD.replace(b'"version": %d' % VERSION, b'"version": %d' % (VERSION + 1))
    with pytest.raises(StorageError, match=r"version 2, newer than this"):
        read_manifest(newer)


def test_reserved_labels_are_written_and_read_again() -> None:
    kept = [Reservation(forms(1), 2**62, "me", "nota ç"), Reservation(forms(2), 1, "you")]
    assert read_reserved(reserved_text(kept)) == kept
    for damaged in (b"", b"{}", b'[{"forms": "x", "reserved": 1, "who": "me"}]', b"\xff"):
        with pytest.raises(StorageError, match="damaged"):
            read_reserved(damaged)


# --- the catalogue is lost ------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> Iterator[SmallArchive]:
    archive = SmallArchive(tmp_path / "archive")
    yield archive
    archive.close()


def fill(small: SmallArchive) -> str:
    """Put one of everything into an archive."""
    small.archive.create_service(MetadataRecord(titles=(Text("Archive"),)), "me")
    one = small.label({"a": b"1", "b/c": b"2"}, target="a", language="en")
    small.label({"x": b"3"}, language="pt", translation_of=one, further_names=[LEGACY.spelling])
    small.label(service="https://example.org/run")
    gone = small.label({"y": b"4"}, edition_of=one)
    small.archive.delete(gone, "me", "wrong", one)
    small.deposit({"a": b"new"}, item=one)
    small.archive.amend(one, Amendment(metadata={"title": "Ç"}, list_public=False), "me")
    [first, _] = small.archive.reserve(2, "me", "later")
    small.label(label=str(first.forms.label))
    return one


def known(small: SmallArchive) -> dict[str, object]:
    """Return what is known of items, but for numbers, versions and history."""
    held = small.catalogue.items.page(0, 100)
    rows = tables(small.folder / "catalogue.sqlite")
    return {
        "items": [each.item for each in held],
        "files": [small.catalogue.items.files(each.id) for each in held],
        "names": [name for name, *_ in rows["archive_name"]],
        "reserved": small.catalogue.reservations.page("", 9),
        "count": small.catalogue.items.count(),
    }


def test_everything_is_rebuilt_from_the_tree_alone(small: SmallArchive) -> None:
    one = fill(small)
    before = known(small)
    small.lose_catalogue()
    assert known(small)["items"] == []
    places = [item.forms.label.spelling for item in before["items"]]  # type: ignore[attr-defined]
    assert sorted(each.place for each in rebuild(small.archive)) == sorted(places)
    after = known(small)
    for name, value in before.items():
        assert after[name] == value, name
    assert small.archive.get(LEGACY).item.further_names == (LEGACY,)
    small.deposit({"a": b"newer"}, item=one)  # it goes on


def test_a_rebuilt_catalogue_can_be_rebuilt_again(small: SmallArchive) -> None:
    fill(small)
    before = known(small)
    history = small.catalogue.history.entries(0, 100)
    for _ in range(2):
        assert all(not each.fault for each in rebuild(small.archive))
        assert known(small) == before
    assert small.catalogue.history.entries(0, 100)[: len(history)] == history


def test_what_was_decided_is_finished_before(
    small: SmallArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_ = small.open({"a": b"1"})
    with monkeypatch.context() as patch:
        patch.setattr(small.store, "finish", lambda _: None)
        label = str(small.deposits.complete(id_, "me").item.forms.label)
    small.lose_catalogue()
    assert small.archive.get(label).item.target == "a"
    assert not list((small.folder / "journal").iterdir())
    assert [each.fault for each in rebuild(small.archive)] == ["", ""]


def test_one_bad_manifest_keeps_no_other_item_out(small: SmallArchive) -> None:
    labels = [small.label({"a": b"1"}) for _ in range(4)]
    place = small.folder / "col"
    (place / labels[0] / "ibi.json").write_bytes(b"damaged")
    newer = (place / labels[1] / "ibi.json").read_bytes().replace(b'"version": 1', b'"version": 9')
    (place / labels[1] / "ibi.json").write_bytes(newer)
    # A copy that somebody made by hand is not the item.
    shutil.copytree(place / labels[2], place / f"{labels[2]}.backup")
    small.lose_catalogue()
    rebuilt = {each.place: each.fault for each in rebuild(small.archive)}
    assert "cannot be read" in rebuilt[labels[0]]
    assert "version 9" in rebuilt[labels[1]]
    assert labels[2] in rebuilt[f"{labels[2]}.backup"]
    assert [rebuilt[label] for label in labels[2:]] == ["", ""]
    assert small.catalogue.items.count() == 2


def test_two_manifests_that_claim_one_name_are_told(small: SmallArchive) -> None:
    one, two = small.archive.get(small.label()), small.archive.get(small.label())
    for held in (one, two):
        claim = replace(held.item, further_names=(LEGACY,))
        path = small.folder / "col" / held.item.forms.label.spelling / "ibi.json"
        path.write_bytes(manifest(claim, ()))
    small.lose_catalogue()
    faults = [each for each in rebuild(small.archive) if each.fault]
    assert [each.place for each in faults] == [two.item.forms.label.spelling]
    assert "no label is given twice" in faults[0].fault


def test_a_rebuilding_that_changes_nothing(small: SmallArchive) -> None:
    assert list(rebuild(small.archive)) == []
    label = small.label()
    assert Rebuilt(label) in list(rebuild(small.archive))
    with unchanged(small):
        small.deposits.sweep()


# --- by the command line --------------------------------------------------------------------------


def ibi(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"IBI_TOKEN", "IBI_ARCHIVE"}
    }
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "ibi", "archive", *words, "--data", str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.long
def test_the_command_brings_the_catalogue_back_and_makes_local_commands_work(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "archive"
    made = ibi(folder, "init", "--host", "archive.example.org")
    assert made.returncode == 0, made.stderr
    token = token_of(folder)
    kept = ibi(folder, "rebuild")
    assert (kept.returncode, kept.stdout) == (0, "rebuilt 2 items\n")
    assert "lost" not in kept.stderr
    assert token_of(folder) == token
    for path in folder.glob("catalogue.sqlite*"):
        path.unlink()
    refused = ibi(folder, "serve", "--listen", "127.0.0.1:0")
    assert refused.returncode != 0
    assert "'ibi archive rebuild'" in refused.stderr
    rebuilt = ibi(folder, "rebuild")
    assert (rebuilt.returncode, rebuilt.stdout) == (0, "rebuilt 2 items\n")
    assert "'ibi archive token add'" in rebuilt.stderr
    assert token_of(folder) not in {"", token}
    digests = [row[1] for row in tables(folder / "catalogue.sqlite")["archive_token"]]
    assert len(digests) == 1
    [manifest_, *_] = sorted((folder / "col").rglob("ibi.json"))
    manifest_.write_bytes(b"damaged")
    partly = ibi(folder, "rebuild")
    assert (partly.returncode, partly.stdout) == (1, "rebuilt 1 items\n")
    assert "its manifest cannot be read" in partly.stderr


def test_amendments_tell_null_from_left_out() -> None:
    decode = msgspec.json.Decoder(Amendment).decode
    assert decode(b"{}") == Amendment()
    assert decode(b'{"language": null}') != Amendment()
    assert msgspec.to_builtins(decode(b'{"language": null}')) == {"language": None}
    with pytest.raises(msgspec.ValidationError):
        decode(b'{"target": null}')
    with pytest.raises(msgspec.ValidationError):
        decode(b'{"nonsense": 1}')
