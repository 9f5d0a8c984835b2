"""Templates of pages in all languages, with automatic escaping."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from gettext import NullTranslations
from typing import Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ibi.foundation.pages.formats import Formats
from ibi.foundation.pages.icons import ICONS, MARK
from ibi.foundation.pages.links import Links
from ibi.foundation.pages.site import Site
from ibi.foundation.pages.static_files import (
    FILES,
    ICON,
    SCRIPT,
    SCRIPT_CHECKSUM,
    STYLE_SHEET,
    versioned,
)
from ibi.foundation.translation.language import (
    CHOICES,
    is_translated,
    page_language,
    translated,
    translations,
)
from ibi.foundation.web.form_tokens import FIELD
from ibi.foundation.web.problems import UNTITLED, Problem
from ibi.foundation.web.visitor import current_visitor
from ibi.identifier.language_preference import LanguagePreference


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemView:
    """A problem shown as a page."""

    status: int
    title: str = ""
    detail: str = ""
    """Title and detail are in English, as in the problem document; pages translate sentences."""
    retry_after: int = 0
    """Seconds after which to try again; 0 if that would not help."""

    @classmethod
    def of(cls, problem: Problem) -> ProblemView:
        """Return a problem document as a page shows it; its heading says what a status means."""
        title = "" if problem.type == UNTITLED else problem.title
        return cls(
            status=problem.status,
            title=title,
            detail=problem.detail,
            retry_after=problem.retry_after,
        )


# HTML, 13.2.3.5: control characters are errors, and surrogates cannot be encoded.
_UNFIT: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def _csrf_field() -> Markup:
    """Return the hidden field with which the form of a page shows that this site sent it."""
    return Markup('<input type="hidden" name="{}" value="{}">').format(  # escaped
        FIELD, current_visitor().csrf
    )


_SHARED: Final[Mapping[str, object]] = {
    "choices": CHOICES,
    "style_sheet": versioned(STYLE_SHEET, FILES[STYLE_SHEET]),
    "script": versioned(SCRIPT, FILES[SCRIPT]),
    "script_checksum": SCRIPT_CHECKSUM,
    "icon": versioned(ICON, FILES[ICON]),
    "icons": ICONS,
    "mark": MARK,
    "visitor": current_visitor,
    "csrf_field": _csrf_field,
}
"""Names that the templates of all sites use."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page, and its language."""

    html: str
    language: str


class Templates:
    """The templates of one site in all languages; all values are escaped."""

    def __init__(self, package: str, site: Site, links: Links, names: Mapping[str, object]) -> None:
        """Load templates and translations; `names` are further names that templates use.

        The templates are those in the folder `templates` of a package, and those of all sites.
        """
        shared = {**_SHARED, "site": site, "links": links}
        self._words = {code: translations(code) for code, _ in CHOICES}
        self._environments = {
            code: _environment(
                package,
                words,
                Formats(code),
                {
                    **shared,
                    # Unlike _() this marks nothing as safe.
                    "translated": partial(translated, words),
                    "is_translated": partial(is_translated, words),
                    **names,
                },
            )
            for code, words in self._words.items()
        }

    def translated(self, sentence: str, preference: LanguagePreference) -> str:
        """Return a sentence from outside the templates in the reader's language, if translated."""
        return translated(self._words[page_language(preference).code], sentence)

    def page(self, name: str, view: object, preference: LanguagePreference, here: str) -> Page:
        """Return the page for a view; `here` is its own path and query."""
        language = page_language(preference)
        template = self._environments[language.code].get_template(name)
        html = template.render(view=view, page_language=str(language), here=here)
        return Page(_UNFIT.sub("\N{REPLACEMENT CHARACTER}", html), str(language))


def _environment(
    package: str, words: NullTranslations, formats: Formats, names: Mapping[str, object]
) -> Environment:
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
    environment.globals |= {"formats": formats, **names}
    environment.filters["breakable"] = _breakable
    environment.filters["short_month"] = formats.short_month
    return environment


def _breakable(text: str) -> Markup:
    """Escape a label or an address, and allow a new line after each slash."""
    return escape(text).replace("/", Markup("/<wbr>"))
