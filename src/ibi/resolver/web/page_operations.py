"""The pages of a resolver for people with accounts: one table, by which all of them are routed."""

from __future__ import annotations

from typing import Final

from ibi.foundation.accounts.operations import account_page_operations
from ibi.foundation.web.page_operations import PageOperation
from ibi.resolver.rules.scopes import OPERATE
from ibi.resolver.web.admin.operations import ADMIN_PAGES

PAGE_OPERATIONS: Final[tuple[PageOperation, ...]] = (
    *account_page_operations(OPERATE),
    *ADMIN_PAGES,
)
"""All pages; if two paths match a request, the first one gets it."""

FIRST_PARTS: Final = frozenset(each.path.split("/")[1] for each in PAGE_OPERATIONS)
"""The first parts of their paths."""
