"""Operations of depositors; each knows its effect on the expected state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import quote

from tests.faults.archive.expected_state import ExpectedState
from tests.faults.figures import Violation
from tests.support.clients.http import Answer
from tests.support.servers.archive import ArchiveServer


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
