"""Legacy labels: opaque, case-sensitive, made before 2009 and still cited.

    6qtX3pFwXQZGivnK2Y/SskcB   is   sid.inpe.br/mtc-m17@80/2007/12.14.14.17

No document describes them; what follows was recovered from public pairs. They are carried and
looked up as they are. Decoding is for display and for finding equivalents, never for identity:
a word's leading "a" has the value zero and is lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Final, Literal

from ibi.errors import LegacyLabelError, RepositoryNameError, Sentence
from ibi.identifier.address import ipv4_from_number
from ibi.identifier.instant import EPOCH, Instant
from ibi.identifier.limits import MAX_LABEL, MAX_PORT
from ibi.identifier.numerals import Numerals
from ibi.identifier.repository_name import DEFAULT_PORT, RepositoryName

_BASE53: Final = Numerals("23456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUV")

# Base 37: the letters in an order of their own, the digits, the hyphen. The nine places of
# h k q u v w x y z are known only as a set; each stands here as one of the letters' capitals, so
# that a word with one of them is recognised as not decodable.
_BASE37: Final = Numerals("abcoiemnHsrldfptKgQUVWXjYZ0123456789-")
_UNKNOWN: Final = frozenset("HKQUVWXYZ")

# X stands for ".", Z for "/", Y for "@" and is followed by the port, none for 80. In the late
# form one word before Z is an IPv4 address, its text read in base 11, and nothing follows Z.
_DIGIT: Final = "[2-9a-km-zA-HJ-NP-V]"
_LEGACY: Final = re.compile(f"({_DIGIT}+(?:X{_DIGIT}+)*Z(?:{_DIGIT}+(?:Y{_DIGIT}*)?)?)/({_DIGIT}+)")
_NOT_DIGIT: Final = re.compile(r"[^2-9a-km-zA-HJ-NP-VXYZ]")


@dataclass(frozen=True, slots=True)
class LegacyLabel:
    """A legacy label: its spelling is its identity, the other fields are what could be decoded."""

    spelling: str
    instant: Instant = field(compare=False)
    host: str | None = field(default=None, compare=False)
    ip: str | None = field(default=None, compare=False)
    port: int | None = field(default=None, compare=False)

    kind: ClassVar[Literal["legacy"]] = "legacy"

    @classmethod
    def parse(cls, text: str) -> LegacyLabel:
        """Parse a legacy label, with nothing around it."""
        found = longest_match(text)
        if found is None or len(found.spelling) < len(text):
            raise fault(text)
        return found

    @property
    def canonical(self) -> str:
        """The spelling, which is the only one of a legacy label."""
        return self.spelling

    @property
    def is_decodable(self) -> bool:
        """Whether the prefix could be decoded to a host or an address."""
        return self.host is not None or self.ip is not None

    @property
    def repository_name(self) -> RepositoryName | None:
        """The repository name that this label seems to encode, as a hint for a look-up."""
        if self.host is None or self.port is None:
            return None
        try:
            return RepositoryName.mount(self.host, self.port, self.instant)
        except RepositoryNameError:
            return None

    def __str__(self) -> str:
        return self.spelling


def longest_match(text: str, start: int = 0) -> LegacyLabel | None:
    """Return the longest legacy label that begins at `start`, or None."""
    match = _LEGACY.match(text, start, start + MAX_LABEL)
    if match is None:
        return None
    prefix, seconds = match.groups()
    instant = Instant(EPOCH.seconds + _BASE53.to_decimal(seconds))
    return LegacyLabel(match.group(), instant, *_subsystem(prefix))


@lru_cache(maxsize=4096)
def _subsystem(prefix: str) -> tuple[str | None, str | None, int | None]:
    """Return host, address and port of the prefix, as far as they can be decoded."""
    subdomain, _, word_and_port = prefix.partition("Z")
    word, _, port = word_and_port.partition("Y")
    if not word:
        return None, _decode_ip(subdomain), None
    host = _decode_host(f"{word}X{subdomain}")
    port_number = _BASE53.to_decimal(port) if port else DEFAULT_PORT
    if host is None or not 1 <= port_number <= MAX_PORT:
        return None, None, None
    return host, None, port_number


def _decode_ip(coded: str) -> str | None:
    try:
        return ipv4_from_number(_BASE53.to_decimal(coded))
    except ValueError:  # several words, or no address: AddressValueError is one
        return None


def _decode_host(coded: str) -> str | None:
    words = [_BASE37.from_decimal(_BASE53.to_decimal(word)) for word in coded.split("X")]
    host = ".".join(words)
    return None if _UNKNOWN.intersection(host) else host


def fault(text: str) -> LegacyLabelError:
    """Return the error that describes the first deviation of the text from a legacy label."""
    prefix, slash, suffix = text.partition("/")
    bad = _NOT_DIGIT.search(prefix) or _NOT_DIGIT.search(text, len(prefix) + 1)
    if len(text) > MAX_LABEL:
        facts = (
            Sentence("the label"),
            MAX_LABEL,
            Sentence("at most %(most)s characters", most=MAX_LABEL),
            text[MAX_LABEL:],
        )
    elif bad:
        expected = Sentence("letters and digits other than 0 1 l I O W")
        facts = (Sentence("the label"), bad.start(), expected, bad[0])
    elif not slash or not suffix:
        facts = (Sentence("the label"), len(text), Sentence('"/" and a suffix in base 53'), "")
    elif not {"X", "Y", "Z"}.isdisjoint(suffix):
        facts = (
            Sentence("the suffix"),
            len(prefix) + 1,
            Sentence("digits of base 53, none of X Y Z"),
            suffix,
        )
    else:
        expected = Sentence("words divided by X, then Z, then a word with or without Y and a port")
        facts = (Sentence("the prefix"), 0, expected, prefix)
    part, position, expected, found = facts
    return LegacyLabelError(text, part=part, position=position, expected=expected, found=found)
