"""Requests of OAI-PMH 2.0: their arguments, checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from ibi.archive.ports.harvest import END_OF_TIME
from ibi.errors import HarvestError, shown
from ibi.identifier.instant import midnight

Verb = Literal[
    "Identify", "ListMetadataFormats", "ListSets", "GetRecord", "ListIdentifiers", "ListRecords"
]
VERBS: Final[tuple[Verb, ...]] = get_args(Verb)

_LIST: Final = (("metadataPrefix",), ("from", "until", "set"), True)
# OAI-PMH 2.0, chapter 4: the required and the optional arguments of each verb, and whether it takes
# a resumptionToken, which is then its only argument.
_ARGUMENTS: Final[dict[Verb, tuple[tuple[str, ...], tuple[str, ...], bool]]] = {
    "Identify": ((), (), False),
    "ListMetadataFormats": ((), ("identifier",), False),
    "ListSets": ((), (), True),
    "GetRecord": (("identifier", "metadataPrefix"), (), False),
    "ListIdentifiers": _LIST,
    "ListRecords": _LIST,
}
_RESUMPTION: Final = "resumptionToken"
LONGEST: Final = 4000
"""Characters of an argument."""

# OAI-PMH.xsd: UTCdatetimeType, metadataPrefixType and setSpecType.
_DATE: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:T([0-9]{2}):([0-9]{2}):([0-9]{2})Z)?"
)
_PREFIX: Final = re.compile(r"[A-Za-z0-9\-_.!~*'()]+")
_SET: Final = re.compile(r"[A-Za-z0-9\-_.!~*'()]+(?::[A-Za-z0-9\-_.!~*'()]+)*")
_DAY: Final = 10
"""Characters of a date without a time."""
_SECONDS_A_DAY: Final = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestRequest:
    """A request of OAI-PMH with the arguments that its verb takes."""

    verb: Verb
    identifier: str = ""
    prefix: str = ""
    set_spec: str = ""
    since: int = 0
    """The first second, in POSIX time."""
    until: int = END_OF_TIME
    """The last second, in POSIX time."""
    token: str = ""
    """The resumption token, not checked yet."""
    arguments: tuple[tuple[str, str], ...] = ()
    """The arguments as they came, which the answer repeats."""

    @classmethod
    def parse(cls, pairs: Sequence[tuple[str, str]]) -> HarvestRequest:
        """Read the arguments of a request; raise HarvestError if they are not allowed."""
        verb = _verb(pairs)
        given = _given(verb, pairs)
        request = cls(
            verb=verb,
            identifier=given.get("identifier", ""),
            prefix=_matching(_PREFIX, "metadataPrefix", given),
            set_spec=_matching(_SET, "set", given),
            token=given.get(_RESUMPTION, ""),
            arguments=tuple(pairs),
        )
        return request if not {"from", "until"} & given.keys() else _between(request, given)


def _verb(pairs: Sequence[tuple[str, str]]) -> Verb:
    named = [value for name, value in pairs if name == "verb"]
    for verb in VERBS:
        if named == [verb]:
            return verb
    if not named:
        why = "The argument verb is missing."
    elif len(named) > 1:
        why = "The argument verb is repeated."
    else:
        why = f"There is no verb {shown(named[0])}."
    raise HarvestError("badVerb", why)


def _given(verb: Verb, pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the arguments of a request without its verb."""
    required, optional, is_list = _ARGUMENTS[verb]
    given: dict[str, str] = {}
    for name, value in pairs:
        if name == "verb":
            continue
        if name not in (*required, *optional) and not (is_list and name == _RESUMPTION):
            raise _bad(f"{verb} has no argument {shown(name)}.")
        if name in given:
            raise _bad(f"The argument {name} is repeated.")
        if not value or len(value) > LONGEST or not value.isprintable():
            raise _bad(f"The argument {name} is empty, too long, or has control characters.")
        given[name] = value
    if _RESUMPTION in given:
        if len(given) > 1:
            raise _bad("A resumptionToken is the only argument of its request.")
        return given
    missing = [name for name in required if name not in given]
    if missing:
        raise _bad(f"The argument {missing[0]} is missing.")
    return given


def _matching(pattern: re.Pattern[str], name: str, given: dict[str, str]) -> str:
    value = given.get(name, "")
    if value and pattern.fullmatch(value) is None:
        raise _bad(f"The argument {name} has characters that it may not have.")
    return value


def _between(request: HarvestRequest, given: dict[str, str]) -> HarvestRequest:
    """Return a request with its dates, which are both days or both seconds."""
    since, until = given.get("from", ""), given.get("until", "")
    if since and until and len(since) != len(until):
        raise _bad("The arguments from and until differ in their granularity.")
    first = _second("from", since, last=False) if since else request.since
    final = _second("until", until, last=True) if until else request.until
    if first > final:
        raise _bad("The argument from is later than until.")
    return HarvestRequest(
        verb=request.verb,
        prefix=request.prefix,
        set_spec=request.set_spec,
        since=first,
        until=final,
        arguments=request.arguments,
    )


def _second(name: str, text: str, *, last: bool) -> int:
    """Return a moment in POSIX time: of a day its first second, or its last."""
    match = _DATE.fullmatch(text)
    parts = [int(part or 0) for part in match.groups()] if match else [0] * 6
    try:
        begin = midnight(*parts[:3])
    except ValueError:
        why = f"The argument {name} is not a date as 2026-11-15 or 2026-11-15T12:00:00Z."
        raise _bad(why) from None
    if len(text) == _DAY:
        return begin + (_SECONDS_A_DAY - 1 if last else 0)
    hours, minutes, seconds = parts[3:]
    if hours > 23 or minutes > 59 or seconds > 59:  # noqa: PLR2004  # of a clock
        raise _bad(f"The argument {name} has a time that no clock shows.")
    return begin + hours * 3600 + minutes * 60 + seconds


def _bad(why: str) -> HarvestError:
    return HarvestError("badArgument", why)
