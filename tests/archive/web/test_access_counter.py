"""Accesses that wait to be counted: whatever happens to some of them, others are."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from ibi.archive.ports.statistics import Access, Statistics
from ibi.archive.web.access_counter import AccessCounter
from ibi.errors import StorageError


class Tripping:
    """A catalogue that trips over the first accesses, in a way that nobody foresaw."""

    def __init__(self) -> None:
        """Trip once."""
        self.trips = 1

    def count_accesses(self, accesses: Sequence[Access]) -> list[bool]:
        """Count them all."""
        if self.trips:
            self.trips -= 1
            raise ZeroDivisionError
        return [True] * len(accesses)


def test_those_who_come_after_something_unforeseen_are_counted() -> None:
    async def run() -> None:
        counting = AccessCounter(cast("Statistics", Tripping()))
        counting.open()
        access = Access(1, "2026-11-16", 1, 1, 2)
        with pytest.raises(StorageError):
            await counting.count(access)
        await asyncio.wait_for(counting.count(access), 60)
        assert counting.counted == 1
        await counting.close()

    asyncio.run(run())
