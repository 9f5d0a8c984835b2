"""The expected state of an archive by its acknowledgments, without code of the program."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Self

ORIGINAL, DELETED = "Original", "Deleted"


@dataclass(slots=True)
class ExpectedItem:
    """One item of data, with the item that describes it."""

    metadata: str
    titles: list[str] | None
    files: dict[str, bytes]
    target: str
    language: str
    state: str = ORIGINAL
    metadata_state: str = ORIGINAL
    list_public: bool = True
    previous: str = ""
    next: str = ""
    translations: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    replaced: list[tuple[str, bytes]] = field(default_factory=list)
    """Paths and bytes of replaced files, which must be kept."""

    def documents(self, label: str) -> dict[str, dict[str, Any]]:
        """Return the expected documents of the item and of its metadata."""
        item = {
            "kind": "data",
            "state": self.state,
            "language": self.language,
            "target": self.target,
            "list_public": self.list_public,
            "metadata": self.metadata,
            "previous_edition": self.previous,
            "next_edition": self.next,
            "translations": self.translations,
            "reason": self.reason,
            "files": {path: sha256(data).hexdigest() for path, data in self.files.items()},
        }
        describing = {
            "kind": "metadata",
            "state": self.metadata_state,
            "describes": label,
            "titles": self.titles,
            "reason": self.reason if self.metadata_state == DELETED else "",
        }
        return {label: item, self.metadata: describing}


@dataclass(slots=True)
class ExpectedState:
    """Everything that an archive has acknowledged."""

    items: dict[str, ExpectedItem] = field(default_factory=dict)
    reserved: set[str] = field(default_factory=set)
    changes: int = 0

    def copy(self) -> Self:
        """Return a deep copy."""
        return deepcopy(self)

    def documents(self) -> dict[str, dict[str, Any]]:
        """Return the expected documents of all items."""
        found: dict[str, dict[str, Any]] = {}
        for label, known in self.items.items():
            found |= known.documents(label)
        return found

    def originals(self) -> list[str]:
        """Return the labels of items that can be changed."""
        return [label for label, known in self.items.items() if known.state == ORIGINAL]

    def languages(self, label: str) -> set[str]:
        """Return the languages that an item and its translations have."""
        group = self.group(label)
        return {self.items[one].language for one in group} | {
            language for one in group for language in self.items[one].translations
        }

    def group(self, label: str) -> list[str]:
        """Return an item and its translations, those that can be changed."""
        others = self.items[label].translations.values()
        return [label, *(other for other in others if self.items[other].state == ORIGINAL)]

    def deposit(
        self, label: str, metadata: str, wanted: Mapping[str, Any], files: Mapping[str, bytes]
    ) -> None:
        """Add a new item, and update the items that it relates to."""
        new = ExpectedItem(
            metadata,
            list(wanted["metadata"]["titles"]),
            dict(files),
            wanted["target"],
            wanted["language"],
            previous=wanted.get("edition_of", ""),
        )
        if new.previous:
            self.items[new.previous].next = label
        if other := wanted.get("translation_of", ""):
            group = self.group(other)
            pairs = [(self.items[one].language, one) for one in group]
            pairs += [pair for one in group for pair in self.items[one].translations.items()]
            for language, one in pairs:
                new.translations.setdefault(language, one)
            for one in group:
                self.items[one].translations[new.language] = label
        self.reserved.discard(label)
        self.items[label] = new
        self.changes += 1

    def revise(self, label: str, wanted: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
        """Replace and remove files of an item."""
        known = self.items[label]
        gone = [path for path in known.files if path in files or path in wanted["remove"]]
        known.replaced += [(path, known.files[path]) for path in gone]
        kept = {path: data for path, data in known.files.items() if path not in gone}
        known.files = kept | dict(files)
        known.target = wanted["target"]
        self.changes += 1

    def amend(self, label: str, amendment: Mapping[str, Any]) -> None:
        """Amend the description of an item."""
        known = self.items[label]
        known.titles = list(amendment["metadata"]["titles"])
        known.list_public = amendment.get("list_public", known.list_public)
        self.changes += 1

    def delete(self, label: str, reason: str, *, with_metadata: bool) -> None:
        """Delete an item."""
        known = self.items[label]
        known.state, known.reason, known.target = DELETED, reason, ""
        known.files, known.replaced = {}, []
        if with_metadata:
            known.metadata_state, known.titles = DELETED, None
        self.changes += 1


def view(document: Mapping[str, Any], files: Mapping[str, str]) -> dict[str, Any]:
    """Return the compared part of a manifest."""
    reason = (document.get("tombstone") or {}).get("reason", "")
    if document.get("kind") == "metadata":
        record = document.get("record")
        return {
            "kind": "metadata",
            "state": document.get("state", ORIGINAL),
            "describes": label_of(document["describes"]),
            "titles": None if record is None else [each["value"] for each in record["titles"]],
            "reason": reason,
        }
    translations = document.get("translations", {})
    return {
        "kind": document.get("kind", "data"),
        "state": document.get("state", ORIGINAL),
        "language": document.get("language", ""),
        "target": document.get("target", ""),
        "list_public": document.get("list_public", True),
        "metadata": label_of(document.get("metadata", "")),
        "previous_edition": label_of(document.get("previous_edition", "")),
        "next_edition": label_of(document.get("next_edition", "")),
        "translations": {into: label_of(forms) for into, forms in translations.items()},
        "reason": reason,
        "files": dict(files),
    }


def label_of(forms: str) -> str:
    """Return the repository name among the forms of an item."""
    return forms.split()[1] if forms else ""
