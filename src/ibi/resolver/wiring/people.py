"""Builds the accounts of a resolver, and the pages for people who have one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import structlog

from ibi.foundation.accounts.people import AccountPages, People, account_pages, people_of
from ibi.foundation.pages.administration import AdminSite
from ibi.foundation.system.smtp import SmtpMailer
from ibi.foundation.web.authorization import TokenLimits
from ibi.foundation.web.client_address import peer_of
from ibi.foundation.web.tokens import Tokens
from ibi.resolver.rules.scopes import OPERATE, ROLE_SCOPES, SCOPES
from ibi.resolver.search.archive_names import ArchiveNames
from ibi.resolver.web.admin.decisions import DecisionPages
from ibi.resolver.web.admin.overview import OverviewPages
from ibi.resolver.web.admin.tabs import TABS
from ibi.resolver.web.pages import ResolverPages
from ibi.resolver.web.registrations_api import AdministratorNotices
from ibi.resolver.wiring.background import BackgroundServices
from ibi.resolver.wiring.builders import Base

_LOG = structlog.get_logger()


def build_people(base: Base) -> People:
    """Return the people of a resolver."""
    return people_of(
        "resolver",
        base.store.accounts,
        base.store.tokens,
        base.clock,
        address=base.settings.address,
        scopes=SCOPES,
        roles=ROLE_SCOPES,
    )


def build_account_pages(  # noqa: PLR0913, PLR0917  # its parts
    base: Base,
    people: People,
    pages: ResolverPages,
    tokens: Tokens,
    services: BackgroundServices,
    names: ArchiveNames,
    notices: AdministratorNotices,
) -> AccountPages:
    """Return the pages of accounts, and those of operators."""
    settings = base.settings
    accounts = account_pages(
        people,
        name=settings.name,
        render=pages.page,
        clients=base.clients,
        note=_note,
        token_list=tokens,
        mailer=SmtpMailer(settings.smtp, settings.mail_from) if settings.smtp else None,
        limits=TokenLimits(base.clock, settings.requests_a_second, peer_of),
    )
    site = AdminSite(pages.page, TABS, OPERATE, base.clock.wall)
    admin = (
        OverviewPages(
            site,
            base.registry,
            services.conflicts,
            services.locations.digest,
            names.of,
            base.store.figures,
            base.clock,
        ),
        DecisionPages(site, base.registry, services.conflicts, notices),
    )
    return replace(accounts, handlers=(*accounts.handlers, *admin))


async def _note(act: str, actor: str, detail: Mapping[str, object]) -> None:
    """Log an act on accounts: the history is of archives only."""
    _LOG.info(act, who=actor, **{f"of_{name}": value for name, value in detail.items()})
