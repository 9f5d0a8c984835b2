"""Problem documents in the reader's language, from a running archive, resolver and minter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from ibi.errors import ArchiveRequestError
from ibi.foundation.web.problems import localized, problem_of
from tests.support.clients.http import PROBLEM, Answer
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.federation import linked_archives
from tests.support.servers.minting import IP, MintingServer
from tests.support.servers.resolver import ResolverServer

PORTUGUESE: Final = "fr;q=0.9, pt-BR, en;q=0.8"
NO_ITEM: Final = "8JMKD3MGP7W/3EPGUE5"


@pytest.fixture(scope="module")
def linked(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[ResolverServer, ArchiveServer]]:
    with linked_archives(tmp_path_factory.mktemp("languages"), 1) as (resolver, (archive,)):
        yield resolver, archive


def problem(answer: Answer, status: int, language: str) -> dict[str, Any]:
    """Return a problem document, whose headers tell its language."""
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == PROBLEM
    assert answer.headers["content-language"] == language
    assert "Accept-Language" in answer.headers["vary"]
    found: dict[str, Any] = answer.json()
    return found


def test_title_and_detail_are_in_the_language_that_is_accepted(
    linked: tuple[ResolverServer, ArchiveServer],
) -> None:
    _, archive = linked
    english = problem(archive.api("GET", f"items/{NO_ITEM}"), 404, "en")
    assert english["title"] == "There is no such thing here"
    answer = archive.api("GET", f"items/{NO_ITEM}", accept_language=PORTUGUESE)
    portuguese = problem(answer, 404, "pt-BR")
    assert portuguese["detail"] == f"Não há item '{NO_ITEM}' neste acervo."
    assert portuguese["title"] != english["title"]
    stable = {"type", "status"}
    assert {name: portuguese[name] for name in stable} == {name: english[name] for name in stable}


@pytest.mark.parametrize("accepted", ["", "fr", "*", "pt;q=0", "not a language;;"])
def test_a_problem_is_in_english_without_a_preference_for_another(
    linked: tuple[ResolverServer, ArchiveServer], accepted: str
) -> None:
    _, archive = linked
    answer = archive.api("GET", f"items/{NO_ITEM}", accept_language=accepted)
    assert problem(answer, 404, "en")["detail"].startswith("There is no item")


def test_a_problem_without_a_translation_is_in_english_as_a_whole() -> None:
    """A detail of a further program, say: this one has translations of all of its own."""
    untold, _ = problem_of(ArchiveRequestError("A detail that no catalogue has."))
    told, headers = localized(untold, "pt")
    assert told.title == "The request cannot be met"
    assert headers["Content-Language"] == "en"


def test_the_problems_of_a_deposit_are_translated(
    linked: tuple[ResolverServer, ArchiveServer],
) -> None:
    _, archive = linked
    answer = archive.api("POST", "deposits", {"metadata": {}}, accept_language="pt")
    found = problem(answer, 400, "pt")
    assert found["title"] == "A requisição não pode ser atendida"
    assert found["detail"] == "Um registro precisa de um título que não esteja em branco."
    id_ = archive.open_deposit()
    path = f"deposits/{id_}/files/CON"
    detail = problem(archive.api("PUT", path, b"x", accept_language="pt"), 400, "pt")["detail"]
    assert detail == (
        "'CON' não pode ser o caminho de um arquivo: CON é um dispositivo em alguns sistemas."
    )


def test_the_problems_of_the_router_are_translated(
    linked: tuple[ResolverServer, ArchiveServer],
) -> None:
    _, archive = linked
    found = problem(archive.api("GET", "nothing", accept_language="pt"), 404, "pt")
    assert (found["type"], found["title"]) == ("about:blank", "Não encontrado")
    assert found["detail"] == "Não há nada neste endereço."
    found = problem(archive.api("PUT", "items", accept_language="pt"), 405, "pt")
    assert found["title"] == "Método não permitido"


def test_a_plain_text_is_translated_too(linked: tuple[ResolverServer, ArchiveServer]) -> None:
    _, archive = linked
    answer = archive.get(f"/{NO_ITEM}/x", accept="text/plain", accept_language="pt")
    assert answer.status == 404
    assert answer.headers["content-language"] == "pt"
    assert "Não há item" in answer.body.decode()


def test_a_tombstone_is_translated_and_its_reason_is_quoted(
    linked: tuple[ResolverServer, ArchiveServer],
) -> None:
    resolver, archive = linked
    name = archive.deposit({"a.txt": b"a"})["rep"]
    wanted = {"reason": "It held names."}
    assert archive.api("POST", f"items/{name}/deletion", wanted).status == 200
    answer = archive.get(f"/{name}", accept="application/json", accept_language="pt")
    assert problem(answer, 410, "pt")["detail"] == f"{name} foi excluído. It held names."
    answer = resolver.get(f"/{name}", accept="application/json", accept_language="pt")
    found = problem(answer, 410, "pt")
    assert found["title"] == "Este item foi excluído"
    assert found["reason"] == "It held names."


def test_an_outcome_of_a_resolver_is_translated(
    linked: tuple[ResolverServer, ArchiveServer],
) -> None:
    resolver, _ = linked
    asked = f"resolve?url={NO_ITEM}"
    english = problem(resolver.api("GET", asked), 404, "en")
    portuguese = problem(resolver.api("GET", asked, accept_language="pt"), 404, "pt")
    assert english["title"] == "No archive has this item"
    assert portuguese["title"] == "Nenhum acervo tem este item"
    assert portuguese["type"] == english["type"] == "urn:ibi:problem:not-found"


def test_the_problems_of_a_minting_service_are_translated(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    server = MintingServer(tmp_path_factory.mktemp("minter"), "--ip", IP)
    with server:
        answer = server.ask(
            "POST", "/api/v1/labels", token="", headers={"Accept-Language": "pt-BR"}
        )
        assert problem(answer, 401, "pt-BR")["title"] == "É preciso ter uma chave de acesso"
