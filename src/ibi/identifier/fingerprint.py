"""The fingerprint of a label: 48 bits that stand for it where millions of labels must fit.

With a thousand million labels in a set, a label that is not in the set has the fingerprint of one
that is with a probability of 1 in 280,000. A program that finds a fingerprint must therefore
still look up the label itself.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

BITS: Final = 48
"""The length of a fingerprint in bits."""
OCTETS: Final = BITS // 8
"""The length of a fingerprint in octets."""
END: Final = 1 << BITS
"""The first number that is too large for a fingerprint."""


def fingerprint(canonical: str) -> int:
    """Return the first 48 bits of the BLAKE2b of a label in its canonical spelling."""
    return int.from_bytes(blake2b(canonical.encode()).digest()[:OCTETS])
