"""The repository name: a label built on a domain name (003, chapter 6).

    sid.inpe.br/mtc-m18.8080/2009/02.16.17.46.05.25
    subdomain / word . port / year / month . day . hour . minute . second . fraction

The host is the word before the subdomain: mtc-m18.sid.inpe.br.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Final, Literal

from ibi.errors import RepositoryNameError
from ibi.identifier.diagnosis import repository_name_fault
from ibi.identifier.instant import SECONDS_PER_DAY, TWO_DIGITS, Instant, date, midnight
from ibi.identifier.limits import MAX_LABEL, MAX_PORT, MAX_WORD

DEFAULT_PORT: Final = 80
"""The port that is left out of a repository name (Algorithm 1, line 12)."""

# Table 6.1: Rule defining the formation of the name of the uniform repository of an item.
#
#   repository = prefix "/" suffix
#     prefix   = subdomain "/" word [ "." | "@" ] port
#     suffix   = year "/" month "." day "." hour "." minute [ "." second ]
#     year     = 4*DIGIT
#     second   = integer [ "." fraction ]
#
# The printed `prefix` is WRONG: it makes the port mandatory and its separator optional, which the
# standard's first example contradicts. It means  word [("." | "@") port].
_REPOSITORY: Final = re.compile(
    r"([A-Za-z0-9.-]+/[A-Za-z0-9-]+(?:[.@][0-9]+)?)"
    r"/([0-9]{4,}/[0-9]{2}\.[0-9]{2})\.([0-9]{2})\.([0-9]{2})(?:\.([0-9]{2})(?:\.([0-9]+))?)?"
)
#
#     subdomain = *(word ".") last-word [ "." ]
#     word      = ALPHANUM | (ALPHANUM *(ALPHANUM | "-") ALPHANUM)
#     last-word = ALPHA | (ALPHA *(ALPHANUM | "-") ALPHANUM)
#
# The host is the word of the prefix and its subdomain; no word is longer than RFC 1034 allows.
_HOST: Final = re.compile(
    rf"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{{0,{MAX_WORD - 2}}}[A-Za-z0-9])?\.)+"
    rf"[A-Za-z](?:[A-Za-z0-9-]{{0,{MAX_WORD - 2}}}[A-Za-z0-9])?"
)
_HOST_EXPECTED: Final = "a domain name of at least two words"

# What Algorithms 1 and 2 write for most names: lower case, no final dot, no port, a year of four
# digits, no needless second 00, no trailing zero. To match this is faster than to write the name
# again.
_CANONICAL: Final = re.compile(
    r"[a-z0-9.-]*[a-z0-9-]/[a-z0-9-]+"
    r"/[0-9]{4}/[0-9]{2}\.[0-9]{2}\.[0-9]{2}\.[0-9]{2}"
    r"(?:\.(?:0[1-9]|[1-5][0-9])|\.[0-9]{2}\.[0-9]*[1-9])?"
)


@dataclass(frozen=True, slots=True)
class RepositoryName:
    """A repository name: host, port and instant, and the spelling under which it was issued.

    Two names are equal when host, port and instant are; the spelling is kept byte for byte (it
    names directories) and does not count. The host is in lower case, without a final dot. It
    need not exist: names from before the standard have a login in the place of its first word.
    """

    host: str
    port: int
    instant: Instant
    spelling: str = field(compare=False)

    kind: ClassVar[Literal["rep"]] = "rep"

    @classmethod
    def parse(cls, text: str) -> RepositoryName:
        """Parse a repository name as the standard writes it, with nothing around it."""
        found = longest_match(text)
        if found is None or len(found.spelling) < len(text):
            raise repository_name_fault(text)
        return found

    @classmethod
    def mount(cls, host: str, port: int, instant: Instant) -> RepositoryName:
        """Algorithm 3, MountNameOfRepositoryOfAnItem: return the canonical name."""
        canonical_host = host.lower().removesuffix(".")
        if _HOST.fullmatch(canonical_host) is None:
            raise RepositoryNameError(
                host, part="the host", position=0, expected=_HOST_EXPECTED, found=host
            )
        try:
            spelling = f"{mount_prefix(canonical_host, port)}/{mount_suffix(instant)}"
        except ValueError:
            expected = "an instant that a label can carry"
            raise RepositoryNameError(
                host, part="the instant", position=0, expected=expected
            ) from None
        return cls.parse(spelling)

    @property
    def canonical(self) -> str:
        """The spelling that the standard prescribes: lower case, no port 80, shortest suffix."""
        if _CANONICAL.fullmatch(self.spelling):
            return self.spelling
        return f"{mount_prefix(self.host, self.port)}/{mount_suffix(self.instant)}"

    def __str__(self) -> str:
        return self.spelling


def longest_match(text: str, start: int = 0) -> RepositoryName | None:
    """Return the longest repository name that begins at `start`, or None."""
    match = _REPOSITORY.match(text, start, start + MAX_LABEL)
    if match is None:
        return None
    prefix, day, hour, minute, second, fraction = match.groups()
    subsystem = _subsystem(prefix)
    midnight = _midnight(day)
    time = _seconds_of_day(hour, minute, second or "00")
    if subsystem is None or midnight is None or time is None:
        return None
    instant = Instant(midnight + time, fraction.rstrip("0") if fraction else "")
    return RepositoryName(subsystem[0], subsystem[1], instant, match.group())


def mount_prefix(host: str, port: int) -> str:
    """Algorithm 1, MountPrefixOfNameOfRepositoryOfAnItem.

    The printed pseudo-code (lines 5 to 9) drops every dot of the subdomain, but all its examples
    keep them, and so does this function.
    """
    first_word, _, subdomain = host.partition(".")
    return f"{subdomain}/{first_word}" + ("" if port == DEFAULT_PORT else f".{port}")


def mount_suffix(instant: Instant) -> str:
    """Algorithm 2, MountSuffixOfNameOfRepositoryOfAnItem: the shortest suffix for the instant."""
    day, time = divmod(instant.seconds, SECONDS_PER_DAY)
    minutes, second = divmod(time, 60)
    suffix = f"{_day_of_suffix(day)}.{TWO_DIGITS[minutes // 60]}.{TWO_DIGITS[minutes % 60]}"
    fraction = instant.significant_fraction
    if fraction:
        return f"{suffix}.{TWO_DIGITS[second]}.{fraction}"
    return f"{suffix}.{TWO_DIGITS[second]}" if second else suffix


# Many labels share one day or one prefix: both are cached.
@lru_cache(maxsize=16_384)
def _midnight(day: str) -> int | None:
    """Return the POSIX time at which the day (2009/02.16) begins; None if there is no such day."""
    year, _, month_and_day = day.partition("/")
    try:
        return midnight(int(year), int(month_and_day[:2]), int(month_and_day[3:]))
    except ValueError:
        return None


@lru_cache(maxsize=16_384)
def _day_of_suffix(day: int) -> str:
    year, month, day_of_month = date(day)
    return f"{year:04}/{month:02}.{day_of_month:02}"


def _seconds_of_day(hour: str, minute: str, second: str) -> int | None:
    # No second 60: POSIX time has none, and the label counts POSIX time.
    if hour > "23" or minute > "59" or second > "59":
        return None
    return int(hour) * 3600 + int(minute) * 60 + int(second)


@lru_cache(maxsize=4096)
def _subsystem(prefix: str) -> tuple[str, int] | None:
    """Return host and port of the prefix; None if either is invalid."""
    subdomain, _, word_and_port = prefix.partition("/")
    word, _, port = word_and_port.partition("@" if "@" in word_and_port else ".")
    host = f"{word}.{subdomain.removesuffix('.')}"
    if _HOST.fullmatch(host) is None:
        return None
    port_number = int(port) if port else DEFAULT_PORT
    return (host.lower(), port_number) if 1 <= port_number <= MAX_PORT else None
