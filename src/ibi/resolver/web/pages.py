"""The pages of a resolver, for people: no script, one style sheet, English and Portuguese."""

from __future__ import annotations

from typing import Final

from ibi.errors import printable
from ibi.foundation.pages.links import ResolverLinks
from ibi.foundation.pages.templates import Page, ProblemView, Templates
from ibi.identifier.language import LanguagePreference
from ibi.resolver.web.views import (
    ArchivesView,
    ChallengeView,
    ExplainView,
    KeyView,
    OutcomeView,
    RegisterView,
    ResolverHomeView,
    translated_reason,
)

SECURITY_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
"""The Content-Security-Policy that every page is made for: as an archive's, and forms."""


class ResolverPages:
    """The pages of one resolver.

    `here` is the path and query at which a page is shown, below the resolver's address; the links
    to the same page in another language are made from it.
    """

    def __init__(self, name: str, base: str) -> None:
        """Read templates and translations; `base` is the resolver's public address."""
        self._templates = Templates(
            "ibi.resolver.web", name, ResolverLinks(base), {"translated_reason": translated_reason}
        )
        self._page = self._templates.page

    def home(self, view: ResolverHomeView, preference: LanguagePreference, here: str = "") -> Page:
        """Take a text, and say what it is."""
        return self._page("home.html", view, preference, here)

    def archives(self, view: ArchivesView, preference: LanguagePreference, here: str = "") -> Page:
        """List the archives, and how each stands."""
        return self._page("archives.html", view, preference, here)

    def register(self, view: RegisterView, preference: LanguagePreference, here: str = "") -> Page:
        """Take what an archive is registered by."""
        return self._page("register.html", view, preference, here)

    def challenge(
        self, view: ChallengeView, preference: LanguagePreference, here: str = ""
    ) -> Page:
        """Say how control of a host is shown."""
        return self._page("register_challenge.html", view, preference, here)

    def key(self, view: KeyView, preference: LanguagePreference, here: str = "") -> Page:
        """Show the key of an archive, once."""
        return self._page("register_key.html", view, preference, here)

    def outcome(self, view: OutcomeView, preference: LanguagePreference, here: str = "") -> Page:
        """Say why the reader is sent nowhere, and what to do next."""
        return self._page("outcome.html", view, preference, here)

    def explain(self, view: ExplainView, preference: LanguagePreference, here: str = "") -> Page:
        """Say who was asked, what each said, and why it ended as it did."""
        return self._page("explain.html", view, preference, here)

    def problem(self, view: ProblemView, preference: LanguagePreference, here: str = "") -> Page:
        """Say what went wrong, and what to do."""
        return self._page("problem.html", view, preference, here)

    def plain_outcome(self, view: OutcomeView, preference: LanguagePreference) -> str:
        """Say the same as the page of an outcome in a few lines of plain text."""
        explanation = view.explanation
        told = [
            self._templates.translated(sentence, preference)
            for sentence in (view.words.heading, explanation.because, view.words.advice)
        ]
        names = ", ".join(each.archive for each in view.concerned) or " > ".join(
            explanation.chain[1:] and explanation.chain
        )
        formats = ", ".join(view.formats)
        lines = [
            f"{told[0]}: {explanation.asked}",
            f"{told[1]} ({names})" if names else told[1],
            explanation.location or (f"{told[2]} ({formats})" if formats else told[2]),
        ]
        return "".join(f"{printable(line)}\n" for line in lines)
