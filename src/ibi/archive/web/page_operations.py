"""The pages of an archive for people with accounts: one table, by which all of them are routed."""

from __future__ import annotations

from typing import Final

from ibi.archive.rules.drafts.draft import LARGEST_FIELDS
from ibi.archive.rules.scopes import ADMINISTER, DEPOSIT
from ibi.archive.web.drafts.operations import DRAFT_PAGES
from ibi.archive.web.manage.acts import ItemActs
from ibi.archive.web.manage.describe_page import DescribePage
from ibi.archive.web.manage.my_items import MyItemsPage
from ibi.foundation.accounts.operations import account_page_operations
from ibi.foundation.web.page_operations import PageOperation

# fmt: off
_ITEM_PAGES: Final = (
    PageOperation("GET", "/deposit/items", DEPOSIT, MyItemsPage.list_items),
    PageOperation("GET", "/deposit/copies", ADMINISTER, ItemActs.ask_copy),
    PageOperation("POST", "/deposit/copies", ADMINISTER, ItemActs.copy),
    PageOperation("GET", "/deposit/item/{ibi:path}", DEPOSIT, ItemActs.show_item),
    PageOperation("GET", "/deposit/describe/{ibi:path}", DEPOSIT, DescribePage.show_description),
    PageOperation("POST", "/deposit/describe/{ibi:path}", DEPOSIT,
        DescribePage.change_description, largest=3 * LARGEST_FIELDS),
    PageOperation("GET", "/deposit/act/{act}/{ibi:path}", DEPOSIT, ItemActs.ask),
    PageOperation("POST", "/deposit/act/{act}/{ibi:path}", DEPOSIT, ItemActs.do),
)
# fmt: on

PAGE_OPERATIONS: Final[tuple[PageOperation, ...]] = (
    *account_page_operations(ADMINISTER),
    *_ITEM_PAGES,
    *DRAFT_PAGES,
)
"""All pages; if two paths match a request, the first one gets it."""

_FIRST_PARTS: Final = frozenset(each.path.split("/")[1] for each in PAGE_OPERATIONS)


def is_page(path: str) -> bool:
    """Return whether a path is one of these pages, or below one of them."""
    return path.split("/", 2)[1] in _FIRST_PARTS if path.startswith("/") else False
