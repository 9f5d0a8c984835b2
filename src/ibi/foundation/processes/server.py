"""How a service of ours is run: in the foreground, until SIGINT or SIGTERM."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, TextIO, cast

import structlog
import uvicorn
from starlette.types import ASGIApp

from ibi.errors import RequestError, shown
from ibi.foundation.settings_file import place_to_listen
from ibi.foundation.web.bounded_http import BoundedHttp

MOST_CONNECTIONS: Final = 4000
"""More are told that the service is unavailable: one process has a bounded number of files."""


@dataclass(frozen=True, slots=True)
class ServedApp:
    """An application, and where it is served."""

    app: ASGIApp
    listener: socket.socket
    http: type[BoundedHttp] = BoundedHttp

    @property
    def config(self) -> uvicorn.Config:
        """How it is served."""
        raise_file_limit()
        return uvicorn.Config(
            self.app,
            http=self.http,
            log_config=None,
            access_log=False,
            ws="none",
            limit_concurrency=MOST_CONNECTIONS,
            server_header=False,
            proxy_headers=False,  # whose word is taken on an address is a setting of ours
            log_level="critical",  # what goes wrong is said once, by the application
            timeout_graceful_shutdown=5,
        )


def run(
    app: ASGIApp,
    listener: socket.socket,
    on_ready: Callable[[], None],
    on_stop: Callable[[], None],
    http: type[BoundedHttp] = BoundedHttp,
) -> None:
    """Serve an application; `on_ready` when it answers, `on_stop` before it stops to."""
    log_to_stderr()
    end_in_order()
    server = Server(ServedApp(app, listener, http).config, on_ready, on_stop)
    with suppress(KeyboardInterrupt), saying_so():  # how a service is ended, and no failure
        server.run(sockets=[listener])


def raise_file_limit() -> None:
    """Let this process have as many files as connections need, and calls to others besides."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * MOST_CONNECTIONS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        granted = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        with suppress(ValueError, OSError):  # then it is as it is
            resource.setrlimit(resource.RLIMIT_NOFILE, (granted, hard))


@contextmanager
def saying_so() -> Generator[None, None, None]:
    """Say that a service could not start: the server only exits, and the log has the reason."""
    try:
        yield
    except SystemExit:
        raise RequestError("The service could not start: its log says why.") from None


def end_in_order() -> None:
    """Let SIGTERM end this process as SIGINT does: what must be given back is given back.

    uvicorn ends in order too, but raises the signal that it was ended by once more then.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)


class Server(uvicorn.Server):
    """Says when it is ready, and that it stops."""

    def __init__(
        self, config: uvicorn.Config, on_ready: Callable[[], None], on_stop: Callable[[], None]
    ) -> None:
        """Call `on_ready` when it answers, `on_stop` before it stops to."""
        super().__init__(config)
        self._on_ready = on_ready
        self._on_stop = on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, and say so."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()
            if sys.stdout is not None:
                sys.stdout.flush()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say so, and stop."""
        self._on_stop()
        await super().shutdown(sockets)


def run_together(
    services: Sequence[ServedApp],
    on_ready: Callable[[], Coroutine[None, None, None]],
    on_stop: Callable[[], None],
    *,
    verbose: bool = True,
) -> None:
    """Serve applications that need each other, in one loop.

    `on_ready` begins when all of them answer, and may ask them; `on_stop` runs while all of them
    still do. Only who is `verbose` logs what went well.
    """
    log_to_stderr(logging.INFO if verbose else logging.WARNING)
    loop_factory = services[0].config.get_loop_factory()
    with suppress(KeyboardInterrupt), asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(_ServerGroup(services).serve(on_ready, on_stop))


class _ServerGroup:
    """Servers that begin and end together."""

    def __init__(self, services: Sequence[ServedApp]) -> None:
        self._answering = {service.listener: asyncio.Event() for service in services}
        self._stopping = asyncio.Event()
        self._servers = {
            service.listener: _GroupedServer(
                service.config, self._answering[service.listener].set, lambda: None
            )
            for service in services
        }

    async def serve(
        self, on_ready: Callable[[], Coroutine[None, None, None]], on_stop: Callable[[], None]
    ) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._stop)
        serving = [
            asyncio.create_task(server.serve(sockets=[listener]))
            for listener, server in self._servers.items()
        ]
        attending = asyncio.create_task(self._attend(on_ready))
        try:
            # Whichever ends by itself has failed, and all end with it.
            await asyncio.wait((attending, *serving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            attending.cancel()
            await asyncio.to_thread(on_stop)
            for server in self._servers.values():
                server.should_exit = True
            await asyncio.gather(*serving, return_exceptions=True)
        for task in (attending, *serving):
            if task.done() and not task.cancelled():
                task.result()

    async def _attend(self, on_ready: Callable[[], Coroutine[None, None, None]]) -> None:
        for answering in self._answering.values():
            await answering.wait()
        beginning = asyncio.create_task(on_ready())
        stopped = asyncio.create_task(self._stopping.wait())
        await asyncio.wait((beginning, stopped), return_when=asyncio.FIRST_COMPLETED)
        if not stopped.done():
            beginning.result()
            await stopped
        beginning.cancel()

    def _stop(self) -> None:
        """End in order; who insists does not wait for readers."""
        for server in self._servers.values():
            server.force_exit = self._stopping.is_set()
        self._stopping.set()


class _GroupedServer(Server):
    """A server that leaves signals to the company."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


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
        # At once: until somebody listens, another process could begin to at the same port.
        listener.listen()
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


def log_to_stderr(level: int = logging.INFO, **known: object) -> None:
    """Write the log to standard error; what is `known` stands in every line of it."""

    def told(_: object, __: str, event: structlog.types.EventDict) -> structlog.types.EventDict:
        return {**event, **known}

    people = sys.stderr is not None and sys.stderr.isatty()
    renderer = structlog.dev.ConsoleRenderer() if people else structlog.processors.JSONRenderer()
    begun: list[structlog.types.Processor] = [
        *([told] if known else ()),
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*begun, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", _Log())),
    )
    # What the server and other libraries say goes the same way: one line each, whatever is in it.
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=begun, processor=renderer)
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
