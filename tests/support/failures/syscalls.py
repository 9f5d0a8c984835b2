"""The program dies, or the disk fails, at the n-th step that it takes on the disk."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any, TypeAlias

import pytest

Place: TypeAlias = tuple[ModuleType, str]

STEPS = ("rename", "replace", "link", "unlink", "rmdir", "mkdir", "fsync", "open")
"""What changes a disk or makes it durable; Path's methods end in these too."""


class Killed(BaseException):  # no error of the program: it is gone
    """The process ends here: nothing catches it, nothing is tidied up."""


class Steps:
    """Counts the steps; takes those before `last`, or all."""

    def __init__(self, last: int, failure: Callable[[], BaseException], *, stays: bool) -> None:
        """Fail at a step: once, or at all that follow too."""
        self.count = 0
        self._last = last
        self._failure = failure
        self._stays = stays

    def take(self, step: Callable[..., Any], *arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        """Take a step, unless it is the one that fails."""
        self.count += 1
        if self.count == self._last or (self._stays and self.count > self._last):
            raise self._failure()
        return step(*arguments, **named)


def _eio() -> OSError:
    return OSError(errno.EIO, os.strerror(errno.EIO))


ON_DISK: tuple[Place, ...] = (*((os, name) for name in STEPS), (io, "open"))
"""Where the steps are taken."""


@contextmanager
def killed_at(last: int, places: Sequence[Place] = ON_DISK) -> Iterator[Steps]:
    """Kill whoever takes this step; from then on no step is taken at all, as if it were dead."""
    yield from _failing(Steps(last, Killed, stays=True), places)


@contextmanager
def disk_fails_at(
    last: int, places: Sequence[Place] = ON_DISK, *, stays: bool = False
) -> Iterator[Steps]:
    """Let the disk report an error at this step, or from it on."""
    yield from _failing(Steps(last, _eio, stays=stays), places)


def _failing(steps: Steps, places: Sequence[Place]) -> Iterator[Steps]:
    with pytest.MonkeyPatch.context() as patch:
        for module, name in places:
            patch.setattr(module, name, partial(steps.take, getattr(module, name)))
        yield steps
