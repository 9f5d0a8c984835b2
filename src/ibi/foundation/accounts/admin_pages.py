"""The pages on which administrators invite people, and change their roles and accounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.responses import Response

from ibi.errors import FieldError, LastAdministratorError, MailError
from ibi.foundation.accounts import mails
from ibi.foundation.accounts.api import ACTS
from ibi.foundation.accounts.invitation_pages import INVITATION_PATH, PASSWORD_PATH
from ibi.foundation.accounts.site import AccountSite, FormView, preference, run, see_other
from ibi.foundation.web.page_operations import PageOperation, PageRequest
from ibi.model.account import ACTIVE, INACTIVE, REMOVED, ROLES, Account, AccountLink

ADMIN_ACCOUNTS: Final = "/admin/accounts"
_PAGE: Final = 100
"""Accounts on a page of the list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountsView(FormView):
    """The list of accounts, and the form of an invitation."""

    accounts: Sequence[Account]
    after: str = ""
    """The name after which the next page begins; empty on the last one."""
    invitations: Sequence[AccountLink] = ()
    roles: Sequence[str] = ()
    has_mail: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OneAccountView(FormView):
    """One account, for administrators."""

    account: Account
    roles: Sequence[str] = ()
    session_count: int = 0
    is_own: bool = False
    fault_text: str = ""


@dataclass(frozen=True, slots=True)
class LinkView:
    """A link that was just made, shown once."""

    url: str
    role: str = ""
    """The role of an invitation; empty for a new password."""
    account: str = ""
    mail: str = ""
    """To whom a message with the link was sent; empty if none was."""
    fault: str = ""
    """Why no message was sent."""


@dataclass(frozen=True, slots=True)
class ConfirmView:
    """An act that must be confirmed."""

    account: Account
    state: str


class AdminPages:
    """Handlers of the pages of accounts for administrators."""

    def __init__(self, site: AccountSite) -> None:
        self._site = site
        self._roles = [each for each in ROLES if each in site.accounts.roles]

    async def show(self, request: PageRequest) -> Response:
        """Show a page of the list of accounts, and the invitations."""
        return await self._list(request)

    async def invite(self, request: PageRequest) -> Response:
        """Make an invitation, show its link once, and send it if a mail server is set."""
        site, fields = self._site, request.fields
        role, mail, actor = fields.get("role"), fields.get("mail"), request.visitor.actor
        try:
            secret = await run(lambda: site.accounts.invite(role, actor, mail))
        except FieldError as fault:
            filled = {"role": role, "mail": mail}
            return await self._list(request, filled, {fault.field: fault.sentence})
        await site.note("invite", actor, {"role": role, "mail": mail.strip()})
        url = site.url(f"{INVITATION_PATH}/{secret}")
        sent, failure = "", ""
        mailer = site.mailer
        if mailer is not None and mail.strip():
            subject, text = mails.invitation(site.name, url, preference(request))
            try:
                await run(lambda: mailer.send(mail.strip(), subject, text))
                sent = mail.strip()
            except MailError as error:
                failure = error.message()
        view = LinkView(url, role=role, mail=sent, fault=failure)
        return site.page(request, "account_link.html", view, HTTPStatus.CREATED)

    async def revoke(self, request: PageRequest) -> Response:
        """Revoke an invitation."""
        site, id_ = self._site, request.fields.get("invitation")
        if await run(lambda: site.accounts.revoke(id_)):
            await site.note("revoke invitation", request.visitor.actor, {})
        return see_other(f"{ADMIN_ACCOUNTS}#invitations", request)

    async def show_one(self, request: PageRequest) -> Response:
        """Show an account."""
        return await self._one(request)

    async def set_role(self, request: PageRequest) -> Response:
        """Give the account another role."""
        site, name, role = self._site, _name(request), request.fields.get("role")
        try:
            await run(lambda: site.accounts.set_role(name, role))
        except (FieldError, LastAdministratorError) as fault:
            return await self._one(request, fault.message())
        await site.note("change role", request.visitor.actor, {"name": name, "role": role})
        return see_other(f"{ADMIN_ACCOUNTS}/{name}", request)

    async def set_state(self, request: PageRequest) -> Response:
        """Activate, deactivate or remove the account; the latter two once they are confirmed."""
        site, name, state = self._site, _name(request), request.fields.get("state")
        acts = {
            ACTIVE: site.accounts.activate,
            INACTIVE: site.accounts.deactivate,
            REMOVED: site.accounts.remove,
        }
        if state not in acts:
            return await self._one(request)
        account = await run(lambda: site.accounts.get(name))
        if state != ACTIVE and request.fields.get("confirmed") != "yes":
            return site.page(request, "account_confirm.html", ConfirmView(account, state))
        try:
            await run(lambda: acts[state](name))
        except LastAdministratorError as fault:
            return await self._one(request, fault.message())
        await site.note(ACTS[state], request.visitor.actor, {"name": name})
        return see_other(f"{ADMIN_ACCOUNTS}/{name}", request)

    async def end_sessions(self, request: PageRequest) -> Response:
        """End the sessions of the account."""
        site, name = self._site, _name(request)
        kept = request.visitor.secret if name == request.visitor.account else ""
        await run(lambda: site.sessions.end_all(name, kept))
        await site.note("end sessions", request.visitor.actor, {"name": name})
        return see_other(f"{ADMIN_ACCOUNTS}/{name}", request)

    async def reset(self, request: PageRequest) -> Response:
        """Make a link by which the person sets a new password, and show it once."""
        site, name, actor = self._site, _name(request), request.visitor.actor
        secret = await run(lambda: site.accounts.reset_link(name, actor))
        await site.note("make reset link", actor, {"name": name})
        view = LinkView(site.url(f"{PASSWORD_PATH}/{secret}"), account=name)
        return site.page(request, "account_link.html", view, HTTPStatus.CREATED)

    async def _list(
        self,
        request: PageRequest,
        filled: dict[str, str] | None = None,
        faults: dict[str, str] | None = None,
    ) -> Response:
        site, after = self._site, request.query_params.get("after", "")
        found = await run(lambda: site.accounts.store.page(after, _PAGE + 1))
        view = AccountsView(
            accounts=found[:_PAGE],
            after=found[_PAGE - 1].name if len(found) > _PAGE else "",
            invitations=await run(site.accounts.invitations),
            roles=self._roles,
            has_mail=site.mailer is not None,
            filled=filled or {},
            faults=faults or {},
        )
        status = HTTPStatus.BAD_REQUEST if faults else HTTPStatus.OK
        return site.page(request, "accounts.html", view, status)

    async def _one(self, request: PageRequest, fault: str = "") -> Response:
        site, name = self._site, _name(request)
        account = await run(lambda: site.accounts.get(name))
        sessions = await run(lambda: site.sessions.of(name))
        view = OneAccountView(
            account=account,
            roles=self._roles,
            session_count=len(sessions),
            is_own=name == request.visitor.account,
            fault_text=fault,
        )
        status = HTTPStatus.CONFLICT if fault else HTTPStatus.OK
        return site.page(request, "one_account.html", view, status)


def _name(request: PageRequest) -> str:
    name: str = request.path_params["name"]
    return name


def admin_pages(highest: str) -> tuple[PageOperation, ...]:
    """Return the pages of a program; they need its highest scope."""
    one = f"{ADMIN_ACCOUNTS}/{{name}}"
    return (
        PageOperation("GET", ADMIN_ACCOUNTS, highest, AdminPages.show),
        PageOperation("POST", ADMIN_ACCOUNTS, highest, AdminPages.invite),
        PageOperation("POST", "/admin/invitations/removal", highest, AdminPages.revoke),
        PageOperation("GET", one, highest, AdminPages.show_one),
        PageOperation("POST", f"{one}/role", highest, AdminPages.set_role),
        PageOperation("POST", f"{one}/state", highest, AdminPages.set_state),
        PageOperation("POST", f"{one}/sessions", highest, AdminPages.end_sessions),
        PageOperation("POST", f"{one}/reset", highest, AdminPages.reset),
    )
