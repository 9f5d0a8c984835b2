"""Runs functions as other users of the machine, which only root can."""

from __future__ import annotations

import os
import pickle
import traceback
from collections.abc import Callable
from typing import Any, Final

import pytest

NEEDS_ROOT: Final = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be other users")


def as_user(number: int, act: Callable[[], Any]) -> Any:  # noqa: ANN401  # what it returns
    """Run a function in a process of another user; return its value, or raise its error."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(number)
            os.setuid(number)
            result: object = act()
        except Exception as error:  # noqa: BLE001  # whatever it is, the test judges it
            error.add_note(traceback.format_exc())
            result = error
        os.write(writing, pickle.dumps(result))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        result = pickle.loads(pipe.read())  # noqa: S301  # from our own child
    os.waitpid(child, 0)
    if isinstance(result, Exception):
        raise result
    return result
