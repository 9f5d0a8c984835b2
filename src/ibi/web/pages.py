"""The pages of an archive, for people: no script, one style sheet, English and Portuguese."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from gettext import NullTranslations
from importlib.resources import files
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from ibi.identifier.language import LanguagePreference
from ibi.metadata import licence, orcid
from ibi.metadata.dublin_core import elements
from ibi.metadata.formats import FORMATS
from ibi.web.media_types import media_type_of
from ibi.web.page_formats import Formats
from ibi.web.page_language import CHOICES, page_language, translations
from ibi.web.page_links import Links
from ibi.web.page_views import (
    FileListView,
    HomeView,
    ItemView,
    LimitedView,
    ProblemView,
    RefusedListView,
    TombstoneView,
)

STYLE_SHEET: Final = "/static/ibi.css"
"""Below the archive's address."""
SECURITY_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy that every page is made for."""

# HTML, 13.2.3.5: control characters are errors, and half a character cannot be sent at all.
_UNFIT: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Page:
    """A page, and the language that it is in."""

    html: str
    language: str


def style_sheet() -> bytes:
    """Return the style sheet of all pages."""
    return files("ibi.web").joinpath("static", "ibi.css").read_bytes()


class Templates:
    """The templates of one site in all languages; whatever they show is escaped."""

    def __init__(self, site: str, links: Links, names: Mapping[str, object]) -> None:
        """Read templates and translations; `names` are what else the templates call by name."""
        shared = {"site": site, "links": links, "choices": CHOICES, "style_sheet": STYLE_SHEET}
        self._words = {code: translations(code) for code, _ in CHOICES}
        self._environments = {
            code: _environment(
                words, {**shared, "told": partial(_told, words), "formats": Formats(code), **names}
            )
            for code, words in self._words.items()
        }

    def told(self, sentence: str, preference: LanguagePreference) -> str:
        """Return a sentence that is made elsewhere in the reader's language, if it is known."""
        return _told(self._words[page_language(preference).code], sentence)

    def page(self, name: str, view: object, preference: LanguagePreference, here: str) -> Page:
        """Make the page of a view; `here` is the path and query at which it is shown."""
        language = page_language(preference)
        template = self._environments[language.code].get_template(name)
        html = template.render(view=view, page_language=str(language), here=here)
        return Page(_UNFIT.sub("\N{REPLACEMENT CHARACTER}", html), str(language))


def _environment(words: NullTranslations, names: Mapping[str, object]) -> Environment:
    environment = Environment(
        loader=PackageLoader("ibi.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_gettext_callables(  # type: ignore[attr-defined]  # the extension's
        words.gettext, words.ngettext, newstyle=True
    )
    environment.globals |= names
    return environment


def _told(words: NullTranslations, sentence: str) -> str:
    """Translate a text that is not a template's own: unlike _() this marks nothing as safe."""
    return words.gettext(sentence) if sentence else ""  # The empty id is the catalogue's header.


class Pages:
    """The pages of one archive.

    `here` is the path and query at which a page is shown, below the archive's address; the links
    to the same page in another language are made from it.
    """

    def __init__(
        self, archive_name: str, base: str, persistent_base: Callable[[], str] | None = None
    ) -> None:
        """Read templates and translations; `base` is the archive's public address.

        `persistent_base` returns where persistent URLs begin, if that may be elsewhere.
        """
        names = {
            "archive": archive_name,
            "media_type_of": media_type_of,
            "dublin_core": elements,
            "metadata_formats": FORMATS,
            "licence_address": licence.address_of,
            "orcid_address": orcid.address_of,
        }
        self._page = Templates(archive_name, Links(base, persistent_base), names).page

    def item(self, view: ItemView, preference: LanguagePreference, here: str = "") -> Page:
        """Show an item and what is said of it."""
        return self._page("item.html", view, preference, here)

    def files(self, view: FileListView, preference: LanguagePreference, here: str = "") -> Page:
        """List the files of an item."""
        return self._page("files.html", view, preference, here)

    def files_refused(
        self, view: RefusedListView, preference: LanguagePreference, here: str = ""
    ) -> Page:
        """Say that the list is not public."""
        return self._page("files_refused.html", view, preference, here)

    def limited(self, view: LimitedView, preference: LanguagePreference, here: str = "") -> Page:
        """Say that the files are for readers in other networks."""
        return self._page("limited.html", view, preference, here)

    def tombstone(
        self, view: TombstoneView, preference: LanguagePreference, here: str = ""
    ) -> Page:
        """Say what was here."""
        return self._page("tombstone.html", view, preference, here)

    def home(self, view: HomeView, preference: LanguagePreference, here: str = "") -> Page:
        """Say what this archive is."""
        return self._page("home.html", view, preference, here)

    def problem(self, view: ProblemView, preference: LanguagePreference, here: str = "") -> Page:
        """Say what went wrong, and what to do."""
        return self._page("problem.html", view, preference, here)
