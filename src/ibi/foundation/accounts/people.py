"""Builds what a program needs of accounts, from its stores and settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.requests import Request

from ibi.foundation.accounts.account_pages import AccountPages as OwnAccountPages
from ibi.foundation.accounts.accounts import Accounts
from ibi.foundation.accounts.admin_pages import AdminPages
from ibi.foundation.accounts.api import AccountsApi
from ibi.foundation.accounts.invitation_pages import InvitationPages
from ibi.foundation.accounts.openid_pages import BACK, OpenIdPages
from ibi.foundation.accounts.openid_settings import OpenIdSettings
from ibi.foundation.accounts.sessions import Sessions
from ibi.foundation.accounts.sign_in_pages import SignInPages
from ibi.foundation.accounts.site import AccountSite, Mailer, NoteAct, RenderPage
from ibi.foundation.accounts.visitors import SessionCookie, SessionVisitors
from ibi.foundation.web.authorization import SessionAccess, TokenLimits
from ibi.foundation.web.client_address import ClientAddresses, network_of
from ibi.foundation.web.form_tokens import Origins
from ibi.foundation.web.page_operations import PageGate
from ibi.foundation.web.tokens import Tokens
from ibi.model.account import AccountStore
from ibi.model.clock import Clock
from ibi.model.token import Scopes, TokenStore

if TYPE_CHECKING:
    from ibi.foundation.accounts.openid import OpenIdProvider


@dataclass(frozen=True, slots=True)
class People:
    """The people of one program: who a request comes from, and what they may do."""

    accounts: Accounts
    sessions: Sessions
    visitors: SessionVisitors
    origins: Origins
    clock: Clock
    address: str

    @property
    def access(self) -> SessionAccess:
        """Access to the API by sessions."""
        return SessionAccess(self.visitors, self.origins)


def people_of(  # noqa: PLR0913  # its parts
    program: str,
    store: AccountStore,
    tokens: TokenStore,
    clock: Clock,
    *,
    address: str,
    scopes: Scopes,
    roles: Mapping[str, str],
    is_reader: bool = False,
) -> People:
    """Return the people of a program at an address; a reader process only finds sessions."""
    sessions = Sessions(store, clock, is_reader=is_reader)
    cookie = SessionCookie(program, address)
    return People(
        Accounts(store, tokens, clock, scopes, roles),
        sessions,
        SessionVisitors(sessions, cookie, scopes, roles),
        Origins(address),
        clock,
        address,
    )


@dataclass(frozen=True, slots=True)
class AccountPages:
    """The handlers of the pages of accounts, and the gate before all pages."""

    handlers: tuple[object, ...]
    gate: PageGate
    api: AccountsApi


def account_pages(  # noqa: PLR0913  # its parts
    people: People,
    *,
    name: str,
    render: RenderPage,
    clients: ClientAddresses,
    note: NoteAct,
    token_list: Tokens,
    limits: TokenLimits | None = None,
    mailer: Mailer | None = None,
    openid: OpenIdSettings | None = None,
) -> AccountPages:
    """Return the pages of accounts of a program, which has a name."""

    def network(request: Request) -> str:
        return network_of(clients.reader(request))

    site = AccountSite(
        accounts=people.accounts,
        sessions=people.sessions,
        visitors=people.visitors,
        origins=people.origins,
        clock=people.clock,
        address=people.address,
        name=name,
        render=render,
        network=network,
        note=note,
        mailer=mailer,
    )
    provider = openid.name if openid else ""
    sign_in = SignInPages(site, provider)
    gate = PageGate(people.visitors, people.origins, sign_in, limits)
    api = AccountsApi(people.accounts, people.address, note)
    handlers = (
        sign_in,
        OpenIdPages(site, _provider(openid, people), sign_in),
        InvitationPages(site, sign_in),
        OwnAccountPages(site, token_list, provider),
        AdminPages(site),
    )
    return AccountPages(handlers, gate, api)


def _provider(settings: OpenIdSettings | None, people: People) -> OpenIdProvider | None:
    if settings is None:
        return None
    # The libraries take a while to load, and few sites have a provider.
    from ibi.foundation.accounts.openid import OpenIdProvider  # noqa: PLC0415

    return OpenIdProvider(settings, f"{people.address}{BACK}", people.clock)
