"""Builds the checks of an archive, and the pages of its administrators."""

from __future__ import annotations

from ibi.archive.fixity.audit_schedule import AuditSchedule
from ibi.archive.health import Health, Places
from ibi.archive.resolver_links.announcer import CatalogueLinks
from ibi.archive.resolver_links.linking import Linking
from ibi.archive.rules.scopes import ADMINISTER
from ibi.archive.settings import ARCHIVE_FILE
from ibi.archive.tasks import Tasks
from ibi.archive.web.admin.audit_log import AuditLogPages
from ibi.archive.web.admin.link_pages import LinkPages
from ibi.archive.web.admin.overview import OverviewPages
from ibi.archive.web.admin.tabs import TABS
from ibi.archive.web.admin.task_pages import TaskPages
from ibi.archive.web.pages import Pages
from ibi.archive.wiring.instance import Instance
from ibi.foundation.pages.administration import AdminSite


def build_health(instance: Instance, links: CatalogueLinks) -> Health:
    """Return the checks of a running archive."""
    settings = instance.settings
    places = Places(
        folder=settings.folder,
        root=settings.root,
        address=settings.address,
        host=settings.host,
        ip=settings.ip,
        settings_file=ARCHIVE_FILE,
    )
    return Health(places, instance.catalogue, links.all, instance.minting, instance.clock)


def build_admin_pages(  # noqa: PLR0913, PLR0917  # its parts
    instance: Instance,
    pages: Pages,
    health: Health,
    linking: Linking,
    tasks: Tasks,
    auditing: AuditSchedule,
) -> tuple[object, ...]:
    """Return the handlers of the pages of administrators."""
    settings, catalogue, clock = instance.settings, instance.catalogue, instance.clock
    site = AdminSite(pages.page, TABS, ADMINISTER, clock.wall)
    service = instance.service().label.spelling
    return (
        OverviewPages(site, catalogue, health, linking, tasks, instance.minting, clock),
        TaskPages(site, catalogue, tasks, auditing, settings.audit_days),
        LinkPages(site, linking, settings, service, instance.minting, clock),
        AuditLogPages(site, catalogue),
    )
