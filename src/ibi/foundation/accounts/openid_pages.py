"""The pages that lead people to an OpenID provider and back.

Nothing of a sign-in under way is stored: the state that the provider returns is bound to the cookie
of the browser by a MAC, and nonce and PKCE verifier are derived from both. So a sign-in that one
browser began cannot be completed in another one.
"""

from __future__ import annotations

import hmac
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import structlog
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from ibi.errors import IbiError, OpenIdError, Sentence
from ibi.foundation.accounts.rules import LONGEST_FULL_NAME, MINUTE
from ibi.foundation.accounts.sessions import new_secret
from ibi.foundation.accounts.sign_in_pages import ACCOUNT, SignInPages, next_of
from ibi.foundation.accounts.site import AccountSite, run, see_other
from ibi.foundation.web.authorization import PUBLIC
from ibi.foundation.web.page_operations import PageOperation, PageRequest
from ibi.model.account import Account

if TYPE_CHECKING:
    from ibi.foundation.accounts.openid import OpenIdProvider

ELSEWHERE: Final = "/sign-in/elsewhere"
BACK: Final = "/sign-in/back"
_LIFE: Final = 10 * MINUTE
"""Nanoseconds in which a sign-in at the provider is completed."""
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")
_LOG: Final = structlog.get_logger()
_FAILED: Final = Sentence("The sign-in elsewhere was not completed. Try again, or sign in here.")
_NO_ACCOUNT: Final = Sentence(
    "You have no account here yet. Ask an administrator for an invitation; then connect your "
    "account with the provider, on its page."
)


class OpenIdPages:
    """Handlers of the way to a provider and back."""

    def __init__(
        self, site: AccountSite, provider: OpenIdProvider | None, sign_in: SignInPages
    ) -> None:
        """Without a provider there are no such pages."""
        self._site = site
        self._given = provider
        self._sign_in = sign_in

    @property
    def _provider(self) -> OpenIdProvider:
        if self._given is None:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return self._given

    async def leave(self, request: PageRequest) -> Response:
        """Lead the person to the provider; one who is signed in connects the account."""
        provider, secret = self._provider, request.visitor.secret
        state = self._state(secret, next_of(request.query_params.get("next", "")))
        nonce, verifier = _derived(secret, state, "nonce"), _derived(secret, state, "verifier")
        try:
            url = await run(lambda: provider.begin(state, nonce, verifier))
        except OpenIdError as fault:
            return self._refused(request, fault)
        return RedirectResponse(url, HTTPStatus.SEE_OTHER)

    async def come_back(self, request: PageRequest) -> Response:
        """Sign the person in whom the provider names."""
        provider, secret = self._provider, request.visitor.secret
        state = request.query_params.get("state", "")
        try:
            wanted = self._checked(secret, state)
            code = _code(request)
            nonce, verifier = _derived(secret, state, "nonce"), _derived(secret, state, "verifier")
            claims = await run(lambda: provider.complete(code, nonce, verifier))
            subject = provider.settings.subject(claims)
            if request.visitor.is_signed_in:
                return await self._connect(request, subject)
            account = await run(lambda: self._account(subject, claims))
        except OpenIdError as fault:
            return self._refused(request, fault)
        if account is None or not account.is_active:
            return self._sign_in.refuse(request, _NO_ACCOUNT)
        return await self._sign_in.welcome(request, account, wanted)

    async def _connect(self, request: PageRequest, subject: str) -> Response:
        site, visitor = self._site, request.visitor
        owner = await run(lambda: site.accounts.store.find(subject=subject))
        if owner is not None and owner.name != visitor.account:
            raise OpenIdError("connected with another account")
        await run(lambda: site.accounts.connect(visitor.account, subject))
        await site.note("connect account", visitor.actor, {"name": visitor.account})
        return see_other(f"{ACCOUNT}?done=connected", request)

    def _account(self, subject: str, claims: dict[str, Any]) -> Account | None:
        """Return the account of a person; make one if the settings allow it."""
        found = self._site.accounts.store.find(subject=subject)
        settings = self._provider.settings
        if found is not None or not settings.may_join(claims):
            return found
        wanted = str(claims.get("preferred_username") or claims.get("email") or claims["sub"])
        name = _NOT_IN_NAMES.sub("-", wanted.partition("@")[0].lower())[:30].strip("-") or "person"
        full = "".join(each for each in str(claims.get("name") or name) if each.isprintable())
        mail = str(claims.get("email", "")) if claims.get("email_verified") is True else ""
        return self._site.accounts.join(
            name, full[:LONGEST_FULL_NAME], mail, settings.role, subject
        )

    def _refused(self, request: PageRequest, fault: IbiError) -> Response:
        _LOG.warning("sign-in elsewhere failed", reason=str(fault))
        return self._sign_in.refuse(request, _FAILED)

    def _state(self, secret: str, wanted: str) -> str:
        content = json.dumps([self._site.clock.wall(), new_secret(), wanted]).encode()
        text = urlsafe_b64encode(content).decode().rstrip("=")
        return f"{text}.{_derived(secret, text, 'state')}"

    def _checked(self, secret: str, state: str) -> str:
        """Return the path to which the sign-in leads; OpenIdError if it began elsewhere."""
        text, _, mac = state.partition(".")
        if not secret or not hmac.compare_digest(
            mac.encode("utf-8", "replace"), _derived(secret, text, "state").encode()
        ):
            raise OpenIdError("another browser's state")
        begun, _, wanted = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        if not 0 <= self._site.clock.wall() - begun < _LIFE:
            raise OpenIdError("an old state")
        return str(wanted)


def _code(request: PageRequest) -> str:
    given = request.query_params
    if "code" not in given:
        raise OpenIdError(given.get("error", "no code")[:100])
    return given["code"]


def _derived(secret: str, text: str, purpose: str) -> str:
    octets = hmac.digest(secret.encode(), f"{purpose} {text}".encode("utf-8", "replace"), sha256)
    return urlsafe_b64encode(octets).decode().rstrip("=")


OPERATIONS: Final = (
    PageOperation("GET", ELSEWHERE, PUBLIC, OpenIdPages.leave),
    PageOperation("GET", BACK, PUBLIC, OpenIdPages.come_back),
)
