"""The pages of a resolver for people with accounts: one table, by which all of them are routed.

Viewers see the pages of operators, administrators decide there, with a yes for each act.
"""

from __future__ import annotations

from typing import Final

from ibi.foundation.accounts.operations import account_page_operations
from ibi.foundation.pages.administration import ADMIN
from ibi.foundation.web.page_operations import PageOperation
from ibi.resolver.rules.scopes import OPERATE, READ
from ibi.resolver.web.admin.decisions import DECIDE, DecisionPages
from ibi.resolver.web.admin.overview import OverviewPages
from ibi.resolver.web.admin.tabs import AUDIT_LOG, CONFLICTS, FIGURES, REGISTRATIONS

_ADMIN_PAGES: Final = (
    PageOperation("GET", ADMIN, READ, OverviewPages.overview),
    PageOperation("GET", FIGURES, READ, OverviewPages.figures),
    PageOperation("GET", AUDIT_LOG, READ, OverviewPages.audit_log),
    PageOperation("GET", REGISTRATIONS, READ, DecisionPages.registrations),
    PageOperation("POST", REGISTRATIONS, OPERATE, DecisionPages.register),
    PageOperation("GET", DECIDE, OPERATE, DecisionPages.ask),
    PageOperation("POST", DECIDE, OPERATE, DecisionPages.decide),
    PageOperation("GET", CONFLICTS, READ, DecisionPages.conflicts),
    PageOperation("GET", f"{CONFLICTS}/{{number}}", READ, DecisionPages.conflict),
    PageOperation("POST", f"{CONFLICTS}/{{number}}", OPERATE, DecisionPages.ask_settlement),
    PageOperation("POST", f"{CONFLICTS}/{{number}}/settlement", OPERATE, DecisionPages.settle),
)
"""The pages of operators, but for those of accounts."""

PAGE_OPERATIONS: Final[tuple[PageOperation, ...]] = (
    *account_page_operations(OPERATE),
    *_ADMIN_PAGES,
)
"""All pages; if two paths match a request, the first one gets it.

They are routed before persistent URLs, whose route matches every path: no label begins with the
first part of one of these paths (`foundation.pages.links.OF_PEOPLE`).
"""
