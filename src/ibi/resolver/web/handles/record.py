"""Handle records: what an item resolves to, as the JSON API of a Handle server writes it.

The members and codes are those of the Handle.Net Technical Manual, chapter 14 ("Handle HTTP JSON
REST API"); the codes were assigned by RFC 3652, 2.2.2.4. A record here has no HS_ADMIN: items are
administered at their archives, and nothing can be written by this API.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from http import HTTPStatus
from typing import Final
from xml.sax.saxutils import quoteattr

import msgspec

from ibi.errors import RequestError, Sentence

TTL_SECONDS: Final = 60
"""Seconds for which a client may keep a value; a redirect is not kept for longer by far."""
_FIRST_NAME: Final = 100
"""The index of the first label, so that other values can be added before the labels."""
_MAX_FILTERS: Final = 20
"""Types and indices that one request may name; a record has fewer values."""
_MAX_INDEX_DIGITS: Final = 10


class Code(IntEnum):
    """A code of RFC 3652, 2.2.2.4."""

    SUCCESS = 1
    ERROR = 2
    SERVER_BUSY = 3
    PROTOCOL_ERROR = 4
    RECURSION_LIMIT = 6
    NOT_FOUND = 100
    INVALID_HANDLE = 102
    VALUES_NOT_FOUND = 200


_CODES: Final = {
    HTTPStatus.NOT_FOUND: Code.NOT_FOUND,
    HTTPStatus.GONE: Code.VALUES_NOT_FOUND,
    HTTPStatus.LOOP_DETECTED: Code.RECURSION_LIMIT,
    HTTPStatus.TOO_MANY_REQUESTS: Code.SERVER_BUSY,
    HTTPStatus.SERVICE_UNAVAILABLE: Code.SERVER_BUSY,
    HTTPStatus.REQUEST_URI_TOO_LONG: Code.INVALID_HANDLE,
    HTTPStatus.BAD_REQUEST: Code.PROTOCOL_ERROR,
}


def code_of(status: HTTPStatus) -> Code:
    """Return the code of an answer without a record, by its status of HTTP."""
    return _CODES.get(status, Code.ERROR)


class HandleData(msgspec.Struct, frozen=True):
    """The data of a value."""

    value: str
    format: str = "string"


class HandleValue(msgspec.Struct, frozen=True, omit_defaults=True):
    """A value of a record."""

    index: int
    type: str
    data: HandleData
    ttl: int
    timestamp: str = ""
    """When the item was last changed, as its archive says."""


class HandleRecord(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The answer about a handle: its record, or a code and a message."""

    response_code: int
    handle: str
    values: tuple[HandleValue, ...] | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """The values that a client wants: of one of the types, or at one of the indices."""

    types: frozenset[str] = frozenset()
    indices: frozenset[int] = frozenset()

    @classmethod
    def of(cls, types: Sequence[str], indices: Sequence[str]) -> Selection:
        """Parse the parameters `type` and `index`."""
        if len(types) + len(indices) > _MAX_FILTERS:
            raise RequestError(
                Sentence("More than %(most)s types and indices are named.", most=_MAX_FILTERS)
            )
        if not all(
            each.isascii() and each.isdigit() and len(each) <= _MAX_INDEX_DIGITS for each in indices
        ):
            raise RequestError(Sentence("An index is a number: expected digits."))
        return cls(frozenset(each.lower() for each in types), frozenset(map(int, indices)))

    def values(self, record: Iterable[HandleValue]) -> tuple[HandleValue, ...]:
        """Return the values that are wanted; all, if nothing was selected."""
        if not self.types and not self.indices:
            return tuple(record)
        return tuple(
            each for each in record if each.type.lower() in self.types or each.index in self.indices
        )


def values_of(
    location: str, metadata: str, labels: Iterable[str], timestamp: str
) -> tuple[HandleValue, ...]:
    """Return the values of an item: its location, all of its locations, and its labels."""
    values = [
        _value(1, "URL", location, timestamp),
        _value(2, "10320/loc", _locations(location, metadata), timestamp),
    ]
    named = (
        _value(index, "IBI", each, timestamp) for index, each in enumerate(labels, _FIRST_NAME)
    )
    return (*values, *named)


def _value(index: int, type_: str, value: str, timestamp: str) -> HandleValue:
    return HandleValue(index, type_, HandleData(value), TTL_SECONDS, timestamp)


def _locations(location: str, metadata: str) -> str:
    """Return both as 10320/loc: the description only for a client that asks for that view."""
    return (
        "<locations>"
        f'<location id="0" href={quoteattr(location)} weight="1"/>'
        f'<location id="1" href={quoteattr(metadata)} weight="0" view="metadata"/>'
        "</locations>"
    )
