"""The list of URLs: the answer of an archive about an item (004, section 7.2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from ibi.errors import IbiError, MessageError, RelationError
from ibi.model.archive_record import UrlKey
from ibi.model.item import ContentType, State
from ibi.model.label_pair import Forms
from ibi.model.relation import Relation
from ibi.wire.percent_encoding import url_mended

# Control characters, and surrogates.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_MAX_URL: Final = 8192
# RFC 2396, 3.2.2: hostport, whose parts the resolver compares with those that it has on record.
_ADDRESS: Final = re.compile(r"[A-Za-z0-9._:\[\]-]{1,262}")
# ISO 8601, as far as a point in time needs it.
_TIMESTAMP: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_ARCHIVE_SERVICE: Final = "ibi.archiveservice"
_PLATFORM_SOFTWARE: Final = "ibi.platformsoftware"
_NEXT_EDITION: Final = "ibi.nextedition"
_PREFIXES: Final = ("ibi", "url", "contenttype", "state", "timestamp")

_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class Related:
    """What an archive holds of a related item; without a URL, only its labels."""

    forms: Forms | None = None
    url: str = ""
    content: ContentType | None = None
    state: State | None = None
    timestamp: str = ""
    """When it was last updated, ISO 8601."""


@dataclass(frozen=True, slots=True)
class UrlList:
    """What an archive holds of an item, as far as it was requested."""

    address: str
    service: Forms
    platform_software: Forms | None = None
    forms: Forms | None = None
    """The labels of the item."""
    deleted: str = ""
    """When it was deleted, ISO 8601; empty if it was not."""
    next_edition: Forms | None = None
    key: UrlKey | None = None
    related: Mapping[Relation, Related] = field(default_factory=dict)
    """By relation. The item itself has the empty relation, and is present only with a URL."""

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield the pairs (Algorithm 2, lines 6 to 32)."""
        yield "archiveaddress", self.address
        yield _ARCHIVE_SERVICE, str(self.service)
        yield _PLATFORM_SOFTWARE, _written(self.platform_software)
        if self.forms is not None:
            yield "ibi", str(self.forms)
        if self.deleted:
            yield "state", State.DELETED
            yield "timestamp", self.deleted
            return
        if self.next_edition is not None:
            yield _NEXT_EDITION, str(self.next_edition)
        if self.key is not None:
            yield "urlkey", str(self.key)
        for relation, related in self.related.items():
            values = (related.url, related.content, related.state, related.timestamp)
            if relation.steps:
                yield f"ibi{relation}", _written(related.forms)
            for prefix, value in zip(_PREFIXES[1:], values, strict=True):
                if value:
                    yield f"{prefix}{relation}", value

    @classmethod
    def of_pairs(cls, pairs: Mapping[str, str]) -> UrlList:
        """Parse the pairs of an answer."""
        deleted = pairs.get("state", "").lower() == State.DELETED.lower()
        return cls(
            address=_value(pairs, "archiveaddress", _address),
            service=_value(pairs, _ARCHIVE_SERVICE, Forms.parse),
            platform_software=_optional(pairs, _PLATFORM_SOFTWARE, Forms.parse),
            forms=_optional(pairs, "ibi", Forms.parse),
            deleted=_value(pairs, "timestamp", _timestamp) if deleted else "",
            next_edition=_optional(pairs, _NEXT_EDITION, Forms.parse),
            key=_optional(pairs, "urlkey", UrlKey),
            related={} if deleted else dict(_related(pairs)),
        )


def _related(pairs: Mapping[str, str]) -> Iterator[tuple[Relation, Related]]:
    names: dict[Relation, dict[str, str]] = {}
    for name in pairs:
        prefix, relation = _divided(name)
        if relation is None:
            continue
        if prefix in names.setdefault(relation, {}):
            raise MessageError(
                "repeated-pair", f"The answer has the pair {prefix}{relation} twice."
            )
        names[relation][prefix] = name
    for relation, named in names.items():
        ibi, url, content, state, timestamp = (named.get(prefix, "") for prefix in _PREFIXES)
        related = Related(
            _optional(pairs, ibi, Forms.parse),
            _optional(pairs, url, _url) or "",
            _optional(pairs, content, _content_type),
            _optional(pairs, state, _state),
            _optional(pairs, timestamp, _timestamp) or "",
        )
        if relation.steps or related.url:
            yield relation, related


def _divided(name: str) -> tuple[str, Relation | None]:
    """Split a name into its prefix and the relation; None if it has no relation."""
    prefix, dot, rest = name.partition(".")
    if prefix not in _PREFIXES:
        return prefix, None
    try:
        return prefix, Relation.parse(dot + rest)
    except RelationError:
        # Another kind of name (ibi.archiveservice), or an unknown relation.
        return prefix, None


def _written(forms: Forms | None) -> str:
    return "" if forms is None else str(forms)


def _optional(pairs: Mapping[str, str], name: str, read: Callable[[str], _Read]) -> _Read | None:
    return _value(pairs, name, read) if pairs.get(name) else None


def _value(pairs: Mapping[str, str], name: str, read: Callable[[str], _Read]) -> _Read:
    if name not in pairs:
        raise MessageError("missing-pair", f"The answer has no pair {name}.")
    try:
        return read(pairs[name])
    except IbiError as fault:
        raise MessageError("bad-value", f"The value of {name} cannot be read: {fault}") from None
    except ValueError:
        raise MessageError("bad-value", f"The value of {name} cannot be read.") from None


def _address(text: str) -> str:
    if _ADDRESS.fullmatch(text) is None:
        raise ValueError(text)
    return text


def _url(text: str) -> str:
    if len(text) > _MAX_URL or _CONTROL.search(text):
        raise ValueError(text)
    return url_mended(text)


def _content_type(text: str) -> ContentType:
    return ContentType(text.capitalize())


def _state(text: str) -> State:
    return State(text.capitalize())


def _timestamp(text: str) -> str:
    if _TIMESTAMP.fullmatch(text) is None:
        raise ValueError(text)
    return text
