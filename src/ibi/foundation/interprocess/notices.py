"""Messages between the processes of a service, each with a byte that says what it is about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

Handler: TypeAlias = Callable[[bytes], Awaitable[None]]
"""Handles the content of a message."""
Send: TypeAlias = Callable[[bytes], Awaitable[None]]
"""Sends a message to another process; raises if it cannot."""


def sender(send: Send, topic: bytes) -> Send:
    """Return a function that sends messages about a topic, which is one byte."""

    async def send_about(content: bytes) -> None:
        await send(topic + content)

    return send_about


class Notices:
    """Gives each message to the handler of its topic."""

    def __init__(self, handlers: Mapping[bytes, Handler]) -> None:
        """Handle the messages about these topics."""
        self._handlers = handlers

    async def handle(self, message: bytes) -> None:
        """Handle a message; one about another topic is dropped, as another version may send it."""
        handler = self._handlers.get(message[:1])
        if handler is not None:
            await handler(message[1:])
