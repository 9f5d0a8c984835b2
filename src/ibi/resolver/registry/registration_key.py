"""Registration keys: issued, stored as hashes, compared, and protected against guessing.

Table 5.1 lets an administrator choose ten digits. A plain digest of ten digits is found by trying
all of them, within seconds on one graphics card; so keys are hashed by scrypt (RFC 7914), salted,
which takes a twentieth of a second and 16 MB for every try. The keys that are issued here have 39
digits, 129 bits, which cannot be tried; they are hashed the same way, because nothing distinguishes
the two.

This module draws random numbers, and `hashed` and `matches` are slow intentionally: an event loop
calls them in another thread.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from base64 import b64decode, b64encode
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from ibi.model.archive_record import RegistrationKey
from ibi.model.clock import SECOND
from ibi.model.pace import Backoff

DIGITS: Final = 39
"""Digits of an issued key: as many as 128 random bits have."""
_N, _R, _P = 2**14, 8, 1
"""The cost that RFC 7914, section 2, gives for a login that a person waits for."""
_SALT: Final = 16
_HASH: Final = 32
# scrypt$<n>$<r>$<p>$<salt>$<hash>: the text contains its cost, so that the cost can grow.
_HASHED: Final = re.compile(
    r"scrypt\$([0-9]{1,7})\$([0-9]{1,2})\$([0-9]{1,2})\$([A-Za-z0-9+/]{22}==)\$([A-Za-z0-9+/]{43}=)"
)

ALLOWED_BY_CLIENT: Final = 5
"""Failures of a client before it has to wait: a person mistypes, and then looks up the key."""
ALLOWED_BY_ARCHIVE: Final = 50
"""Failures of unknown clients together, for one archive, before all of them have to wait."""
MAX_WAIT_SECONDS: Final = 3600
"""Seconds of the longest wait. At one try an hour, ten digits last for a million years."""
FAILURE_SECONDS: Final = 24 * 3600
"""Seconds without a try after which failures are forgotten."""
MAX_ENTRIES: Final = 10_000
"""Clients in memory, and as many archives; those that failed longest ago are dropped first."""
MAX_KNOWN_CLIENTS: Final = 4
"""Clients that are remembered as an archive's own: it moves, or has two routes."""
_BACKOFF: Final = Backoff(1, MAX_WAIT_SECONDS)


def issue() -> RegistrationKey:
    """Return a new key."""
    return RegistrationKey(f"{secrets.randbelow(10**DIGITS):0{DIGITS}}")


def issue_link_secret() -> str:
    """Return a new secret of a link, as `ibi.wire.access_counts` has it."""
    return secrets.token_hex(32)


def hashed(key: RegistrationKey) -> str:
    """Return the salted hash of a key, for storage."""
    salt = secrets.token_bytes(_SALT)
    derived = _derived(key, salt, _N, _R, _P)
    return f"scrypt${_N}${_R}${_P}${b64encode(salt).decode()}${b64encode(derived).decode()}"


def matches(key: RegistrationKey, stored: str) -> bool:
    """Return whether a key is the one that was hashed.

    A text that is no hash matches no key, and takes as long to compare: the reply for an unknown
    archive does not differ from the reply for a wrong key.
    """
    read = _HASHED.fullmatch(stored)
    if read is not None:
        # ValueError: a cost that scrypt does not have, or that needs too much memory.
        with suppress(ValueError):
            n, r, p = map(int, read.groups()[:3])
            derived = _derived(key, b64decode(read[4]), n, r, p)
            return hmac.compare_digest(derived, b64decode(read[5]))
    _derived(key, bytes(_SALT), _N, _R, _P)
    return False


def _derived(key: RegistrationKey, salt: bytes, n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(key.text.encode("ascii"), salt=salt, n=n, r=r, p=p, dklen=_HASH)


@dataclass(slots=True)
class _Tally:
    """Failures, including tries that are still being checked."""

    failures: int = 0
    until: int = 0
    """The uptime until which no other try is admitted."""
    last: int = 0


class _Tallies:
    """Failures by name of a client or archive."""

    def __init__(self, allowed: int, processes: Callable[[], int]) -> None:
        """Admit so many failures before a wait, divided among the processes."""
        self._allowed = allowed
        self._processes = processes
        self._tallies: OrderedDict[str, _Tally] = OrderedDict()

    def __len__(self) -> int:
        return len(self._tallies)

    def wait(self, name: str, now: int) -> int:
        """Return for how many seconds no try is admitted."""
        tally = self._tallies.get(name)
        # A clock that was set back must not prolong a wait beyond the longest one.
        longest = MAX_WAIT_SECONDS * self._processes()
        left = min(tally.until - now, longest * SECOND) if tally else 0
        return max(0, -(-left // SECOND))

    def charge(self, name: str, now: int) -> None:
        """Count a try as failed, until `give_back` is called."""
        tally = self._tallies.setdefault(name, _Tally())
        if now - tally.last > FAILURE_SECONDS * SECOND:
            tally.failures = 0
        tally.failures += 1
        tally.last = now
        self._tallies.move_to_end(name)
        self.begin_wait(name, now)
        if len(self._tallies) > MAX_ENTRIES:
            self._tallies.popitem(last=False)

    def begin_wait(self, name: str, now: int) -> None:
        """Begin the wait, twice as long for each failure beyond the allowed ones."""
        tally = self._tallies.get(name)
        processes = self._processes()
        allowed = max(1, self._allowed // processes)
        if tally is not None and tally.failures >= allowed:
            wait = _BACKOFF.wait(tally.failures - allowed) * processes
            tally.until = max(tally.until, now + wait * SECOND)

    def give_back(self, name: str) -> None:
        """Discount a try that did not fail."""
        tally = self._tallies.get(name)
        if tally is not None:
            tally.failures -= 1
            tally.until = 0
            if tally.failures <= 0:
                del self._tallies[name]


class KeyGuessLimit:
    """Decides which clients may try a key, and which have to wait; pure, for one thread.

    A try counts as failed as soon as it is admitted, so that a thousand at once are no more than a
    thousand one after the other. A good key discounts its own try and no other: else the owner of
    one archive could guess the key of another for ever.

    Failures are counted by client, and also by archive, because many clients may guess one key. The
    latter count only for clients that never had the key of that archive: others cannot lock an
    archive out.

    Each process of a resolver counts for itself, allows its share of failures, and multiplies waits
    by the number of processes: all together admit no more than one would.
    """

    def __init__(self, processes: Callable[[], int] = lambda: 1) -> None:
        """Begin without failures; `processes` returns how many processes there are."""
        self._clients = _Tallies(ALLOWED_BY_CLIENT, processes)
        self._archives = _Tallies(ALLOWED_BY_ARCHIVE, processes)
        self._homes: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        """By archive, the clients that had its key, the newest first."""

    def __len__(self) -> int:
        """Return the number of entries, which is bounded."""
        return len(self._clients) + len(self._archives) + len(self._homes)

    def admit(self, client: str, archive: str, now: int) -> int:
        """Return 0 if a key may be checked; the caller then calls `good` or `failed`.

        Else, return for how many seconds no key is checked. A client is a network rather than an
        address, if a client with one address of it can use all of them.
        """
        is_stranger = self._is_stranger(client, archive)
        wait = self._clients.wait(client, now)
        if is_stranger:
            wait = max(wait, self._archives.wait(archive, now))
        if wait == 0:
            self._clients.charge(client, now)
            if is_stranger:
                self._archives.charge(archive, now)
        return wait

    def failed(self, client: str, archive: str, now: int) -> None:
        """Record that the key was wrong; the wait begins now."""
        self._clients.begin_wait(client, now)
        if self._is_stranger(client, archive):
            self._archives.begin_wait(archive, now)

    def good(self, client: str, archive: str) -> None:
        """Record that the key was right."""
        self._clients.give_back(client)
        if self._is_stranger(client, archive):
            self._archives.give_back(archive)
        others = (home for home in self._homes.get(archive, ()) if home != client)
        self._homes[archive] = (client, *others)[:MAX_KNOWN_CLIENTS]
        self._homes.move_to_end(archive)
        if len(self._homes) > MAX_ENTRIES:
            self._homes.popitem(last=False)

    def _is_stranger(self, client: str, archive: str) -> bool:
        return client not in self._homes.get(archive, ())
