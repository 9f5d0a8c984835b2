"""Files that lie elsewhere, read piece by piece: what many readers may have in memory."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, aclosing

from ibi.archive.web.delivery import file_chunks
from ibi.archive.web.delivery.file_chunks import FAR_PIECE, PIECE, ROOM


class FarFile:
    """A file of zeros in no store of ours, which notes how much is asked for."""

    fd = None
    modified = 0
    size = 1 << 40

    def __init__(self) -> None:
        """Begin with nothing asked for."""
        self.asked: list[int] = []

    def read(self, _: int, count: int) -> bytes:
        """Return so many zeros, or a few of them."""
        self.asked.append(count)
        return bytes(min(count, 10))

    def close(self) -> None:
        """Hold nothing."""


async def asked_by(readers: int) -> int:
    """Return how much the last of so many readers asks for, when none of them goes on."""
    async with AsyncExitStack() as stack:
        for _ in range(readers):
            file = FarFile()
            read = file_chunks.pieces(file, 0, file.size)
            await anext(await stack.enter_async_context(aclosing(read)))
    return file.asked[0]


def test_the_more_readers_the_smaller_their_pieces() -> None:
    assert asyncio.run(asked_by(1)) == FAR_PIECE
    assert asyncio.run(asked_by(ROOM // FAR_PIECE)) == FAR_PIECE
    assert asyncio.run(asked_by(100)) == ROOM // 100
    assert asyncio.run(asked_by(1000)) == PIECE
    assert asyncio.run(asked_by(1)) == FAR_PIECE  # the others went
