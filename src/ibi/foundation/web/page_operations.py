"""Pages for people with accounts: one table of routes a program, like `operations` for its API.

A handler runs only through its operation, which names the scope that it needs. The router finds the
person by the session, has anonymous people sign in, and checks the scope and, of every form, that a
page of this site sent it. What was typed into a form is carried on through the sign-in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import Enum
from functools import partial
from http import HTTPStatus
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import parse_qsl, quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ibi.errors import ForgeryError, RequestError, RoleError, Sentence
from ibi.foundation.web.access_log import CALLER
from ibi.foundation.web.authorization import PUBLIC, Public, TokenLimits
from ibi.foundation.web.form_tokens import FIELD, HEADER, SAFE_METHODS, Origins, is_form_token
from ibi.foundation.web.operations import object_of
from ibi.foundation.web.request_body import body_of
from ibi.foundation.web.routing import PathRoute
from ibi.foundation.web.visitor import Visiting, Visitor, VisitorFinder

SIGN_IN: Final = "/sign-in"
LARGEST_FORM: Final = 65_536
"""Bytes of a form whose operation does not say more."""
MAX_FIELDS: Final = 20_000
"""Fields of a form: a draft may have thousands of files, each with some fields."""
_FORM: Final = "application/x-www-form-urlencoded"

PAGE_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
"""Headers of all pages of the table: they are for one person."""


class SignedIn(Enum):
    """Access for everybody who is signed in, whatever the role."""

    SIGNED_IN = "signed in"


SIGNED_IN: Final = SignedIn.SIGNED_IN

PageAccess: TypeAlias = str | Public | SignedIn
"""The access that a page requires; a text is a scope that the person's role must include."""


class Fields:
    """The fields of a form, as they came; a name may have several values."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self.pairs = tuple(pairs)

    def get(self, name: str, default: str = "") -> str:
        """Return the first value of a name."""
        return next((value for each, value in self.pairs if each == name), default)

    def all(self, name: str) -> list[str]:
        """Return all values of a name."""
        return [value for each, value in self.pairs if each == name]

    def __contains__(self, name: str) -> bool:
        return any(each == name for each, _ in self.pairs)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.pairs)


@dataclass(frozen=True, slots=True)
class CarriedForm:
    """A form that waits until the person has signed in, or has confirmed it."""

    path: str
    """Where it is sent, with the query."""
    fields: tuple[tuple[str, str], ...]
    """All fields but the token, which was of an earlier session."""


class PageRequest(Request):
    """A request for a page, whose sender may use the operation."""

    def __init__(self, request: Request, visitor: Visitor, fields: Fields) -> None:
        """Take over a request; of a form the body was read already."""
        super().__init__(request.scope, request.receive)
        self.visitor = visitor
        self.fields = fields
        """The fields of the form; none for GET, and none if the operation streams its body."""


PageHandler: TypeAlias = Callable[[Any, PageRequest], Awaitable[Response]]
"""A method of a class of handlers, not yet bound to an object."""


@dataclass(frozen=True, slots=True, eq=False)
class PageOperation:
    """One method of one path of the pages: its access and its handler."""

    method: str
    """GET or POST: forms have no others."""
    path: str
    """The path as Starlette writes it: `{ibi:path}` matches slashes."""
    scope: PageAccess
    """The scope that the person's role must include, SIGNED_IN, or PUBLIC."""
    handler: PageHandler
    _: KW_ONLY
    largest: int = LARGEST_FORM
    """Bytes of the largest form."""
    is_streamed: bool = False
    """Whether the handler reads the body itself: files. The token is then in a header, or in the
    query as `?csrf=`, because it is checked before anything of the body is read."""
    carry: Callable[[Request], Awaitable[CarriedForm]] | None = None
    """Reads what was typed from a streamed body whose session has ended, without its files."""

    def __post_init__(self) -> None:
        """Raise if the operation declares no access, or a method that forms do not have."""
        if isinstance(self.scope, str) and not self.scope:
            msg = "An empty scope is no declaration: name a scope, SIGNED_IN or PUBLIC."
            raise TypeError(msg)
        scope: object = self.scope
        if not isinstance(scope, str | Public | SignedIn):
            msg = f"{self.scope!r} declares no access: name a scope, SIGNED_IN or PUBLIC."
            raise TypeError(msg)
        if self.method not in {"GET", "POST"}:
            msg = f"{self} is neither GET nor POST."
            raise ValueError(msg)

    def __str__(self) -> str:
        """Return method and path."""
        return f"{self.method} {self.path}"


class SignInPages(Protocol):
    """The pages that the router itself answers with."""

    def ask(self, request: Request, form: CarriedForm | None) -> Response:
        """Return the form for signing in, with the form that is sent afterwards."""
        ...

    def confirm(self, request: Request, form: CarriedForm) -> Response:
        """Return the page on which a form of an earlier session can be sent again."""
        ...


class PageGate:
    """Decides whether the person of a request may use an operation."""

    def __init__(
        self,
        visitors: VisitorFinder,
        origins: Origins,
        pages: SignInPages,
        limits: TokenLimits | None = None,
    ) -> None:
        """Find people by their cookies; `limits` are of the forms that one person sends."""
        self.visitors = visitors
        self._origins = origins
        self._pages = pages
        self._limits = limits

    async def answer(
        self,
        request: Request,
        operation: PageOperation,
        handler: Callable[[PageRequest], Awaitable[Response]],
    ) -> Response:
        """Answer a request by its handler, or by a page for signing in."""
        visitor = await self.visitors.of(request)
        request.scope[CALLER] = visitor.actor
        with Visiting(visitor):
            response = await self._answer(request, operation, handler, visitor)
        for name, value in PAGE_HEADERS.items():
            response.headers[name] = value
        if "Cookie" not in response.headers.get("vary", ""):
            response.headers.add_vary_header("Cookie")
        if visitor.is_new and "set-cookie" not in response.headers:
            self.visitors.introduce(visitor, response)
        return response

    async def _answer(
        self,
        request: Request,
        operation: PageOperation,
        handler: Callable[[PageRequest], Awaitable[Response]],
        visitor: Visitor,
    ) -> Response:
        if request.method in SAFE_METHODS:
            if operation.scope is not PUBLIC and not visitor.is_signed_in:
                return RedirectResponse(_sign_in(request), HTTPStatus.SEE_OTHER)
            _check_scope(operation, visitor)
            return await handler(PageRequest(request, visitor, Fields()))
        if self._origins.is_foreign(request):
            raise ForgeryError
        if self._limits is not None and visitor.is_signed_in:
            self._limits.charge(visitor.actor)
        # An anonymous body is read up to the limit of the operation, as that of a signed-in person.
        fields = Fields() if operation.is_streamed else await fields_of(request, operation.largest)
        is_own = is_form_token(visitor.secret, _token(request, fields))
        if not is_own and not self._origins.is_asserted(request):
            raise ForgeryError
        carried = None if operation.is_streamed else _carried(request, fields)
        if operation.carry is not None and not (is_own and visitor.is_signed_in):
            carried = await operation.carry(request)
        if operation.scope is not PUBLIC and not visitor.is_signed_in:
            return self._pages.ask(request, carried)
        if not is_own:
            # A page of this site sent it, in a session that has ended: nothing typed is lost.
            if carried is None or operation.scope is PUBLIC:
                raise ForgeryError
            return self._pages.confirm(request, carried)
        _check_scope(operation, visitor)
        return await handler(PageRequest(request, visitor, fields))


def page_routes(
    operations: Iterable[PageOperation], handlers: Sequence[object], gate: PageGate
) -> list[Route]:
    """Return the routes of pages, in the order of their paths in the table."""
    by_path: dict[str, dict[str, Callable[[Request], Awaitable[Response]]]] = {}
    for operation in operations:
        found = object_of(operation.handler, handlers)
        if found is None:
            msg = f"Nothing handles {operation}."
            raise LookupError(msg)
        methods = by_path.setdefault(operation.path, {})
        if operation.method in methods:
            msg = f"{operation} stands twice in the table."
            raise ValueError(msg)
        methods[operation.method] = _endpoint(operation, partial(operation.handler, found), gate)
    return [PathRoute(path, methods) for path, methods in by_path.items()]


def _endpoint(
    operation: PageOperation,
    handler: Callable[[PageRequest], Awaitable[Response]],
    gate: PageGate,
) -> Callable[[Request], Awaitable[Response]]:
    async def gated(request: Request) -> Response:
        return await gate.answer(request, operation, handler)

    return gated


def _check_scope(operation: PageOperation, visitor: Visitor) -> None:
    if isinstance(operation.scope, str) and operation.scope not in visitor.scopes:
        raise RoleError(operation.scope)


async def fields_of(request: Request, largest: int) -> Fields:
    """Return the fields of a form."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise HTTPException(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, Sentence("Expected %(form)s.", form=_FORM)
        )
    text = (await body_of(request, largest)).decode("utf-8", "replace")
    return parsed_fields(text)


def parsed_fields(text: str) -> Fields:
    """Return the fields that a text has, as forms are sent."""
    try:
        return Fields(parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except ValueError:
        msg = Sentence("The form has more than %(fields)s fields.", fields=MAX_FIELDS)
        raise RequestError(msg) from None


def _token(request: Request, fields: Fields) -> str:
    return request.headers.get(HEADER) or fields.get(FIELD) or request.query_params.get(FIELD) or ""


def _carried(request: Request, fields: Fields) -> CarriedForm:
    return CarriedForm(here_of(request), tuple(pair for pair in fields if pair[0] != FIELD))


def here_of(request: Request) -> str:
    """Return path and query of a request."""
    query = request.scope["query_string"].decode("ascii", "replace")
    path = request.scope["raw_path"].decode("ascii", "replace")
    return f"{path}?{query}" if query else path


def _sign_in(request: Request) -> str:
    chosen = request.query_params.get("lang", "")
    pair = f"&lang={quote(chosen, safe='')}" if chosen else ""
    return f"{SIGN_IN}?next={quote(here_of(request), safe='/')}{pair}"
