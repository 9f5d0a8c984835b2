"""Operations of an HTTP API: one table a program.

The router, the authorization, the OpenAPI document (`openapi`) and the reference page (`reference`)
come from the table. A handler runs only through its operation, and an operation cannot be made
without an access: no route is open because a line was forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cache, partial
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.foundation.web.authorization import GRANTED, Access, Authorizer, check_access
from ibi.foundation.web.request_body import LARGEST_BODY, body_of, decoded
from ibi.foundation.web.routing import PathRoute

T = TypeVar("T", bound=msgspec.Struct)

_PATH_PARAMETER: Final = re.compile(r"{(\w+)(?::\w+)?}")

Parameter: TypeAlias = Mapping[str, Any]
"""A parameter as OpenAPI describes it."""


@dataclass(frozen=True, slots=True)
class Media:
    """A message that is not one JSON type: a schema for each of its media types."""

    schemas: Mapping[str, Mapping[str, Any]]


Message: TypeAlias = type | Media
"""The content of a body: a type of JSON, or other media."""


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request."""

    message: Message
    _: KW_ONLY
    required: bool | None = True
    """None if the document omits it: an empty file is a file."""
    largest: int = LARGEST_BODY
    """Bytes of the largest body."""
    scopes: Mapping[str, str] = field(default_factory=dict)
    """Further scopes that the caller needs if a field, by its name, is not empty."""


@dataclass(frozen=True, slots=True)
class Further:
    """An answer that is no problem, besides the usual one."""

    description: str
    message: Message | None = None


class AuthorizedRequest(Request):
    """A request whose caller may use the operation."""

    def __init__(
        self, request: Request, operation: Operation, caller: str, authorizer: Authorizer
    ) -> None:
        """Take over a request of which only the head was read."""
        super().__init__(request.scope, request.receive)
        self.caller = caller
        """The name of the token; empty if the operation needs none and none was sent."""
        self.granted: frozenset[str] = request.scope.get(GRANTED, frozenset())
        """All scopes of the caller; none if the operation needs none."""
        self._operation = operation
        self._authorizer = authorizer

    async def read(self, message: type[T]) -> T:
        """Return the body as the type that the operation declares; its defaults if it is empty.

        An empty body is an error like any other where the operation requires one.
        """
        body = self._declared(message)
        content = await self._content(body)
        if not content and not body.required:
            return message()
        value: T = decoded(_decoder(message), content)
        for name, scope in body.scopes.items():
            if getattr(value, name):
                await self._authorizer.authorize(self, scope)
        return value

    async def read_bytes(self) -> bytes:
        """Return the body as it came, of an operation that accepts more than JSON."""
        return await self._content(self._declared(Media))

    def _declared(self, kind: type) -> Body:
        body = self._operation.body
        if body is None or not (body.message is kind or isinstance(body.message, kind)):
            msg = f"{self._operation} does not declare that it takes {kind}."
            raise TypeError(msg)
        return body

    async def _content(self, body: Body) -> bytes:
        for name, value in self.scope["headers"]:
            if name == b"content-length" and value == b"0":
                return b""
        return await body_of(self, body.largest)


@cache
def _decoder(message: type[msgspec.Struct]) -> Callable[[bytes], Any]:
    return msgspec.json.Decoder(message).decode


Handler: TypeAlias = Callable[[Any, AuthorizedRequest], Awaitable[Response]]
"""A method of a class of handlers, not yet bound to an object."""


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One method of one path: its access, its request and its answers."""

    method: str
    path: str
    """The path as Starlette writes it: `{ibi:path}` matches slashes."""
    scope: Access
    """The scope that the caller's token needs, or another access that is named: PUBLIC for one."""
    handler: Handler
    summary: str
    _: KW_ONLY
    request: type | Body | None = None
    answer: Message | None = None
    status: int = 200
    problems: tuple[int, ...] = ()
    """Statuses of problems, besides those that every operation may answer."""
    parameters: Sequence[Parameter] = ()
    """The parameters of the path, and the supported query pairs and headers."""
    further: Mapping[int, Further] = field(default_factory=dict)
    """Other answers, by their statuses."""
    described: bool = True
    """Whether the OpenAPI document has the operation."""

    def __post_init__(self) -> None:
        """Raise if the operation declares no access, or does not describe its path."""
        check_access(self.scope)
        named = [each["name"] for each in self.parameters if each["in"] == "path"]
        if sorted(named) != sorted(_PATH_PARAMETER.findall(self.path)):
            msg = f"{self} does not describe the parameters of its path."
            raise ValueError(msg)

    def __str__(self) -> str:
        """Return method and path."""
        return f"{self.method} {self.template}"

    @property
    def template(self) -> str:
        """The path as OpenAPI writes it: without the kinds of its parameters."""
        return _PATH_PARAMETER.sub(r"{\1}", self.path)

    @property
    def accesses(self) -> tuple[Access, ...]:
        """The accesses that it may require: its scope, and those of fields of its body."""
        return (self.scope, *(self.body.scopes.values() if self.body else ()))

    @property
    def body(self) -> Body | None:
        """The expected body; None if there is none."""
        return Body(self.request) if isinstance(self.request, type) else self.request


def routes_of(
    operations: Iterable[Operation], apis: Sequence[object], authorizer: Authorizer
) -> list[Route]:
    """Return the routes of operations, in the order of their paths in the table.

    Of two paths that match a request the first one in the table is used.
    """
    by_path: dict[str, dict[str, Callable[[Request], Awaitable[Response]]]] = {}
    for operation in operations:
        for access in operation.accesses:
            authorizer.check(access)
        api = object_of(operation.handler, apis)
        if api is None:
            msg = f"Nothing handles {operation}."
            raise LookupError(msg)
        methods = by_path.setdefault(operation.path, {})
        if operation.method in methods:
            msg = f"{operation} stands twice in the table."
            raise ValueError(msg)
        methods[operation.method] = _endpoint(
            operation, partial(operation.handler, api), authorizer
        )
    return [PathRoute(path, methods) for path, methods in by_path.items()]


def object_of(handler: Callable[..., object], objects: Sequence[object]) -> object | None:
    """Return the object whose class has a method; None if there is none."""
    name = getattr(handler, "__name__", "")
    for each in objects:
        if getattr(type(each), name, None) is handler:
            return each
    return None


def _endpoint(
    operation: Operation,
    handler: Callable[[AuthorizedRequest], Awaitable[Response]],
    authorizer: Authorizer,
) -> Callable[[Request], Awaitable[Response]]:
    async def authorized(request: Request) -> Response:
        caller = await authorizer.authorize(request, operation.scope)
        return await handler(AuthorizedRequest(request, operation, caller, authorizer))

    return authorized
