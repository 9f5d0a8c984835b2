"""Random operations of depositors; each knows its effect on the expected state."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Final, Protocol
from urllib.parse import quote

from tests.faults.archive.expected_state import ExpectedState
from tests.faults.figures import Violation
from tests.support.clients.http import Answer
from tests.support.servers.archive import ArchiveServer

LANGUAGES: Final = ("de", "en", "es", "fr", "it", "pt")
FOLDERS: Final = ("", "a/", "a/b/", "Relatório ção/", "x/y/z/")
SWAPPED: Final = ("swap", "swap/inner")
"""A path that becomes a folder, and back."""


class Operation(Protocol):
    """An operation of a depositor on an archive."""

    kind: str
    label: str
    """Label of the item; of a new deposit, once it is known."""

    def prepare(self, archive: ArchiveServer) -> None:
        """Make the requests before the last one, which have no visible effect."""
        ...

    def finish(self, archive: ArchiveServer) -> Answer:
        """Make the last request."""
        ...

    def effect(self, state: ExpectedState, answer: Mapping[str, Any]) -> None:
        """Apply the effect to the expected state."""
        ...


class Deposit:
    """A new item, or new files for one."""

    def __init__(self, kind: str, wanted: dict[str, Any], files: dict[str, bytes]) -> None:
        self.kind = kind
        self.wanted = wanted
        self.files = files
        self.label = wanted.get("item", "")
        self.id = ""
        self.sent: set[str] = set()
        """Paths of files whose receipt was acknowledged."""

    @property
    def place(self) -> str:
        """The path of the deposit in the API."""
        return f"deposits/{self.id}"

    def known(self, archive: ArchiveServer) -> dict[str, Any]:
        """Return what the archive says of the deposit."""
        found: dict[str, Any] = expect(archive.api("GET", self.place), 200).json()
        return found

    def prepare(self, archive: ArchiveServer) -> None:
        """Open the deposit, and send its files."""
        self.id = str(expect(archive.api("POST", "deposits", self.wanted), 201).json()["id"])
        for path in self.files:
            self.send(archive, path)

    def send(self, archive: ArchiveServer, path: str, offset: int = 0) -> None:
        """Send a file, or the rest of one."""
        place = f"{self.place}/files/{quote(path)}"
        headers = {"Upload-Offset": str(offset)} if offset else {}
        method, data = "PATCH" if offset else "PUT", self.files[path][offset:]
        expect(archive.api(method, place, data, **headers), 201)
        self.sent.add(path)

    def finish(self, archive: ArchiveServer) -> Answer:
        """Complete it."""
        return archive.api("POST", f"deposits/{self.id}/completion")

    def effect(self, state: ExpectedState, answer: Mapping[str, Any]) -> None:
        """Add or change the item."""
        if self.kind == "revise":
            state.revise(self.label, self.wanted, self.files)
        else:
            self.label = answer["rep"]
            state.deposit(self.label, answer["metadata"]["rep"], self.wanted, self.files)


class PublishDraft(Deposit):
    """A draft whose form is saved and whose files are sent, then published."""

    is_saved = False
    """Whether the saving of the form was acknowledged."""

    @property
    def place(self) -> str:
        """The path of the draft in the API."""
        return f"drafts/{self.id}"

    @property
    def fields(self) -> list[list[str]]:
        """The fields of the form."""
        [title] = self.wanted["metadata"]["titles"]
        return [
            ["title", title],
            ["creator-unknown", "yes"],
            ["year", "2026"],
            ["type", "Dataset"],
            ["language", self.wanted["language"]],
            ["target", self.wanted["target"]],
        ]

    def prepare(self, archive: ArchiveServer) -> None:
        """Open the draft, save its form, and send its files."""
        opened = expect(archive.api("POST", "drafts", {"key": self.wanted["key"]}), 201).json()
        self.id = str(opened["id"])
        self.save(archive)
        for path in self.files:
            self.send(archive, path)

    def save(self, archive: ArchiveServer) -> None:
        """Save the form."""
        saved = {"version": 0, "fields": self.fields}
        expect(archive.api("PUT", self.place, saved), 200)
        self.is_saved = True

    def known(self, archive: ArchiveServer) -> dict[str, Any]:
        """Return what the archive says of the draft; raise if it lost what it acknowledged."""
        draft = expect(archive.api("GET", self.place), 200).json()
        if self.is_saved and draft["fields"] != self.fields:
            raise Violation(f"the archive said that it saved a form: it has {draft['fields']}")
        if draft["state"] == "open" and not self.is_saved:
            self.save(archive)
        files = expect(archive.api("GET", f"{self.place}/files?limit=1000"), 200).json()["files"]
        return {"completed": draft.get("item", ""), "files": files}

    def finish(self, archive: ArchiveServer) -> Answer:
        """Publish it."""
        return archive.api("POST", f"drafts/{self.id}/publication", {"version": 1})


class Describe:
    """A change of the title and of the visibility of the files: two items change at once."""

    def __init__(self, label: str, amendment: dict[str, Any]) -> None:
        self.kind = "describe"
        self.label = label
        self._amendment = amendment

    def prepare(self, archive: ArchiveServer) -> None:
        """Do nothing."""

    def finish(self, archive: ArchiveServer) -> Answer:
        """Send the amendment."""
        return archive.api("PATCH", f"items/{self.label}", self._amendment)

    def effect(self, state: ExpectedState, answer: Mapping[str, Any]) -> None:
        """Amend the item."""
        del answer
        state.amend(self.label, self._amendment)


class Delete:
    """A deletion of an item."""

    def __init__(self, label: str, reason: str, *, with_metadata: bool) -> None:
        self.kind = "delete with metadata" if with_metadata else "delete"
        self.label = label
        self._body = {"reason": reason, "with_metadata": with_metadata}

    def prepare(self, archive: ArchiveServer) -> None:
        """Do nothing."""

    def finish(self, archive: ArchiveServer) -> Answer:
        """Delete it."""
        return archive.api("POST", f"items/{self.label}/deletion", self._body)

    def effect(self, state: ExpectedState, answer: Mapping[str, Any]) -> None:
        """Delete the item."""
        del answer
        with_metadata = bool(self._body["with_metadata"])
        state.delete(self.label, str(self._body["reason"]), with_metadata=with_metadata)


class Reserve:
    """A reservation of labels."""

    def __init__(self, count: int) -> None:
        self.kind = "reserve"
        self.label = ""
        self.count = count

    def prepare(self, archive: ArchiveServer) -> None:
        """Do nothing."""

    def finish(self, archive: ArchiveServer) -> Answer:
        """Reserve them."""
        return archive.api("POST", "reservations", {"count": self.count})

    def effect(self, state: ExpectedState, answer: Mapping[str, Any]) -> None:
        """Add the reserved labels."""
        state.reserved |= {each["rep"] for each in answer["labels"]}


class Refused(Violation):
    """An unexpected refusal; a failing disk may justify it."""

    def __init__(self, answer: Answer, what: str) -> None:
        super().__init__(what)
        self.answer = answer


def expect(answer: Answer, *statuses: int) -> Answer:
    """Return an answer with one of the statuses; raise Refused otherwise."""
    if answer.status not in statuses:
        what = f"answered {answer.status}, not {statuses}: {answer.body[:500]!r}"
        raise Refused(answer, what)
    return answer


class OperationGenerator:
    """Generates random operations that an archive must not refuse."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311  # reproducible, not secret
        self._number = 0

    KINDS: Final = (
        *("deposit", "deposit", "revise", "revise", "revise", "describe"),
        *("edition", "translation", "delete", "delete with metadata", "reserve", "reserved"),
        *("draft", "draft"),
    )

    def any(self, state: ExpectedState) -> Operation:
        """Return an operation of a random kind."""
        return self.operation(self.rng.choice(self.KINDS), state)

    def operation(self, kind: str, state: ExpectedState) -> Operation:
        """Return an operation of a kind, or a deposit if there is no suitable item."""
        self._number += 1
        originals = state.originals()
        if kind == "reserve":
            return Reserve(self.rng.randint(1, 3))
        label = self.rng.choice(originals) if originals else ""
        if label and kind == "revise":
            return self._revise(label, state)
        if label and kind == "describe":
            return Describe(label, self._description() | {"list_public": self._coin()})
        if label and kind.startswith("delete"):
            return Delete(label, self._text(), with_metadata=kind != "delete")
        return self._related(kind, label, state)

    def _related(self, kind: str, label: str, state: ExpectedState) -> Deposit:
        """Return a deposit that is related to an existing item, if there is one."""
        newest = [one for one in state.originals() if not state.items[one].next]
        free = set(LANGUAGES) - state.languages(label) if label else set()
        if kind == "edition" and newest:
            return self._deposit(kind, edition_of=newest[-1])
        if kind == "translation" and free:
            return self._deposit(kind, translation_of=label, language=min(free))
        if kind == "draft":
            return self._draft()
        if kind == "reserved" and state.reserved:
            return self._deposit(kind, label=min(state.reserved))
        return self._deposit("deposit")

    def _deposit(self, kind: str, **more: str) -> Deposit:
        files = {self._path(): self._content() for _ in range(self.rng.randint(1, 20))}
        if self.rng.random() < 0.3:
            files[self.rng.choice(SWAPPED)] = self._content()
        wanted = {"target": self.rng.choice([*files]), "language": self._language()}
        return Deposit(kind, {**self._description(), **wanted, **more}, files)

    def _draft(self) -> PublishDraft:
        plain = self._deposit("draft")
        key = f"{self.rng.getrandbits(128):032x}"
        return PublishDraft("draft", {**plain.wanted, "key": key}, plain.files)

    def _revise(self, label: str, state: ExpectedState) -> Deposit:
        before = state.items[label].files
        removed = [path for path in before if self.rng.random() < 0.3]
        replaced = [path for path in before if path not in removed and self._coin()]
        files = {path: self._content() for path in replaced}
        files |= {self._path(): self._content() for _ in range(self.rng.randint(1, 5))}
        for one, other in (SWAPPED, SWAPPED[::-1]):
            if one in before and one not in files and self._coin():
                removed = [*{*removed, one}]
                files[other] = self._content()
        after = [*(set(before) - set(removed)), *files]
        wanted = {"item": label, "remove": removed, "target": self.rng.choice(sorted(after))}
        return Deposit("revise", wanted, files)

    def _description(self) -> dict[str, Any]:
        return {"metadata": {"titles": [self._text()]}}

    def _text(self) -> str:
        return f"Título {self._number}"

    def _path(self) -> str:
        self._number += 1
        return f"{self.rng.choice(FOLDERS)}{self._number}.dat"

    def _content(self) -> bytes:
        return self.rng.randbytes(self.rng.choice([0, 1, 700, 9_000, 9_000, 200_000]))

    def _language(self) -> str:
        return self.rng.choice(LANGUAGES)

    def _coin(self) -> bool:
        return self.rng.random() < 0.5
