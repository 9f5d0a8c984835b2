"""The fingerprint of a label: 48 bits that stand for it where millions of labels must fit.

Of a thousand million labels one that is not among them has the fingerprint of one that is with a
chance of one in 280,000. Whoever finds a fingerprint so asks for the label itself.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

BITS: Final = 48
OCTETS: Final = BITS // 8
END: Final = 1 << BITS
"""What every fingerprint is less than."""


def fingerprint(canonical: str) -> int:
    """Return the first 48 bits of the BLAKE2b of a label in its canonical spelling."""
    return int.from_bytes(blake2b(canonical.encode()).digest()[:OCTETS])
