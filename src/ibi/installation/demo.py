"""Fills an archive with the items of a demonstration; the next start completes what is missing."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec

from ibi.archive.rules.scopes import ADMINISTER
from ibi.client.archive import RemoteArchive
from ibi.errors import ArchiveRefusedError
from ibi.foundation.cli.instance_folder import keep
from ibi.installation import demo_items
from ibi.installation.demo_items import ITEMS, DemoItem

_FILE: Final = "demo.json"
"""A file in the folder of the archive: the label of each item, by its name."""
_NOTE: Final = "demo"
_LIBRARIAN: Final = "ana.example"
"""The name of the token by which an item is deleted."""

_TOUR: Final = (
    ("note", "", "an item, by its label: the first edition of a note"),
    ("note", "!", "its last edition"),
    ("note", "+", "its translation into the language of your browser, if there is one"),
    ("note", "+(pt)", "its translation into Portuguese"),
    ("note", "!+(fr)", "the last edition, in French"),
    ("note", ":", "what is known about it"),
    ("note", ":(oai_dc)", "the same, for programs"),
    ("satellites", "?ibiurl.verblist=GetFileList", "the files of an item"),
    ("satellites", "/data/satellites.csv", "one of them, by its path"),
    ("satellites", ":+(pt)", "what is known about it, in Portuguese"),
    ("service", "", "a web service that runs elsewhere"),
    ("draft", "", "an item that was deleted"),
    ("copy", "", "a copy of an item that another archive has"),
)
"""Items with what to append to their labels, and what that shows."""


class Demo:
    """The demonstration in one archive."""

    def __init__(self, archive: RemoteArchive, folder: Path) -> None:
        """Take an archive; the labels of the items are stored in its folder."""
        self._archive = archive
        self._path = folder / _FILE
        self._labels: dict[str, str] = {}

    async def fill(self) -> None:
        """Deposit all missing items, under labels that were reserved for them.

        A start that is killed in between leaves labels without items; the next one adds them.
        """
        await asyncio.to_thread(self._reserve)
        for item in ITEMS:
            await asyncio.to_thread(self._provide, item)
        await asyncio.to_thread(self._bring_copy)

    def tour(self, resolver: str, archive: str) -> Iterator[str]:
        """Yield URLs to open, each with what it shows."""
        stops = [(f"{resolver}/{self._labels[name]}{asked}", text) for name, asked, text in _TOUR]
        stops.append((f"{archive}/{self._labels['draft']}", "why, and what replaces it"))
        question = quote(f"{self._labels['note']}!+(pt)", safe="/!")
        stops.append((f"{archive}/search?q=rio", "a search for words in the archive"))
        stops.append((f"{archive}/collections/{self._labels['river']}", "a collection"))
        stops.append((f"{resolver}/explain?url={question}", "why a persistent URL leads there"))
        width = max(len(url) for url, _ in stops)
        for url, text in stops:
            yield f"{url.ljust(width)}  {text}"

    def _reserve(self) -> None:
        if self._path.exists():
            self._labels = msgspec.json.decode(self._path.read_bytes(), type=dict[str, str])
        missing = [item.name for item in ITEMS if item.name not in self._labels]
        if not missing:
            return
        answer = self._archive.ask("POST", "reservations", {"count": len(missing), "note": _NOTE})
        labels = (each["ibip"] or each["rep"] for each in answer["labels"])
        self._labels |= dict(zip(missing, labels, strict=True))
        keep(self._path, msgspec.json.encode(self._labels).decode())

    def _bring_copy(self) -> None:
        """Import a Copy as from a bag; do nothing if it is here."""
        self._labels["copy"] = demo_items.FORMS.short.spelling
        [found] = self._archive.ask("POST", "imports", {"items": [demo_items.brought()]})["items"]
        if found["outcome"] == "open":
            end = {"id": found["id"], "files": demo_items.files()}
            self._archive.ask("POST", "imports/completion", {"imports": [end]})

    def _provide(self, item: DemoItem) -> None:
        found = self._get(item)
        if found is None:
            self._deposit(item)
        if item.deleted and (found is None or found["state"] != "Deleted"):
            self._delete(item)

    def _delete(self, item: DemoItem) -> None:
        """Delete an item by a token of its own, whose name the tombstone shows."""
        if any(each["name"] == _LIBRARIAN for each in self._archive.ask("GET", "tokens")["tokens"]):
            self._archive.ask("DELETE", f"tokens/{_LIBRARIAN}")
        wanted = {"name": _LIBRARIAN, "scope": ADMINISTER}
        secret = self._archive.ask("POST", "tokens", wanted)["secret"]
        body = {"reason": item.deleted, "replaced_by": self._labels[item.replaced_by]}
        by_librarian = RemoteArchive(self._archive.address, secret)
        by_librarian.ask("POST", f"{self._place(item)}/deletion", body)
        self._archive.ask("DELETE", f"tokens/{_LIBRARIAN}")

    def _place(self, item: DemoItem) -> str:
        return f"items/{quote(self._labels[item.name], safe='')}"

    def _get(self, item: DemoItem) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = self._archive.ask("GET", self._place(item))
        except ArchiveRefusedError as refusal:
            if refusal.status != HTTPStatus.NOT_FOUND:
                raise
            return None
        return found

    def _deposit(self, item: DemoItem) -> None:
        wanted = {
            "metadata": item.record,
            "language": item.language,
            "service": item.service,
            "label": self._labels[item.name],
            "edition_of": self._labels.get(item.edition_of, ""),
            "translation_of": self._labels.get(item.translation_of, ""),
            "target": item.target,
            "collections": [self._labels[item.collection]] if item.collection else [],
        }
        id_ = self._archive.ask("POST", "deposits", wanted)["id"]
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "file")
            for path, text in item.files.items():
                source.write_text(text, encoding="utf-8")
                self._archive.send_file(id_, path, source, lambda _: None)
        self._archive.ask("POST", f"deposits/{id_}/completion")
