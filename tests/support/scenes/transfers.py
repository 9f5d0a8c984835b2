"""Small archives that transfer items to each other in one process, a step at a time.

The network between them, and every write of any of them, may be told to fail; whoever is killed
goes on from what is on its disk.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from ibi.archive.ports.maintenance import PeerArchive
from ibi.archive.recovery.rebuild import rebuild
from ibi.archive.rules.transfer_messages import Message, TransferReply
from ibi.archive.transfers.transfers import Transfers
from ibi.errors import ArchiveRefusedError, ArchiveUnreachableError
from ibi.identifier.label import parse
from ibi.model.item import Item, State
from tests.support.scenes.peer_archive import LocalPeer
from tests.support.scenes.small_archive import SmallArchive, forms

TOKEN: Final = "ibi_token"  # noqa: S105  # of nobody
WRITES: Final = {
    "catalogue.items": ("apply", "restore"),
    "catalogue.transfers": ("keep",),
    "catalogue.copies": ("keep", "drop"),
    "catalogue.deposits": ("open",),
    "store": ("decide", "finish", "discard"),
}
"""What a crash may come before, or after."""


class Killed(BaseException):
    """The process is no more."""


class Network:
    """The archives by their addresses, and what happens between them."""

    def __init__(self) -> None:
        """Connect nobody yet."""
        self.sides: dict[str, Side] = {}
        self.said: list[tuple[str, Message, TransferReply]] = []
        self.before: Callable[[str, Message], None] = lambda _to, _message: None
        """Is called before a message arrives; what it raises is what happens."""
        self.after: Callable[[str, Message, TransferReply], None] = lambda _to, _message, _answer: (
            None
        )
        """Is called before an answer arrives."""
        self.writes = 0
        self.kill_at: tuple[int, bool] | None = None
        """At which write of anybody, and whether after it."""

    def written(self, write: Callable[..., Any]) -> Callable[..., Any]:
        """Count a write, and kill who makes it if it is time."""

        def counted(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # as it is
            number, self.writes = self.writes, self.writes + 1
            if self.kill_at == (number, False):
                raise Killed
            result = write(*args, **kwargs)
            if self.kill_at == (number, True):
                raise Killed
            return result

        return counted

    def originals(self, label: str) -> list[str]:
        """Return who answers that it has the Original, after a restart of everybody."""
        return [
            address
            for address, side in self.sides.items()
            if (item := side.item(label)) is not None and item.state is State.ORIGINAL
        ]

    def settle(self, most: int = 200) -> None:
        """Let everybody take every step, until nothing is open."""
        for _ in range(most):
            for side in self.sides.values():
                side.step()
            if not any(side.open_ids() for side in self.sides.values()):
                return
        raise AssertionError([side.transfers.newest(100, "open") for side in self.sides.values()])


class Side:
    """One archive, with its transfers."""

    def __init__(self, network: Network, folder: Path, name: str, number: int) -> None:
        """Open the archive in a folder, as after a restart."""
        self.network = network
        self.folder = folder
        self.address = f"http://{name}.example.org"
        self.service = forms(900_000 + number)
        self.number = number
        self.small = SmallArchive(folder, minted=number * 1000)
        self.tokens = {TOKEN}
        self.source: Callable[[LocalPeer], None] = lambda _: None
        """Changes how others read from here."""
        network.sides[self.address] = self
        self._open()

    def _open(self) -> None:
        for part, names in WRITES.items():
            real = attrgetter(part)(self.small)
            for name in names:
                setattr(real, name, self.network.written(getattr(real, name)))
        self.transfers = Transfers(
            self.small.archive, self.address, self.service, self._peer, self._source
        )

    def restart(self) -> None:
        """Forget all that is not on the disk."""
        self.small.restart()
        self._open()

    def move(self, address: str) -> None:
        """Be somewhere else."""
        del self.network.sides[self.address]
        self.address = address
        self.network.sides[address] = self
        self.restart()

    def lose_catalogue(self) -> None:
        """Forget all that is not in the tree."""
        self.small.lose_catalogue()
        assert not [each for each in rebuild(self.small.archive) if each.fault]
        self._open()

    def item(self, label: str) -> Item | None:
        """Return what is here of an item."""
        held = self.small.catalogue.items.find(parse(label).canonical)
        return None if held is None else held.item

    def metadata(self, label: str) -> Item | None:
        """Return what describes it here."""
        item = self.item(label)
        return (
            None if item is None or item.metadata is None else self.item(str(item.metadata.label))
        )

    def files(self, label: str) -> dict[str, bytes]:
        """Return the bytes that are here."""
        place = self.folder / "col" / parse(label).spelling / "doc"
        return {
            path.relative_to(place).as_posix(): path.read_bytes()
            for path in sorted(place.rglob("*"))
            if path.is_file()
        }

    def open_ids(self) -> list[str]:
        """Return the transfers that have not ended."""
        return [each.exchange.id for each in self.transfers.newest(100, "open")]

    def step(self) -> None:
        """Take each open transfer a step further."""
        for id_ in self.open_ids():
            self.transfers.step(id_)

    def offer(self, label: str, to: Side, token: str = TOKEN) -> str:
        """Begin to transfer an item."""
        [begun] = self.transfers.offer([label], to.address, token, "me")
        return begun.exchange.id

    def _peer(self, address: str, token: str) -> _Peer:
        return _Peer(self.network, address, token)

    def _source(self, address: str, ticket: str) -> PeerArchive:
        other = self.network.sides.get(address)
        if other is None:
            raise ArchiveUnreachableError(address, "nobody is there")
        source = _Guarded(other, ticket)
        other.source(source)
        return source


class _Guarded(LocalPeer):
    """Lets nobody read without the ticket."""

    def __init__(self, side: Side, ticket: str) -> None:
        super().__init__(side.small.archive, side.address)
        self._side = side
        self._ticket = ticket

    def manifest(self, label: str) -> bytes:
        held = self._side.small.archive.get(label)
        if not self._side.transfers.is_ticket(held.item, self._ticket):
            raise ArchiveRefusedError(403, "This is not for you.")
        return super().manifest(label)


class _Peer:
    """Brings a message to another archive, and its answer back."""

    def __init__(self, network: Network, address: str, token: str) -> None:
        self._network = network
        self._address = address
        self._token = token

    def say(self, message: Message) -> TransferReply:
        network = self._network
        network.before(self._address, message)
        side = network.sides.get(self._address)
        if side is None:
            raise ArchiveUnreachableError(self._address, "nobody is there")
        if self._token not in side.tokens:
            raise ArchiveRefusedError(401, "This needs a token.")
        answer = side.transfers.hear(message)
        network.said.append((self._address, message, answer))
        network.after(self._address, message, answer)
        return answer

    def close(self) -> None:
        pass


def copied(template: Path, folder: Path) -> Path:
    """Return a folder with an archive like another one, which takes less long than to make it."""
    shutil.copytree(template, folder)
    return folder
