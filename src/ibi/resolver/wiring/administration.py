"""Builds the pages of the operators of a resolver."""

from __future__ import annotations

from ibi.foundation.pages.administration import AdminSite
from ibi.resolver.rules.scopes import OPERATE
from ibi.resolver.search.archive_names import ArchiveNames
from ibi.resolver.web.admin.decisions import DecisionPages
from ibi.resolver.web.admin.overview import OverviewPages
from ibi.resolver.web.admin.tabs import TABS
from ibi.resolver.web.pages import ResolverPages
from ibi.resolver.web.registrations_api import AdministratorNotices
from ibi.resolver.wiring.background import BackgroundServices
from ibi.resolver.wiring.builders import Base


def build_admin_pages(
    base: Base,
    pages: ResolverPages,
    services: BackgroundServices,
    names: ArchiveNames,
    notices: AdministratorNotices,
) -> tuple[object, ...]:
    """Return the handlers of the pages of operators, but for those of accounts."""
    site = AdminSite(pages.page, TABS, OPERATE, base.clock.wall)
    overview = OverviewPages(
        site,
        base.registry,
        services.conflicts,
        services.locations.digest,
        names.of,
        base.store.figures,
        base.clock,
    )
    return overview, DecisionPages(site, base.registry, services.conflicts, notices)
