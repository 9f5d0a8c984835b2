"""Counts of accesses in one acknowledgment: our Decision, as Table 6.11 has no such pairs.

    accesses         how many users were redirected to the URL, if more than one
    accesses.others  "<IBI>:<number>,<IBI>:<number>...": how many were redirected to other items
    accesses.proof   the keyed digest of both and of the urlkey, by the secret of the link

Any client can get a urlkey, and a urlkey proves one access. More than one are counted only if a
resolver that the archive is linked to reports them. A resolver of this software gives each archive
of this software a random secret, in the answer to its inclusion request:

    linksecret       64 hexadecimal digits

An archive that does not support the pairs counts one access, as it would without them. They are
sent only to archives that have a secret. The sum of all counts is limited, so that one urlkey is
never valid for more.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from typing import Final, TypeAlias

MOST_ACCESSES: Final = 1000
"""The largest number of accesses that one acknowledgment reports."""
LONGEST_OTHERS: Final = 40_000
"""The longest value of accesses.others, in bytes of the query: receivers limit its length."""

Others: TypeAlias = tuple[tuple[str, int], ...]
"""Labels in the spelling received, each with a count: only labels that are counted get parsed."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_COUNT: Final = re.compile(r"[1-9][0-9]{0,3}")


def read_accesses(text: str) -> int:
    """Parse a number of accesses; an absent value is 1."""
    return _number(text) if text else 1


def read_others(text: str) -> Others:
    """Parse the counts of accesses to other items."""
    if not text:
        return ()
    parts = text.split(",", MOST_ACCESSES)
    found = (part.rpartition(":") for part in parts)
    return tuple([(label, _number(count)) for label, _, count in found])


def written(others: Others) -> str:
    """Return the value of accesses.others."""
    return ",".join([f"{label}:{count}" for label, count in others])


def total(accesses: int, others: Iterable[tuple[object, int]]) -> int:
    """Return the sum of all accesses."""
    return accesses + sum(count for _, count in others)


def is_digest(text: str) -> bool:
    """Return whether a text has the form of a secret or of a proof."""
    return _DIGEST.fullmatch(text) is not None


def read_proof(text: str) -> str:
    """Parse a proof; an absent value is empty."""
    if text and not is_digest(text):
        raise ValueError(text)
    return text


def proof(secret: str, key: str, accesses: int, others: Others) -> str:
    """Return the proof that a linked resolver reports these accesses by this urlkey.

    The urlkey binds all other fields of an acknowledgment. No part contains a line end.
    """
    message = "\n".join(["accesses", key, str(accesses), written(others)])
    return hmac.digest(bytes.fromhex(secret), message.encode(), "sha256").hex()


def is_proved(secrets: Iterable[str], key: str, counts: tuple[int, Others], given: str) -> bool:
    """Return whether a proof was made with one of these secrets."""
    return any(hmac.compare_digest(proof(secret, key, *counts), given) for secret in secrets)


def _number(text: str) -> int:
    if _COUNT.fullmatch(text) is None or int(text) > MOST_ACCESSES:
        raise ValueError(text)
    return int(text)
