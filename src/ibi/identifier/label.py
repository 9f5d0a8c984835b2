"""Labels of any form: recognition and parsing, strict or after clean-ups."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from ibi.errors import LabelError, Sentence
from ibi.identifier import diagnosis, ibip, legacy, repository_name
from ibi.identifier.cleanup import Cleaned, CleanUp, clean, introductions, likely_start
from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import EPOCH, Instant
from ibi.identifier.legacy import LegacyLabel
from ibi.identifier.limits import MAX_LABEL, MAX_TEXT
from ibi.identifier.repository_name import RepositoryName

_CLASSES: Final = ("5S", "8B", "4A", "2Z", "0OQ", "1IJ")
_LOOK_ALIKES: Final = {
    character: "".join(other for other in members if other != member)
    for members in _CLASSES
    for member in members
    for character in {member, member.lower()}
}
_MAX_SUGGESTIONS: Final = 3
"""The largest number of labels that an error message suggests."""


def did_you_mean(text: str, now: Instant | None = None) -> tuple[str, ...]:
    """Return the valid labels, with a plausible date, that differ from the text by one look-alike.

    A plausible date lies between 1995-08-01, when the first label was made, and `now`. Legacy
    labels are not suggested: they are case-sensitive, and nearly every text is one.
    """
    if len(text) > MAX_LABEL:
        return ()
    found: dict[str, None] = {}
    for repaired in _repairs(text):
        label = ibip.longest_match(repaired) or repository_name.longest_match(repaired)
        if (
            label is not None
            and len(label.spelling) == len(repaired)
            and label.instant >= EPOCH
            and (now is None or label.instant <= now)
        ):
            found[label.canonical] = None
            if len(found) == _MAX_SUGGESTIONS:
                break
    return tuple(found)


def _repairs(text: str) -> Iterator[str]:
    for at, character in enumerate(text):
        for other in _LOOK_ALIKES.get(character, ""):
            yield text[:at] + other + text[at + 1 :]


Label: TypeAlias = RepositoryName | Ibip | LegacyLabel

# Citations print the type of an INPE report after its repository name: 08.25.11.46-NTC.
_REPORT_TYPE: Final = re.compile(r"-[A-Za-z]{3}")
_FINAL_REPORT_TYPE: Final = re.compile(r"-[A-Za-z]{3}\Z")
_TAIL: Final = frozenset(("", *"!+:/?#"))
"""The characters that may follow a label in a persistent URL; empty for its end."""

_FORMS: Final = Sentence(
    "a repository name (subdomain/word/year/date) or an IBIp (two words divided by a slash)"
)
_YEAR: Final = 2  # the place of the year among the four parts of a repository name
_TAIL_OF_A_WORD: Final = re.compile(r"[!+:?#]")


@dataclass(frozen=True, slots=True)
class Reading:
    """A label found in a text, the clean-ups needed to find it, and the text after it."""

    label: Label
    cleaned: tuple[CleanUp, ...] = ()
    tail: str = ""


def parse(text: str, *, strict: bool = False, now: Instant | None = None) -> Label:
    """Parse a label of any form.

    A strict reading accepts the label and nothing else; otherwise the text is cleaned up first
    (as by `read`). The LabelError for an invalid text holds the position of the fault and, where
    one repair of look-alikes would make a label, suggestions: labels with a date between
    1995-08-01 and `now`, or any later date if `now` is not given.
    """
    label = longest_match(text)
    if label is not None and len(label.spelling) == len(text):
        return label
    return read(text, strict=strict, now=now).label


def read(text: str, *, strict: bool = False, now: Instant | None = None) -> Reading:
    """Parse a label of any form and return it with the clean-ups that were needed."""
    label = longest_match(text)
    if label is not None and len(label.spelling) == len(text):
        return Reading(label)
    cleaned = clean(bounded(text))
    place = locate(cleaned)
    if place is None:
        if strict:
            error = _error(text)
            raise error.within(text, error.position, did_you_mean(text, now))
        raise lost(text, cleaned, now)
    if strict:
        raise _not_alone(text, cleaned, place)
    tail = cleaned.text[place.end :]
    steps = (*cleaned.steps, *place.steps, *((CleanUp.URL_TAIL,) if tail else ()))
    return Reading(place.label, steps, tail)


def _not_alone(text: str, cleaned: Cleaned, place: LabelPlace) -> LabelError:
    """Return the error of a strict reading of a text that has more in it than the label."""
    first, last = cleaned.position(place.start), cleaned.position(place.end - 1)
    before, after = text[:first], text[last + 1 :]
    return LabelError(
        text,
        part=Sentence("what surrounds the label"),
        position=0 if before or not after else last + 1,
        expected=Sentence("the label alone"),
        found=before or after or text,
        suggestions=(place.label.spelling,),
    )


def bounded(text: str) -> str:
    """Return the text; raise LabelError if it is longer than any text with an identifier."""
    if len(text) > MAX_TEXT:
        raise LabelError(
            text,
            part=Sentence("the text"),
            position=MAX_TEXT,
            expected=Sentence("at most %(most)s characters", most=MAX_TEXT),
            found=text[MAX_TEXT:],
        )
    return text


@dataclass(frozen=True, slots=True)
class LabelPlace:
    """Where in a cleaned text its label lies, and the clean-ups of what is around it."""

    label: Label
    start: int
    end: int
    steps: tuple[CleanUp, ...]


def locate(cleaned: Cleaned) -> LabelPlace | None:
    """Find the label in a cleaned text, before its end or the rest of a persistent URL.

    The longest match is tried first. If nothing valid follows it, a shorter match may have a path
    that looked like a part of the label: LK47B6W/362SFKH/2009/09.09.22.01.pdf.
    """
    text = cleaned.text
    for start, steps in introductions(text):
        for label in _matches(text, start):
            end = start + len(label.spelling)
            if text[end : end + 1] in _TAIL:
                return LabelPlace(label, start, end, steps)
        name = repository_name.longest_match(text, start)
        report_type = _REPORT_TYPE.match(text, start + len(name.spelling)) if name else None
        if name and report_type and text[report_type.end() : report_type.end() + 1] in _TAIL:
            return LabelPlace(name, start, report_type.end(), (*steps, CleanUp.REPORT_TYPE))
    return None


def lost(text: str, cleaned: Cleaned, now: Instant | None = None) -> LabelError:
    """Return the error that describes why no label could be located in a cleaned text."""
    start = likely_start(cleaned.text)
    label = longest_match(cleaned.text, start)
    if label is not None:
        end = start + len(label.spelling)
        following = cleaned.text[end : end + 1]
        if following in _TAIL:
            return LabelError(
                text,
                part=Sentence("what introduces the label"),
                position=0,
                expected=Sentence('a resolver\'s address, "ibi:" or nothing'),
                found=cleaned.text[:start],
                suggestions=(label.spelling,),
            )
        if not following.isalnum() and following != ".":
            return LabelError(
                text,
                part=Sentence("the end of the label"),
                position=cleaned.position(end),
                expected=Sentence("nothing more, or what follows a label in a persistent URL"),
                found=cleaned.text[end:],
            )
    core = _core(cleaned.text[start:])
    error = _error(core)
    position = cleaned.position(start + error.position)
    return error.within(text, position, did_you_mean(core, now))


def _matches(text: str, start: int) -> Iterator[Label]:
    """Yield the labels of all forms that begin at `start`, the longest first."""
    for find in (repository_name.longest_match, ibip.longest_match, legacy.longest_match):
        label = find(text, start)
        if label is not None:
            yield label


def longest_match(text: str, start: int = 0) -> Label | None:
    """Return the longest label of any form that begins at `start`, or None."""
    found = ibip.longest_match(text, start)
    if found is not None and start + len(found.spelling) == len(text):
        return found
    # A path after an IBIp can make a repository name of the whole, which then is the longer
    # match: LK47B6W/362SFKH/2009/09.09.22.01.
    return repository_name.longest_match(text, start) or found or legacy.longest_match(text, start)


def _core(text: str) -> str:
    """Return what resembles a label most at the beginning of a text that has none."""
    is_name = _resembles_repository_name(text)
    parts = text.split("/")[: 4 if is_name else 2]
    parts[-1] = _TAIL_OF_A_WORD.split(parts[-1], maxsplit=1)[0]
    core = "/".join(parts)
    return _FINAL_REPORT_TYPE.sub("", core) if is_name else core


def _resembles_repository_name(text: str) -> bool:
    parts = text.split("/", 3)
    year_follows = len(parts) > _YEAR and parts[_YEAR][:1].isdigit()
    return "." in parts[0] or (year_follows and len(parts) > _YEAR + 1)


def _error(text: str) -> LabelError:
    """Return the error of the form of label that the text resembles most."""
    first, slash, second = text.partition("/")
    if not slash:
        return LabelError(text, part=Sentence("the label"), position=len(text), expected=_FORMS)
    if _resembles_repository_name(text):
        return diagnosis.repository_name_fault(text)
    mixed_case = first != first.upper() and first != first.lower()
    if mixed_case and "W" not in first + second:
        return legacy.fault(text)
    return diagnosis.ibip_fault(text)
