"""Where the links of a page lead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import parse_qsl, quote, urlsplit

from ibi.errors import LabelError
from ibi.identifier.label import Label, parse
from ibi.identifier.persistent_url import PersistentUrl
from ibi.metadata.web_address import is_web_address
from ibi.model.forms import Forms

_SAFE_IN_PATH: Final = "/%:@!$&'()*+,;="
"""What stays as it is in a path that is encoded already (RFC 3986, 3.3)."""


class Links:
    """The links of one archive; `base` is its public address."""

    def __init__(self, base: str, persistent_base: Callable[[], str] | None = None) -> None:
        """`persistent_base` returns where persistent URLs begin: at a resolver, or here."""
        self.base = base.rstrip("/")
        self._persistent_base = persistent_base or (lambda: self.base)
        self.root = urlsplit(self.base).path

    def persistent(self, label: Label) -> str:
        """Return the persistent URL of a label."""
        return PersistentUrl(label).at(self._persistent_base())

    def file(self, forms: Forms, path: str) -> str:
        """Return where a file of an item lies."""
        return f"{self.root}/col/{quote(forms.label.spelling, '/@')}/doc/{_quoted(path)}"

    def address(self, path: str) -> str:
        """Return a path of this archive as an address for programs elsewhere."""
        return f"{self.base.removesuffix(self.root)}{path}"

    def found_in(self, text: str) -> str:
        """Return where a foreign text leads: a web address or a label; empty for all others."""
        if is_web_address(text):
            return text
        try:
            return self.persistent(parse(text.removeprefix("ibi:"), strict=True))
        except LabelError:
            return ""

    def in_language(self, here: str, code: str) -> str:
        """Return the same page in another language."""
        return self._changed(here, lang=code)

    def after(self, here: str, path: str) -> str:
        """Return the page of the list that goes on after a file."""
        return self._changed(here, after=path)

    def _changed(self, here: str, **changes: str) -> str:
        """Return the address of a path and query with some pairs of the query set.

        With the archive's own address before it, or a path of two slashes would lead elsewhere.
        """
        path, _, query = here.partition("?")
        given = parse_qsl(query, keep_blank_values=True)
        pairs = [*(pair for pair in given if pair[0] not in changes), *changes.items()]
        changed = "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in pairs)
        return f"{self.base if here else ''}{_quoted(path, _SAFE_IN_PATH)}?{changed}"


def _quoted(text: str, safe: str = "/") -> str:
    """Percent-encode a text, also one that was made of bytes that are no UTF-8."""
    return quote(text, safe, errors="surrogateescape")
