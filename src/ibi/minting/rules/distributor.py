"""The temporal distributor: an instant on the grid for every request (003, Algorithm 4).

Instants are whole nanoseconds of POSIX time. Nothing here reads a clock: the time of the request is
an argument, and the time until which the caller must wait is returned.
"""

from __future__ import annotations

from ibi.minting.rules.granularity import COARSER


def create_date(current_date: int, last: int | None, r: int) -> tuple[int, int]:
    """Algorithm 4, CreateDateToMountSuffixOfIbiOfAnItem; r is one of G.

    Returns the creation date, until which the caller waits (line 7), and the date for the suffix,
    which is the next `last`.
    """
    rounded = current_date - current_date % r  # line 1: INT rounds down, before 1970 too
    # Lines 2 to 4. A last date from a finer grid is rounded down, and still never repeated: all
    # greater dates on the coarser grid are at least one step further.
    last = rounded - r if last is None else last - last % r
    creation = max(last + r, rounded)  # line 5
    short = creation  # lines 8 to 16: the coarsest rounding that is still greater than `last`
    for s in COARSER[r]:
        candidate = creation - creation % s
        if candidate <= last:
            break
        short = candidate
    return creation, short


def create_dates(current_date: int, last: int | None, r: int, count: int) -> tuple[int, list[int]]:
    """Algorithm 4 for requests in succession, each made when the previous one is served.

    Returns the creation date of the last one, and all dates for suffixes.
    """
    creation, date = create_date(current_date, last, r)
    dates = [date]
    # Short dates come first, as long as there are any before the current date.
    while len(dates) < count and date < current_date - current_date % r:
        creation, date = create_date(current_date, date, r)
        dates.append(date)
    # From there on, each date is one step after the other: rounding would repeat the previous one.
    missing = count - len(dates)
    if missing:
        creation = date + missing * r
        dates.extend(range(date + r, creation + 1, r))
    return creation, dates
