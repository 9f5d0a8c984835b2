"""The table of the pages of accounts, the same for an archive and a resolver."""

from __future__ import annotations

from typing import Final

from ibi.foundation.accounts import invitation_pages, sign_in_pages
from ibi.foundation.web.page_operations import PageOperation

ACCOUNT_PAGES: Final[tuple[PageOperation, ...]] = (
    *sign_in_pages.OPERATIONS,
    *invitation_pages.OPERATIONS,
)
