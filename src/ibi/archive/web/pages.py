"""The pages of an archive, for people: they work without script, in English and Portuguese."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ibi.archive.web.delivery.media_types import is_shown, media_type_of, short_name
from ibi.archive.web.discovery.views import (
    BrowseView,
    CollectionsView,
    CollectionView,
    HomeView,
    SearchView,
)
from ibi.archive.web.item.preview import preview_kind
from ibi.archive.web.printed_label import check_character_of, qr_code
from ibi.archive.web.statistics_view import StatisticsView
from ibi.archive.web.views import (
    EditionListView,
    FileListView,
    ItemView,
    LimitedView,
    NotFoundView,
    RefusedListView,
    TombstoneView,
    TranslationListView,
)
from ibi.foundation.pages.api_reference import ApiView
from ibi.foundation.pages.identity import ImprintView, SiteIdentity
from ibi.foundation.pages.links import API, Links
from ibi.foundation.pages.site import Entry
from ibi.foundation.pages.templates import Page, ProblemView, Templates
from ibi.identifier.language_preference import LanguagePreference
from ibi.metadata import licence, orcid, related, vocabulary
from ibi.metadata.dublin_core import elements
from ibi.metadata.formats import FORMATS
from ibi.metadata.permission import permission_of

STATISTICS: Final = "/statistics"
NAVIGATION: Final = (
    Entry("/browse", "Browse"),
    Entry("/collections", "Collections"),
    Entry(STATISTICS, "Statistics"),
    Entry("/deposit", "Deposit"),
)
"""The main pages of an archive, in the masthead of every page."""
FOOTER: Final = (Entry(API, "API"),)
SEARCH: Final = "/search"
"""The path of the search, which every page has a field for."""


class Pages:
    """The pages of one archive.

    `here` is the path and query at which a page is shown, below the archive's address; the links
    to the same page in another language are made from it.
    """

    def __init__(
        self, identity: SiteIdentity, base: str, persistent_base: Callable[[], str] | None = None
    ) -> None:
        """Read templates and translations; `base` is the archive's public address.

        `persistent_base` returns where persistent URLs begin, if that may be elsewhere.
        """
        names = {
            "archive": identity.name,
            "media_type_of": media_type_of,
            "dublin_core": elements,
            "metadata_formats": FORMATS,
            "licence_address": licence.address_of,
            "permission_of": permission_of,
            "orcid_address": orcid.address_of,
            "related_address": related.address_of,
            "relation_name": vocabulary.relation_name,
            "role_name": vocabulary.role_name,
            "check_character": check_character_of,
            "file_type": short_name,
            "is_shown": is_shown,
            "preview_kind": preview_kind,
            "qr_code": qr_code,
        }
        self.archive = identity.name
        links = Links(base, persistent_base)
        site = identity.site(NAVIGATION, FOOTER, SEARCH, has_accounts=True)
        self.page = Templates("ibi.archive.web", site, links, names).page
        """Renders a template by its name: pages for people with accounts have no methods here."""
        self.site_files = identity.files
        self._imprint = ImprintView(identity.imprint_text)

    def statistics(
        self, view: StatisticsView, preference: LanguagePreference, here: str = ""
    ) -> Page:
        """Return the statistics of the archive."""
        return self.page("statistics.html", view, preference, here)

    def api(self, view: ApiView, preference: LanguagePreference, here: str = "") -> Page:
        """Return the description of the API, or of one part of it."""
        return self.page("api.html", view, preference, here)

    def imprint(self, preference: LanguagePreference, here: str = "") -> Page | None:
        """Return the imprint; None if the settings have no text of one."""
        if not self._imprint.text:
            return None
        return self.page("imprint.html", self._imprint, preference, here)

    def item(self, view: ItemView, preference: LanguagePreference, here: str = "") -> Page:
        """Return the page of an item and its metadata."""
        return self.page("item.html", view, preference, here)

    def files(self, view: FileListView, preference: LanguagePreference, here: str = "") -> Page:
        """Return the page with the files of an item."""
        return self.page("files.html", view, preference, here)

    def editions(
        self, view: EditionListView, preference: LanguagePreference, here: str = ""
    ) -> Page:
        """Return a page of the list of editions of an item."""
        return self.page("editions.html", view, preference, here)

    def translations(
        self, view: TranslationListView, preference: LanguagePreference, here: str = ""
    ) -> Page:
        """Return a page of the list of translations of an item or its metadata."""
        return self.page("translations.html", view, preference, here)

    def files_refused(
        self, view: RefusedListView, preference: LanguagePreference, here: str = ""
    ) -> Page:
        """Return the page of an item whose list of files is not public."""
        return self.page("files_refused.html", view, preference, here)

    def limited(self, view: LimitedView, preference: LanguagePreference, here: str = "") -> Page:
        """Return the page of an item whose files are for readers in other networks."""
        return self.page("limited.html", view, preference, here)

    def tombstone(
        self, view: TombstoneView, preference: LanguagePreference, here: str = ""
    ) -> Page:
        """Return the tombstone of a deleted item."""
        return self.page("tombstone.html", view, preference, here)

    def home(self, view: HomeView, preference: LanguagePreference, here: str = "") -> Page:
        """Return the front page."""
        return self.page("home.html", view, preference, here)

    def search(self, view: SearchView, preference: LanguagePreference, here: str = "") -> Page:
        """Return a page of the results of a search."""
        return self.page("search.html", view, preference, here)

    def browse(self, view: BrowseView, preference: LanguagePreference, here: str = "") -> Page:
        """Return a page of the values by which items are found."""
        return self.page("browse.html", view, preference, here)

    def collections(
        self, view: CollectionsView, preference: LanguagePreference, here: str = ""
    ) -> Page:
        """Return a page of the list of collections."""
        return self.page("collections.html", view, preference, here)

    def collection(
        self, view: CollectionView, preference: LanguagePreference, here: str = ""
    ) -> Page:
        """Return the page of a collection."""
        return self.page("collection.html", view, preference, here)

    def not_found(self, view: NotFoundView, preference: LanguagePreference, here: str = "") -> Page:
        """Return the page of an address at which there is nothing."""
        return self.page("not_found.html", view, preference, here)

    def problem(self, view: ProblemView, preference: LanguagePreference, here: str = "") -> Page:
        """Return the page of an error, with advice."""
        return self.page("problem.html", view, preference, here)
