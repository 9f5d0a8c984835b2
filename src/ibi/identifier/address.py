"""The IP address inside an opaque label: its text, read as a number (003, Algorithm 5).

IPv4 is a numeral of base 11 ("." is the digit ten), IPv6 one of base 17 (":" is the digit
sixteen). The text is always the canonical one: an address has many spellings, and each would be
another label.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address
from typing import Final

from ibi.identifier.numerals import IPV4, IPV6, Numerals

# Most addresses are already canonical. A regular expression recognises them sooner than the
# standard library, which takes longer to parse an address than the rest of a label takes.
_OCTET: Final = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4: Final = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
# For IPv6: no piece is written as zero or begins with one. Then the only run of zeros is the "::",
# which RFC 5952 has for two pieces or more: six others are left at the most.
_PIECE: Final = "[1-9a-f][0-9a-f]{0,3}"
_PIECES: Final = rf"{_PIECE}(?::{_PIECE}){{0,5}}"
_IPV6_IN_FULL: Final = re.compile(":".join([_PIECE] * 8))
_IPV6_IN_SHORT: Final = re.compile(f"(?:{_PIECES})?::(?:{_PIECES})?")
_MOST_PIECES_IN_SHORT: Final = 6


def canonical(ip: str) -> str:
    """Return the canonical spelling of an address, as in labels; ValueError if it is none."""
    if _IPV4.fullmatch(ip):
        return ip
    address = ip_address(ip)
    return str(address) if isinstance(address, IPv4Address) else _canonical_ipv6(address)


def to_number(canonical_ip: str) -> tuple[int, str]:
    """Return the number and the letter that ends it, W for IPv4 and X for IPv6 (lines 5 to 12)."""
    if "." in canonical_ip:
        return IPV4.to_decimal(canonical_ip), "W"
    return IPV6.to_decimal(canonical_ip), "X"


def from_number(number: int, letter: str) -> str:
    """Return the address in its canonical text; AddressValueError if the number encodes none."""
    if letter == "W":
        return ipv4_from_number(number)
    text = text_of(number, IPV6)
    if _IPV6_IN_FULL.fullmatch(text) or _is_canonical_in_short(text):
        return text
    return _canonical_ipv6(IPv6Address(text))


def _is_canonical_in_short(text: str) -> bool:
    if _IPV6_IN_SHORT.fullmatch(text) is None:
        return False
    pieces = text.count(":") - (text[:2] == "::") - (text[-2:] == "::")
    return pieces <= _MOST_PIECES_IN_SHORT


def ipv4_from_number(number: int) -> str:
    """Return the IPv4 address; AddressValueError if the number encodes none."""
    text = text_of(number, IPV4)
    if not _IPV4.fullmatch(text):
        raise AddressValueError(text)
    return text


def text_of(number: int, numerals: Numerals) -> str:
    """Return the number as the text of an address, which is not checked.

    A leading "0" is lost in a number, as in 0.1.2.3 and 0:1::2; it is put back where the text
    would begin with "." or a single ":".
    """
    text = numerals.from_decimal(number)
    return f"0{text}" if text[0] in ".:" and text[:2] != "::" else text


def _canonical_ipv6(address: IPv6Address) -> str:
    """RFC 5952, but never its mixed form (::ffff:192.0.2.1): Table 7.5 has no digit "."."""
    if address.scope_id is not None:
        msg = f"an address with a zone, {address}, means nothing elsewhere"
        raise AddressValueError(msg)
    if address.ipv4_mapped is None:
        return str(address)
    low = int(address) & 0xFFFF_FFFF
    return f"::ffff:{low >> 16:x}:{low & 0xFFFF:x}"
