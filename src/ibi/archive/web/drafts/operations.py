"""The pages of drafts, a part of the table of pages of the archive."""

from __future__ import annotations

from typing import Final

from ibi.archive.rules.drafts.draft import LARGEST_FIELDS
from ibi.archive.rules.scopes import DEPOSIT
from ibi.archive.web.drafts.pages import DraftPages
from ibi.archive.web.drafts.upload import UploadPage
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
    PageOperation("POST", "/deposit/{draft}/files", DEPOSIT, UploadPage.upload, is_streamed=True),
    PageOperation("POST", "/deposit/{draft}/remove", DEPOSIT, DraftPages.remove_file),
    PageOperation("GET", "/deposit/{draft}/preview", DEPOSIT, DraftPages.show_preview),
    PageOperation("GET", "/deposit/{draft}/publish", DEPOSIT, DraftPages.show_publication),
    PageOperation("POST", "/deposit/{draft}/publish", DEPOSIT, DraftPages.publish_draft),
    PageOperation("POST", "/deposit/{draft}/withdraw", DEPOSIT, DraftPages.withdraw_draft),
    PageOperation("GET", "/deposit/{draft}/discard", DEPOSIT, DraftPages.show_discard),
    PageOperation("POST", "/deposit/{draft}/discard", DEPOSIT, DraftPages.discard_draft),
)
# fmt: on
