"""Builds the accounts of a resolver, and the pages for people who have one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import structlog

from ibi.foundation.accounts.first_administrator import first_administrator
from ibi.foundation.accounts.openid_settings import openid_of
from ibi.foundation.accounts.people import AccountPages, People, account_pages, people_of
from ibi.foundation.pages.administration import AdminSite
from ibi.foundation.system.smtp import SmtpMailer
from ibi.foundation.web.tokens import Tokens
from ibi.model.clock import Clock
from ibi.resolver.rules.scopes import OPERATE, ROLE_SCOPES, SCOPES
from ibi.resolver.search.archive_names import ArchiveNames
from ibi.resolver.settings import ResolverSettings
from ibi.resolver.storage.store import SqlResolverStore
from ibi.resolver.web.admin.decisions import DecisionPages
from ibi.resolver.web.admin.overview import OverviewPages
from ibi.resolver.web.admin.tabs import TABS
from ibi.resolver.web.pages import ResolverPages
from ibi.resolver.web.registrations_api import AdministratorNotices
from ibi.resolver.wiring.background import BackgroundServices
from ibi.resolver.wiring.builders import Base

_LOG: Final = structlog.get_logger()


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


def administrator_link(
    settings: ResolverSettings, store: SqlResolverStore, clock: Clock, made_by: str
) -> str:
    """Return the link for the first administrator; empty if there is one already."""
    return first_administrator(
        settings.address, store.accounts, store.tokens, clock, SCOPES, ROLE_SCOPES, made_by
    )


async def log_act(act: str, actor: str, detail: Mapping[str, object]) -> None:
    """Log an act on accounts: the history is of archives only."""
    _LOG.info(act, who=actor, **{key.replace(" ", "_"): value for key, value in detail.items()})


def build_account_pages(
    base: Base, people: People, pages: ResolverPages, tokens: Tokens
) -> AccountPages:
    """Return the pages of the accounts of a resolver."""
    settings = base.settings
    return account_pages(
        people,
        name=settings.name,
        render=pages.page,
        clients=base.clients,
        note=log_act,
        token_list=tokens,
        mailer=SmtpMailer(settings.smtp, settings.mail_from) if settings.smtp else None,
        openid=openid_of(settings),
    )


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
        base.store.archives,
        services.conflicts,
        services.locations.digest,
        names.of,
        base.store.figures,
        base.clock,
    )
    decisions = DecisionPages(site, base.registry, services.conflicts, base.store.archives, notices)
    return overview, decisions
