"""Random operations of depositors, which an archive must not refuse."""

from __future__ import annotations

import random
from typing import Any, Final

from tests.faults.archive.draft_operation import PublishDraft
from tests.faults.archive.expected_state import ExpectedState
from tests.faults.archive.operations import Delete, Deposit, Describe, Operation, Reserve

LANGUAGES: Final = ("de", "en", "es", "fr", "it", "pt")
FOLDERS: Final = ("", "a/", "a/b/", "Relatório ção/", "x/y/z/")
SWAPPED: Final = ("swap", "swap/inner")
"""A path that becomes a folder, and back."""


class OperationGenerator:
    """Generates random operations that an archive must not refuse."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311  # reproducible, not secret
        self._number = 0
        self._promised: dict[str, str] = {}

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
        wanted = {**plain.wanted, "key": f"{self.rng.getrandbits(128):032x}"}
        return PublishDraft(wanted, plain.files, self._promised, self.rng)

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
