"""Outbound ports of an archive, over the simulated network."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ibi.archive.peers.resolver_client import _outcome
from ibi.archive.rules.announcement import Link, LinkRequest, Outcome, Unreachable
from ibi.archive.rules.transfer_messages import Message
from ibi.archive.rules.transfer_messages import TransferReply as Said
from ibi.errors import ArchiveRefusedError, ArchiveUnreachableError, StateError, UnknownError
from ibi.foundation.web.problems import Problem
from ibi.identifier.label import Label
from ibi.wire.requests import encode
from tests.simulation.world.network import Network, UnreachableError
from tests.simulation.world.virtual_time import wait

if TYPE_CHECKING:
    from tests.simulation.programs.archive_host import ArchiveHost
    from tests.simulation.programs.resolver_host import ResolverHost
    from tests.simulation.world.machines import Host
    from tests.simulation.world.world import World

_PIECE: Final = 32
"""Bytes of a file per request."""
_PATIENCE: Final = 20.0
_OK: Final = 200
_REFUSED: Final = range(400, 500)
_NOT_FOUND: Final = 404


def netloc_of(address: str) -> str:
    """Return the host and port of a URL."""
    return urlsplit(address).netloc


class SimulatedPeer:
    """The receiver of a transfer."""

    def __init__(self, network: Network[Host], sender: str, address: str) -> None:
        self._network = network
        self._sender = sender
        self._address = address

    def say(self, message: Message) -> Said:
        """Send a message; return the reply."""
        what = f"{type(message).__name__} {message.id[:6]}"
        call = self._network.call(
            self._sender,
            netloc_of(self._address),
            what,
            lambda host: as_archive(host).receive(message),
            _PATIENCE,
        )
        try:
            answer = wait(call)
        except UnreachableError as fault:
            raise ArchiveUnreachableError(self._address, str(fault)) from None
        if isinstance(answer, Problem):
            raise ArchiveRefusedError(answer.status, answer.detail)
        return answer

    def close(self) -> None:
        """Do nothing: there is no connection to close."""


class SimulatedSource:
    """Another archive, from which items are copied."""

    def __init__(self, network: Network[Host], sender: str, address: str, ticket: str = "") -> None:
        """Connect to an address; `ticket` is not checked here."""
        del ticket
        self._network = network
        self._sender = sender
        self.address = address

    def manifest(self, label: str) -> bytes:
        """Return the manifest of an item."""
        call = self._network.call(
            self._sender,
            netloc_of(self.address),
            "a request for a manifest",
            lambda host: as_archive(host).read_manifest(label),
            _PATIENCE,
        )
        return self._known(self._waited(call), "item", label)

    @contextmanager
    def read(self, place: str, path: str, offset: int) -> Iterator[Iterator[bytes]]:
        """Return the bytes of a file of an item from an offset on."""
        yield self._pieces(place, path, offset)

    def _pieces(self, place: str, path: str, offset: int) -> Iterator[bytes]:
        while True:
            at = offset
            call = self._network.call(
                self._sender,
                netloc_of(self.address),
                "a request for bytes",
                lambda host: as_archive(host).read_bytes(place, path, at, _PIECE),  # noqa: B023
                _PATIENCE,
            )
            piece = self._known(self._waited(call), "file", path)
            if not piece:
                return
            yield piece
            offset += len(piece)

    def _waited(self, call: Coroutine[Any, Any, bytes | None]) -> bytes | None:
        try:
            return wait(call)
        except UnreachableError as fault:
            raise ArchiveUnreachableError(self.address, str(fault)) from None

    @staticmethod
    def _known(found: bytes | None, what: str, name: str) -> bytes:
        if found is None:
            raise UnknownError(what, name)
        return found

    def close(self) -> None:
        """Do nothing: there is no connection to close."""


class OriginalFinder:
    """Finds Originals through the resolvers to which an archive is linked."""

    def __init__(self, world: World, own: ArchiveHost) -> None:
        self._world = world
        self._own = own

    def __call__(self, label: Label) -> str:
        """Return the address of the archive that has the Original of an item."""
        for link in self._own.links.all():
            call = self._world.network.call(
                self._own.name,
                netloc_of(link.resolver),
                "a search for an Original",
                lambda host: as_resolver(host).find_original(label),
                60.0,
            )
            try:
                location = wait(call)
            except UnreachableError:
                continue
            if location:
                return f"http://{netloc_of(location)}"
        raise StateError(f"No resolver says where the Original of {label} is.")


class SimulatedResolverClient:
    """Sends inclusion and exclusion requests, and notices, of an archive to resolvers."""

    def __init__(self, network: Network[Host], own: ArchiveHost) -> None:
        self._network = network
        self._own = own

    def ask(self, link: Link, request: LinkRequest, seconds: float) -> Outcome:
        """Send a request; return the outcome."""
        query = encode(request)
        call = self._network.call(
            self._own.name,
            netloc_of(link.resolver),
            request.subject,
            lambda host: as_resolver(host).include(query, f"192.0.2.{self._own.number}"),
            seconds,
        )
        try:
            status, body = wait(call)
        except UnreachableError as fault:
            return Unreachable(str(fault))
        return _outcome(request, status, body)

    def notify(self, link: Link, service: Label, seconds: float) -> bool:
        """Notify a resolver that the digest has changed."""
        call = self._network.call(
            self._own.name,
            netloc_of(link.resolver),
            "a notice of changes",
            lambda host: as_resolver(host).take_notice(service.canonical),
            seconds,
        )
        try:
            wait(call)
        except UnreachableError:
            return False
        return True


def as_archive(host: Host) -> ArchiveHost:
    """Return the host as an archive; UnreachableError if it is none."""
    from tests.simulation.programs.archive_host import ArchiveHost  # noqa: PLC0415  # each needs the other

    if not isinstance(host, ArchiveHost):
        raise UnreachableError("it does not speak as archives do")
    return host


def as_resolver(host: Host) -> ResolverHost:
    """Return the host as a resolver; UnreachableError if it is none."""
    from tests.simulation.programs.resolver_host import ResolverHost  # noqa: PLC0415  # likewise

    if not isinstance(host, ResolverHost):
        raise UnreachableError("it does not speak as resolvers do")
    return host
