"""Details of problems in the language of the reader, over HTTP."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, Final
from zipfile import ZipFile

import pytest

from tests.support.servers.archive import ArchiveServer

PORTUGUESE: Final = {"Accept-Language": "pt-BR"}
LABEL: Final = "sid.inpe.br/mtc-m19/2013/09.04.12.27.57"
SILENT: Final = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    made = ArchiveServer(tmp_path_factory.mktemp("archive"))
    made.set(adopts=["sid.inpe.br/mtc-m19"], allowed_networks=["127.0.0.0/8"])
    with made as started:
        yield started


def detail(
    archive: ArchiveServer, method: str, path: str, body: object, **headers: str
) -> tuple[str, str]:
    """Return the detail of the problem that a request meets, and its language."""
    answer = archive.api(method, path, body, **headers)
    assert answer.status >= 400, answer.body
    return answer.json()["detail"], answer.headers["content-language"]


def about(**wanted: object) -> dict[str, object]:
    return {"metadata": {"titles": ["T"]}, **wanted}


REQUESTS: Final[list[tuple[str, str, object, str, str]]] = [
    (
        "POST",
        "deposits",
        about(adoption={"labels": [LABEL], "metadata_labels": [LABEL]}),
        "An item and its metadata have labels of their own: one is given for both.",
        "Um item e os seus metadados têm rótulos próprios: foi dado o mesmo para ambos.",
    ),
    (
        "POST",
        "deposits",
        about(adoption={"labels": ["example.org/other/2013/09.04.12.27.57"]}),
        "its prefix is neither that of this archive nor among `adopts` in its settings",
        "o seu prefixo não é o deste acervo nem está entre os de `adopts` na sua configuração",
    ),
    (
        "POST",
        "deposits",
        about(edition_of=LABEL),
        "it is not held here, and this archive is linked to no resolver that could know it.",
        "este acervo não está vinculado a nenhum resolvedor que possa conhecê-lo.",
    ),
    (
        "POST",
        "deposits",
        {"metadata": {"titles": ["T"], "dates": ["2013-13"]}},
        "there is no month 13.",
        "não existe o mês 13.",
    ),
    (
        "POST",
        "transfers",
        {"items": [], "to": "http://a.example.org", "token": "x"},
        "0 items cannot be transferred at a time: 1 to ",
        "Não se podem transferir 0 itens de uma vez: de 1 a ",
    ),
    (
        "POST",
        "transfers",
        {"items": [LABEL], "to": "nowhere", "token": "x"},
        "'nowhere' is not the address of an archive: expected http://host[:port].",
        "'nowhere' não é o endereço de um acervo: esperava-se http://máquina[:porta].",
    ),
    (
        "POST",
        "imports",
        {"items": []},
        "0 items cannot be imported at a time: 1 to ",
        "Não se podem importar 0 itens de uma vez: de 1 a ",
    ),
    (
        "POST",
        "hand-overs/check",
        {"recipient": LABEL, "items": []},
        "0 items cannot be handed over at a time: 1 to ",
        "Não se podem entregar 0 itens de uma vez: de 1 a ",
    ),
    (
        "GET",
        f"keys?address={SILENT}",
        None,
        f"The archive at {SILENT} does not answer: ",
        f"O acervo em {SILENT} não responde: ",
    ),
    (
        "POST",
        "audits",
        {"repair": True, "from": "nowhere"},
        "'nowhere' is no archive to repair from: expected http://host.",
        "'nowhere' não é um acervo de onde se possa reparar: esperava-se http://máquina.",
    ),
]


@pytest.mark.parametrize(("method", "path", "body", "english", "portuguese"), REQUESTS)
def test_a_refusal_is_told_in_the_language_of_its_reader(  # noqa: PLR0913, PLR0917  # a table
    archive: ArchiveServer, method: str, path: str, body: object, english: str, portuguese: str
) -> None:
    told, language = detail(archive, method, path, body)
    assert english in told
    assert language == "en"
    told, language = detail(archive, method, path, body, **PORTUGUESE)
    assert portuguese in told
    assert language == "pt-BR"


def zip_of(*names: str) -> bytes:
    packed = io.BytesIO()
    with ZipFile(packed, "w") as written:
        for name in names:
            written.writestr(name, b"x")
    return packed.getvalue()


@pytest.mark.parametrize(
    ("content", "portuguese"),
    [
        (b"text", "Não é um arquivo zip nem tar."),
        (zip_of("a.txt")[:-1], "Está cortado: falta o diretório que fica no fim"),
        (
            zip_of("../a.txt"),
            "A sua entrada '../a.txt' não pode ser desempacotada: \"..\" não é um nome.",
        ),
        (zip_of("a.txt", "A.txt"), "nem todo sistema de arquivos a distingue de 'a.txt'."),
    ],
)
def test_what_is_wrong_with_a_zip_file_is_told_too(
    archive: ArchiveServer, content: bytes, portuguese: str
) -> None:
    id_ = archive.open_deposit()
    assert archive.send(id_, "all.zip", content).status == 201
    path = f"deposits/{id_}/unpacking"
    assert portuguese in detail(archive, "POST", path, {"path": "all.zip"}, **PORTUGUESE)[0]


def test_what_forbids_a_transfer_is_told_too(archive: ArchiveServer) -> None:
    item: dict[str, Any] = archive.deposit({"a": b"a"})
    body = {"items": [item["rep"]], "to": archive.address, "token": "x"}
    told, _ = detail(archive, "POST", "transfers", body, **PORTUGUESE)
    assert told == f"'{archive.address}' é este mesmo acervo: nada se transfere para lá."
    marked = archive.api("PATCH", f"items/{item['rep']}", {"transferable": False})
    assert marked.status == 200
    body["to"] = "http://127.0.0.1:1"
    told, _ = detail(archive, "POST", "transfers", body, **PORTUGUESE)
    assert "está marcado como não transferível: o seu Original fica neste acervo." in told
