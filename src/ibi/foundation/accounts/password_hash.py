"""Hashes of passwords by argon2id; the only module that uses argon2-cffi.

Each hash takes 46 MiB and a few hundredths of a second, so few are made at once: a flood of guesses
waits, and does not take the memory of the machine.
"""

from __future__ import annotations

from threading import BoundedSemaphore
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from ibi.errors import TooManyRequestsError

MEMORY: Final = 47_104
"""KiB of one hash, in one pass: the first of the equal choices that OWASP's Password Storage Cheat
Sheet gives for argon2id. A thread for each hash is what a server can plan with."""
AT_ONCE: Final = 2
"""Hashes that are made at the same time."""
PATIENCE: Final = 10.0
"""Seconds that a request waits for its turn."""
_RETRY_AFTER: Final = 5


class PasswordHash:
    """Makes and checks hashes, always with the same work."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._hasher = PasswordHasher(time_cost=1, memory_cost=MEMORY, parallelism=1)
        self._turns = BoundedSemaphore(AT_ONCE)
        self._patience = patience
        self._decoy = ""

    def make(self, password: str) -> str:
        """Return the salted hash of a password."""
        with _Turn(self._turns, self._patience):
            return self._hasher.hash(password)

    def matches(self, kept: str, password: str) -> bool:
        """Return whether a password has a hash; with no hash, do the same work and return False."""
        with _Turn(self._turns, self._patience):
            if not kept and not self._decoy:
                self._decoy = self._hasher.hash("decoy")
            try:
                self._hasher.verify(kept or self._decoy, password)
            except (VerificationError, InvalidHashError):
                return False
        return bool(kept)

    def is_outdated(self, kept: str) -> bool:
        """Return whether a hash was made with other parameters than today's."""
        return self._hasher.check_needs_rehash(kept)


class _Turn:
    def __init__(self, turns: BoundedSemaphore, patience: float) -> None:
        self._turns = turns
        self._patience = patience

    def __enter__(self) -> None:
        if not self._turns.acquire(timeout=self._patience):
            raise TooManyRequestsError(_RETRY_AFTER)

    def __exit__(self, *_: object) -> None:
        self._turns.release()
