"""Templates of pages, in every language, with all that they show escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from gettext import NullTranslations
from importlib.resources import files
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from ibi.foundation.pages.formats import Formats
from ibi.foundation.pages.language import CHOICES, page_language, translations
from ibi.foundation.pages.links import Links
from ibi.identifier.language import LanguagePreference


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemView:
    """Why there is no other page."""

    status: int
    title: str = ""
    detail: str = ""
    """Both in English, as the problem document has them."""
    retry_after: int = 0
    """Seconds; 0 if coming again is of no use."""


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
    return files("ibi.foundation.pages").joinpath("static", "ibi.css").read_bytes()


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
        loader=PackageLoader("ibi.foundation.pages"),
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
