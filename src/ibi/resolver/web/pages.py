"""The pages of a resolver, for people: they work without script, in English and Portuguese."""

from __future__ import annotations

from typing import Final

from ibi.errors import printable
from ibi.foundation.pages.api_reference import ApiView
from ibi.foundation.pages.identity import ImprintView, SiteIdentity
from ibi.foundation.pages.links import API, ARCHIVES, HOME, REGISTER, ResolverLinks
from ibi.foundation.pages.site import Entry
from ibi.foundation.pages.templates import Page, ProblemView, Templates
from ibi.identifier.language_preference import LanguagePreference
from ibi.resolver.rules.archive_site import site_of
from ibi.resolver.web.search_views import SearchView
from ibi.resolver.web.views import (
    ArchivesView,
    ChallengeView,
    ExplainView,
    KeyView,
    OutcomeView,
    RegisterView,
    ResolverHomeView,
    ServiceView,
    translated_reason,
)

NAVIGATION: Final = (
    Entry(HOME, "Find an item"),
    Entry(ARCHIVES, "Archives"),
    Entry(REGISTER, "Register an archive"),
)
"""The main pages of a resolver, in the masthead of every page."""
FOOTER: Final = (Entry(API, "API"),)


class ResolverPages:
    """The pages of one resolver.

    `here` is the path and query at which a page is shown, below the resolver's address; the links
    to the same page in another language are made from it.
    """

    def __init__(self, identity: SiteIdentity, base: str) -> None:
        """Read templates and translations; `base` is the resolver's public address."""
        self._templates = Templates(
            "ibi.resolver.web",
            identity.site(NAVIGATION, FOOTER, has_accounts=True),
            ResolverLinks(base),
            {"translated_reason": translated_reason, "site_of": site_of},
        )
        self.page = self._templates.page
        """Renders a template by its name: pages for people with accounts have no methods here."""
        self.site_files = identity.files
        self._imprint = ImprintView(identity.imprint_text)

    def home(self, view: ResolverHomeView, preference: LanguagePreference, here: str = "") -> Page:
        """Render the front page, with its field and the explanation of a pasted text."""
        return self.page("home.html", view, preference, here)

    def search(self, view: SearchView, preference: LanguagePreference, here: str = "") -> Page:
        """Render what archives found by words, or what a pasted text is."""
        return self.page("search.html", view, preference, here)

    def service(self, view: ServiceView, preference: LanguagePreference, here: str = "") -> Page:
        """Render what the resolver service is, at its own label."""
        return self.page("service.html", view, preference, here)

    def archives(self, view: ArchivesView, preference: LanguagePreference, here: str = "") -> Page:
        """Render the list of archives, with the state of each."""
        return self.page("archives.html", view, preference, here)

    def register(self, view: RegisterView, preference: LanguagePreference, here: str = "") -> Page:
        """Render the forms that register an archive."""
        return self.page("register.html", view, preference, here)

    def challenge(
        self, view: ChallengeView, preference: LanguagePreference, here: str = ""
    ) -> Page:
        """Render the ways to prove control of a host."""
        return self.page("register_challenge.html", view, preference, here)

    def key(self, view: KeyView, preference: LanguagePreference, here: str = "") -> Page:
        """Render the key of an archive, which is shown once."""
        return self.page("register_key.html", view, preference, here)

    def outcome(self, view: OutcomeView, preference: LanguagePreference, here: str = "") -> Page:
        """Render why the reader is sent nowhere, and what to do next."""
        return self.page("outcome.html", view, preference, here)

    def explain(self, view: ExplainView, preference: LanguagePreference, here: str = "") -> Page:
        """Render the archives asked, their answers, and the reason of the outcome."""
        return self.page("explain.html", view, preference, here)

    def api(self, view: ApiView, preference: LanguagePreference, here: str = "") -> Page:
        """Render the description of the API, or of one part of it."""
        return self.page("api.html", view, preference, here)

    def imprint(self, preference: LanguagePreference, here: str = "") -> Page | None:
        """Render the imprint; None if the settings have no text of one."""
        if not self._imprint.text:
            return None
        return self.page("imprint.html", self._imprint, preference, here)

    def problem(self, view: ProblemView, preference: LanguagePreference, here: str = "") -> Page:
        """Render an error, and what to do."""
        return self.page("problem.html", view, preference, here)

    def plain_outcome(self, view: OutcomeView, preference: LanguagePreference) -> str:
        """Return the page of an outcome as a few lines of plain text."""
        explanation = view.explanation
        sentences = [
            self._templates.translated(sentence, preference)
            for sentence in (view.words.heading, explanation.because, view.words.advice)
        ]
        names = ", ".join(each.archive for each in view.concerned) or " > ".join(
            explanation.chain[1:] and explanation.chain
        )
        formats = ", ".join(view.formats)
        lines = [
            f"{sentences[0]}: {explanation.asked}",
            f"{sentences[1]} ({explanation.missing or names})" if names else sentences[1],
            explanation.location or (f"{sentences[2]} ({formats})" if formats else sentences[2]),
        ]
        return "".join(f"{printable(line)}\n" for line in lines)
