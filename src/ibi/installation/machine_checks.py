"""The checks of `ibi doctor` for a machine: Python, installed packages, clock."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from importlib import metadata
from typing import Final

from ibi.installation.host_probe import probe
from ibi.model.finding import Finding

_PART: Final = "machine"
_OLDEST_PYTHON: Final = (3, 11)
_EARLIEST: Final = 1_767_225_600
"""2026-01-01, before which this program did not exist."""
_LATEST: Final = 4_102_444_800
"""2100-01-01, after which a clock is assumed to be wrong."""
_NOTICED: Final = 2.0
"""Seconds of a difference between clocks that are ignored, for the resolution of `Date`."""
_WRONG: Final = 60.0
"""Seconds of a difference between clocks from which on it is a failure."""

# The form of our own requirements: name, extras, least version, and condition.
_REQUIREMENT: Final = re.compile(r"([A-Za-z0-9._-]+)(?:\[[a-z,]*\])?(?:>=([0-9.]+))?(?:;.*)?")
_NUMBERS: Final = re.compile("[0-9]+")


def machine_findings(server: str) -> Iterator[Finding]:
    """Check this machine; its clock is compared with that of a server, if one is given."""
    yield _python()
    yield _dependencies()
    yield _clock(time.time())
    if server:
        yield _clock_of(server)


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] >= _OLDEST_PYTHON:
        return Finding(_PART, "python", "ok", version)
    return Finding(_PART, "python", "failure", version, "install Python 3.11 or newer")


def _dependencies() -> Finding:
    wanted = [_REQUIREMENT.match(each) for each in metadata.requires("ibi") or ()]
    faults = [_fault(each[1], each[2] or "0") for each in wanted if each is not None]
    found = [fault for fault in faults if fault]
    if found:
        return Finding(_PART, "packages", "failure", ", ".join(found), "run 'make install'")
    return Finding(_PART, "packages", "ok", f"ibi {metadata.version('ibi')}, {len(wanted)} others")


def _fault(name: str, least: str) -> str:
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} is missing"
    is_older = _numbers(found) < _numbers(least)
    return f"{name} {found} is older than {least}" if is_older else ""


def _numbers(version: str) -> list[int]:
    return [int(each) for each in _NUMBERS.findall(version)]


def _clock(now: float) -> Finding:
    text = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
    if _EARLIEST <= now < _LATEST:
        return Finding(_PART, "clock", "ok", text)
    return Finding(
        _PART, "clock", "failure", f"{text} cannot be", "set the clock before a label is minted"
    )


def _clock_of(server: str) -> Finding:
    found = probe(server)
    if found.clock is None:
        reason = found.reason or "it sends no date"
        return Finding(_PART, "clock", "warning", f"that of {server} is unknown: {reason}")
    distance = time.time() - found.clock
    if abs(distance) <= _NOTICED:
        return Finding(_PART, "clock", "ok", f"as that of {server}")
    side = "ahead of" if distance > 0 else "behind"
    return Finding(
        _PART,
        "clock",
        "failure" if abs(distance) > _WRONG else "warning",
        f"{abs(distance):.0f} s {side} that of {server}",
        "let NTP set it (chrony, systemd-timesyncd)",
    )
