"""The table of the pages of accounts, the same for an archive and a resolver."""

from __future__ import annotations

from ibi.foundation.accounts import (
    account_pages,
    admin_pages,
    invitation_pages,
    openid_pages,
    sign_in_pages,
)
from ibi.foundation.web.page_operations import PageOperation


def account_page_operations(highest: str) -> tuple[PageOperation, ...]:
    """Return the pages of accounts; those for administrators need the highest scope."""
    return (
        *sign_in_pages.OPERATIONS,
        *openid_pages.OPERATIONS,
        *invitation_pages.OPERATIONS,
        *account_pages.OPERATIONS,
        *admin_pages.admin_pages(highest),
    )
