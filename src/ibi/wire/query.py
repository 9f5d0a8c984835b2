"""The query of a request: its pairs, decoded, each name at most once (004, section 4.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

from ibi.errors import MessageError
from ibi.wire.percent_encoding import text_of, url_of, url_value, value

MAX_QUERY: Final = 65_536
"""The longest query in bytes. Servers accept 8 kB of request line, so this refuses none of them."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_WEB_ADDRESS: Final = re.compile(r"https?://[^/]+")


@dataclass(frozen=True, slots=True)
class Query:
    """The values of a query, by name. Names that are not requested are ignored."""

    values: Mapping[str, tuple[bytes, ...]]

    @classmethod
    def parse(cls, query: bytes | str) -> Query:
        """Parse the pairs; "+" is a blank, and percent-encoding is undone once."""
        if isinstance(query, str):
            query = query.encode("utf-8", "surrogatepass")
        if len(query) > MAX_QUERY:
            raise MessageError("too-long", f"The request is longer than {MAX_QUERY} bytes.")
        values: dict[str, tuple[bytes, ...]] = {}
        for pair in query.replace(b"+", b" ").split(b"&"):
            name, _, encoded = pair.partition(b"=")
            key = text_of(unquote_to_bytes(name))
            values[key] = (*values.get(key, ())[:1], unquote_to_bytes(encoded))
        return cls(values)

    def text(self, name: str) -> str:
        """DecodQS: return a mandatory value."""
        return self._text(name, self._bytes(name))

    def optional(self, name: str) -> str:
        """Return a value, or an empty text if it is absent (Algorithm 1, lines 7 to 15)."""
        return self.text(name) if name in self.values else ""

    def url(self, name: str) -> str:
        """Return a URL, percent-encoded as a URL is, with the bytes that were sent."""
        url = url_of(self._bytes(name))
        if _WEB_ADDRESS.match(url) is None:
            raise MessageError("bad-value", f"The value of {name} is not a URL of the Web.")
        return url

    def _bytes(self, name: str) -> bytes:
        found = self.values.get(name, ())
        if not found:
            raise MessageError("missing-pair", f"The request has no pair {name}.")
        if len(found) > 1:
            raise MessageError("repeated-pair", f"The request has the pair {name} twice.")
        return found[0]

    @staticmethod
    def _text(name: str, found: bytes) -> str:
        text = text_of(found)
        if _CONTROL.search(text):
            raise MessageError("bad-value", f"The value of {name} has control characters.")
        return text


_URLS: Final = frozenset(("url", "url.persistent"))


def written(pairs: Iterable[tuple[str, str]]) -> str:
    """Return the pairs as a query, in their order."""
    return "&".join(
        f"{name}={url_value(text) if name in _URLS else value(text)}" for name, text in pairs
    )
