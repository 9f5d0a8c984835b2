"""The pages of drafts, a part of the table of pages of the archive."""

from __future__ import annotations

from typing import Final

from ibi.archive.rules.drafts.draft import LARGEST_FIELDS
from ibi.archive.rules.scopes import CURATE, DEPOSIT
from ibi.archive.web.drafts.import_page import LARGEST_IMPORT, ImportPage
from ibi.archive.web.drafts.pages import DraftPages
from ibi.archive.web.drafts.review_pages import ReviewPages
from ibi.archive.web.drafts.upload import UploadPage, typed_before_sign_in
from ibi.foundation.web.page_operations import PageOperation

_LARGEST: Final = 3 * LARGEST_FIELDS
"""Bytes of the largest form: most letters of other languages are escaped."""
# fmt: off
DRAFT_PAGES: Final = (
    PageOperation("GET", "/deposit", DEPOSIT, DraftPages.list_drafts),
    PageOperation("POST", "/deposit", DEPOSIT, DraftPages.open_draft),
    PageOperation("GET", "/deposit/{draft}", DEPOSIT, DraftPages.show_draft),
    PageOperation("POST", "/deposit/{draft}", DEPOSIT, DraftPages.save_draft, largest=_LARGEST),
    PageOperation("GET", "/deposit/{draft}/files", DEPOSIT, DraftPages.list_files),
    PageOperation("POST", "/deposit/{draft}/files", DEPOSIT, UploadPage.upload,
        is_streamed=True, carry=typed_before_sign_in),
    PageOperation("POST", "/deposit/{draft}/remove", DEPOSIT, DraftPages.remove_file),
    PageOperation("GET", "/deposit/{draft}/import", DEPOSIT, ImportPage.show_import),
    PageOperation("POST", "/deposit/{draft}/import", DEPOSIT, ImportPage.import_text,
        largest=LARGEST_IMPORT),
    PageOperation("POST", "/deposit/{draft}/import-file", DEPOSIT, ImportPage.import_file,
        is_streamed=True),
    PageOperation("GET", "/deposit/{draft}/preview", DEPOSIT, DraftPages.show_preview),
    PageOperation("GET", "/deposit/{draft}/publish", DEPOSIT, DraftPages.show_publication),
    PageOperation("POST", "/deposit/{draft}/publish", DEPOSIT, DraftPages.publish_draft),
    PageOperation("POST", "/deposit/{draft}/withdraw", DEPOSIT, DraftPages.withdraw_draft),
    PageOperation("GET", "/deposit/{draft}/discard", DEPOSIT, DraftPages.show_discard),
    PageOperation("POST", "/deposit/{draft}/discard", DEPOSIT, DraftPages.discard_draft),
    PageOperation("GET", "/curate", CURATE, ReviewPages.list_submitted),
    PageOperation("GET", "/curate/{draft}", CURATE, ReviewPages.show_submitted),
    PageOperation("GET", "/curate/{draft}/files", CURATE, ReviewPages.list_files),
    PageOperation("GET", "/curate/{draft}/file/{path:path}", CURATE, ReviewPages.download),
    PageOperation("GET", "/curate/{draft}/preview", CURATE, ReviewPages.show_preview),
    PageOperation("POST", "/curate/{draft}/return", CURATE, ReviewPages.return_draft),
    PageOperation("POST", "/curate/{draft}/publish", CURATE, ReviewPages.approve_draft),
)
# fmt: on
