"""The page of a person's own account: names, password, sessions, and tokens of the API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.responses import Response

from ibi.errors import (
    FieldError,
    RequestError,
    Sentence,
    TooManyRequestsError,
)
from ibi.foundation.accounts.rules import mail_key
from ibi.foundation.accounts.site import AccountSite, FormView, run, see_other
from ibi.foundation.web.page_operations import SIGNED_IN, PageOperation, PageRequest
from ibi.foundation.web.tokens import Tokens, digest
from ibi.model.account import Account, Session
from ibi.model.token import Token

ACCOUNT: Final = "/account"
_DAYS: Final = ("30", "90", "365", "0")
"""The choices for the days of a token; 0 is until it is removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountView(FormView):
    """A person's own account."""

    account: Account
    sessions: Sequence[Session] = ()
    here: str = ""
    """The digest of the session in which the page is seen."""
    tokens: Sequence[Token] = ()
    provider: str = ""
    """The name of the OpenID provider; empty if there is none."""
    scopes: Sequence[str] = ()
    """The scopes that a token of this person may have, the weakest first."""
    days: Sequence[str] = _DAYS
    secret: str = ""
    """The token that was just made, shown once."""
    done: str = ""
    """What was just done."""

    def token_name(self, token: Token) -> str:
        """Return the name of a token without that of its owner."""
        return token.name.partition("/")[2]


_DONE: Final = {
    "described": Sentence("Your data was saved."),
    "password": Sentence("Your password was changed. All other browsers are signed out."),
    "session": Sentence("That browser is signed out."),
    "sessions": Sentence("All other browsers are signed out."),
    "connected": Sentence("Your account is connected: you can sign in with it."),
    "token": Sentence("The token is removed."),
}
"""What a page says after an act, by the pair `done` of its query."""


class AccountPages:
    """Handlers of the page of a person's own account."""

    def __init__(self, site: AccountSite, tokens: Tokens, provider: str = "") -> None:
        """Manage the tokens of people beside those of programs; a provider may have a name."""
        self._provider = provider
        self._site = site
        self._tokens = tokens

    async def show(self, request: PageRequest) -> Response:
        """Show the account."""
        return await self._page(request, done=_DONE.get(request.query_params.get("done", ""), ""))

    async def describe(self, request: PageRequest) -> Response:
        """Set the names and the address; a new address requires the password."""
        site, fields, name = self._site, request.fields, request.visitor.account
        full_name, mail = fields.get("full_name"), fields.get("mail")

        def work() -> None:
            account = site.accounts.get(name)
            if account.password and mail_key(mail) != mail_key(account.mail):
                # Who gets the address gets the account, by a message with a link.
                site.accounts.check_password(
                    account,
                    fields.get("current-for-mail"),
                    site.network(request),
                    "current-for-mail",
                )
            site.accounts.describe(name, full_name, mail)

        filled = {"full_name": full_name, "mail": mail}
        return await self._done(request, work, "described", filled, "describe account")

    async def change_password(self, request: PageRequest) -> Response:
        """Set a new password; all other sessions end."""
        site, fields, visitor = self._site, request.fields, request.visitor

        def work() -> None:
            site.accounts.change_password(
                visitor.account,
                fields.get("current"),
                fields.get("password"),
                fields.get("repeated"),
                site.network(request),
            )
            site.sessions.end_all(visitor.account, visitor.secret)

        return await self._done(request, work, "password", {}, "change password")

    async def end_sessions(self, request: PageRequest) -> Response:
        """End one session, or all but this one."""
        site, visitor = self._site, request.visitor
        one = request.fields.get("session")

        def work() -> None:
            if one:
                site.sessions.end_one(one, visitor.account)
            else:
                site.sessions.end_all(visitor.account, visitor.secret)

        return await self._done(request, work, "session" if one else "sessions", {}, "")

    async def add_token(self, request: PageRequest) -> Response:
        """Make a token with a scope that the role includes, and show it once."""
        fields, visitor = request.fields, request.visitor
        name, scope, days = fields.get("token"), fields.get("scope"), fields.get("days")
        filled = {"token": name, "scope": scope, "days": days}
        if scope not in visitor.scopes:
            fault = Sentence("Your role does not include this.")
            return await self._page(request, filled=filled, faults={"scope": fault})
        try:
            count = int(days) if days in _DAYS else 90
            secret = await run(lambda: self._tokens.add(name, scope, count, visitor.actor))
        except RequestError as fault:
            return await self._page(request, filled=filled, faults={"token": fault.message()})
        made = f"{visitor.actor}/{name}"
        await self._site.note("add token", visitor.actor, {"name": made, "scope": scope})
        return await self._page(request, secret=secret)

    async def remove_token(self, request: PageRequest) -> Response:
        """Remove a token."""
        visitor, name = request.visitor, request.fields.get("token")
        whole = f"{visitor.actor}/{name}"
        if await run(lambda: self._tokens.remove(whole)):
            await self._site.note("remove token", visitor.actor, {"name": whole})
        return see_other(f"{ACCOUNT}?done=token#tokens", request)

    async def _done(
        self,
        request: PageRequest,
        work: Callable[[], None],
        done: str,
        filled: dict[str, str],
        act: str,
    ) -> Response:
        """Do something, record the act if it has a name, and show the page again."""
        try:
            await run(work)
        except FieldError as fault:
            return await self._page(request, filled=filled, faults={fault.field: fault.sentence})
        except TooManyRequestsError as fault:
            faults = {"current": fault.message()}
            return await self._page(request, filled=filled, faults=faults)
        if act:
            actor = request.visitor.actor
            await self._site.note(act, actor, {"name": request.visitor.account})
        return see_other(f"{ACCOUNT}?done={done}", request)

    async def _page(
        self,
        request: PageRequest,
        *,
        filled: dict[str, str] | None = None,
        faults: dict[str, str] | None = None,
        secret: str = "",
        done: str = "",
    ) -> Response:
        site, visitor = self._site, request.visitor
        account = await run(lambda: site.accounts.get(visitor.account))
        view = AccountView(
            account=account,
            sessions=await run(lambda: site.sessions.of(account.name)),
            here=digest(visitor.secret),
            provider=self._provider,
            tokens=await run(lambda: self._tokens.of(account.actor)),
            scopes=[each for each in self._tokens.scopes.names if each in visitor.scopes],
            filled={"full_name": account.full_name, "mail": account.mail, **(filled or {})},
            faults=faults or {},
            secret=secret,
            done=done,
        )
        status = HTTPStatus.BAD_REQUEST if faults else HTTPStatus.OK
        return site.page(request, "account.html", view, status)


OPERATIONS: Final = (
    PageOperation("GET", ACCOUNT, SIGNED_IN, AccountPages.show),
    PageOperation("POST", ACCOUNT, SIGNED_IN, AccountPages.describe),
    PageOperation("POST", f"{ACCOUNT}/password", SIGNED_IN, AccountPages.change_password),
    PageOperation("POST", f"{ACCOUNT}/sessions", SIGNED_IN, AccountPages.end_sessions),
    PageOperation("POST", f"{ACCOUNT}/tokens", SIGNED_IN, AccountPages.add_token),
    PageOperation("POST", f"{ACCOUNT}/tokens/removal", SIGNED_IN, AccountPages.remove_token),
)
