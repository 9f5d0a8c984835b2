"""Error messages for texts that are not an IBIp: a slow check that runs only after parsing failed.

It checks Table 7.1, then the structure that Algorithms 5 and 6 give a word, then the values.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError
from typing import Final

from ibi.errors import IbipError, shown
from ibi.identifier import address
from ibi.identifier.limits import MAX_LABEL, MAX_PORT
from ibi.identifier.numerals import IBIP, IPV4, IPV6

_NOT_ALPHABET: Final = re.compile(r"[^2-9A-HJ-NP-UWXa-hj-np-uwx]")
_SEPARATOR: Final = re.compile(r"[WwXx]")
_LETTERS_EXPECTED: Final = "letters and digits other than 0 O 1 I V Y Z"


def fault(text: str) -> IbipError:
    """Return the error that describes the first deviation of the text from an IBIp."""
    if len(text) > MAX_LABEL:
        expected = f"at most {MAX_LABEL} characters"
        return _error(text, "the label", MAX_LABEL, expected, text[MAX_LABEL:])
    prefix, slash, suffix = text.partition("/")
    start = len(prefix) + 1
    for part, word, at in (("the prefix", prefix, 0), ("the suffix", suffix, start)):
        bad = _NOT_ALPHABET.search(word)
        if bad:
            return _error(text, part, at + bad.start(), _LETTERS_EXPECTED, bad[0])
    if not prefix:
        return _error(text, "the prefix", 0, "an address in base 27", slash)
    if not slash:
        return _error(text, "the label", len(text), '"/" and a suffix')
    return _prefix_fault(text, prefix) or _suffix_fault(text, suffix, start)


def _prefix_fault(text: str, prefix: str) -> IbipError | None:
    separator = _SEPARATOR.search(prefix)
    if separator is None:
        expected = "W (IPv4) or X (IPv6) after the address"
        return _error(text, "the prefix", len(prefix), expected)
    coded_ip, letter, coded_port = (
        prefix[: separator.start()],
        separator[0],
        prefix[separator.end() :],
    )
    if not coded_ip:
        return _error(text, "the prefix", 0, "an address in base 27 before W or X", letter)
    second = _SEPARATOR.search(coded_port)
    if second:
        at = separator.end() + second.start()
        return _error(text, "the port", at, "digits of base 27", second[0])
    number = IBIP.to_decimal(coded_ip)
    try:
        address.from_number(number, letter.upper())
    except AddressValueError:
        version, numerals = ("IPv4", IPV4) if letter in "Ww" else ("IPv6", IPV6)
        decoded = shown(address.text_of(number, numerals))
        expected = f"an {version} address in base 27 (this one decodes to {decoded})"
        return _error(text, "the address", 0, expected, coded_ip)
    if coded_port and not 1 <= IBIP.to_decimal(coded_port) <= MAX_PORT:
        expected = f"a port from 1 to {MAX_PORT} in base 27"
        return _error(text, "the port", separator.end(), expected, coded_port)
    return None


def _suffix_fault(text: str, suffix: str, start: int) -> IbipError:
    first = _SEPARATOR.search(suffix)
    if first is None or first.start() == 0:
        expected = "seconds since 1995-08-01 in base 27"
        return _error(text, "the suffix", start, expected, suffix[:1])
    if first[0] in "Xx":
        expected = "digits of base 27, or W and a fraction"
        return _error(text, "the suffix", start + first.start(), expected, first[0])
    second = _SEPARATOR.search(suffix, first.end())
    at, found = (second.start(), second[0]) if second else (len(suffix), "")
    return _error(text, "the fraction of the second", start + at, "digits of base 27", found)


def _error(text: str, part: str, position: int, expected: str, found: str = "") -> IbipError:
    return IbipError(text, part=part, position=position, expected=expected, found=found)
