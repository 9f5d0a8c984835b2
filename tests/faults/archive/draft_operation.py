"""A deposit by browser: a draft that is saved and filled in any order, and published twice at once.

It remembers what the archive has acknowledged, and asks for all of it after a kill.
"""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final
from urllib.parse import quote

from tests.faults.archive.operations import Deposit, expect
from tests.faults.archive.server_process import SERVER_GONE
from tests.faults.figures import Violation
from tests.support.clients.http import Answer
from tests.support.servers.archive import ArchiveServer

_WHOLE: Final = 5_000
"""Bytes up to which a file is sent in one request; larger ones come in parts."""
_SAVE: Final = ""
"""The step that saves the form, among the paths of files."""

Fields = list[list[str]]


class PublishDraft(Deposit):
    """A draft whose form is saved again and again between its files, then published."""

    def __init__(
        self,
        wanted: dict[str, Any],
        files: dict[str, bytes],
        promised: dict[str, str],
        rng: random.Random,
    ) -> None:
        """`promised` has the labels of all drafts, with their keys."""
        super().__init__("draft", wanted, files)
        self._promised = promised
        steps = [*files, *(_SAVE for _ in range(rng.randint(0, 2)))]
        rng.shuffle(steps)
        self._steps = [*steps, _SAVE]
        self._cuts = {
            path: rng.randint(1, len(content) - 1)
            for path, content in files.items()
            if len(content) > _WHOLE
        }
        self._rep = ""
        self._version = 0
        self._saves = 0
        self._saved: Fields = []
        self._saving: Fields | None = None
        """Fields of which it is not known whether they are saved."""
        self._received: dict[str, int] = {}
        """Acknowledged bytes of files that have not come whole."""

    @property
    def place(self) -> str:
        """The path of the draft in the API."""
        return f"drafts/{self.id}"

    def prepare(self, archive: ArchiveServer) -> None:
        """Open the draft by a form that is sent twice; save and send in any order."""
        for _ in range(2):
            opened = expect(archive.api("POST", "drafts", {"key": self.wanted["key"]}), 201).json()
            self._check_promise(opened)
        for step in self._steps:
            if step == _SAVE:
                self._save(archive, is_last=False)
            else:
                self._send_in_parts(archive, step)
        self._save(archive, is_last=True)

    def _check_promise(self, opened: dict[str, Any]) -> None:
        """Raise if the label was promised to another draft, or another label to this one."""
        self.id, rep = str(opened["id"]), str(opened["rep"])
        if self._promised.setdefault(rep, self.wanted["key"]) != self.wanted["key"]:
            raise Violation(f"a label is given twice: {rep} to two drafts")
        if self._rep not in {"", rep}:
            raise Violation(f"a draft has two labels: {self._rep} and {rep}")
        self._rep = rep

    def _fields(self, *, is_last: bool) -> Fields:
        [title] = self.wanted["metadata"]["titles"]
        fields = [["title", title if is_last else f"{title}, draft {self._saves}"]]
        return [
            *fields,
            ["creator-unknown", "yes"],
            ["year", "2026"],
            ["type", "Dataset"],
            ["language", self.wanted["language"]],
            ["target", self.wanted["target"]],
        ]

    def _save(self, archive: ArchiveServer, *, is_last: bool) -> None:
        self._saves += 1
        self._saving = self._fields(is_last=is_last)
        wanted = {"version": self._version, "fields": self._saving}
        self._version = expect(archive.api("PUT", self.place, wanted), 200).json()["version"]
        self._saved, self._saving = self._saving, None

    def _send_in_parts(self, archive: ArchiveServer, path: str) -> None:
        if (cut := self._cuts.get(path)) is None:
            self.send(archive, path)
            return
        place, part = f"{self.place}/files/{quote(path)}", self.files[path][:cut]
        answer = archive.api("PUT", place, part, **{"Upload-Complete": "?0"})
        self._received[path] = int(expect(answer, 200).headers["upload-offset"])
        self.send(archive, path, cut)

    def send(self, archive: ArchiveServer, path: str, offset: int = 0) -> None:
        """Send a file, or the rest of one."""
        super().send(archive, path, offset)
        self._received.pop(path, None)

    def known(self, archive: ArchiveServer) -> dict[str, Any]:
        """Return what the archive says of the draft; raise if it lost what it acknowledged."""
        draft = expect(archive.api("GET", self.place), 200).json()
        self._check_promise(draft)
        found = draft.get("fields", [])
        if found not in [self._saved, self._saving]:
            what = f"it has {found}, not {self._saved}"
            raise Violation(f"the archive said that it saved a form: {what}")
        files = expect(archive.api("GET", f"{self.place}/files?limit=1000"), 200).json()["files"]
        if draft["state"] == "open":
            self._version, self._saved, self._saving = draft["version"], found, None
            self._check_parts({each["path"]: each for each in files})
            self._save(archive, is_last=True)
        return {"completed": draft.get("item", ""), "files": files}

    def _check_parts(self, there: dict[str, dict[str, Any]]) -> None:
        for path, size in self._received.items():
            if there.get(path, {}).get("size", 0) < size:
                what = f"{size} bytes of {path}: it has {there.get(path)}"
                raise Violation(f"the archive said that it has a part: {what}")

    def finish(self, archive: ArchiveServer) -> Answer:
        """Publish it by a double click; raise if that makes two items."""
        with ThreadPoolExecutor(2) as clicks:
            asked = [clicks.submit(self._publish, archive) for _ in range(2)]
        done = [each.result() for each in asked if each.exception() is None]
        if not done:
            return asked[0].result()
        for each in asked:
            if not isinstance(each.exception(), (type(None), *SERVER_GONE)):
                each.result()
        reps = {expect(each, 200).json()["rep"] for each in done}
        if reps != {self._rep}:
            raise Violation(f"published as another item: {reps} instead of {self._rep}")
        return done[0]

    def _publish(self, archive: ArchiveServer) -> Answer:
        return archive.api("POST", f"{self.place}/publication", {"version": self._version})
