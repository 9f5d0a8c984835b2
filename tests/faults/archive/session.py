"""One archive and its depositor: operations one at a time, and checks of their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

from tests.faults.archive.disk_checks import (
    ActualState,
    check_reading,
    check_replaced_kept,
    check_settled,
    read_state,
)
from tests.faults.archive.expected_state import ExpectedState
from tests.faults.archive.operation_generator import OperationGenerator
from tests.faults.archive.operations import Deposit, Operation, Reserve, expect
from tests.faults.archive.server_process import SERVER_GONE, KillableArchive
from tests.faults.figures import Violation
from tests.support.clients.http import Answer

_SAMPLE: Final = 3


class Session:
    """Performs operations on one archive, and keeps its expected state."""

    def __init__(self, archive: KillableArchive, seed: int, counts: Counter[str]) -> None:
        self.archive = archive
        self.state = ExpectedState()
        self.operations = OperationGenerator(seed)
        self.rng = self.operations.rng
        self.counts = counts
        """Number of operations by kind and by result."""
        self.interrupted: Operation | None = None
        self.named: set[str] = set()

    def perform(self, operation: Operation | None = None) -> Operation:
        """Perform an operation without a fault."""
        chosen = operation or self.operations.any(self.state)
        chosen.prepare(self.archive)
        self._acknowledge(chosen, expect(chosen.finish(self.archive), 200, 201))
        return chosen

    def _acknowledge(self, operation: Operation, answer: Answer) -> None:
        operation.effect(self.state, answer.json())
        self.counts["acknowledged"] += 1
        self.counts[operation.kind] += 1

    def attempt(
        self, operation: Operation, before_finish: Callable[[], object] = lambda: None
    ) -> None:
        """Perform an operation while the archive may be killed."""
        self.interrupted = operation
        try:
            operation.prepare(self.archive)
            before_finish()
            answer = operation.finish(self.archive)
        except SERVER_GONE:
            return
        self._acknowledge(operation, expect(answer, 200, 201))
        self.interrupted = None

    def judge(self) -> None:
        """Compare the state after a start with the expected state."""
        check_settled(self.archive)
        found = read_state(self.archive)
        touched = self.interrupted
        if touched is not None:
            self._check_interrupted(touched, found)
            found = read_state(self.archive)
        if not found.is_as(self.state):
            raise Violation(f"not as it was acknowledged:\n  {found.difference(self.state)}")
        if not self.named <= found.names:
            raise Violation(f"names are gone: {self.named - found.names}")
        self.named = found.names
        check_replaced_kept(self.archive, self.state)
        labels = set(self.rng.sample(sorted(self.state.items), min(_SAMPLE, len(found.names) // 3)))
        if touched is not None and touched.label in self.state.items:
            labels.add(touched.label)
        check_reading(self.archive, self.state, sorted(labels), self.rng)
        self.interrupted = None

    def _check_interrupted(self, operation: Operation, found: ActualState) -> None:
        """Check that an operation that was not acknowledged is done whole, or not at all."""
        self.counts[operation.kind] += 1
        if isinstance(operation, Deposit):
            self._check_interrupted_deposit(operation, found)
            return
        done = self.state.copy()
        if isinstance(operation, Reserve):
            new = found.reserved - self.state.reserved
            done.reserved |= new
            if len(new) not in {0, operation.count}:
                raise Violation(f"{len(new)} of {operation.count} labels are reserved")
        else:
            operation.effect(done, {})
        self._is_one_of(found, operation, done)

    def _is_one_of(
        self, found: ActualState, operation: Operation, done: ExpectedState | None = None
    ) -> None:
        if done is not None and found.is_as(done):
            self.state = done
            self.counts["whole"] += 1
        elif found.is_as(self.state):
            self.counts["not at all"] += 1
        else:
            what = f"{operation.kind}: neither as before:\n  {found.difference(self.state)}"
            if done is not None:
                what += f"\n nor as afterwards:\n  {found.difference(done)}"
            raise Violation(what)

    def _check_interrupted_deposit(self, operation: Deposit, found: ActualState) -> None:
        if not operation.id:
            self._is_one_of(found, operation)
            return
        known = operation.known(self.archive)
        if label := known.get("completed"):
            done = self.state.copy()
            labels = (
                {}
                if operation.kind == "revise"
                else {
                    "rep": label,
                    "metadata": {"rep": found.documents[label]["metadata"]},
                }
            )
            operation.effect(done, labels)
            self._is_one_of(found, operation, done)
            again = expect(operation.finish(self.archive), 200).json()["rep"]
            if again != label:
                raise Violation(f"completed again, {label} became {again}")
            return
        self._is_one_of(found, operation)
        if self.rng.random() < 0.7:
            self._resume(operation, {each["path"]: each for each in known.get("files", [])})

    def _resume(self, operation: Deposit, staged: dict[str, dict[str, object]]) -> None:
        """Send the missing files, and complete: no acknowledged file may be lost."""
        for path in operation.sent:
            if not staged.get(path, {}).get("whole"):
                raise Violation(f"the archive said that it has {path}: it has {staged.get(path)}")
        for path in operation.files:
            there = staged.get(path)
            if there is None or not there["whole"]:
                offset = self._offset(operation, path) if there else 0
                operation.send(self.archive, path, min(offset, len(operation.files[path])))
        self._acknowledge(operation, expect(operation.finish(self.archive), 200))
        self.counts["taken up"] += 1

    def _offset(self, operation: Deposit, path: str) -> int:
        place = f"{operation.place}/files/{quote(path)}"
        return int(expect(self.archive.api("GET", place), 200).headers["upload-offset"])
