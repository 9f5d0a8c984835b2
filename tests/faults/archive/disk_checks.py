"""Compares the state of an archive on disk with the expected state.

Catalogue and tree are read by other software than the program's; what readers get is read by HTTP.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.faults.archive.expected_state import DELETED, ORIGINAL, ExpectedState, label_of, view
from tests.faults.archive.operations import expect
from tests.faults.archive.server_process import KillableArchive
from tests.faults.figures import Violation
from tests.faults.sites import PostgresSite


@dataclass(frozen=True, slots=True)
class ActualState:
    """The state of an archive on disk."""

    documents: dict[str, dict[str, Any]]
    reserved: set[str]
    changes: int
    names: set[str]

    def is_as(self, state: ExpectedState) -> bool:
        """Tell whether it equals the expected state."""
        return (self.documents, self.reserved, self.changes) == (
            state.documents(),
            state.reserved,
            state.changes,
        )

    def difference(self, state: ExpectedState) -> str:
        """Describe the differences from the expected state."""
        should = state.documents()
        lines = [
            f"{label}: should be {should.get(label)}, is {self.documents.get(label)}"
            for label in sorted({*should, *self.documents})
            if should.get(label) != self.documents.get(label)
        ]
        if self.reserved != state.reserved:
            lines.append(f"reserved: should be {state.reserved}, is {self.reserved}")
        if self.changes != state.changes:
            lines.append(f"history: should be {state.changes} changes, is {self.changes}")
        return "\n  ".join(lines)


def rows(archive: KillableArchive, sql: str) -> list[tuple[Any, ...]]:
    """Query the database of the catalogue."""
    if isinstance(archive.site, PostgresSite):
        return archive.site.query(sql)
    path = archive.data / "catalogue.sqlite"
    with closing(sqlite3.connect(path, timeout=30)) as connection:
        return connection.execute(sql).fetchall()


def read_state(archive: KillableArchive) -> ActualState:
    """Read the whole state; raise Violation if its parts disagree."""
    files: dict[int, dict[str, tuple[int, str, int]]] = {}
    for item, path, size, digest, modified in rows(
        archive, "SELECT item, path, size, sha256, modified FROM archive_file"
    ):
        files.setdefault(item, {})[path] = (size, digest, modified)
    documents: dict[str, dict[str, Any]] = {}
    places: set[Path] = set()
    owners: dict[str, int] = {}
    for number, version, text in rows(archive, "SELECT id, version, document FROM archive_item"):
        document = json.loads(text)
        label = label_of(document["forms"])
        places.add(archive.data / "col" / label)
        said = document | {"number": number, "changes": version}
        _check_manifest(archive.data / "col" / label, said, files.get(number, {}))
        for name in document["forms"].split()[1::2]:
            if owners.setdefault(name, number) != number:
                raise Violation(f"{name} names two items")
        if document.get("kind") != "service" and "describes" not in document:
            sums = {path: digest for path, (_, digest, _) in files.get(number, {}).items()}
            documents[label] = view(document, sums)
        elif document.get("describes") and label_of(document["describes"]) != archive.service:
            documents[label] = view(document, {})
    tree = {path.parent for path in (archive.data / "col").rglob("ibi.json")}
    if tree != places:
        raise Violation(f"in the tree or in the catalogue alone: {sorted(tree ^ places)}")
    _check_relations(documents)
    # A draft has a label before it is acknowledged, which no other item gets.
    ours = "SELECT forms FROM archive_reservation WHERE note NOT LIKE 'draft%'"
    reserved = {label_of(forms) for (forms,) in rows(archive, ours)}
    [(changes,)] = rows(
        archive, "SELECT count(*) FROM archive_history WHERE label <> '' AND act <> 'found'"
    )
    return ActualState(documents, reserved, changes, set(owners))


def _check_manifest(
    folder: Path, document: Mapping[str, Any], files: Mapping[str, tuple[int, str, int]]
) -> None:
    """Check that manifest, catalogue and folder agree."""
    try:
        manifest = json.loads((folder / "ibi.json").read_bytes())
    except OSError as failure:
        raise Violation(f"in the catalogue, and no manifest: {folder}: {failure}") from None
    listed = manifest.pop("files", [])
    if manifest != document:
        raise Violation(f"manifest and catalogue differ: {folder}: {manifest}, {document}")
    said = {each["path"]: (each["size"], each["sha256"], each["modified"]) for each in listed}
    if said != files:
        raise Violation(f"manifest and catalogue differ in files: {folder}: {said}, {files}")
    doc = folder / "doc"
    there = {
        path.relative_to(doc).as_posix(): (
            path.stat().st_size,
            sha256(path.read_bytes()).hexdigest(),
            path.stat().st_mtime_ns,
        )
        for path in doc.rglob("*")
        if path.is_file()
    }
    if there != files:
        raise Violation(f"disk and catalogue differ: {folder}: {there}, {files}")


def _check_relations(documents: Mapping[str, Mapping[str, Any]]) -> None:
    """Check that related items refer to each other."""
    for label, document in documents.items():
        if document["kind"] == "metadata" or document["state"] != ORIGINAL:
            continue
        following = documents.get(document["next_edition"])
        if following is not None and following["previous_edition"] != label:
            raise Violation(f"{label} has a next edition that does not know it")
        for other in document["translations"].values():
            known = documents[other]
            if known["state"] == ORIGINAL and label not in known["translations"].values():
                raise Violation(f"{label} has a translation that does not know it")


def check_settled(archive: KillableArchive) -> None:
    """Check that the journal is empty: a start, or the next operation, finishes it."""
    left = [*(archive.data / "journal").iterdir(), *(archive.data / "incoming").glob("change-*")]
    if left:
        raise Violation(f"left over: {left}")


def check_replaced_kept(archive: KillableArchive, state: ExpectedState) -> None:
    """Check that replaced files are kept."""
    for label, known in state.items.items():
        old = archive.data / "col" / label / "old"
        for path, data in known.replaced:
            copies = [found / path for found in (old.iterdir() if old.is_dir() else ())]
            if not any(copy.is_file() and copy.read_bytes() == data for copy in copies):
                raise Violation(f"{label}: the replaced {path} is not kept under {old}")


def check_reading(
    archive: KillableArchive, state: ExpectedState, labels: Iterable[str], rng: random.Random
) -> None:
    """Check that readers get some of the items as expected."""
    for label in labels:
        known = state.items[label]
        item = expect(archive.api("GET", f"items/{label}"), 200).json()
        titles = (
            None if "record" not in item else [each["value"] for each in item["record"]["titles"]]
        )
        said = (item["state"], item.get("target", ""), titles, item["metadata"]["rep"])
        if said != (known.state, known.target, known.titles, known.metadata):
            raise Violation(f"{label}: the API says {said}")
        if known.state == DELETED:
            expect(archive.get(f"/{label}"), 410)
            continue
        some = rng.sample(sorted(known.files), min(4, len(known.files)))
        for path in some:
            answer = expect(archive.get(f"/col/{label}/doc/{quote(path)}"), 200)
            if answer.body != known.files[path]:
                raise Violation(f"{label}: {path} is read as other bytes")
