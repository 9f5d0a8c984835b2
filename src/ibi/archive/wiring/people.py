"""Builds the accounts of an archive, and the pages for people who have one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.rules.scopes import ROLE_SCOPES, SCOPES
from ibi.archive.settings import ArchiveSettings
from ibi.archive.web.pages import Pages
from ibi.archive.wiring.instance import Instance
from ibi.foundation.accounts.first_administrator import first_administrator
from ibi.foundation.accounts.openid_settings import openid_of
from ibi.foundation.accounts.people import AccountPages, People, account_pages, people_of
from ibi.foundation.system.smtp import SmtpMailer
from ibi.foundation.web.authorization import TokenLimits
from ibi.foundation.web.client_address import ClientAddresses, peer_of
from ibi.foundation.web.tokens import Tokens
from ibi.model.clock import Clock


def build_people(
    settings: ArchiveSettings, catalogue: Catalogue, clock: Clock, *, is_reader: bool = False
) -> People:
    """Return the people of an archive."""
    return people_of(
        "archive",
        catalogue.accounts,
        catalogue.tokens,
        clock,
        address=settings.address,
        scopes=SCOPES,
        roles=ROLE_SCOPES,
        is_reader=is_reader,
    )


def administrator_link(instance: Instance, made_by: str) -> str:
    """Return the link for the first administrator; empty if there is one already."""
    return first_administrator(
        instance.settings.address,
        instance.catalogue.accounts,
        instance.catalogue.tokens,
        instance.clock,
        SCOPES,
        ROLE_SCOPES,
        made_by,
    )


def build_account_pages(
    instance: Instance, people: People, pages: Pages, clients: ClientAddresses, tokens: Tokens
) -> AccountPages:
    """Return the pages of the accounts of an archive."""
    settings, archive = instance.settings, instance.archive

    async def note(act: str, actor: str, detail: Mapping[str, object]) -> None:
        await asyncio.to_thread(archive.note, act, actor, {**detail})

    return account_pages(
        people,
        name=settings.name,
        render=pages.page,
        clients=clients,
        note=note,
        token_list=tokens,
        mailer=SmtpMailer(settings.smtp, settings.mail_from) if settings.smtp else None,
        openid=openid_of(settings),
        limits=TokenLimits(instance.clock, settings.requests_a_second, peer_of),
    )
