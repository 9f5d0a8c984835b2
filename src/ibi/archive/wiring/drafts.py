"""Builds the drafts of an archive: their API, their pages, and the removal of forgotten ones."""

from __future__ import annotations

from dataclasses import dataclass

from ibi.archive.deposits.deposits import Deposits
from ibi.archive.drafts.description import RecordForm
from ibi.archive.drafts.drafts import DraftLimits, Drafts
from ibi.archive.drafts.files import DraftFiles
from ibi.archive.web.api.drafts import DraftFilesApi, DraftsApi, ReviewApi
from ibi.archive.web.drafts.pages import DraftPages
from ibi.archive.web.drafts.preview import DraftPreview
from ibi.archive.web.drafts.reading import DraftReader
from ibi.archive.web.drafts.upload import UploadPage
from ibi.archive.web.pages import Pages
from ibi.archive.web.urls import ArchiveUrls
from ibi.archive.wiring.capabilities import Capability
from ibi.archive.wiring.instance import Instance


@dataclass(frozen=True, slots=True)
class DraftParts:
    """The drafts of an archive, and what they are made of."""

    drafts: Drafts
    files: DraftFiles
    form: RecordForm


def build_drafts(instance: Instance, deposits: Deposits) -> DraftParts:
    """Return the drafts of an archive."""
    settings = instance.settings
    limits = DraftLimits(
        days=settings.draft_days,
        bytes_each=settings.draft_gigabytes * 10**9,
        review=settings.review,
    )
    form = RecordForm(settings.published_by)
    drafts = Drafts(instance.archive, deposits, form, limits)
    return DraftParts(drafts, DraftFiles(instance.archive, deposits, drafts), form)


def drafts_capability(instance: Instance, parts: DraftParts, urls: ArchiveUrls) -> Capability:
    """Build the API of drafts, and the removal of forgotten ones."""
    apis = (
        DraftsApi(parts.drafts, urls),
        DraftFilesApi(parts.drafts, parts.files, instance.settings.largest_file),
        ReviewApi(parts.drafts, parts.files, urls),
    )
    return Capability(apis=apis, rounds=(parts.drafts.sweep,))


def draft_pages(instance: Instance, parts: DraftParts, pages: Pages) -> tuple[object, ...]:
    """Return the handlers of the pages of drafts."""
    archive, largest = instance.archive, instance.settings.largest_file
    reader = DraftReader(archive, parts.drafts, parts.files, parts.form, largest)
    preview = DraftPreview(archive, parts.drafts, parts.files)
    own = DraftPages(parts.drafts, parts.files, reader, preview, pages)
    return (own, UploadPage(own, parts.files, largest))
