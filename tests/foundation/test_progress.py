"""The line that shows the progress of a command: phase, bytes, rate, time left."""

from __future__ import annotations

import io

import pytest

from ibi.foundation.cli.progress import ProgressDisplay, progress_line, size_text, time_text


class SetClock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        """Begin at zero."""
        self.now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@pytest.mark.parametrize(
    ("done", "total", "begun", "seconds", "line"),
    [
        (0, 10_000, 0, 0.0, "Copying  0 %  0 B of 10.0 kB"),
        (5_000_000, 10_000_000, 0, 10.0, "Copying  50 %  5.0 MB of 10.0 MB  500.0 kB/s  0:10 left"),
        # What was there before counts as done, and not for the rate.
        (6_000, 10_000, 5_000, 1.0, "Copying  60 %  6.0 kB of 10.0 kB  1.0 kB/s  0:04 left"),
        (0, 0, 0, 75.0, "Copying  1:15"),
        (1_500, 0, 0, 2.0, "Copying  1.5 kB  0:02"),
    ],
)
def test_a_line(done: int, total: int, begun: int, seconds: float, line: str) -> None:
    assert progress_line("Copying", done, total, begun, seconds) == line


def test_sizes_and_times_for_people() -> None:
    assert [size_text(size) for size in (0, 999, 1000, 2_500_000, 10**12)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "2.5 MB",
        "1.0 TB",
    ]
    assert [time_text(seconds) for seconds in (0, 59.4, 60, 3661)] == [
        "0:00",
        "0:59",
        "1:00",
        "1:01:01",
    ]


def lines(out: io.StringIO) -> list[str]:
    return [line.strip() for line in out.getvalue().replace("\n", "\r").split("\r") if line.strip()]


def test_phases_follow_each_other_and_move() -> None:
    out, clock = io.StringIO(), SetClock()
    display = ProgressDisplay(out, clock)
    display.report("Reading", 0, 0)
    clock.now = 3.0
    display.tick()
    display.report("Copying", 0, 100)
    clock.now = 3.01
    display.report("Copying", 10, 100)  # too soon after the last line
    clock.now = 4.0
    display.report("Copying", 50, 100)
    clock.now = 5.0
    display.report("Copying", 100, 100)
    display.close()
    shown = lines(out)
    assert shown[:3] == ["Reading  0:00", "Reading  0:03", "Reading  0:03"]
    assert shown[3] == "Copying  0 %  0 B of 100 B"
    assert "Copying  50 %  50 B of 100 B  50 B/s  0:01 left" in shown
    assert not any("10 %" in line for line in shown)
    assert shown[-1].startswith("Copying  100 %")
    assert out.getvalue().count("\n") == 2  # the last line of each phase stays
