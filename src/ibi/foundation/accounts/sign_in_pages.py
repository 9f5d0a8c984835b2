"""The pages on which people sign in and out, and what happens to a form whose session ended."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import Response

from ibi.errors import AccessError, Sentence, TooManyRequestsError
from ibi.foundation.accounts.rules import is_own_path
from ibi.foundation.accounts.site import AccountSite, FormView, run, see_other
from ibi.foundation.web.authorization import PUBLIC
from ibi.foundation.web.page_operations import (
    MAX_FIELDS,
    SIGN_IN,
    SIGNED_IN,
    CarriedForm,
    PageOperation,
    PageRequest,
)
from ibi.foundation.web.visitor import Visiting
from ibi.model.account import Account

SIGN_OUT = "/sign-out"
ACCOUNT = "/account"
LARGEST_CARRIED = 4 << 20
"""Bytes of a form that is carried through a sign-in, encoded twice."""
_OWN = (SIGN_IN, SIGN_OUT, "/invitation", "/password")
"""Pages to which nobody wants to return after signing in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInView(FormView):
    """The form for signing in."""

    next: str = ""
    """The path to which the sign-in leads."""
    carried: CarriedForm | None = None
    fault_text: str = ""
    has_mail: bool = False
    """Whether a message can help those who forgot their password."""
    provider: str = ""
    """The name of the OpenID provider; empty if there is none."""

    @property
    def carried_text(self) -> str:
        """The fields of the carried form, as one text."""
        return urlencode(self.carried.fields) if self.carried else ""


@dataclass(frozen=True, slots=True)
class ContinueView:
    """A form that is sent again once the person confirms it."""

    form: CarriedForm
    is_new: bool
    """Whether the person has just signed in."""


class SignInPages:
    """Handlers of the pages for signing in and out; also the pages of the gate."""

    def __init__(self, site: AccountSite, provider: str = "") -> None:
        """Sign in by passwords, and at an OpenID provider if it has a name."""
        self._site = site
        self._provider = provider

    # What the gate answers with.

    def ask(self, request: Request, form: CarriedForm | None) -> Response:
        """Return the form for signing in; see `page_operations.SignInPages`."""
        if form is not None and form.path.partition("?")[0] == SIGN_IN:
            fields = dict(form.fields)
            fault = Sentence(
                "This form was out of date. Sign in again; the browser must accept cookies."
            )
            return self._form(
                request,
                fields.get("name", ""),
                next_of(fields.get("next", "")),
                _carried_of(fields),
                fault,
                HTTPStatus.FORBIDDEN,
            )
        if form is None or len(urlencode(form.fields)) > LARGEST_CARRIED // 2:
            return self._form(
                request, next_path=self._before(request), status=HTTPStatus.UNAUTHORIZED
            )
        return self._form(request, carried=form, status=HTTPStatus.UNAUTHORIZED)

    def confirm(self, request: Request, form: CarriedForm) -> Response:
        """Return the page on which a form of an earlier session can be sent again."""
        view = ContinueView(form, is_new=False)
        return self._site.page(request, "continue.html", view, HTTPStatus.FORBIDDEN)

    def refuse(self, request: Request, fault: Sentence) -> Response:
        """Return the form for signing in, with the reason why another way failed."""
        return self._form(request, fault=fault, status=HTTPStatus.FORBIDDEN)

    # Handlers.

    async def show(self, request: PageRequest) -> Response:
        """Show the form; those who are signed in already are led on."""
        wanted = next_of(request.query_params.get("next", "")) or self._before(request)
        if request.visitor.is_signed_in:
            return see_other(wanted or ACCOUNT, request)
        return self._form(request, next_path=wanted)

    async def sign_in(self, request: PageRequest) -> Response:
        """Check the password, and begin a session."""
        site, fields = self._site, request.fields
        name, wanted = fields.get("name"), next_of(fields.get("next"))
        carried = _carried_of(dict(fields))
        password, network = fields.get("password"), site.network(request)
        try:
            account = await run(lambda: site.accounts.sign_in(name, password, network))
        except (AccessError, TooManyRequestsError) as fault:
            status = HTTPStatus.FORBIDDEN
            text = fault.message()
            if isinstance(fault, TooManyRequestsError):
                status = HTTPStatus.TOO_MANY_REQUESTS
                text = Sentence(
                    "Too many tries. Wait %(minutes)s minutes, or set a new password.",
                    minutes=-(-fault.retry_after // 60),
                )
            response = self._form(request, name, wanted, carried, text, status)
            if isinstance(fault, TooManyRequestsError):
                response.headers["Retry-After"] = str(fault.retry_after)
            return response
        return await self.welcome(request, account, wanted, carried)

    async def welcome(
        self,
        request: PageRequest,
        account: Account,
        wanted: str = "",
        carried: CarriedForm | None = None,
    ) -> Response:
        """Begin a session, and lead the browser on."""
        site = self._site
        agent, before = request.headers.get("user-agent", ""), request.visitor.secret
        secret = await run(lambda: site.sessions.begin(account, agent, before))
        visitor = site.visitors.visitor(account, secret)
        if carried is None:
            response = see_other(wanted or ACCOUNT, request)
        else:
            with Visiting(visitor):
                response = site.page(request, "continue.html", ContinueView(carried, is_new=True))
        site.visitors.introduce(visitor, response)
        return response

    async def sign_out(self, request: PageRequest) -> Response:
        """End the session."""
        secret = request.visitor.secret
        await run(lambda: self._site.sessions.end(secret))
        response = see_other("/", request)
        self._site.visitors.dismiss(response)
        response.headers["Clear-Site-Data"] = '"cache"'
        return response

    def _form(  # noqa: PLR0913, PLR0917  # the parts of the page
        self,
        request: Request,
        name: str = "",
        next_path: str = "",
        carried: CarriedForm | None = None,
        fault: str = "",
        status: int = HTTPStatus.OK,
    ) -> Response:
        view = SignInView(
            filled={"name": name},
            next=next_path,
            carried=carried,
            fault_text=fault,
            has_mail=self._site.mailer is not None,
            provider=self._provider,
        )
        return self._site.page(request, "sign_in.html", view, status)

    def _before(self, request: Request) -> str:
        """Return the page of this site from which the person came; empty if there is none."""
        path = self._site.origins.own_path(request.headers.get("referer", ""), request)
        return next_of(path)


def next_of(text: str) -> str:
    """Return a path to which a sign-in may lead; empty if a text is none."""
    return text if is_own_path(text) and not text.startswith(_OWN) else ""


def _carried_of(fields: dict[str, str]) -> CarriedForm | None:
    path, text = fields.get("carried-path", ""), fields.get("carried", "")
    if not next_of(path):
        return None
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        return None
    return CarriedForm(path, tuple(pairs))


OPERATIONS = (
    PageOperation("GET", SIGN_IN, PUBLIC, SignInPages.show),
    PageOperation("POST", SIGN_IN, PUBLIC, SignInPages.sign_in, largest=LARGEST_CARRIED),
    PageOperation("POST", SIGN_OUT, SIGNED_IN, SignInPages.sign_out),
)
