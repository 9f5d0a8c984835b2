"""The pages behind one-time links: accept an invitation, set a new password."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import structlog
from starlette.requests import Request
from starlette.responses import Response

from ibi.errors import FieldError, IbiError, MailError, NoAccountError, TooManyRequestsError
from ibi.foundation.accounts import mails
from ibi.foundation.accounts.rules import LONGEST_MAIL, checked_mail
from ibi.foundation.accounts.sign_in_pages import SignInPages
from ibi.foundation.accounts.site import AccountSite, FormView, preference, run
from ibi.foundation.web.authorization import PUBLIC
from ibi.foundation.web.page_operations import PageOperation, PageRequest
from ibi.identifier.language_preference import LanguagePreference
from ibi.model.account import INVITATION, RESET, AccountLink

INVITATION_PATH: Final = "/invitation"
PASSWORD_PATH: Final = "/password"  # noqa: S105  # a path
_LOG: Final = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationView(FormView):
    """The form by which an account is made."""

    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordView(FormView):
    """The form by which a new password is set."""

    account: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenView(FormView):
    """The form by which a message with a link is requested."""

    is_sent: bool = False


@dataclass(frozen=True, slots=True)
class LinkFaultView:
    """A link that leads nowhere: it was used, or has expired."""

    fault: str
    has_mail: bool


class InvitationPages:
    """Handlers of the pages behind one-time links."""

    def __init__(self, site: AccountSite, sign_in: SignInPages) -> None:
        """People are signed in by another page once they have an account."""
        self._site = site
        self._sign_in = sign_in
        self._sending: set[asyncio.Task[None]] = set()

    async def show_invitation(self, request: PageRequest) -> Response:
        """Show the form of an account."""
        try:
            link = await self._link(INVITATION, request)
        except (NoAccountError, TooManyRequestsError) as fault:
            return self._dead(request, fault)
        view = InvitationView(role=link.role, filled={"mail": link.mail})
        return self._site.page(request, "invitation.html", view)

    async def accept(self, request: PageRequest) -> Response:
        """Make the account, and begin a session."""
        site, fields = self._site, request.fields
        try:
            link = await self._link(INVITATION, request)
            account = await run(
                lambda: site.accounts.accept(
                    link,
                    fields.get("name"),
                    fields.get("full_name"),
                    fields.get("mail"),
                    fields.get("password"),
                    fields.get("repeated"),
                )
            )
        except FieldError as fault:
            view = InvitationView(
                role=link.role, filled=_kept(request), faults={fault.field: fault.sentence}
            )
            return site.page(request, "invitation.html", view, HTTPStatus.BAD_REQUEST)
        except (NoAccountError, TooManyRequestsError) as fault:
            return self._dead(request, fault)
        await site.note(
            "make account",
            account.actor,
            {"name": account.name, "role": account.role, "invited by": link.made_by},
        )
        return await self._sign_in.welcome(request, account)

    async def show_password(self, request: PageRequest) -> Response:
        """Show the form of a new password."""
        try:
            link = await self._link(RESET, request)
        except (NoAccountError, TooManyRequestsError) as fault:
            return self._dead(request, fault)
        view = PasswordView(account=link.account)
        return self._site.page(request, "new_password.html", view)

    async def set_password(self, request: PageRequest) -> Response:
        """Set the password; all sessions of the account end, and a new one begins."""
        site, fields = self._site, request.fields
        try:
            link = await self._link(RESET, request)
            account = await run(
                lambda: site.accounts.reset(link, fields.get("password"), fields.get("repeated"))
            )
        except FieldError as fault:
            view = PasswordView(account=link.account, faults={fault.field: fault.sentence})
            return site.page(request, "new_password.html", view, HTTPStatus.BAD_REQUEST)
        except (NoAccountError, TooManyRequestsError) as fault:
            return self._dead(request, fault)
        await site.note("reset password", account.actor, {"name": account.name})
        return await self._sign_in.welcome(request, account)

    async def show_forgotten(self, request: PageRequest) -> Response:
        """Show the form for a message with a link."""
        return self._forgotten(request, ForgottenView())

    async def forgotten(self, request: PageRequest) -> Response:
        """Send a message with a link; the answer is the same whether there is such an account."""
        site, mail = self._site, request.fields.get("mail")
        try:
            address = checked_mail(mail[: 2 * LONGEST_MAIL], required=True)
            network = site.network(request)
            if site.mailer is not None:
                # In the background: the answer takes as long without an account.
                work = self._send(address, network, preference(request))
                await run(lambda: site.accounts.charge_mail(address, network))
                task = asyncio.create_task(work)
                self._sending.add(task)
                task.add_done_callback(self._sending.discard)
        except FieldError as fault:
            view = ForgottenView(filled={"mail": mail}, faults={fault.field: fault.sentence})
            return self._forgotten(request, view, HTTPStatus.BAD_REQUEST)
        return self._forgotten(request, ForgottenView(filled={"mail": mail}, is_sent=True))

    async def _send(self, mail: str, network: str, reader: LanguagePreference) -> None:
        site = self._site
        try:
            found = await run(lambda: site.accounts.forgotten(mail))
            if found is None or site.mailer is None:
                return
            account, secret = found
            url = site.url(f"{PASSWORD_PATH}/{secret}")
            subject, text = mails.reset(site.name, account.name, url, reader)
            mailer = site.mailer
            await run(lambda: mailer.send(account.mail, subject, text))
        except MailError as failure:
            _LOG.warning("mail not sent", error=str(failure))
        except IbiError as failure:
            _LOG.warning("no link made", error=str(failure), network=network)

    def _forgotten(
        self, request: Request, view: ForgottenView, status: int = HTTPStatus.OK
    ) -> Response:
        template = "forgotten.html" if self._site.mailer is not None else "no_mail.html"
        return self._site.page(request, template, view, status)

    async def _link(self, kind: str, request: PageRequest) -> AccountLink:
        site, secret = self._site, request.path_params["secret"]
        network = site.network(request)
        return await run(lambda: site.accounts.link(kind, secret, network))

    def _dead(self, request: Request, fault: NoAccountError | TooManyRequestsError) -> Response:
        is_limited = isinstance(fault, TooManyRequestsError)
        status = HTTPStatus.TOO_MANY_REQUESTS if is_limited else HTTPStatus.NOT_FOUND
        view = LinkFaultView(fault.message(), has_mail=self._site.mailer is not None)
        return self._site.page(request, "dead_link.html", view, status)


def _kept(request: PageRequest) -> dict[str, str]:
    """Return what was typed, without passwords."""
    return {name: request.fields.get(name) for name in ("name", "full_name", "mail")}


OPERATIONS: Final = (
    PageOperation("GET", "/invitation/{secret}", PUBLIC, InvitationPages.show_invitation),
    PageOperation("POST", "/invitation/{secret}", PUBLIC, InvitationPages.accept),
    PageOperation("GET", "/password", PUBLIC, InvitationPages.show_forgotten),
    PageOperation("POST", "/password", PUBLIC, InvitationPages.forgotten),
    PageOperation("GET", "/password/{secret}", PUBLIC, InvitationPages.show_password),
    PageOperation("POST", "/password/{secret}", PUBLIC, InvitationPages.set_password),
)
