"""The IBIp: the opaque label built on an IP address (003, chapter 7).

    8JMKD3MGP8 W 34P / 34PGRBS W 7
    address      port  seconds   fraction

All five are numerals of base 27 (the blanks are not part of it).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import AddressValueError
from typing import ClassVar, Final, Literal

from ibi.errors import IbipError
from ibi.identifier import address
from ibi.identifier.diagnosis import ibip_fault
from ibi.identifier.instant import EPOCH, Instant
from ibi.identifier.limits import MAX_LABEL, MAX_PORT
from ibi.identifier.numerals import IBIP

DEFAULT_PORT: Final = 800
"""The port that is left out of an IBIp (Algorithm 5, line 1)."""

# Table 7.1: Rules defining the formation of the IBIp of an item.
#
#   IBIp = word "/" word
#   word = 1*ALFANUM
#
# (It prints ALFANUM and defines ALPHANUM; one rule is meant.) Its letters and digits are all but
# 0 O 1 I V Y Z. The table gives a word no structure; Algorithms 5 and 6 do:
# W or X ends the address, W begins the fraction, and neither is a digit.
ALPHABET: Final = IBIP.digits + "WX"
_DIGIT: Final = "[2-9A-HJ-NP-Ua-hj-np-u]"
_IBIP: Final = re.compile(f"({_DIGIT}+[WwXx]{_DIGIT}*)/({_DIGIT}+)(?:[Ww]({_DIGIT}+))?")

# What Algorithms 5 to 7 write for most labels: no numeral begins with a zero digit, the port is
# not 800, there is no fraction. An IPv4 address has only one text, so such a spelling is the
# canonical one; to match it is faster than to write it again.
_CANONICAL_ON_IPV4: Final = re.compile(
    r"[3-9A-HJ-NP-U][2-9A-HJ-NP-U]*W(?:(?!34K/)[3-9A-HJ-NP-U][2-9A-HJ-NP-U]*)?"
    r"/[3-9A-HJ-NP-U][2-9A-HJ-NP-U]*"
)


@dataclass(frozen=True, slots=True)
class Ibip:
    """An IBIp: address, port and instant, and the spelling under which it was issued.

    Two IBIps are equal when address, port and instant are; the spelling is kept and does not
    count. `ip` is the address in its canonical text (RFC 5952 for IPv6).
    """

    ip: str
    port: int
    instant: Instant
    spelling: str = field(compare=False)

    kind: ClassVar[Literal["ibip"]] = "ibip"

    @classmethod
    def parse(cls, text: str) -> Ibip:
        """Parse an IBIp as the standard writes it, with nothing around it."""
        found = longest_match(text)
        if found is None or len(found.spelling) < len(text):
            raise ibip_fault(text)
        return found

    @classmethod
    def mount(cls, ip: str, port: int, instant: Instant) -> Ibip:
        """Algorithm 7, MountIbipOfAnItem: return the IBIp, in its canonical spelling."""
        try:
            spelling = f"{mount_prefix(address.canonical(ip), port)}/{mount_suffix(instant)}"
        except ValueError:
            raise IbipError(
                ip,
                part="what it is to be made of",
                position=0,
                expected="an IP address, a port, and an instant from 1995-08-01 on",
                found=ip,
            ) from None
        return cls.parse(spelling)

    @property
    def canonical(self) -> str:
        """The spelling that the standard prescribes: upper case, no port 800."""
        if _CANONICAL_ON_IPV4.fullmatch(self.spelling):
            return self.spelling
        return f"{mount_prefix(self.ip, self.port)}/{mount_suffix(self.instant)}"

    def __str__(self) -> str:
        return self.spelling


def longest_match(text: str, start: int = 0) -> Ibip | None:
    """Return the longest IBIp that begins at `start`, or None."""
    match = _IBIP.match(text, start, start + MAX_LABEL)
    if match is None:
        return None
    prefix, seconds, fraction = match.groups()
    subsystem = _subsystem(prefix)
    if subsystem is None:
        return None
    instant = Instant(
        EPOCH.seconds + IBIP.to_decimal(seconds), _decimal_fraction(fraction) if fraction else ""
    )
    return Ibip(subsystem[0], subsystem[1], instant, match.group())


@lru_cache(maxsize=4096)
def mount_prefix(ip: str, port: int) -> str:
    """Algorithm 5, MountPrefixOfIbipOfAnItem; `ip` in its canonical text."""
    coded_port = "" if port == DEFAULT_PORT else IBIP.from_decimal(port)
    number, letter = address.to_number(ip)
    return f"{IBIP.from_decimal(number)}{letter}{coded_port}"


def mount_suffix(instant: Instant) -> str:
    """Algorithm 6, MountSuffixOfIbipOfAnItem: seconds since 1995-08-01, then the fraction.

    Line 6 converts "the fraction" to an integer, which would give .5 and .05 the same label.
    Here each leading zero becomes a leading zero digit instead; without leading zeros this is
    exactly what the standard writes.
    """
    suffix = IBIP.from_decimal(instant.seconds - EPOCH.seconds)
    fraction = instant.significant_fraction
    return f"{suffix}W{coded_fraction(fraction)}" if fraction else suffix


def coded_fraction(fraction: str) -> str:
    """Return the decimal digits of a fraction, without trailing zeros, as digits of an IBIp."""
    if fraction[0] != "0":
        return IBIP.from_decimal(int(fraction))
    significant = fraction.lstrip("0")
    zeros = len(fraction) - len(significant)
    return IBIP.digits[0] * zeros + IBIP.from_decimal(int(significant))


@lru_cache(maxsize=4096)
def _subsystem(prefix: str) -> tuple[str, int] | None:
    """Return address and port of the prefix. Cached: many labels share one prefix."""
    upper = prefix.upper()
    coded_ip, letter, coded_port = upper.partition("W" if "W" in upper else "X")
    try:
        ip = address.from_number(IBIP.to_decimal(coded_ip), letter)
    except AddressValueError:
        return None
    port = _port(coded_port)
    return (ip, port) if 1 <= port <= MAX_PORT else None


@lru_cache(maxsize=1024)
def _port(coded: str) -> int:
    return IBIP.to_decimal(coded) if coded else DEFAULT_PORT


def _decimal_fraction(coded: str) -> str:
    significant = coded.lstrip(IBIP.digits[0])
    zeros = "0" * (len(coded) - len(significant))
    return (zeros + (str(IBIP.to_decimal(significant)) if significant else "")).rstrip("0")
