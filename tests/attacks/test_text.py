"""Threats, row 12: hostile text.

Whatever the text: accepted, or the library's own error, in linear time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ibi import IbiError, LabelError, PersistentUrl, ReadingError, describe, parse
from ibi.identifier.language import Language
from ibi.identifier.language_preference import LanguagePreference
from ibi.identifier.verbs import read_modifiers, read_verblist
from tests.conformance import strings
from tests.support.counted_text import LINEAR_AT_MOST, CountedPattern, growth, work_of
from tests.support.extent import tried
from tests.support.servers.attacked import FULL

READERS: list[Callable[[str], object]] = [
    parse,
    lambda text: parse(text, strict=True),
    describe,
    PersistentUrl.parse,
    lambda text: PersistentUrl.parse(text, strict=True),
    Language.parse,
    LanguagePreference.parse,
    read_modifiers,
    read_verblist,
]
DOORS = READERS[:5]
"""Those that take a text from outside; the others get a part of what these have bounded."""


def read_or_refuse(text: str, readers: list[Callable[[str], object]] = READERS) -> None:
    for reader in readers:
        message = ""
        try:
            reader(text)
        except IbiError as error:
            message = str(error)
        assert message.isprintable()


@given(st.text(st.characters(), max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    read_or_refuse(text)


@given(st.text("238JMKDGPWXZY/.@!+:?()-&=#%40ibirep<>, \n", max_size=60))
def test_any_text_of_our_own_characters_is_read_or_refused(text: str) -> None:
    read_or_refuse(text)


PIECES = [
    *("ibi:", "ibi/", "rep/", "IBI: ", "http://urlib.net/", "urlib.net/", "localhost:8800/", "/"),
    *("<", ">", " ", "\n", ".", ",", "\u00ad", "\ufeff", "\udc80", "\x1b", "\0"),
    *("LK47B6W/362SFKH", "8IMKD3MGP8W/34PGRBS", "2001:db8::1", "7URMDHLL9SSN2D89MX/2"),
    *("sid.inpe.br/mtc-m18@80/2009/02.16.17.46", "sid.inpe.br/", "/2009/09.09.22.01", "-NTC"),
    *("6qtX3pFwXQZGivnK2Y/SskcB", "APM77Z/UaJFT", "%21", "%40", "%2", "%ff"),
    *("!", "+", ":", "+(pt)", "+(pt-BR)", ":(oai_dc)", "(", ")", "??", "#x", "/a b", "?a=b", "&"),
    *("ibiurl.verblist=", "GetMetadata", "GetTranslation(pt)", "ibiurl.language=pt"),
]


@pytest.mark.many
@settings(max_examples=tried(2_000))
@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
@example("ibi:ibi:LK47B6W/362SFKH")
def test_pieces_in_any_order_are_read_or_refused(text: str) -> None:
    read_or_refuse(text)


@pytest.mark.many
@settings(max_examples=tried(1_000))
@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_an_error_points_into_the_text_and_a_strict_reading_is_no_other(text: str) -> None:
    for reader in (parse, PersistentUrl.parse):
        try:
            lenient = reader(text)
        except ReadingError as error:
            assert 0 <= error.position <= len(text)  # noqa: PT017  # either way is good
            continue
        try:
            assert reader(text, strict=True) == lenient
        except ReadingError:
            continue


@pytest.mark.many
@settings(max_examples=tried(1_000))
@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_what_is_read_is_written_fit_for_a_header_and_read_again(text: str) -> None:
    try:
        url = PersistentUrl.parse(text)
    except IbiError:
        return
    written = url.at("http://resolver.example")
    assert written.isascii()
    assert written.isprintable()
    assert " " not in written
    assert PersistentUrl.parse(written) == url


@pytest.mark.parametrize(
    "make",
    [
        strings.repository_name,
        strings.ibip,
        strings.legacy_label,
        strings.persistent_url,
        strings.verblist,
    ],
)
@pytest.mark.many
def test_nearly_good_text_is_read_or_refused(make: Callable[..., str]) -> None:
    for text in strings.stream(make, seed=6, count=tried(1_000)):
        read_or_refuse(text)


# What makes a backtracking matcher go back: long runs that almost end well.
WORST = [
    "a",
    "a.",
    "a-",
    "-",
    "8",
    "W",
    "/",
    "a/",
    "2009/",
    ".",
    " ",
    "<",
    "%40",
    "ibi/",
    "!",
    "+(pt)",
    "+(",
    ":(",
    "&",
    "?a=b&",
    "GetMetadata+",
    "http://",
    "a.br/b/2009/02.16.17.46.00.0",
    "8JMKD3MGP8W/34PGRBS",
    "6qtX3pFwXQZ",
    "é",
    "en;q=0.5,",
]
FRAMES = [
    *("{}", "http://urlib.net/{}", "LK47B6W/362SFKH{}", "LK47B6W/362SFKH{}\0"),
    *(pytest.param(each, marks=pytest.mark.long) for each in ("{}\0", "a.br/b/2009/{}", "<{}>")),
]


@pytest.mark.parametrize("frame", FRAMES)
def test_work_grows_with_the_length_and_not_faster(frame: str) -> None:
    for reader in READERS:
        for each in WORST:
            assert growth(reader, frame, each) < LINEAR_AT_MOST, (reader, each)


def sliced(text: str) -> object:
    return [text[at:] for at in range(len(text))]


def matched(text: str) -> object:
    pattern = CountedPattern(re.compile("a*c"))
    return [pattern.match(text, at) for at in range(len(text))]


def looped(text: str) -> object:
    return [sum(1 for _ in range(len(text) // 50)) for _ in text]


@pytest.mark.parametrize("reader", [sliced, matched, looped])
def test_the_measure_finds_a_reader_that_begins_anew_at_every_character(
    reader: Callable[[str], object],
) -> None:
    """The twin: the same measure, of readers whose work grows with the square of the length."""
    assert growth(reader, "{}", "a") > LINEAR_AT_MOST


def cpu_seconds(read: Callable[[str], object], texts: Iterable[str]) -> float:
    """Return the CPU time of reading texts, the least of a few tries each."""
    total = 0.0
    for text in texts:
        least = float("inf")
        for _ in range(3):
            start = time.process_time()
            with suppress(IbiError):
                read(text)
            least = min(least, time.process_time() - start)
        total += least
    return total


MOST_OF_TIME: Final = 64
"""Sixteen times the text: linear is 16, the square 256. Ratios of CPU time in one run, all worst
cases together, so that noise averages out."""


def _growth_of_time(frame: str, read: Callable[[str], object], worst: list[str]) -> float:
    short, long = (
        cpu_seconds(read, [frame.format((each * length)[:length]) for each in worst])
        for length in (500, 8000)
    )
    return long / short


@pytest.mark.alone
@pytest.mark.skipif(not FULL, reason="times are compared in the full count alone")
@pytest.mark.parametrize("frame", FRAMES)
def test_time_grows_with_the_length_and_not_faster(frame: str) -> None:
    assert _growth_of_time(frame, read_or_refuse, WORST) < MOST_OF_TIME


@pytest.mark.alone
@pytest.mark.skipif(not FULL, reason="times are compared in the full count alone")
def test_the_measure_of_time_finds_a_quadratic_reader() -> None:
    """The twin: the same measure, with no guard against backtracking."""
    quadratic = re.compile(r"(?:a|b)*c")
    assert _growth_of_time("{}", quadratic.search, ["a"]) > MOST_OF_TIME


@pytest.mark.parametrize("frame", FRAMES)
def test_a_megabyte_is_refused_unread(frame: str) -> None:
    """A megabyte gets the library's own error, and is copied into it once at most."""
    for each in WORST:
        huge = frame.format((each * 1_000_000)[:1_000_000])
        for reader in (parse, PersistentUrl.parse):
            with pytest.raises(LabelError, match="at most 8192 characters"):
                reader(huge)
        for door in DOORS:
            assert work_of(door, huge) < 2 * len(huge), each
