"""A way to another process of the same service that has no name: nobody else can come by it.

Who rings hands over one end of a new connection. A bell outlives whoever answers it, so who rings
while somebody takes the place of another waits at the door, and is not sent away.
"""

from __future__ import annotations

import socket
from typing import Final

_CLOSED_ON_EXEC: Final = getattr(socket, "MSG_CMSG_CLOEXEC", 0)  # where there is such a thing


class Doorbell:
    """Made before processes are forked; each of them may ring, and one of them answers."""

    def __init__(self) -> None:
        """Hang it."""
        self._outside, self._inside = socket.socketpair()
        for end in (self._outside, self._inside):
            end.settimeout(0)

    def ring(self) -> socket.socket:
        """Return a connection to who will answer; OSError if too many wait at the door."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._outside, [b"."], [theirs.fileno()])
        except BaseException:
            ours.close()
            raise
        return ours

    def fileno(self) -> int:
        """Return what can be read from when somebody rings."""
        return self._inside.fileno()

    def answer(self) -> socket.socket | None:
        """Return the connection to who rang; None if nobody does."""
        try:
            _, descriptors, _, _ = socket.recv_fds(self._inside, 1, 1, _CLOSED_ON_EXEC)
        except BlockingIOError:
            return None
        return socket.socket(fileno=descriptors[0]) if descriptors else None

    def close(self) -> None:
        """Take it down."""
        self._outside.close()
        self._inside.close()
