"""The label of the resolver service, followed as any other label: a page about the service."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.processes.environment import own_environment
from tests.support.processes.fork_server import run
from tests.support.servers.resolver import SERVICE, ResolverServer


@pytest.fixture(scope="module")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResolverServer]:
    with ResolverServer(tmp_path_factory.mktemp("resolver")) as running:
        yield running


@pytest.mark.parametrize(
    ("language", "heading"),
    [("en", "The resolver service"), ("pt-BR", "O serviço de resolvedor")],
)
def test_the_label_of_the_service_leads_to_a_page_about_it(
    resolver: ResolverServer, language: str, heading: str
) -> None:
    answer = resolver.get(f"/{SERVICE}", Accept="text/html", Accept_Language=language)
    page = answer.body.decode()
    assert answer.status == 200
    assert f"<h1>{heading}</h1>" in page
    assert SERVICE in page
    assert resolver.address in page


def test_programs_get_the_same_as_json(resolver: ResolverServer) -> None:
    answer = resolver.get(f"/{SERVICE.lower()}", Accept="application/json")
    assert answer.json() == {"service_ibi": SERVICE, "address": resolver.address, "archives": 0}


def test_the_command_line_resolves_it(resolver: ResolverServer) -> None:
    given = ["resolve", SERVICE, "--resolver", resolver.address]
    done = run(given, own_environment(resolver.folder))
    assert (done.returncode, done.stdout) == (0, f"{resolver.address}/{SERVICE}\n"), done.stderr


def test_requests_of_archives_are_answered_there_as_before(resolver: ResolverServer) -> None:
    answer = resolver.get(f"/{SERVICE}?servicesubject=inclusionRequest")
    assert answer.headers["content-type"] == "text/plain"
    assert b"status.error missing-pair" in answer.body
