"""The pages of acts on items, a part of the table of pages of the archive."""

from __future__ import annotations

from typing import Final

from ibi.archive.rules.drafts.draft import LARGEST_FIELDS
from ibi.archive.rules.scopes import ADMINISTER, DEPOSIT
from ibi.archive.web.manage.acts import ItemActs
from ibi.archive.web.manage.describe_page import DescribePage
from ibi.archive.web.manage.my_items import MyItemsPage
from ibi.foundation.web.page_operations import PageOperation

# fmt: off
ITEM_PAGES: Final = (
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
