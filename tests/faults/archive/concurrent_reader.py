"""Reads an item while it is changed: each file must be the old or the new one, whole."""

from __future__ import annotations

from threading import Event, Thread
from typing import Self
from urllib.parse import quote

import urllib3

from tests.faults.archive.expected_state import ExpectedState
from tests.faults.archive.operations import Deposit, Operation
from tests.faults.archive.server_process import SERVER_GONE, KillableArchive
from tests.faults.figures import Violation


class ConcurrentReader:
    """Reads the files that an operation replaces or removes, repeatedly, in a thread."""

    def __init__(
        self, archive: KillableArchive, state: ExpectedState, operation: Operation
    ) -> None:
        known = state.items.get(operation.label)
        before = known.files if known is not None else {}
        after = operation.files if isinstance(operation, Deposit) else {}
        removed = (
            operation.wanted.get("remove", []) if isinstance(operation, Deposit) else [*before]
        )
        self._allowed = {
            path: (before[path], after.get(path, before[path]))
            for path in before
            if path in after or path in removed
        }
        self._stays = {path for path in self._allowed if path not in removed}
        self._base = f"{archive.address}/col/{operation.label}/doc/"
        self._end = Event()
        self._found = ""
        self._thread = Thread(target=self._read)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def check(self) -> None:
        """Raise Violation if a file was read that is neither old nor new."""
        if self._found:
            raise Violation(self._found)

    def _read(self) -> None:
        with urllib3.PoolManager(retries=False) as http:
            while self._allowed and not self._found and not self._end.is_set():
                for path, allowed in self._allowed.items():
                    try:
                        answer = http.request("GET", self._base + quote(path), timeout=10)
                    except SERVER_GONE:
                        continue
                    whole = answer.status == 200 and answer.data in allowed
                    if not whole and (answer.status == 200 or path in self._stays):
                        what = f"{answer.status}, {len(answer.data)} bytes"
                        self._found = f"read half-way: {self._base}{path}: {what}"
                    if self._end.is_set():
                        return
