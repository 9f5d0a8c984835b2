"""The table of the pages of administrators; curators see what their scope lets them see."""

from __future__ import annotations

from typing import Final

from ibi.archive.rules.scopes import ADMINISTER, CURATE
from ibi.archive.web.admin.audit_log import AuditLogPages
from ibi.archive.web.admin.link_pages import LinkPages
from ibi.archive.web.admin.overview import OverviewPages
from ibi.archive.web.admin.tabs import (
    AUDIT_LOG,
    FIGURES,
    FILES,
    IDENTITY,
    MINTING,
    RESOLVERS,
    TASKS,
)
from ibi.archive.web.admin.task_pages import TaskPages
from ibi.foundation.pages.administration import ADMIN
from ibi.foundation.web.page_operations import PageOperation

ADMIN_PAGES: Final = (
    PageOperation("GET", ADMIN, CURATE, OverviewPages.overview),
    PageOperation("GET", FIGURES, CURATE, OverviewPages.figures),
    PageOperation("GET", TASKS, CURATE, TaskPages.tasks),
    PageOperation("GET", f"{TASKS}/{{id}}/cancel", ADMINISTER, TaskPages.ask_cancel),
    PageOperation("POST", f"{TASKS}/{{id}}/cancel", ADMINISTER, TaskPages.cancel),
    PageOperation("GET", FILES, CURATE, TaskPages.files),
    PageOperation("POST", FILES, ADMINISTER, TaskPages.begin_audit),
    PageOperation("GET", RESOLVERS, CURATE, LinkPages.links),
    PageOperation("POST", RESOLVERS, ADMINISTER, LinkPages.link),
    PageOperation("GET", f"{RESOLVERS}/remove", ADMINISTER, LinkPages.ask_unlink),
    PageOperation("POST", f"{RESOLVERS}/remove", ADMINISTER, LinkPages.unlink),
    PageOperation("GET", MINTING, ADMINISTER, LinkPages.minting),
    PageOperation("GET", IDENTITY, ADMINISTER, LinkPages.identity),
    PageOperation("GET", AUDIT_LOG, CURATE, AuditLogPages.audit_log),
)
"""The pages below /admin, but for those of accounts."""
