"""The pages of a resolver for people with accounts: one table, by which all of them are routed."""

from __future__ import annotations

from typing import Final

from ibi.foundation.accounts.operations import account_page_operations
from ibi.foundation.web.page_operations import PageOperation
from ibi.resolver.rules.scopes import OPERATE

PAGE_OPERATIONS: Final[tuple[PageOperation, ...]] = (*account_page_operations(OPERATE),)
"""All pages; if two paths match a request, the first one gets it."""
