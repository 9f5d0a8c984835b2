"""The pages of an archive for people with accounts: one table, by which all of them are routed."""

from __future__ import annotations

from typing import Final

from ibi.archive.rules.scopes import ADMINISTER
from ibi.archive.web.admin.operations import ADMIN_PAGES
from ibi.archive.web.drafts.operations import DRAFT_PAGES
from ibi.archive.web.manage.operations import ITEM_PAGES
from ibi.foundation.accounts.operations import account_page_operations
from ibi.foundation.web.page_operations import PageOperation

PAGE_OPERATIONS: Final[tuple[PageOperation, ...]] = (
    *account_page_operations(ADMINISTER),
    *ITEM_PAGES,
    *DRAFT_PAGES,
    *ADMIN_PAGES,
)
"""All pages; if two paths match a request, the first one gets it."""

_FIRST_PARTS: Final = frozenset(each.path.split("/")[1] for each in PAGE_OPERATIONS)


def is_page(path: str) -> bool:
    """Return whether a path is one of these pages, or below one of them."""
    return path.split("/", 2)[1] in _FIRST_PARTS if path.startswith("/") else False
