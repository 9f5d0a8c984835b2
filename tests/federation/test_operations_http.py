"""The operations of all three programs, over HTTP: what each table declares is what is served."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeAlias

import pytest

from ibi.archive.rules import scopes as archive_scopes
from ibi.archive.web.api import operations as archive_operations
from ibi.foundation.web import openapi
from ibi.foundation.web.authorization import OptionalScope
from ibi.foundation.web.openapi import ApiDescription
from ibi.foundation.web.operations import Operation
from ibi.minting.rules import scopes as minting_scopes
from ibi.minting.web import operations as minting_operations
from ibi.model.token import Scopes
from ibi.resolver.rules import scopes as resolver_scopes
from ibi.resolver.web import operations as resolver_operations
from tests.support.clients.http import PROBLEM, Client
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.minting import MintingServer
from tests.support.servers.resolver import ResolverServer

NAMES: Final = {
    "ibi": "x",
    "id": "x",
    "path": "x",
    "resolver": "x",
    "name": "x",
    "label": "x",
    "service": "LK47B6W/362SFKH",
    "conflict": "1",
}


@dataclass(frozen=True)
class Program:
    """A program that serves, its table, and a token of each scope."""

    client: Client
    table: Sequence[Operation]
    description: ApiDescription
    scopes: Scopes
    tokens: dict[str, str]

    def document(self) -> dict[str, Any]:
        """Return the document that the program serves."""
        answer = self.client.ask("GET", "/openapi.json", token="")
        assert answer.headers["content-type"] == "application/json"
        found: dict[str, Any] = answer.json()
        return found


Serve: TypeAlias = Callable[[Path], MintingServer | ArchiveServer | ResolverServer]

PROGRAMS: Final[dict[str, tuple[Serve, ModuleType, ModuleType]]] = {
    "minting": (MintingServer, minting_operations, minting_scopes),
    "archive": (ArchiveServer, archive_operations, archive_scopes),
    "resolver": (ResolverServer, resolver_operations, resolver_scopes),
}


@pytest.fixture(scope="module", params=PROGRAMS)
def program(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Program]:
    folder = tmp_path_factory.mktemp(request.param)
    serve, operations, scopes = PROGRAMS[request.param]
    with serve(folder) as client:
        tokens = {scope: client.add_token(f"of-{scope}", scope) for scope in scopes.SCOPES.names}
        yield Program(client, operations.OPERATIONS, operations.DESCRIPTION, scopes.SCOPES, tokens)


def test_the_document_describes_the_table_and_nothing_else(program: Program) -> None:
    document = program.document()
    described = {
        (method.upper(), path)
        for path, item in document["paths"].items()
        for method in item
        if method != "parameters"
    }
    table = {(each.method, each.template) for each in program.table if each.described}
    assert described == table
    assert document["openapi"] == "3.1.0"
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    version = document["info"]["version"]
    made = openapi.document(program.description, program.table, version)
    assert document == json.loads(json.dumps(made))


def test_what_is_not_public_is_refused_without_a_token(program: Program) -> None:
    paths = program.document()["paths"]
    for operation in program.table:
        if not operation.described:
            continue
        answer = program.client.ask(operation.method, place(operation), token="")
        described = paths[operation.template][operation.method.lower()]
        is_protected = isinstance(operation.scope, str)
        assert (answer.status == 401) == is_protected == ("security" in described), operation
        assert str(answer.status) in described["responses"], (str(operation), answer.body)
        if is_protected:
            assert answer.headers["content-type"] == PROBLEM
            assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_token_of_every_other_scope_is_refused(program: Program) -> None:
    refused = 0
    for operation in program.table:
        if not isinstance(operation.scope, str):
            continue
        for scope, token in program.tokens.items():
            if operation.scope in program.scopes.included(scope):
                continue
            answer = program.client.ask(operation.method, place(operation), token=token)
            assert answer.status == 403, (str(operation), scope, answer.body)
            assert answer.json()["type"] == "urn:ibi:problem:scope-needed"
            refused += 1
    assert refused >= 2


def test_an_unknown_token_is_refused_where_one_may_be_left_out(program: Program) -> None:
    for operation in program.table:
        if isinstance(operation.scope, OptionalScope):
            answer = program.client.ask(operation.method, place(operation), token="guess")  # noqa: S106
            assert answer.status == 401, operation


def place(operation: Operation) -> str:
    """Return a path of an operation."""
    return operation.template.format(**NAMES)
