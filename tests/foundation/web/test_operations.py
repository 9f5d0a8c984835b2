"""Operations: none without an access, and no handler before its caller is authorized."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Router

from ibi.errors import ForbiddenError, RequestError, UnauthenticatedError
from ibi.foundation.web.authorization import (
    PUBLIC,
    Authenticator,
    Authorizer,
    OptionalScope,
    Policy,
)
from ibi.foundation.web.openapi import ApiDescription, document, parameter
from ibi.foundation.web.operations import (
    AuthorizedRequest,
    Body,
    Operation,
    routes_of,
)
from ibi.foundation.web.tokens import Tokens
from ibi.model.token import Scopes, Token
from tests.support.doubles.minting_machine import FakeClock

PROGRAMS: Final = Path(__file__).parents[3] / "src" / "ibi"
SCOPES: Final = Scopes(("read", "write"))
CLOSED: Final = Policy("closed")


class Wanted(msgspec.Struct):
    """A body."""

    note: str = ""
    grave: str = ""


class Notes:
    """Handlers."""

    def __init__(self) -> None:
        """Begin without a call."""
        self.calls: list[tuple[str, str]] = []

    async def show(self, request: AuthorizedRequest) -> Response:
        """Note who asked."""
        self.calls.append(("show", request.caller))
        return Response(b"shown")

    async def write(self, request: AuthorizedRequest) -> Response:
        """Note who wrote what."""
        wanted = await request.read(Wanted)
        self.calls.append((f"write {wanted.note}", request.caller))
        return Response(b"written")


class Store:
    """Keeps tokens."""

    def __init__(self) -> None:
        """Begin without one."""
        self._kept: list[Token] = []

    def add_token(self, token: Token) -> bool:
        """Keep it."""
        self._kept.append(token)
        return True

    def tokens(self) -> list[Token]:
        """Return all."""
        return self._kept

    def remove_token(self, name: str) -> bool:
        """Refuse to: no test removes one."""
        raise NotImplementedError


class Scene:
    """An API of one path, and a token of each scope."""

    def __init__(self, scope: Any, body: Body | None = None) -> None:  # noqa: ANN401
        """Let an access be needed."""
        tokens = Tokens(Store(), FakeClock(), SCOPES)
        self.tokens = {name: tokens.add(name, name) for name in SCOPES.names}
        self.notes = Notes()
        table = (
            Operation("GET", "/notes", scope, Notes.show, "Show"),
            Operation("PUT", "/notes", scope, Notes.write, "Write", request=body or Body(Wanted)),
        )
        authenticator = Authenticator(tokens, FakeClock())
        authorizer = Authorizer(authenticator, policies={CLOSED: _refuse})
        self.router = Router(routes_of(table, (self.notes,), authorizer))
        self.read = False

    def ask(self, method: str, token: str = "", body: bytes = b"{}") -> list[dict[str, Any]]:
        """Send a request; return what was sent back."""
        secret = self.tokens.get(token, token)
        headers = [(b"authorization", b"Bearer " + secret.encode())] if token else []
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            self.read = True
            return {"type": "http.request", "body": body}

        async def send(message: Any) -> None:  # noqa: ANN401  # as ASGI has it
            sent.append(message)

        scope = {
            "type": "http",
            "method": method,
            "path": "/notes",
            "headers": headers,
            "query_string": b"",
        }
        asyncio.run(self.router(scope, receive, send))
        return sent


def _refuse(_: Request) -> None:
    raise RequestError("Closed.")


def test_an_operation_without_an_access_cannot_be_made() -> None:
    make: Any = Operation
    with pytest.raises(TypeError, match="positional argument"):
        make("GET", "/notes", handler=Notes.show, summary="Show")
    for nothing in (None, "", 0, Notes.show):
        with pytest.raises(TypeError, match="name a scope, or PUBLIC"):
            make("GET", "/notes", nothing, Notes.show, "Show")


def test_an_operation_describes_the_parameters_of_its_path() -> None:
    path = "/notes/{id}/of/{who:path}"
    known = (parameter("id", "Which"), parameter("who", "Of whom"))
    operation = Operation("GET", path, PUBLIC, Notes.show, "Show", parameters=known)
    assert operation.template == "/notes/{id}/of/{who}"
    for wrong in ((), known[:1], (*known, parameter("more", "Not there"))):
        with pytest.raises(ValueError, match="parameters of its path"):
            Operation("GET", path, PUBLIC, Notes.show, "Show", parameters=wrong)


def test_two_messages_of_an_api_differ_in_name() -> None:
    alike = msgspec.defstruct("Wanted", ["other"], module="elsewhere")
    table = [
        Operation("GET", f"/{each.__module__}", PUBLIC, Notes.show, "Show", answer=each)
        for each in (Wanted, alike)
    ]
    with pytest.raises(ValueError, match=r"one name: .*elsewhere\.Wanted"):
        document(ApiDescription("", ""), table, "1")


def test_a_table_has_each_operation_once_and_each_has_its_handler() -> None:
    table = (Operation("GET", "/notes", PUBLIC, Notes.show, "Show"),)
    authorizer = Authorizer(Authenticator(Tokens(Store(), FakeClock(), SCOPES), FakeClock()))
    with pytest.raises(LookupError, match="Nothing handles GET /notes"):
        routes_of(table, (Store(),), authorizer)
    with pytest.raises(ValueError, match="stands twice"):
        routes_of(table * 2, (Notes(),), authorizer)


def test_no_route_of_an_api_stands_outside_its_table() -> None:
    outside = re.compile(r"Route\(\s*f?\"/api")
    found = [path for path in PROGRAMS.rglob("*.py") if outside.search(path.read_text("utf-8"))]
    assert found == []


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT"])
def test_a_caller_without_a_token_is_refused_before_the_body_is_read(method: str) -> None:
    scene = Scene("read")
    for token in ("", "guess"):
        with pytest.raises(UnauthenticatedError):
            scene.ask(method, token, b"not JSON")
    assert scene.notes.calls == []
    assert not scene.read


def test_a_scope_includes_those_before_it() -> None:
    scene = Scene("write")
    with pytest.raises(ForbiddenError):
        scene.ask("PUT", "read", b"not JSON")
    assert not scene.read
    assert scene.ask("PUT", "write", b'{"note": "x"}')[0]["status"] == 200
    assert scene.notes.calls == [("write x", "write")]


def test_a_field_may_need_a_further_scope() -> None:
    scene = Scene("read", Body(Wanted, scopes={"grave": "write"}))
    scene.ask("PUT", "read", b'{"note": "x"}')
    with pytest.raises(ForbiddenError):
        scene.ask("PUT", "read", b'{"note": "y", "grave": "z"}')
    scene.ask("PUT", "write", b'{"note": "y", "grave": "z"}')
    assert scene.notes.calls == [("write x", "read"), ("write y", "write")]


def test_an_optional_token_names_the_caller_and_a_wrong_one_is_refused() -> None:
    scene = Scene(OptionalScope("write"))
    scene.ask("GET")
    scene.ask("GET", "write")
    with pytest.raises(UnauthenticatedError):
        scene.ask("GET", "guess")
    with pytest.raises(ForbiddenError):
        scene.ask("GET", "read")
    assert scene.notes.calls == [("show", ""), ("show", "write")]


def test_a_policy_is_asked_by_its_name() -> None:
    scene = Scene(CLOSED)
    with pytest.raises(RequestError, match="Closed"):
        scene.ask("PUT", "write")
    assert not scene.read


@pytest.mark.parametrize("access", ["erase", OptionalScope("erase"), Policy("forgotten")])
def test_a_table_names_only_what_its_program_knows(access: str | OptionalScope | Policy) -> None:
    with pytest.raises(LookupError):
        Scene(access)


def test_a_field_needs_a_scope_that_its_program_knows() -> None:
    with pytest.raises(LookupError):
        Scene("read", Body(Wanted, scopes={"grave": "erase"}))


def test_an_empty_body_is_the_defaults_where_none_is_required() -> None:
    scene = Scene(PUBLIC, Body(Wanted, required=False))
    scene.ask("PUT", body=b"")
    assert scene.notes.calls == [("write ", "")]
    with pytest.raises(RequestError):
        Scene(PUBLIC).ask("PUT", body=b"")


def test_a_handler_reads_only_the_body_that_its_operation_declares() -> None:
    scene = Scene(PUBLIC, Body(Token))
    with pytest.raises(TypeError, match="does not declare"):
        scene.ask("PUT")
