"""One archive, its depositor and its judge: an act at a time, and what is there afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

from tests.faults.archive.disk_checks import (
    Found,
    check_old,
    check_reading,
    check_settled,
    find,
)
from tests.faults.archive.expected_state import State
from tests.faults.archive.operations import Act, Deposit, Reserve, Wishes, expect
from tests.faults.archive.server_process import GONE, FaultyArchive
from tests.faults.figures import Violation
from tests.support.clients.http import Answer

_SAMPLE: Final = 3


class Session:
    """Acts on one archive, and remembers what it said."""

    def __init__(self, archive: FaultyArchive, seed: int, judged: Counter[str]) -> None:
        """Begin with an archive that has nothing."""
        self.archive = archive
        self.state = State()
        self.wishes = Wishes(seed)
        self.chance = self.wishes.chance
        self.judged = judged
        """What became of the acts, by their kinds."""
        self.interrupted: Act | None = None
        self.named: set[str] = set()

    def quiet(self, act: Act | None = None) -> Act:
        """Do something that nothing disturbs."""
        chosen = act or self.wishes.any(self.state)
        chosen.prepare(self.archive)
        self._acknowledge(chosen, expect(chosen.finish(self.archive), 200, 201))
        return chosen

    def _acknowledge(self, act: Act, answer: Answer) -> None:
        act.effect(self.state, answer.json())
        self.judged["acknowledged"] += 1
        self.judged[act.kind] += 1

    def attempt(self, act: Act, before_finish: Callable[[], object] = lambda: None) -> None:
        """Do something while the archive may die; what it acknowledges counts."""
        self.interrupted = act
        try:
            act.prepare(self.archive)
            before_finish()
            answer = act.finish(self.archive)
        except GONE:
            return
        self._acknowledge(act, expect(answer, 200, 201))
        self.interrupted = None

    def judge(self) -> None:
        """Hold what is there after a start against what was said before."""
        check_settled(self.archive)
        found = find(self.archive)
        touched = self.interrupted
        if touched is not None:
            self._take_up(touched, found)
            found = find(self.archive)
        if not found.is_as(self.state):
            raise Violation(f"not as it was acknowledged:\n  {found.difference(self.state)}")
        if not self.named <= found.names:
            raise Violation(f"names are gone: {self.named - found.names}")
        self.named = found.names
        check_old(self.archive, self.state)
        labels = set(
            self.chance.sample(sorted(self.state.items), min(_SAMPLE, len(found.names) // 3))
        )
        if touched is not None and touched.label in self.state.items:
            labels.add(touched.label)
        check_reading(self.archive, self.state, sorted(labels), self.chance)
        self.interrupted = None

    def _take_up(self, act: Act, found: Found) -> None:
        """See that an act that was not acknowledged is there whole, or not at all."""
        self.judged[act.kind] += 1
        if isinstance(act, Deposit):
            self._take_up_deposit(act, found)
            return
        done = self.state.copy()
        if isinstance(act, Reserve):
            new = found.reserved - self.state.reserved
            done.reserved |= new
            if len(new) not in {0, act.count}:
                raise Violation(f"{len(new)} of {act.count} labels are reserved")
        else:
            act.effect(done, {})
        self._is_one_of(found, act, done)

    def _is_one_of(self, found: Found, act: Act, done: State | None = None) -> None:
        if done is not None and found.is_as(done):
            self.state = done
            self.judged["whole"] += 1
        elif found.is_as(self.state):
            self.judged["not at all"] += 1
        else:
            what = f"{act.kind}: neither as before:\n  {found.difference(self.state)}"
            if done is not None:
                what += f"\n nor as afterwards:\n  {found.difference(done)}"
            raise Violation(what)

    def _take_up_deposit(self, act: Deposit, found: Found) -> None:
        if not act.id:
            self._is_one_of(found, act)
            return
        known = expect(self.archive.api("GET", f"deposits/{act.id}"), 200).json()
        if label := known.get("completed"):
            done = self.state.copy()
            labels = (
                {}
                if act.kind == "revise"
                else {
                    "rep": label,
                    "metadata": {"rep": found.documents[label]["metadata"]},
                }
            )
            act.effect(done, labels)
            self._is_one_of(found, act, done)
            again = expect(act.finish(self.archive), 200).json()["rep"]
            if again != label:
                raise Violation(f"completed again, {label} became {again}")
            return
        self._is_one_of(found, act)
        if self.chance.random() < 0.7:
            self._go_on(act, {each["path"]: each for each in known.get("files", [])})

    def _go_on(self, act: Deposit, staged: dict[str, dict[str, object]]) -> None:
        """Send what is missing, and complete: a crash costs nothing that was acknowledged."""
        for path in act.sent:
            if not staged.get(path, {}).get("whole"):
                raise Violation(f"the archive said that it has {path}: it has {staged.get(path)}")
        for path in act.files:
            there = staged.get(path)
            if there is None or not there["whole"]:
                offset = self._offset(act, path) if there else 0
                act.send(self.archive, path, min(offset, len(act.files[path])))
        self._acknowledge(act, expect(act.finish(self.archive), 200))
        self.judged["taken up"] += 1

    def _offset(self, act: Deposit, path: str) -> int:
        place = f"deposits/{act.id}/files/{quote(path)}"
        return int(expect(self.archive.api("GET", place), 200).headers["upload-offset"])
