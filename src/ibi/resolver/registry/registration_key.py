"""Registration keys: issued, kept so that nobody can read them, compared, and not guessed.

Table 5.1 lets an administrator choose ten digits. A plain digest of ten digits is found by trying
all of them, within seconds on one graphics card; so what is kept of a key is made by scrypt
(RFC 7914), salted, which takes a twentieth of a second and 16 MB for every try. The keys that are
issued here have 39 digits, 129 bits, and nobody tries those; they are kept the same way, because
nothing tells the two apart.

This draws random numbers, and `kept` and `fits` take their time by intention: whoever serves
others meanwhile calls them in another thread.
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
from ibi.model.pace import Backoff

DIGITS: Final = 39
"""Of a key that is issued: as many as 128 random bits have."""
_N, _R, _P = 2**14, 8, 1
"""What RFC 7914, section 2, has for a login that a person waits for."""
_SALT: Final = 16
_HASH: Final = 32
# scrypt$<n>$<r>$<p>$<salt>$<hash>: what is kept says how it was made, so that the cost can grow.
_KEPT: Final = re.compile(
    r"scrypt\$([0-9]{1,7})\$([0-9]{1,2})\$([0-9]{1,2})\$([A-Za-z0-9+/]{22}==)\$([A-Za-z0-9+/]{43}=)"
)

ALLOWED_BY_CLIENT: Final = 5
"""Failures before a client has to wait: a person mistypes, and looks up the key then."""
ALLOWED_BY_ARCHIVE: Final = 50
"""Failures of strangers, whoever they are, before they all have to wait."""
LONGEST_WAIT: Final = 3600
"""Seconds. At one try an hour, ten digits last for a million years."""
FORGIVEN_AFTER: Final = 24 * 3600
"""Seconds without a try, after which failures are forgotten."""
MOST_REMEMBERED: Final = 10_000
"""Clients, and as many archives; those that failed longest ago are forgotten first."""
HOMES: Final = 4
"""Clients that are remembered as an archive's own: it moves, or has two ways out."""
_SECOND: Final = 1_000_000_000
_BACKOFF: Final = Backoff(1, LONGEST_WAIT)


def issue() -> RegistrationKey:
    """Return a new key."""
    return RegistrationKey(f"{secrets.randbelow(10**DIGITS):0{DIGITS}}")


def kept(key: RegistrationKey) -> str:
    """Return what to keep of a key: it tells whether a key is the same, and not which it was."""
    salt = secrets.token_bytes(_SALT)
    derived = _derived(key, salt, _N, _R, _P)
    return f"scrypt${_N}${_R}${_P}${b64encode(salt).decode()}${b64encode(derived).decode()}"


def fits(key: RegistrationKey, kept: str) -> bool:
    """Return whether a key is the one of which this was kept.

    What is no such text fits no key, and that takes as long to say: an archive that is not known
    here cannot be told from one whose key was wrong.
    """
    read = _KEPT.fullmatch(kept)
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
    """Failures, those that are still being looked into among them."""

    failures: int = 0
    until: int = 0
    """Until when no other try is made."""
    last: int = 0


class _Tallies:
    """Failures by whoever is behind them."""

    def __init__(self, allowed: int, processes: Callable[[], int]) -> None:
        """Let so many pass before there is a wait, divided among the processes that count."""
        self._allowed = allowed
        self._processes = processes
        self._tallies: OrderedDict[str, _Tally] = OrderedDict()

    def __len__(self) -> int:
        return len(self._tallies)

    def wait(self, name: str, now: int) -> int:
        """Return for how many seconds no try is made."""
        tally = self._tallies.get(name)
        # A clock that was set back must not shut anybody out for longer than there is a wait.
        longest = LONGEST_WAIT * self._processes()
        left = min(tally.until - now, longest * _SECOND) if tally else 0
        return max(0, -(-left // _SECOND))

    def charge(self, name: str, now: int) -> None:
        """Count a try as failed, until it is given back."""
        tally = self._tallies.setdefault(name, _Tally())
        if now - tally.last > FORGIVEN_AFTER * _SECOND:
            tally.failures = 0
        tally.failures += 1
        tally.last = now
        self._tallies.move_to_end(name)
        self.shut_out(name, now)
        if len(self._tallies) > MOST_REMEMBERED:
            self._tallies.popitem(last=False)

    def shut_out(self, name: str, now: int) -> None:
        """Let the wait begin, twice as long for each failure beyond those that are allowed."""
        tally = self._tallies.get(name)
        processes = self._processes()
        allowed = max(1, self._allowed // processes)
        if tally is not None and tally.failures >= allowed:
            wait = _BACKOFF.wait(tally.failures - allowed) * processes
            tally.until = max(tally.until, now + wait * _SECOND)

    def give_back(self, name: str) -> None:
        """Take back a try that did not fail."""
        tally = self._tallies.get(name)
        if tally is not None:
            tally.failures -= 1
            tally.until = 0
            if tally.failures <= 0:
                del self._tallies[name]


class KeyGuessLimit:
    """Who may try a key, and who has to wait first; pure, for one thread.

    A try counts as failed from the moment in which it is admitted, so that a thousand at once are
    no more than a thousand one after the other. A good key takes back its own try and no other:
    who has one archive of his own could else go on guessing the key of another for ever.

    Failures are counted by client, and by archive for the sake of keys that many clients guess.
    The latter bind only clients that never had the key of that archive: strangers cannot keep an
    archive out.

    Each process that serves a resolver counts for itself, allows its share and lets wait for as
    many times as long: all together admit no more than one would.
    """

    def __init__(self, processes: Callable[[], int] = lambda: 1) -> None:
        """Begin without suspicion; `processes` tells how many there are."""
        self._clients = _Tallies(ALLOWED_BY_CLIENT, processes)
        self._archives = _Tallies(ALLOWED_BY_ARCHIVE, processes)
        self._homes: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        """By archive, the clients that had its key, the newest first."""

    def __len__(self) -> int:
        """Return how much is remembered, of which there is a bound."""
        return len(self._clients) + len(self._archives) + len(self._homes)

    def admit(self, client: str, archive: str, now: int) -> int:
        """Return 0 if a key may be looked at, which is then to be told good or failed.

        Else, for how many seconds none will be. A client is a network rather than an address, if
        whoever has one address there has them all.
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
        """Note that the key was wrong; the wait begins now."""
        self._clients.shut_out(client, now)
        if self._is_stranger(client, archive):
            self._archives.shut_out(archive, now)

    def good(self, client: str, archive: str) -> None:
        """Note that the key was right."""
        self._clients.give_back(client)
        if self._is_stranger(client, archive):
            self._archives.give_back(archive)
        others = (home for home in self._homes.get(archive, ()) if home != client)
        self._homes[archive] = (client, *others)[:HOMES]
        self._homes.move_to_end(archive)
        if len(self._homes) > MOST_REMEMBERED:
            self._homes.popitem(last=False)

    def _is_stranger(self, client: str, archive: str) -> bool:
        return client not in self._homes.get(archive, ())
