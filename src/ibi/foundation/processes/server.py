"""Runs a service in the foreground, until SIGINT or SIGTERM."""

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
"""The largest number of connections of a server; further ones are answered 503."""
FILES_A_CONNECTION: Final = 3
"""Descriptors of one connection at most: its socket, the file that its client takes, and a
duplicate of the socket while the client does not read."""
OTHER_FILES: Final = 1000
"""Descriptors of a process beside those: databases, outgoing connections, and connections that are
answered 503."""


@dataclass(frozen=True, slots=True)
class ServedApp:
    """An application, and the socket on which it is served."""

    app: ASGIApp
    listener: socket.socket
    http: type[BoundedHttp] = BoundedHttp

    def config(self, servers: int = 1) -> uvicorn.Config:
        """Return the configuration of its server, one of so many in this process."""
        return uvicorn.Config(
            self.app,
            http=self.http,
            log_config=None,
            access_log=False,
            ws="none",
            limit_concurrency=connections_allowed(servers),
            server_header=False,
            proxy_headers=False,  # which proxies are trusted is a setting of ours
            log_level="critical",  # the application itself logs errors, once
            timeout_graceful_shutdown=5,
        )


def run(
    app: ASGIApp,
    listener: socket.socket,
    on_ready: Callable[[], None],
    on_stop: Callable[[], None],
    http: type[BoundedHttp] = BoundedHttp,
) -> None:
    """Serve an application; call `on_ready` once it answers, and `on_stop` before it stops."""
    log_to_stderr()
    interrupt_on_sigterm()
    server = Server(ServedApp(app, listener, http).config(), on_ready, on_stop)
    with suppress(KeyboardInterrupt), report_startup_failure():  # an interrupt is the normal end
        server.run(sockets=[listener])


def connections_allowed(servers: int = 1) -> int:
    """Raise the limit of open files, and return how many connections each server may have.

    The system may grant less than MOST_CONNECTIONS need. Then fewer are allowed, because a
    process without descriptors answers no client at all.
    """
    files = raise_file_limit(servers)
    if files is None:
        return MOST_CONNECTIONS
    left = files - min(OTHER_FILES, files // 4)
    return max(1, min(MOST_CONNECTIONS, left // (FILES_A_CONNECTION * servers)))


def raise_file_limit(servers: int = 1) -> int | None:
    """Raise the limit of open files to what so many servers need.

    Returns the limit, which may be lower; None if there is none.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = servers * FILES_A_CONNECTION * MOST_CONNECTIONS + OTHER_FILES
    if soft == resource.RLIM_INFINITY:
        return None
    if soft < wanted:
        granted = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        with suppress(ValueError, OSError):  # then the limit stays
            resource.setrlimit(resource.RLIMIT_NOFILE, (granted, hard))
            return granted
    return soft


@contextmanager
def report_startup_failure() -> Generator[None, None, None]:
    """Raise an error if a service could not start: uvicorn only exits, and logs the reason."""
    try:
        yield
    except SystemExit:
        raise RequestError("The service could not start: its log says why.") from None


def interrupt_on_sigterm() -> None:
    """Let SIGTERM end this process as SIGINT does, so that `finally` blocks run.

    uvicorn shuts down in order too, but then raises the signal again.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)


class Server(uvicorn.Server):
    """A server that calls back when it is ready, and before it stops."""

    def __init__(
        self, config: uvicorn.Config, on_ready: Callable[[], None], on_stop: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._on_stop = on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and call `on_ready`."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()
            if sys.stdout is not None:
                sys.stdout.flush()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Call `on_stop`, and stop."""
        self._on_stop()
        await super().shutdown(sockets)


def run_together(
    services: Sequence[ServedApp],
    on_ready: Callable[[], Coroutine[None, None, None]],
    on_stop: Callable[[], None],
    *,
    verbose: bool = True,
) -> None:
    """Serve applications that need each other, in one event loop.

    `on_ready` starts when all of them answer, and may send them requests; `on_stop` runs while all
    still answer. Without `verbose`, only warnings and errors are logged.
    """
    log_to_stderr(logging.INFO if verbose else logging.WARNING)
    loop_factory = services[0].config().get_loop_factory()
    with suppress(KeyboardInterrupt), asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(_ServerGroup(services).serve(on_ready, on_stop))


class _ServerGroup:
    """Servers that start and stop together."""

    def __init__(self, services: Sequence[ServedApp]) -> None:
        self._answering = {service.listener: asyncio.Event() for service in services}
        self._stopping = asyncio.Event()
        self._servers = {
            service.listener: _GroupedServer(
                service.config(len(services)), self._answering[service.listener].set, lambda: None
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
            # A task that ends by itself has failed, and all others end with it.
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
        """Stop in order; a second signal does not wait for open connections."""
        for server in self._servers.values():
            server.force_exit = self._stopping.is_set()
        self._stopping.set()


class _GroupedServer(Server):
    """A server that leaves signals to its group."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def address_of(listener: socket.socket) -> str:
    """Return the URL of a listener on this machine."""
    address, port = listener.getsockname()[:2]
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def listening_at(listen: str) -> socket.socket:
    """Return a socket that listens at ADDRESS:PORT; RequestError if that fails."""
    bare, port = place_to_listen(listen)
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((bare, port))
        # At once: until it listens, another process could begin to listen at the same port.
        listener.listen()
    except (OSError, TypeError, UnicodeError) as failure:  # also if the text cannot be a name
        listener.close()
        msg = f"Cannot listen at {shown(listen)}: {getattr(failure, 'strerror', None) or failure}."
        raise RequestError(msg) from None
    return listener


class _Log:
    """Standard error, ignoring errors: a log on a full disk must not fail a request."""

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
    """Write the log to standard error; `known` values are added to every line."""

    def added(_: object, __: str, event: structlog.types.EventDict) -> structlog.types.EventDict:
        return {**event, **known}

    people = sys.stderr is not None and sys.stderr.isatty()
    renderer = structlog.dev.ConsoleRenderer() if people else structlog.processors.JSONRenderer()
    begun: list[structlog.types.Processor] = [
        *([added] if known else ()),
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*begun, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", _Log())),
    )
    # Log lines of the server and other libraries get the same format: one line each.
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=begun, processor=renderer)
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
