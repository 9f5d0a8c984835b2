"""The limits of ZIP files that are sent."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.exceptions import HTTPException

from ibi.archive.ports.catalogue import FileTotal, StoredItem
from ibi.archive.web.item.whole_download import MOST_AT_ONCE, MOST_FILES, WholeDownloads
from ibi.errors import TooLargeError
from ibi.model.item import Item
from ibi.model.label_pair import Forms

HELD = StoredItem(1, 1, Item(forms=Forms.parse("ibip LK47B6W/362SFKH")))


def downloads(total: FileTotal) -> WholeDownloads:
    """Return the downloads of an archive with one item, which has no files to send."""
    items: Any = SimpleNamespace(
        file_totals=lambda _, most: {1: total} if most == MOST_FILES else {},
        files=lambda *_: [],
        find=lambda _: HELD,
    )
    store: Any = SimpleNamespace(quick=True)
    archive: Any = SimpleNamespace(catalogue=SimpleNamespace(items=items, quick=True), store=store)
    unused: Any = SimpleNamespace(
        download=lambda *_: None, persistent=lambda _: "https://archive.example/LK47B6W/362SFKH"
    )
    return WholeDownloads(archive, unused, unused)


async def read(response: Any) -> list[Any]:  # noqa: ANN401  # a response of Starlette
    """Send a response; return what was sent."""
    sent: list[Any] = []

    async def send(message: Any) -> None:  # noqa: ANN401
        sent.append(message)
        await asyncio.sleep(0)

    await response({"type": "http", "method": "GET"}, asyncio.Event().wait, send)
    return sent


def test_very_many_files_are_refused() -> None:
    request: Any = None
    most = downloads(FileTotal(MOST_FILES, 1, is_cut=True))
    with pytest.raises(TooLargeError, match="more than 20000 files"):
        asyncio.run(most.answer(HELD, request))


def test_many_at_once_are_refused_before_they_begin() -> None:
    request: Any = None

    async def run() -> None:
        two = downloads(FileTotal(MOST_AT_ONCE // 2 + 1, 1))
        first = await two.answer(HELD, request)
        second = await two.answer(HELD, request)
        async with aclosing(first._pieces()) as pieces:  # type: ignore[attr-defined]  # noqa: SLF001
            assert await anext(pieces)
            with pytest.raises(HTTPException, match="Too many ZIP files") as refused:
                await read(second)
            assert refused.value.status_code == 503
        assert len(await read(second)) == 3

    asyncio.run(run())
