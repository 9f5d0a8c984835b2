"""What processes forked from one see alike."""

from __future__ import annotations

import os

import pytest

from ibi.errors import RequestError
from ibi.foundation.system.shared_memory import SharedCount, SharedText


def in_another_process(work: object) -> None:
    """Do something in a process that is forked from this one, and wait for its end."""
    pid = os.fork()
    if pid == 0:
        try:
            assert callable(work)
            work()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def test_a_number_is_seen_by_all() -> None:
    count = SharedCount()
    in_another_process(count.add)
    in_another_process(count.add)
    assert count.value == 2


def test_a_text_is_seen_by_all() -> None:
    text = SharedText()
    assert text.read() == ""
    for written in ("http://resolver.example.org", "", "é" * 2000, "short"):
        in_another_process(lambda written=written: text.write(written))
        assert text.read() == written


def test_a_text_that_is_too_long_changes_nothing() -> None:
    text = SharedText()
    text.write("before")
    with pytest.raises(RequestError):
        text.write("x" * 5000)
    assert text.read() == "before"
