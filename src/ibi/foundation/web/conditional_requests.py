"""Conditional requests: whether a client has the current state of a file (RFC 9110, section 13)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate, parsedate_to_datetime
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from ibi.model.clock import SECOND

_MAX_HEADER: Final = 4096
"""Characters of a header."""

# RFC 9110, 8.8.3.   entity-tag = [ weak ] opaque-tag
#                    opaque-tag = DQUOTE *etagc DQUOTE
_TAG: Final = re.compile(r'(W/)?("[\x21\x23-\x7e\x80-\xff]*")')


@lru_cache(maxsize=4096)
def _http_date(seconds: int) -> str:
    return formatdate(seconds, usegmt=True)


@dataclass(frozen=True, slots=True)
class Validators:
    """The validators that distinguish two states of a file."""

    etag: str
    """A strong entity tag, in its quotation marks."""
    modified: int
    """Nanoseconds of POSIX time."""

    @property
    def last_modified(self) -> str:
        """The value of Last-Modified, which has a resolution of one second."""
        return _http_date(self.modified // SECOND)

    def judge(self, headers: Mapping[str, str]) -> HTTPStatus | None:
        """Return the status that ends a GET or HEAD, if one does, in the order of 13.2.2."""
        if "if-match" in headers:
            if not self._among(headers["if-match"], weak=False):
                return HTTPStatus.PRECONDITION_FAILED
        elif self._is_modified(headers.get("if-unmodified-since", "")):
            return HTTPStatus.PRECONDITION_FAILED
        if "if-none-match" in headers:
            if self._among(headers["if-none-match"], weak=True):
                return HTTPStatus.NOT_MODIFIED
        elif self._is_modified(headers.get("if-modified-since", "")) is False:
            return HTTPStatus.NOT_MODIFIED
        return None

    def allow_ranges(self, if_range: str, now: int) -> bool:
        """Return whether parts of this file match what the client has (13.1.5).

        A date is only valid for that if the file cannot have changed again in the same second.
        """
        if if_range.startswith(('"', "W/")):
            return if_range == self.etag
        is_old = self.modified // SECOND < now // SECOND
        return is_old and if_range == self.last_modified

    def _among(self, header: str, *, weak: bool) -> bool:
        if header.strip() == "*":
            return True
        found = _TAG.findall(header[:_MAX_HEADER])
        return any(tag == self.etag and (weak or not is_weak) for is_weak, tag in found)

    def _is_modified(self, since: str) -> bool | None:
        """Compare with a date; None if it is not a date, which is ignored."""
        if not since:  # as in most requests: an exception takes longer
            return None
        try:
            seconds = parsedate_to_datetime(since[:_MAX_HEADER]).timestamp()
        except (ValueError, TypeError, OverflowError, IndexError):
            return None
        return self.modified // SECOND > seconds
