"""The work of reading a text, as a number that is the same in every run.

CPU time depends on the machine and on what else runs there. This counts each line of Python that
runs, and the characters that operations on the text and on its parts go through. A regular
expression counts by what it matches, and by what it may have looked at before it fails: that each
of ours takes linear time for this is decided in `tests/attacks/test_regular_expressions.py`.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from re import _parser  # the widest text of a pattern
from types import FrameType, ModuleType
from typing import Any, Final

import pytest

import ibi
from ibi.errors import IbiError


class _Work:
    """The work that was done so far."""

    def __init__(self) -> None:
        self.done = 0


_WORK: Final = _Work()
_AT_ONCE: Final = frozenset(("startswith", "endswith"))
"""Methods that look at a few characters of a text, however long it is."""
_SPECIAL: Final = (
    *("__add__", "__contains__", "__eq__", "__format__", "__ge__", "__getitem__", "__gt__"),
    *("__hash__", "__iter__", "__le__", "__lt__", "__mul__", "__ne__", "__str__"),
)


LENGTHS: Final = (300, 1200)
"""Characters of the texts that are compared: longer than a label, shorter than any limit."""
LINEAR_AT_MOST: Final = 8
"""By which the work may grow for four times the text: linear is 4, the square 16."""


def growth(read: Callable[[Any], object], frame: str, repeated: str) -> float:
    """Return how many times the work grows with the length of a text that repeats something."""
    short, long = (work_of(read, frame.format((repeated * each)[:each])) for each in LENGTHS)
    return long / short


def work_of(read: Callable[[Any], object], text: str | bytes) -> int:
    """Return the work of reading a text, or of refusing it."""
    _WORK.done = 0
    tracing, profiling = sys.gettrace(), sys.getprofile()
    given = _counted(text)
    with _counted_patterns(), suppress(IbiError):
        sys.settrace(_count_line)
        sys.setprofile(_count_call)
        try:
            read(given)
        finally:
            sys.settrace(tracing)
            sys.setprofile(profiling)
    return _WORK.done


def _count_line(frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
    if frame.f_code.co_filename == __file__:
        return None
    if event == "line":
        _WORK.done += 1
    return _count_line


def _count_call(_: FrameType, event: str, called: object) -> None:
    """Count a method of a plain text, which is made of the given one in some way."""
    if event == "c_call":
        owner = getattr(called, "__self__", None)
        is_long = type(owner) in {str, bytes} and getattr(called, "__name__", "") not in _AT_ONCE
        _WORK.done += len(owner) if is_long else 1  # type: ignore[arg-type]


def _method(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def counted(self: Any, *args: Any, **named: Any) -> Any:  # noqa: ANN401  # as of the library
        result = original(self, *args, **named)
        _WORK.done += _cost(name, self, args, result)
        return _counted(result)

    return counted


def _cost(name: str, text: Any, args: tuple[Any, ...], result: object) -> int:  # noqa: ANN401
    if name in _AT_ONCE:
        return 1
    if name == "__getitem__":
        return len(result) if isinstance(result, str | bytes) else 1
    if name in {"__eq__", "__ne__"}:
        return len(text) if isinstance(args[0], str | bytes) and len(args[0]) == len(text) else 1
    if name in {"find", "index"} and isinstance(result, int) and result >= 0:
        return result - (args[1] if len(args) > 1 else 0) + 1
    return max(len(text), len(result) if isinstance(result, str | bytes) else 0)


class _CountedText(str):
    """A text that counts what is done to it; so do its parts."""

    __slots__ = ()

    def __radd__(self, other: str) -> str:
        _WORK.done += len(self) + len(other)
        return _CountedText(str(other).__add__(self))


class _CountedBytes(bytes):
    """Likewise."""

    __slots__ = ()


for _kind, _plain in ((_CountedText, str), (_CountedBytes, bytes)):
    for _name, _original in vars(_plain).items():
        is_public = not _name.startswith("_") and _name not in {"maketrans", "fromhex"}
        if is_public or _name in _SPECIAL:
            setattr(_kind, _name, _method(_name, _original))


def _counted(value: Any) -> Any:  # noqa: ANN401  # any result of a method
    """Return a text, or texts in a list or tuple, such that what is done to them is counted."""
    if type(value) is str:
        return _CountedText(value)
    if type(value) is bytes:
        return _CountedBytes(value)
    if type(value) in {list, tuple}:
        return type(value)(map(_counted, value))
    return value


class _CountedMatch:
    """A match whose groups are counted texts."""

    def __init__(self, match: re.Match[Any]) -> None:
        self._match = match

    def __getitem__(self, group: int | str) -> Any:  # noqa: ANN401
        return _counted(self._match[group])

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        found = getattr(self._match, name)
        return _method_of_match(found) if callable(found) else found


def _method_of_match(method: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: _counted(method(*args))


class CountedPattern:
    """A pattern that counts the characters that it went through."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self._pattern = pattern
        self._widest = _parser.parse(pattern.pattern, pattern.flags).getwidth()[1]

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._pattern, name)

    def match(self, text: Any, start: int = 0, end: int = sys.maxsize) -> Any:  # noqa: ANN401
        """Match at a place."""
        left = min(end - start, self._widest)
        return self._found(self._pattern.match(text, start, end), text, start, left)

    def fullmatch(self, text: Any, start: int = 0, end: int = sys.maxsize) -> Any:  # noqa: ANN401
        """Match from a place to the end."""
        left = min(end - start, self._widest)
        return self._found(self._pattern.fullmatch(text, start, end), text, start, left)

    def search(self, text: Any, start: int = 0, end: int = sys.maxsize) -> Any:  # noqa: ANN401
        """Look for a match."""
        return self._found(self._pattern.search(text, start, end), text, start, end - start)

    @staticmethod
    def _found(match: re.Match[Any] | None, text: Any, start: int, left: int) -> Any:  # noqa: ANN401
        """Count what was matched, or what was left to look at."""
        if match is None:
            _WORK.done += 1 + min(max(len(text) - start, 0), left)
            return None
        _WORK.done += 1 + match.end() - start
        return _CountedMatch(match)

    def finditer(self, text: Any, start: int = 0, end: int = sys.maxsize) -> Iterator[Any]:  # noqa: ANN401
        """Yield all matches."""
        for match in self._pattern.finditer(text, start, end):
            _WORK.done += 1 + match.end() - start
            start = match.end()
            yield _CountedMatch(match)
        _WORK.done += min(len(text), end) - start

    def split(self, text: Any, maxsplit: int = 0) -> Any:  # noqa: ANN401
        """Split a text."""
        _WORK.done += len(text)
        return _counted(self._pattern.split(text, maxsplit))

    def sub(self, new: Any, text: Any, count: int = 0) -> Any:  # noqa: ANN401
        """Replace what matches."""
        _WORK.done += len(text)
        return _counted(self._pattern.sub(new, text, count))


@cache
def _modules() -> list[ModuleType]:
    found = pkgutil.walk_packages(ibi.__path__, "ibi.")
    return [importlib.import_module(each.name) for each in found]


@cache
def _patterns() -> list[tuple[ModuleType, str, CountedPattern]]:
    return [
        (module, name, CountedPattern(value))
        for module in _modules()
        for name, value in vars(module).items()
        if isinstance(value, re.Pattern)
    ]


@cache
def _caches() -> list[Callable[[], None]]:
    values = [value for module in _modules() for value in vars(module).values()]
    return [value.cache_clear for value in values if hasattr(value, "cache_clear")]


@contextmanager
def _counted_patterns() -> Iterator[None]:
    """Count what patterns do; begin and end with empty caches, whatever was read before."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, pattern in _patterns():
            patch.setattr(module, name, pattern)
        for clear in _caches():
            clear()
        yield
        for clear in _caches():
            clear()
