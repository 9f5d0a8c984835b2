"""Typed links between resources (RFC 8288): as a header, and as documents (RFC 9264, RFC 7089)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from ibi.foundation.web.header_values import header_safe, uri

LARGEST_HEADER: Final = 4096
"""Bytes of the field Link with its name and its end; some servers and clients accept no more."""
LINKSET: Final = "application/linkset"
LINKSET_JSON: Final = "application/linkset+json"
LINK_FORMAT: Final = "application/link-format"
"""The media type of a TimeMap (RFC 7089, 5)."""
_FRAME: Final = len("link: \r\n")

# RFC 6838, 4.2: type-name and subtype-name. RFC 9110 permits more, which clients refuse.
_TYPE_NAME: Final = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9!#$&^_-]{0,126}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}"
)
# RFC 3986, without IP literals and user information. Records have addresses that are less strict.
_WEB_ADDRESS: Final = re.compile(
    r"https?://[A-Za-z0-9.:-]{1,300}(?:[/?#](?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?"
)


@dataclass(frozen=True, slots=True)
class WebLink:
    """A link from a resource to another one."""

    target: str
    relation: str
    """A registered relation, or several with blanks between."""
    media_type: str = ""
    """The media type of the target, without parameters; empty if unknown."""
    anchor: str = ""
    """The resource that the link is from; empty for the one whose answer has it."""
    further: tuple[tuple[str, str], ...] = ()
    """Further attributes by name."""

    def __str__(self) -> str:
        """Return the link as a header has it."""
        named = (("type", self.media_type), *self.further)
        written = [f'<{uri(self.target)}>; rel="{self.relation}"']
        written += [f'{name}="{_quoted(value)}"' for name, value in named if value]
        if self.anchor:
            written.append(f'anchor="{uri(self.anchor)}"')
        return header_safe("; ".join(written))


def is_strict_address(text: str) -> bool:
    """Return whether a text is a web address that every client takes for a URI."""
    return _WEB_ADDRESS.fullmatch(text) is not None


def linked_type(media_type: str) -> str:
    """Return a media type as links have it, without parameters; empty if clients may refuse it."""
    bare = media_type.partition(";")[0].strip().lower()
    return bare if _TYPE_NAME.fullmatch(bare) else ""


def link_header(links: Iterable[WebLink]) -> str:
    """Return the value of Link with the links that fit into it, in their order."""
    written: list[str] = []
    room = LARGEST_HEADER - _FRAME
    for link in links:
        text = str(link)
        needed = len(text) + (2 if written else 0)
        if needed <= room:
            written.append(text)
            room -= needed
    return ", ".join(written)


def link_document(links: Iterable[WebLink]) -> bytes:
    """Return links as `application/linkset` or `application/link-format`, one in each line."""
    return ",\n".join(map(str, links)).encode("ascii") + b"\n"


def linkset_json(links: Iterable[WebLink]) -> bytes:
    """Return links as `application/linkset+json`, by the resources that they are from."""
    found: dict[str, dict[str, Any]] = {}
    for link in links:
        context = found.setdefault(link.anchor, {"anchor": uri(link.anchor)})
        target = {"href": uri(link.target)}
        if link.media_type:
            target["type"] = link.media_type
        context.setdefault(link.relation, []).append(target)
    return msgspec.json.encode({"linkset": [*found.values()]})


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')
