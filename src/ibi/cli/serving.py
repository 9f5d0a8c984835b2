"""How a service of ours is run: in the foreground, until SIGINT or SIGTERM."""

from __future__ import annotations

import logging
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TextIO, cast

import structlog
import uvicorn
from starlette.types import ASGIApp

from ibi.errors import RequestError, shown
from ibi.settings import place_to_listen
from ibi.web.bounded_http import BoundedHttp

MOST_CONNECTIONS: Final = 4000
"""More are told that the service is unavailable: one process has a bounded number of files."""


def run(
    app: ASGIApp,
    listener: socket.socket,
    on_ready: Callable[[], None],
    on_stop: Callable[[], None],
) -> None:
    """Serve an application; `on_ready` when it answers, `on_stop` before it stops to."""
    _log_to_stderr()
    # uvicorn ends in order, then raises the signal that it was ended by once more. By default
    # SIGTERM would kill us there, before what must be given back is given back.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    config = uvicorn.Config(
        app,
        http=BoundedHttp,
        log_config=None,
        access_log=False,
        ws="none",
        limit_concurrency=MOST_CONNECTIONS,
        server_header=False,
        log_level="critical",  # what goes wrong is said once, by the application
        timeout_graceful_shutdown=5,
    )
    with suppress(KeyboardInterrupt):  # how a service is ended, and no failure
        _Server(config, on_ready, on_stop).run(sockets=[listener])


class _Server(uvicorn.Server):
    """Says when it is ready, and that it stops."""

    def __init__(
        self, config: uvicorn.Config, on_ready: Callable[[], None], on_stop: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._on_stop = on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()
            if sys.stdout is not None:
                sys.stdout.flush()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_stop()
        await super().shutdown(sockets)


def address_of(listener: socket.socket) -> str:
    """Return where a listener is reached on this machine."""
    address, port = listener.getsockname()[:2]
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def listening_at(listen: str) -> socket.socket:
    """Listen at ADDRESS:PORT."""
    bare, port = place_to_listen(listen)
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((bare, port))
    except (OSError, TypeError, UnicodeError) as failure:  # no text that could be a name, too
        listener.close()
        msg = f"Cannot listen at {shown(listen)}: {getattr(failure, 'strerror', None) or failure}."
        raise RequestError(msg) from None
    return listener


class _Log:
    """Standard error, if it can be written: a log on a full disk is no reason to fail a reader."""

    @staticmethod
    def write(text: str) -> None:
        if sys.stderr is not None:
            with suppress(OSError):
                sys.stderr.write(text)

    @staticmethod
    def flush() -> None:
        if sys.stderr is not None:
            with suppress(OSError):
                sys.stderr.flush()


def _log_to_stderr() -> None:
    people = sys.stderr is not None and sys.stderr.isatty()
    renderer = structlog.dev.ConsoleRenderer() if people else structlog.processors.JSONRenderer()
    begun: list[structlog.types.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*begun, renderer],
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", _Log())),
    )
    # What the server and other libraries say goes the same way: one line each, whatever is in it.
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=begun, processor=renderer)
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
