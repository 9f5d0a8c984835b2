"""Templates of pages in all languages, with automatic escaping."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from gettext import NullTranslations
from importlib.resources import files
from typing import Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from ibi.foundation.pages.formats import Formats
from ibi.foundation.pages.language import CHOICES, page_language, translations
from ibi.foundation.pages.links import Links
from ibi.identifier.language_preference import LanguagePreference


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemView:
    """A problem shown as a page."""

    status: int
    title: str = ""
    detail: str = ""
    """Title and detail are in English, as in the problem document."""
    retry_after: int = 0
    """Seconds after which to try again; 0 if that would not help."""


STYLE_SHEET: Final = "/static/ibi.css"
"""The path of the style sheet, below the site's address."""


SECURITY_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy that all pages obey."""


# HTML, 13.2.3.5: control characters are errors, and surrogates cannot be encoded.
_UNFIT: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Page:
    """A page, and its language."""

    html: str
    language: str


def style_sheet() -> bytes:
    """Return the style sheet of all pages."""
    return files("ibi.foundation.pages").joinpath("static", "ibi.css").read_bytes()


class Templates:
    """The templates of one site in all languages; all values are escaped."""

    def __init__(self, package: str, site: str, links: Links, names: Mapping[str, object]) -> None:
        """Load templates and translations; `names` are further names that templates use.

        The templates are those in the folder `templates` of a package, and those of all sites.
        """
        shared = {"site": site, "links": links, "choices": CHOICES, "style_sheet": STYLE_SHEET}
        self._words = {code: translations(code) for code, _ in CHOICES}
        self._environments = {
            code: _environment(
                package,
                words,
                {
                    **shared,
                    "translated": partial(_translated, words),
                    "formats": Formats(code),
                    **names,
                },
            )
            for code, words in self._words.items()
        }

    def translated(self, sentence: str, preference: LanguagePreference) -> str:
        """Return a sentence from outside the templates in the reader's language, if translated."""
        return _translated(self._words[page_language(preference).code], sentence)

    def page(self, name: str, view: object, preference: LanguagePreference, here: str) -> Page:
        """Return the page for a view; `here` is its own path and query."""
        language = page_language(preference)
        template = self._environments[language.code].get_template(name)
        html = template.render(view=view, page_language=str(language), here=here)
        return Page(_UNFIT.sub("\N{REPLACEMENT CHARACTER}", html), str(language))


def _environment(package: str, words: NullTranslations, names: Mapping[str, object]) -> Environment:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("ibi.foundation.pages")]),
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


def _translated(words: NullTranslations, sentence: str) -> str:
    """Translate a text from outside the templates: unlike _() this marks nothing as safe."""
    return words.gettext(sentence) if sentence else ""  # the empty id is the catalogue's header
