"""The links of pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import parse_qsl, quote, quote_plus, urlencode, urlsplit

from ibi.errors import LabelError
from ibi.foundation.translation.language import CHOICES
from ibi.identifier.label import Label, parse
from ibi.identifier.persistent_url import PersistentUrl
from ibi.model.label_pair import Forms
from ibi.wire.addresses import is_web_address

_SAFE_IN_PATH: Final = "/%:@!$&'()*+,;="
"""Characters that stay in a path that is encoded already (RFC 3986, 3.3)."""
_NOT_REPEATED: Final = "registrationkey"
"""A pair that no page repeats: an archive may have sent it to the wrong address."""

LANGUAGE: Final = "lang"
"""The pair by which a reader chooses the language of a page."""
LANGUAGE_OF_ITEM: Final = "ibiurl.language"
"""The same pair in a persistent URL, whose other pairs belong to the item."""
# The resolver's own pages; every other path there is a persistent URL.
HOME: Final = "/"
ARCHIVES: Final = "/archives"
EXPLAIN: Final = "/explain"
REGISTER: Final = "/register"
SEARCH: Final = "/search"
IMPRINT: Final = "/imprint"
API: Final = "/api"
OF_PEOPLE: Final = frozenset({"sign-in", "sign-out", "account", "admin", "invitation", "password"})
"""The first parts of the paths of pages for people with accounts."""


class Links:
    """The links of one archive or resolver; `base` is its public address.

    `persistent_base` returns the beginning of persistent URLs: a resolver's address, or `base`.
    """

    def __init__(self, base: str, persistent_base: Callable[[], str] | None = None) -> None:
        self.base = base.rstrip("/")
        self._persistent_base = persistent_base or (lambda: self.base)
        self.root = urlsplit(self.base).path

    def persistent(self, label: Label) -> str:
        """Return the persistent URL of a label."""
        return PersistentUrl(label).at(self._persistent_base())

    def described(self, label: Label, here: str, verbs: str = "", preferred: str = "") -> str:
        """Return the persistent URL of a description, in the language chosen for this page.

        `verbs` are the modifiers that come before: `!` for the description of the newest edition.
        `preferred` is the language in which the item is read, if it is there in that language.
        """
        pairs = {LANGUAGE_OF_ITEM: preferred, LANGUAGE: self.chosen(here)}
        query = urlencode({name: value for name, value in pairs.items() if value})
        return f"{self.persistent(label)}{verbs}:{'?' if query else ''}{query}"

    def _language_pair(self, here: str) -> str:
        chosen = self.chosen(here)
        return f"?{LANGUAGE}={chosen}" if chosen else ""

    def file(self, forms: Forms, path: str) -> str:
        """Return the path of a file of an item."""
        return f"{self.root}/col/{quote(forms.label.spelling, '/@')}/doc/{_quoted(path)}"

    def all_files(self, forms: Forms) -> str:
        """Return the path of all files of an item as one ZIP file."""
        label = quote(forms.short.spelling, "/@")
        return f"{self.root}/displaydoccontent.cgi/{label}?format=zip"

    def address(self, path: str) -> str:
        """Return a path of this site as a URL."""
        return f"{self.base.removesuffix(self.root)}{path}"

    def found_in(self, text: str) -> str:
        """Return the link for a foreign text that is a web address or a label; empty for others."""
        if is_web_address(text):
            return text
        try:
            return self.persistent(parse(text.removeprefix("ibi:"), strict=True))
        except LabelError:
            return ""

    def canonical(self, here: str) -> str:
        """Return the address of a page in no particular language, by which engines know it."""
        path, _, query = here.partition("?")
        kept = [
            pair
            for pair in parse_qsl(query)
            if pair[0] not in {LANGUAGE, LANGUAGE_OF_ITEM, _NOT_REPEATED}
        ]
        written = "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in kept)
        return f"{self.base}{_quoted(path, _SAFE_IN_PATH)}{'?' if written else ''}{written}"

    def in_language(self, here: str, code: str) -> str:
        """Return the same page in another language."""
        return self._changed(here, **{LANGUAGE: code})

    @staticmethod
    def chosen(here: str) -> str:
        """Return the language that was chosen for this page by a link; empty if none was."""
        offered = {code for code, _ in CHOICES}
        for name, value in parse_qsl(here.partition("?")[2]):
            code = value.partition("-")[0].lower()
            if name in {LANGUAGE, LANGUAGE_OF_ITEM} and code in offered:
                return code
        return ""

    def own(self, path: str, here: str) -> str:
        """Return another page of this site, in the language chosen for this one."""
        chosen = self.chosen(here)
        pair = f"{'&' if '?' in path else '?'}{LANGUAGE}={chosen}" if chosen else ""
        return f"{self.root}{path}{pair}"

    def of_creator(self, name: str, here: str) -> str:
        """Return the search for all items of a person, in the language chosen for this page."""
        return self.own(f"{SEARCH}?creator={quote_plus(name, errors='replace')}", here)

    def of_phrase(self, text: str, here: str) -> str:
        """Return the search for all items with these words in a row, as subjects have."""
        phrase = " ".join(text.replace('"', " ").split())
        quoted = quote_plus(f'"{phrase}"', errors="replace")
        return self.own(f"{SEARCH}?q={quoted}", here)

    def item(self, forms: Forms, here: str) -> str:
        """Return the page of an item of this site, in the language chosen for this one."""
        return self.own(f"/{quote(forms.short.spelling, '/@')}:", here)

    @staticmethod
    def item_at(address: str, forms: Forms) -> str:
        """Return the page of an item at another archive; empty if its address is none."""
        if not is_web_address(address):
            return ""
        return f"{address}/{quote(forms.short.spelling, '/@')}:"

    def after(self, here: str, path: str) -> str:
        """Return the page of the list of files that continues after a file."""
        return self._changed(here, after=path)

    def picture(self, here: str, path: str) -> str:
        """Return the picture of the first page of a file of the item that a page shows."""
        return self._changed(here.partition("?")[0], picture=path)

    def listing(self, here: str, name: str) -> str:
        """Return the page of a list that is too long for the page of its item."""
        return self._changed(here, list=name)

    def editions(self, forms: Forms, here: str) -> str:
        """Return the page of the list of editions that is about an item of this site."""
        return self.own(f"/{quote(forms.short.spelling, '/@')}:?list=editions", here)

    def preview(self, here: str, path: str) -> str:
        """Return the page of an item that shows one of its files."""
        return f"{self._changed(here, preview=path)}#preview"

    def _changed(self, here: str, **changes: str) -> str:
        """Return the URL of a path and query with some pairs of the query replaced.

        It includes the site's address, because a path of two slashes would lead to another host.
        """
        path, _, query = here.partition("?")
        given = parse_qsl(query, keep_blank_values=True)
        kept = (pair for pair in given if pair[0] not in {*changes, _NOT_REPEATED})
        pairs = [*kept, *changes.items()]
        changed = "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in pairs)
        return f"{self.base if here else ''}{_quoted(path, _SAFE_IN_PATH)}?{changed}"


class ResolverLinks(Links):
    """The links of a resolver."""

    def in_language(self, here: str, code: str) -> str:
        """Return the same page in another language; an item only gets the pair meant for it."""
        path = here.partition("?")[0]
        is_own = path in {"", HOME, ARCHIVES, EXPLAIN, REGISTER, SEARCH, IMPRINT, API} or (
            path.split("/")[1] in OF_PEOPLE
        )
        return self._changed(here, **{LANGUAGE if is_own else LANGUAGE_OF_ITEM: code})

    def open(self, address: str) -> str:
        """Return the path at which something is resolved, always on this host."""
        return f"{self.root}/{_quoted(address.lstrip('/'), _SAFE_IN_PATH + '?')}"

    def open_page(self, address: str, here: str) -> str:
        """Return the path of a description that is resolved, in the language of this page."""
        return f"{self.open(address)}{self._language_pair(here)}"

    def explain(self, asked: str, here: str) -> str:
        """Return the page that explains how something is resolved."""
        return self.own(f"{EXPLAIN}?url={_quoted(asked)}", here)

    def words(self, text: str, here: str) -> str:
        """Return the page that searches archives for a text, whatever identifiers it has."""
        return self.own(f"{SEARCH}?q={_quoted(text)}&words=1", here)

    def describe(self, text: str, here: str) -> str:
        """Return the page that describes a text."""
        return self.own(f"{SEARCH}?q={_quoted(text)}", here)


def _quoted(text: str, safe: str = "/") -> str:
    """Percent-encode a text, also one decoded from bytes that are not UTF-8."""
    return quote(text, safe, errors="surrogateescape")
