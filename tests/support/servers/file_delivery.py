"""A real server on a real socket that delivers the files of one folder, for tests."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from threading import Thread
from typing import Final

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ibi.archive.rules.file_path import check_path
from ibi.archive.storage.files.folder_listing import LocalFile
from ibi.archive.web.delivery.file_delivery import Content, deliver
from ibi.errors import FileNameError
from ibi.foundation.system.safe_open import open_beneath
from ibi.foundation.web.bounded_http import BoundedHttp
from tests.support.waiting import PATIENCE, wait_until

PREFIX: Final = b"/doc/"


def opened_beneath(root: Path, path: str) -> int:
    """Open a file as the archive does."""
    return open_beneath(root, check_path(path).split("/"))


def decoded(raw_path: bytes) -> str:
    """Decode the path of a URL, once; what is not UTF-8 is ISO 8859-1."""
    pieces = raw_path.removeprefix(PREFIX).split(b"%")
    raw = pieces[0]
    for piece in pieces[1:]:
        try:
            raw += bytes([int(piece[:2], 16)]) + piece[2:]
        except ValueError:
            raw += b"%" + piece
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("iso-8859-1")


def file_app(
    root: Path,
    opened: Callable[[Path, str], int] = opened_beneath,
    more: Callable[[Request, Content], Content] = lambda _, content: content,
) -> Starlette:
    """Deliver what lies in a folder; `more` may say more of a file."""

    async def answer(request: Request) -> Response:
        path = decoded(request.scope["raw_path"])
        try:
            fd = opened(root, path)
        except (FileNameError, OSError, ValueError):
            raise HTTPException(HTTPStatus.NOT_FOUND) from None
        name = path.rpartition("/")[2]
        content = Content(file=LocalFile(fd), name=name)
        return await deliver(request, more(request, content))

    return Starlette(routes=[Route("/{path:path}", answer)])


@contextmanager
def served(
    app: Starlette, protocol: type[HttpToolsProtocol] = BoundedHttp, loop: str = "uvloop"
) -> Iterator[tuple[str, int]]:
    """Serve while the block runs; yield the address."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        config = uvicorn.Config(
            app, http=protocol, loop=loop, log_config=None, server_header=False, lifespan="off"
        )
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            wait_until(lambda: server.started)
            yield listener.getsockname()
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive()
