"""A page of an archive's digest: fingerprints of the labels it holds and of those it dropped.

A digest is read as a log, page after page, and so are its later changes. A label is represented
by its fingerprint: 48 bits, because millions of labels must fit. With a thousand million labels in
a set, a label that is not in the set has the fingerprint of one that is with a probability of 1 in
280,000. A program that finds a fingerprint must therefore still look up the label itself.

The fingerprints of a page are sorted and written in a Golomb-Rice code: the difference of each to
its predecessor, less one, is divided by a power of two; the quotients are written together in
unary, the remainders in binary. Whatever follows from the number of fingerprints is left out, so
that a page has one encoding, whose size is limited.

    page  = "IBID" version flags epoch after last set set
    set   = count remainders length quotients
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate, pairwise
from struct import Struct
from typing import Final

from ibi.errors import MessageError

FINGERPRINT_BITS: Final = 48
"""The length of a fingerprint in bits."""
FINGERPRINT_OCTETS: Final = FINGERPRINT_BITS // 8
"""The length of a fingerprint in octets."""
FINGERPRINT_END: Final = 1 << FINGERPRINT_BITS
"""The first number that is too large for a fingerprint."""
MAX_FINGERPRINTS: Final = 65_536
"""The largest number of fingerprints in a page: 33 bits each, 270 kB in all, 40 ms to read."""
MAX_PAGE: Final = 327_680
"""The largest size of a page in octets, whatever its fingerprints are."""
MAX_CURSOR: Final = 2**63 - 1
MEDIA_TYPE: Final = "application/vnd.ibi.digest"

_MAGIC: Final = b"IBID\x01"
_EPOCH: Final = re.compile(r"[0-9a-f]{32}")
_MORE, _NOTIFIES = 1, 2
# Magic and version, flags, epoch, after, last: in network byte order.
_HEAD: Final = Struct(">5sB16sQQ")
_COUNT: Final = Struct(">I")


def notification_path(service: str) -> str:
    """Return the path at a resolver where an archive notifies it, by its service label."""
    return f"/api/v1/archives/{service}/changes"


def fingerprint(canonical: str) -> int:
    """Return the first 48 bits of the BLAKE2b of a label in its canonical spelling."""
    return int.from_bytes(blake2b(canonical.encode()).digest()[:FINGERPRINT_OCTETS])


@dataclass(frozen=True, slots=True)
class DigestPage:
    """The labels that changed at an archive after a cursor.

    A cursor is a number issued by the archive, or 0 for the beginning. It increases by random
    steps, so that the archive recognises a cursor of a log that it no longer has.
    """

    epoch: str
    """32 hexadecimal digits; they change when the whole digest is written anew."""
    after: int
    """The cursor that the page follows. If it is 0 although another was requested, all earlier
    pages are void."""
    last: int
    """The cursor that the next page follows."""
    more: bool
    """Whether there is a next page already."""
    held: tuple[int, ...] = ()
    """Fingerprints of the labels that the archive holds, sorted."""
    dropped: tuple[int, ...] = ()
    """Fingerprints of the labels that it no longer holds, sorted; disjoint from `held`."""
    notifies: bool = False
    """Whether the archive notifies the resolvers that include it of the next change."""


def encode(page: DigestPage) -> bytes:
    """Return the page as bytes; ValueError if it is not valid."""
    fault = _fault(page)
    if fault:
        raise ValueError(fault)
    epoch = bytes.fromhex(page.epoch)
    flags = _MORE * page.more + _NOTIFIES * page.notifies
    head = _HEAD.pack(_MAGIC, flags, epoch, page.after, page.last)
    return head + _written(page.held) + _written(page.dropped)


def decode(octets: bytes) -> DigestPage:
    """Parse a page; MessageError for any bytes that `encode` does not write."""
    if len(octets) > MAX_PAGE:
        raise _error("it is longer than a page can be")
    if len(octets) < _HEAD.size or not octets.startswith(_MAGIC):
        raise _error("it does not begin as one")
    _, flags, epoch, after, last = _HEAD.unpack_from(octets)
    if flags > _MORE + _NOTIFIES:
        raise _error("it has a flag that is not defined")
    held, place = _read(octets, _HEAD.size)
    dropped, place = _read(octets, place)
    if place != len(octets):
        raise _error("there is something behind its end")
    more, notifies = bool(flags & _MORE), bool(flags & _NOTIFIES)
    page = DigestPage(epoch.hex(), after, last, more, held, dropped, notifies)
    fault = _fault(page, are_sorted=True)
    if fault:
        raise _error(fault)
    return page


def _fault(page: DigestPage, *, are_sorted: bool = False) -> str:
    """Return why this is not a valid page; empty if it is."""
    held, dropped = page.held, page.dropped
    if _EPOCH.fullmatch(page.epoch) is None:
        return "its epoch is not valid"
    if not 0 <= page.after <= page.last <= MAX_CURSOR:
        return "its cursors are not valid"
    if page.after == page.last and (page.more or held or dropped):
        return "it has content, but its cursor does not advance"
    if len(held) + len(dropped) > MAX_FINGERPRINTS:
        return "it has too many fingerprints"
    are_sorted = are_sorted or (_is_sorted(held) and _is_sorted(dropped))
    if not are_sorted or not frozenset(held).isdisjoint(dropped):
        return "its fingerprints are not sorted, or not once each"
    return ""


def _is_sorted(fingerprints: Sequence[int]) -> bool:
    if not fingerprints:
        return True
    is_bounded = fingerprints[0] >= 0 and fingerprints[-1] < FINGERPRINT_END
    return is_bounded and all(one < next_ for one, next_ in pairwise(fingerprints))


def _error(what: str) -> MessageError:
    return MessageError("digest", f"This is no page of a digest: {what}.")


def _width(count: int) -> int:
    """Return the bits of a remainder: the total is then within 1 % of the shortest possible."""
    return FINGERPRINT_BITS - count.bit_length()


# Python handles bits fastest as one number with a bit for each position, which it converts from
# and to a text of 0 and 1 in linear time, whatever its length.
def _written(fingerprints: Sequence[int]) -> bytes:
    count = len(fingerprints)
    if not count:
        return _COUNT.pack(0)
    width = _width(count)
    below = (1 << width) - 1
    steps = [next_ - one - 1 for one, next_ in pairwise((-1, *fingerprints))]
    binary = f"{{:0{width}b}}".format
    remainders = _packed("".join([binary(step & below) for step in steps]))
    quotients = _packed("1".join(["0" * (step >> width) for step in steps]) + "1")
    return _COUNT.pack(count) + remainders + _COUNT.pack(len(quotients)) + quotients


def _read(octets: bytes, place: int) -> tuple[tuple[int, ...], int]:
    """Parse a set, and return it with the position of its end."""
    count, place = _number(octets, place)
    if not count:
        return (), place
    if count > MAX_FINGERPRINTS:
        raise _error("it has too many fingerprints")
    width = _width(count)
    remainders, place = _bits(octets, place, (count * width + 7) // 8)
    length, place = _number(octets, place)
    quotients, place = _bits(octets, place, length)
    *zeros, rest = quotients.split("1")
    if len(zeros) != count or len(rest) > 7 or "1" in remainders[count * width :]:  # noqa: PLR2004  # bits that fill an octet
        raise _error("a set in it has not as many fingerprints as its count")
    # Each remainder with its quotient in front of it, plus the one that was subtracted.
    ends = range(width, count * width + 1, width)
    steps = [
        (len(zero) << width) + int(remainders[end - width : end], 2) + 1
        for zero, end in zip(zeros, ends, strict=True)
    ]
    found = tuple(accumulate(steps, initial=-1))[1:]
    if found[-1] >= FINGERPRINT_END:
        raise _error("a fingerprint in it has too many bits")
    return found, place


def _number(octets: bytes, place: int) -> tuple[int, int]:
    end = place + _COUNT.size
    if end > len(octets):
        raise _error("it ends too early")
    return int.from_bytes(octets[place:end]), end


def _bits(octets: bytes, place: int, length: int) -> tuple[str, int]:
    end = place + length
    if end > len(octets):
        raise _error("it ends too early")
    return f"{int.from_bytes(octets[place:end]):0{8 * length}b}" if length else "", end


def _packed(bits: str) -> bytes:
    length = (len(bits) + 7) // 8
    return int(bits.ljust(8 * length, "0"), 2).to_bytes(length)
