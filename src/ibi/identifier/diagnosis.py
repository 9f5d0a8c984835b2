"""Error messages for texts that are not a label: slow checks that run only after parsing failed.

Each reports the first fault from left to right. For a repository name that is Table 6.1 and the
semantic rules; for an IBIp Table 7.1, then the structure that Algorithms 5 and 6 give a word, then
the values.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError
from typing import Final

from ibi.errors import IbipError, RepositoryNameError, Sentence, shown
from ibi.identifier import address
from ibi.identifier.instant import days_in_month
from ibi.identifier.limits import MAX_LABEL, MAX_PORT, MAX_WORD
from ibi.identifier.numerals import IBIP, IPV4, IPV6

_NOT_DOMAIN: Final = re.compile(r"[^A-Za-z0-9.-]")
_NOT_WORD: Final = re.compile(r"[^A-Za-z0-9-]")
_NOT_DIGIT: Final = re.compile(r"[^0-9]")

_PARTS: Final = 4
_PARTS_EXPECTED: Final = Sentence('four parts divided by "/": subdomain, word, year and date')
_YEAR_DIGITS: Final = 4

# Each field of the date with its least and greatest value; the month also limits the day.
_DATE_FIELDS: Final = (
    (Sentence("the month"), 1, 12),
    (Sentence("the day"), 1, 31),
    (Sentence("the hour"), 0, 23),
    (Sentence("the minute"), 0, 59),
    (Sentence("the second"), 0, 59),
)
_MANDATORY_FIELDS: Final = 4


class _Fault(Exception):  # noqa: N818  # control flow inside this module, not an error of its own
    def __init__(self, part: str, position: int, expected: str, found: str) -> None:
        self.part = part
        self.position = position
        self.expected = expected
        self.found = found


def repository_name_fault(text: str) -> RepositoryNameError:
    """Return the error that describes the first deviation of the text from a repository name."""
    try:
        _walk(text)
    except _Fault as found:
        return RepositoryNameError(
            text,
            part=found.part,
            position=found.position,
            expected=found.expected,
            found=found.found,
        )
    msg = f"no fault in {text!r}"
    raise AssertionError(msg)


def _walk(text: str) -> None:
    if len(text) > MAX_LABEL:
        raise _Fault(
            Sentence("the label"),
            MAX_LABEL,
            Sentence("at most %(most)s characters", most=MAX_LABEL),
            text[MAX_LABEL:],
        )
    parts = text.split("/")
    position = 0
    for check, part in zip((_subdomain, _word_and_port, _year, _date), parts, strict=False):
        check(part, position)
        position += len(part) + 1
    if len(parts) < _PARTS:
        raise _Fault(Sentence("the label"), len(text), _PARTS_EXPECTED, "")
    if len(parts) > _PARTS:
        raise _Fault(Sentence("the label"), position - 1, Sentence("its end"), text[position - 1 :])
    _day(parts[2], parts[3], len(text) - len(parts[3]))


def _subdomain(part: str, position: int) -> None:
    bad = _NOT_DOMAIN.search(part)
    if bad:
        raise _Fault(
            Sentence("the subdomain"),
            position + bad.start(),
            Sentence("letters, digits, hyphens and dots"),
            bad[0],
        )
    words = part.removesuffix(".").split(".")
    for number, word in enumerate(words, 1):
        _domain_word(Sentence("the subdomain"), word, position)
        if number == len(words) and not word[0].isalpha():
            raise _Fault(
                Sentence("the subdomain"),
                position,
                Sentence("a letter at the beginning of its last word"),
                word,
            )
        position += len(word) + 1


def _domain_word(part: str, word: str, position: int) -> None:
    if not word:
        raise _Fault(part, position, Sentence("a word of letters, digits and inner hyphens"), "")
    if word[0] == "-":
        raise _Fault(part, position, Sentence("a letter or digit at the beginning of a word"), "-")
    if word[-1] == "-":
        end = position + len(word) - 1
        raise _Fault(part, end, Sentence("a letter or digit at the end of a word"), "-")
    if len(word) > MAX_WORD:
        raise _Fault(
            part,
            position + MAX_WORD,
            Sentence("a word of at most %(most)s characters", most=MAX_WORD),
            word[MAX_WORD:],
        )


def _word_and_port(part: str, position: int) -> None:
    word, separator, port = part.partition("@" if "@" in part else ".")
    bad = _NOT_WORD.search(word)
    if bad:
        raise _Fault(
            Sentence("the word before the year"),
            position + bad.start(),
            Sentence("letters, digits and inner hyphens"),
            bad[0],
        )
    _domain_word(Sentence("the word before the year"), word, position)
    if separator:
        _port(port, position + len(word) + 1)


def _port(port: str, position: int) -> None:
    expected = Sentence("a number from 1 to %(most)s", most=MAX_PORT)
    bad = _NOT_DIGIT.search(port)
    if bad:
        raise _Fault(Sentence("the port"), position + bad.start(), expected, bad[0])
    if not port or not 1 <= int(port) <= MAX_PORT:
        raise _Fault(Sentence("the port"), position, expected, port)


def _year(part: str, position: int) -> None:
    bad = _NOT_DIGIT.search(part)
    if bad:
        raise _Fault(
            Sentence("the year"), position + bad.start(), Sentence("four or more digits"), bad[0]
        )
    if len(part) < _YEAR_DIGITS:
        raise _Fault(Sentence("the year"), position, Sentence("four or more digits"), part)


def _date(part: str, position: int) -> None:
    fields = part.split(".")
    for (name, least, greatest), digits in zip(_DATE_FIELDS, fields, strict=False):
        expected = Sentence(
            "two digits from %(least)s to %(most)s", least=f"{least:02}", most=greatest
        )
        bad = _NOT_DIGIT.search(digits)
        if bad:
            raise _Fault(name, position + bad.start(), expected, bad[0])
        if len(digits) != len("00") or not least <= int(digits) <= greatest:
            raise _Fault(name, position, expected, digits)
        position += len(digits) + 1
    if len(fields) < _MANDATORY_FIELDS:
        name = _DATE_FIELDS[len(fields)][0]
        raise _Fault(name, position - 1, Sentence('"." and %(name)s in two digits', name=name), "")
    fraction = fields[len(_DATE_FIELDS) :]
    if fraction:
        _fraction(".".join(fraction), position)


def _fraction(fraction: str, position: int) -> None:
    bad = _NOT_DIGIT.search(fraction)
    if bad or not fraction:
        raise _Fault(
            Sentence("the fraction of the second"),
            position + (bad.start() if bad else 0),
            Sentence("digits"),
            bad[0] if bad else "",
        )


def _day(year: str, date: str, position: int) -> None:
    month, day = int(date[:2]), int(date[3:5])
    last = days_in_month(int(year), month)
    if day > last:
        raise _Fault(
            Sentence("the day"),
            position + 3,
            Sentence("a day from 01 to %(last)s of that month", last=last),
            date[3:5],
        )


_NOT_ALPHABET: Final = re.compile(r"[^2-9A-HJ-NP-UWXa-hj-np-uwx]")
_SEPARATOR: Final = re.compile(r"[WwXx]")
_LETTERS_EXPECTED: Final = Sentence("letters and digits other than 0 O 1 I V Y Z")


def ibip_fault(text: str) -> IbipError:
    """Return the error that describes the first deviation of the text from an IBIp."""
    if len(text) > MAX_LABEL:
        expected = Sentence("at most %(most)s characters", most=MAX_LABEL)
        return _error(text, Sentence("the label"), MAX_LABEL, expected, text[MAX_LABEL:])
    prefix, slash, suffix = text.partition("/")
    start = len(prefix) + 1
    for part, word, at in (
        (Sentence("the prefix"), prefix, 0),
        (Sentence("the suffix"), suffix, start),
    ):
        bad = _NOT_ALPHABET.search(word)
        if bad:
            return _error(text, part, at + bad.start(), _LETTERS_EXPECTED, bad[0])
    if not prefix:
        return _error(text, Sentence("the prefix"), 0, Sentence("an address in base 27"), slash)
    if not slash:
        return _error(text, Sentence("the label"), len(text), Sentence('"/" and a suffix'))
    return _prefix_fault(text, prefix) or _suffix_fault(text, suffix, start)


def _prefix_fault(text: str, prefix: str) -> IbipError | None:
    separator = _SEPARATOR.search(prefix)
    if separator is None:
        expected = Sentence("W (IPv4) or X (IPv6) after the address")
        return _error(text, Sentence("the prefix"), len(prefix), expected)
    coded_ip, letter, coded_port = (
        prefix[: separator.start()],
        separator[0],
        prefix[separator.end() :],
    )
    if not coded_ip:
        return _error(
            text, Sentence("the prefix"), 0, Sentence("an address in base 27 before W or X"), letter
        )
    second = _SEPARATOR.search(coded_port)
    if second:
        at = separator.end() + second.start()
        return _error(text, Sentence("the port"), at, Sentence("digits of base 27"), second[0])
    number = IBIP.to_decimal(coded_ip)
    try:
        address.from_number(number, letter.upper())
    except AddressValueError:
        version, numerals = ("IPv4", IPV4) if letter in "Ww" else ("IPv6", IPV6)
        decoded = shown(address.text_of(number, numerals))
        expected = Sentence(
            "an %(version)s address in base 27 (this one decodes to %(decoded)s)",
            version=version,
            decoded=decoded,
        )
        return _error(text, Sentence("the address"), 0, expected, coded_ip)
    if coded_port and not 1 <= IBIP.to_decimal(coded_port) <= MAX_PORT:
        expected = Sentence("a port from 1 to %(most)s in base 27", most=MAX_PORT)
        return _error(text, Sentence("the port"), separator.end(), expected, coded_port)
    return None


def _suffix_fault(text: str, suffix: str, start: int) -> IbipError:
    first = _SEPARATOR.search(suffix)
    if first is None or first.start() == 0:
        expected = Sentence("seconds since 1995-08-01 in base 27")
        return _error(text, Sentence("the suffix"), start, expected, suffix[:1])
    if first[0] in "Xx":
        expected = Sentence("digits of base 27, or W and a fraction")
        return _error(text, Sentence("the suffix"), start + first.start(), expected, first[0])
    second = _SEPARATOR.search(suffix, first.end())
    at, found = (second.start(), second[0]) if second else (len(suffix), "")
    return _error(
        text,
        Sentence("the fraction of the second"),
        start + at,
        Sentence("digits of base 27"),
        found,
    )


def _error(text: str, part: str, position: int, expected: str, found: str = "") -> IbipError:
    return IbipError(text, part=part, position=position, expected=expected, found=found)
