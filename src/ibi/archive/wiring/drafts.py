"""Builds the drafts of an archive: their API, their pages, and the removal of forgotten ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from ibi.archive.deposits.deposits import Deposits
from ibi.archive.drafts.description import RecordForm
from ibi.archive.drafts.drafts import DraftLimits, Drafts
from ibi.archive.drafts.files import DraftFiles
from ibi.archive.drafts.notices import ReviewNotices
from ibi.archive.holder_check import HolderCheck
from ibi.archive.item_rights import ItemRights
from ibi.archive.ports.drafts import DepositDraft, DraftState
from ibi.archive.tasks import Tasks
from ibi.archive.transfers.transfers import Transfers
from ibi.archive.web.api.drafts import DraftFilesApi, DraftsApi, ReviewApi
from ibi.archive.web.api.readings import ReadingsApi
from ibi.archive.web.drafts.import_page import ImportPage
from ibi.archive.web.drafts.pages import DraftPages
from ibi.archive.web.drafts.preview import DraftPreview
from ibi.archive.web.drafts.reading import DraftReader
from ibi.archive.web.drafts.review_pages import ReviewPages
from ibi.archive.web.drafts.upload import UploadPage
from ibi.archive.web.manage.access import ItemAccess
from ibi.archive.web.manage.acts import ItemActs
from ibi.archive.web.manage.describe_page import DescribePage
from ibi.archive.web.manage.my_items import MyItemsPage
from ibi.archive.web.pages import Pages
from ibi.archive.web.urls import ArchiveUrls
from ibi.archive.wiring.capabilities import Capability
from ibi.archive.wiring.instance import Instance
from ibi.foundation.system.smtp import SmtpMailer
from ibi.foundation.translation.language import translated, translations


@dataclass(frozen=True, slots=True)
class DraftParts:
    """The drafts of an archive, and what they are made of."""

    drafts: Drafts
    files: DraftFiles
    form: RecordForm
    notices: ReviewNotices | None
    """None if no mail server is set."""


def build_drafts(instance: Instance, deposits: Deposits) -> DraftParts:
    """Return the drafts of an archive."""
    settings = instance.settings
    limits = DraftLimits(
        days=settings.draft_days,
        bytes_each=settings.draft_gigabytes * 10**9,
        review=settings.review,
    )
    form = RecordForm(settings.published_by)
    notices = _notices(instance)
    on_move = notices.on_move if notices else _nothing
    drafts = Drafts(instance.archive, deposits, form, limits, on_move)
    return DraftParts(drafts, DraftFiles(instance.archive, deposits, drafts), form, notices)


def _notices(instance: Instance) -> ReviewNotices | None:
    settings = instance.settings
    if not (settings.review and settings.smtp):
        return None
    mailer = SmtpMailer(settings.smtp, settings.mail_from)
    accounts = instance.catalogue.accounts
    words = translations(settings.mail_language)
    translate = partial(translated, words)
    return ReviewNotices(accounts, mailer, settings.name, settings.address, translate)


def _nothing(draft: DepositDraft, state: DraftState, comment: str) -> None:
    """Send no mail: the archive has no mail server."""
    del draft, state, comment


def drafts_capability(instance: Instance, parts: DraftParts, urls: ArchiveUrls) -> Capability:
    """Build the API of drafts, and the removal of forgotten ones."""
    apis = (
        DraftsApi(parts.drafts, ItemRights(instance.archive), urls),
        DraftFilesApi(parts.drafts, parts.files, instance.settings.largest_file),
        ReviewApi(parts.drafts, parts.files, urls),
    )
    services = () if parts.notices is None else (parts.notices,)
    return Capability(apis=apis, services=services, rounds=(parts.drafts.sweep,))


def draft_pages(  # noqa: PLR0913, PLR0917  # the services that they act by
    instance: Instance,
    parts: DraftParts,
    holders: HolderCheck,
    transfers: Transfers,
    tasks: Tasks,
    pages: Pages,
) -> tuple[object, ...]:
    """Return the handlers of the pages of drafts, and of acts on items."""
    archive, largest = instance.archive, instance.settings.largest_file
    reader = DraftReader(archive, parts.drafts, parts.files, parts.form, largest)
    preview = DraftPreview(archive, parts.drafts, parts.files)
    own = DraftPages(parts.drafts, parts.files, reader, preview, ItemRights(archive), pages)
    access = ItemAccess(archive)
    return (
        MyItemsPage(archive.catalogue.drafts, pages),
        ItemActs(archive, access, parts.drafts, transfers, tasks, pages),
        DescribePage(archive, access, parts.form, pages),
        own,
        UploadPage(own, parts.files, largest),
        ImportPage(parts.drafts, ReadingsApi(archive, holders).of_item, reader, own, pages),
        ReviewPages(parts.drafts, parts.files, reader, preview, pages),
    )
