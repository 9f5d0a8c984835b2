"""Threats, row 6: response splitting through Content-Disposition, Link, Content-Type, Location.

`IBI_ATTACKS=full` tries 2,000 payloads.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.protocols.http import httptools_impl

from ibi.archive.storage.files.folder_listing import LocalFile
from ibi.archive.web.delivery import file_delivery
from ibi.archive.web.delivery.file_delivery import Content, deliver
from ibi.foundation.web.header_values import uri
from tests.support.clients.raw_http import Answer, Connection
from tests.support.servers.file_delivery import served

COUNT: Final = 2_000 if os.environ.get("IBI_ATTACKS") == "full" else 20

PIECES: Final = [
    *("\r\n", "\n", "\r", "\0", "\t", "\x0b", "\x0c", "\x1b", "\x7f", "\x85", "\u2028", "\u560a"),
    *("\u560d\u560a", "\udc8d\udc8a", "%0d%0a", "%0D%0A%20", "\\r\\n", "\r\n ", "\r\n\r\n"),
    *("X-Evil: 1", "Set-Cookie: a=b", "Content-Length: 0", "Transfer-Encoding: chunked"),
    *(
        "HTTP/1.1 200 OK\r\n\r\n",
        "<script>",
        '"',
        '"; filename="evil',
        "'",
        "\\",
        ";",
        ",",
        "<",
        ">",
    ),
    *(
        '>; rel="evil"',
        "; filename*=UTF-8''evil",
        "é",
        "日本",
        "🛰",
        "a",
        "b.txt",
        " ",
        "%",
        "/",
        "=",
    ),
]
DISPOSITION: Final = re.compile(
    r"inline; filename=\"([ !#$&-\[\]-~]*)\"(?:; filename\*=UTF-8''([A-Za-z0-9!#$&+.^_`|~%-]*))?"
)
LINK: Final = re.compile(
    r"<[!#-;=?-\[\]_a-z~]*>; rel=\"cite-as\", <[!#-;=?-\[\]_a-z~]*>; rel=\"describedby\""
)
EXPECTED: Final = {
    *("date", "etag", "last-modified", "cache-control", "accept-ranges", "x-content-type-options"),
    *("cross-origin-resource-policy", "referrer-policy", "content-type", "content-disposition"),
    *("content-security-policy", "link", "content-length"),
}


def payloads() -> list[str]:
    chance = random.Random(6)  # noqa: S311  # which payloads
    made = [f"a{end}X-Evil: 1" for end in ("\r\n", "\n", "\r", "\u560d\u560a", "%0d%0a")]
    while len(made) < COUNT:
        made.append("".join(chance.choices(PIECES, k=chance.randint(1, 8))))
    return made


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, int]]:
    (tmp_path / "file").write_bytes(b"the file")
    made = payloads()

    async def file(request: Request) -> Response:
        payload = made[request.path_params["number"]]
        content = Content(
            file=LocalFile(os.open(tmp_path / "file", os.O_RDONLY)),
            name=payload,
            media_type=payload,
            cite_as=payload,
            links=((payload, "describedby", ""),),
        )
        return await deliver(request, content)

    async def redirect(request: Request) -> Response:
        location = uri(made[request.path_params["number"]])
        return Response(status_code=HTTPStatus.FOUND, headers={"Location": location})

    routes = [Route("/file/{number:int}", file), Route("/redirect/{number:int}", redirect)]
    with served(Starlette(routes=routes)) as address:
        yield address


def faults(client: Connection, answer: Answer, expected: set[str], body: bytes) -> Iterator[str]:
    """Yield what is wrong with an answer: more than one, or more than what was meant."""
    if {name for name, _ in answer.headers} != expected or len(answer.headers) != len(expected):
        yield f"headers {answer.headers}"
    if answer.body != body:
        yield f"body {answer.body!r}"
    client.send("/file/0", method="HEAD")
    following = client.receive(bodiless=True)
    if following.status != HTTPStatus.OK or "accept-ranges" not in following:
        yield f"followed by {following}"


def test_a_file_has_the_headers_that_were_meant(server: tuple[str, int]) -> None:
    with Connection(server) as client:
        for number, payload in enumerate(payloads()):
            answer = client.ask(f"/file/{number}")
            assert list(faults(client, answer, EXPECTED, b"the file")) == [], payload
            disposition = DISPOSITION.fullmatch(answer["content-disposition"])
            assert disposition, payload
            name = disposition[1] if disposition[2] is None else unquote(disposition[2])
            assert name == payload.encode(errors="replace").decode()
            assert LINK.fullmatch(answer["link"]), payload


def test_a_redirection_leads_to_one_place(server: tuple[str, int]) -> None:
    with Connection(server) as client:
        for number, payload in enumerate(payloads()):
            answer = client.ask(f"/redirect/{number}")
            expected = {"date", "location", "content-length"}
            assert list(faults(client, answer, expected, b"")) == [], payload
            assert answer["location"].isprintable()


def test_the_server_refuses_once_more(
    server: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_delivery, "content_disposition", _unguarded)
    with Connection(server) as client:
        client.send("/file/0")
        assert b"X-Evil" not in client.rest()


def test_the_checks_bite(server: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: without either guard, a header gets in."""
    monkeypatch.setattr(file_delivery, "content_disposition", _unguarded)
    monkeypatch.setattr(httptools_impl, "HEADER_VALUE_RE", re.compile(rb"(?!)"))
    with Connection(server) as client:
        answer = client.ask("/file/0")
        assert ("x-evil", '1"') in answer.headers
        assert list(faults(client, answer, EXPECTED, b"the file"))


def _unguarded(name: str, *, attachment: bool) -> str:
    del attachment
    return f'inline; filename="{name}"'
