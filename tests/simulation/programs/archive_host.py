"""An archive of the simulated world: the real code on a simulated machine and network."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request

from ibi.archive.archive import Archive
from ibi.archive.copies.copies import Copies
from ibi.archive.copies.fetch import SourcePool
from ibi.archive.deposits.deposits import Deposits
from ibi.archive.housekeeping import UsedKeyCleanup
from ibi.archive.resolver_links.announcer import Announcer, CatalogueLinks
from ibi.archive.resolver_links.change_notifier import ChangeNotifier
from ibi.archive.resolver_links.digest_log import DigestBackfill, DigestLog
from ibi.archive.rules.answer import Identity
from ibi.archive.rules.deposit_request import DepositRequest
from ibi.archive.rules.manifest import manifest
from ibi.archive.rules.transfer_messages import Message, TransferReply
from ibi.archive.rules.url_keys import UrlKeys
from ibi.archive.storage.catalogue.catalogue import sql_catalogue
from ibi.archive.storage.migrations import ARCHIVE_MIGRATIONS
from ibi.archive.transfers.transfers import Transfers
from ibi.archive.web.digest import DigestEndpoint
from ibi.archive.web.protocol import ArchiveService
from ibi.errors import IbiError, UnknownError
from ibi.foundation.web.problems import Problem, problem_of
from ibi.identifier.label import Label, parse
from ibi.minting.minter import Minter
from ibi.minting.rules.subsystem import Subsystem
from ibi.minting.storage.ledger import SqlLedger
from ibi.model.archive_record import ArchiveRecord
from ibi.model.item import State
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord, Text
from ibi.wire import requests
from ibi.wire.requests import Acknowledgment
from tests.simulation.programs.archive_transport import (
    OriginalFinder,
    SimulatedPeer,
    SimulatedResolverClient,
    SimulatedSource,
)
from tests.simulation.world.machines import Host
from tests.simulation.world.memory_store import MemoryStore
from tests.simulation.world.stored_tree import StoredTree
from tests.simulation.world.virtual_time import run_blocking

if TYPE_CHECKING:
    from tests.simulation.world.world import World

TOKEN: Final = "token"  # noqa: S105  # no secret
_ROUND: Final = 1800.0
"""Seconds between two rounds of housekeeping."""
_NOTIFIER_TICK: Final = 2.0
"""Seconds between two reads of the position of the log."""


class ArchiveHost(Host):
    """A machine on which an archive runs."""

    def __init__(self, world: World, number: int, *, publishes: bool) -> None:
        self.number = number
        self.publishes = publishes
        """Whether it publishes a digest; archives of other implementations do not."""
        super().__init__(world, f"a{number}", f"a{number}.example.org")
        self.tree = StoredTree()
        self.subsystem = Subsystem(host=self.address, ip=f"150.163.34.{number}")
        self.service: Forms | None = None
        self.catalogue_database = self.disk.database("catalogue", ARCHIVE_MIGRATIONS)
        world.judge.watch(self)

    @property
    def base(self) -> str:
        """The address as a URL."""
        return f"http://{self.address}"

    @property
    def id(self) -> str:
        """The service label by which resolvers know the archive."""
        return self.service.label.canonical if self.service is not None else ""

    def open(self) -> None:
        """Build the services of the archive on what is on the disk."""
        clock = self.clock
        self.catalogue = sql_catalogue(self.catalogue_database, quick=True)
        ledger = SqlLedger(self.disk.database("ledger"))
        self.minter = Minter(self.subsystem, ledger, clock, self.memory)
        store = MemoryStore(self.tree, clock)
        self.archive = Archive(self.catalogue, store, self._mint, clock)
        founded = self.archive.create_service(MetadataRecord(titles=(Text(self.name),)), "founder")
        self.service = founded.forms
        self.identity = Identity(self.base, founded.forms)
        secret = self.catalogue.settings.keep("urlkeys", "5a" * 32)
        keys = UrlKeys(bytes.fromhex(secret))
        self.answering = ArchiveService(self.catalogue, self.identity, keys, clock)
        self.used_keys = UsedKeyCleanup(self.catalogue.statistics, clock)
        self.digest = DigestEndpoint(DigestLog(self.catalogue.digest), published=self.publishes)
        self.filling = DigestBackfill(self.catalogue.digest)
        self.deposits = Deposits(self.archive, _unpack)
        self.links = CatalogueLinks(self.catalogue.links)
        network, name = self.world.network, self.name
        self.transfers = Transfers(
            self.archive,
            self.base,
            founded.forms,
            lambda address, _: SimulatedPeer(network, name, address),
            lambda address, ticket: SimulatedSource(network, name, address, ticket),
        )
        self.copies = Copies(self.archive, OriginalFinder(self.world, self), self.base)
        self.notifier = ChangeNotifier(
            self.catalogue.digest,
            founded.forms.label,
            self.links.all,
            SimulatedResolverClient(network, self),
            clock,
            tick=_NOTIFIER_TICK,
        )
        self.announcer = Announcer(
            self.links,
            SimulatedResolverClient(network, self),
            self._record,
            clock,
            observe=lambda _: None,
            jitter=self.world.seeded.stream(f"jitter/{name}").random,
        )

    def _mint(self, count: int) -> Sequence[Forms]:
        minted = [Forms.of(each.rep, each.ibip) for each in self.minter.mint_many(count)]
        self.world.judge.check_minted(
            self.name, [label.canonical for each in minted for label in each]
        )
        return minted

    def _record(self) -> ArchiveRecord:
        assert self.service is not None
        ip = f"192.0.2.{self.number}"
        return ArchiveRecord(self.address, self.service.label, ip, "ibi-0.1", "me@example.org")

    async def begin(self) -> None:
        """Start the background work."""
        self.answering.counting.open()
        self.filling.start()
        if self.publishes:
            self.notifier.start()
        self.transfers.start()
        self.announcer.start()
        assert self._running is not None
        self._running.spawn(self._rounds())

    async def _rounds(self) -> None:
        """Run the housekeeping at intervals, as `ibi.archive.housekeeping` does."""
        while True:
            with suppress(IbiError):
                await run_blocking(self.deposits.sweep)
            with suppress(IbiError):
                await run_blocking(self.used_keys.forget)
            await asyncio.sleep(_ROUND)

    async def end(self) -> None:
        """Stop in order."""
        await run_blocking(self.announcer.stop)
        await run_blocking(self.transfers.stop)
        await run_blocking(self.notifier.stop)
        await self.answering.counting.close()
        await run_blocking(self.minter.close)

    def on_power_loss(self) -> None:
        """Drop bytes that were not durable."""
        self.tree.lose_power()

    # --- requests of other programs ---

    async def answer_resolver(
        self, service: str, query: str, *, is_true: bool = True
    ) -> tuple[int, bytes, bool]:
        """Answer a resolver; return status, body, and whether the answer is for one client only.

        `is_true` is False for forged acknowledgments, which the judge must not count.
        """
        if parse(service) not in tuple(self.identity.service):
            return 404, b"", False
        scope = {"type": "http", "method": "GET", "query_string": query.encode(), "headers": []}
        said = requests.decode(query)
        if isinstance(said, Acknowledgment) and is_true:
            self.world.judge.check_acknowledgment(self, said)
        answer = await self.answering.serve(Request(scope))
        if isinstance(said, Acknowledgment):
            self.world.judge.check_counts(self)
        personal = "private" in answer.headers.get("cache-control", "")
        return answer.status_code, bytes(answer.body), personal

    async def digest_page(self, epoch: str, after: int) -> tuple[int, bytes]:
        """Return the status and body of a page of the digest."""
        query = f"epoch={epoch}&after={after}" if after else ""
        scope = {"type": "http", "method": "GET", "query_string": query.encode(), "headers": []}
        try:
            answer = await self.digest.page(Request(scope))
        except (IbiError, HTTPException) as fault:
            return problem_of(fault)[0].status, b""
        return answer.status_code, bytes(answer.body)

    async def receive(self, message: Message) -> TransferReply | Problem:
        """Answer a transfer message of another archive."""
        return await _problems(run_blocking(self.transfers.hear, message))

    async def read_manifest(self, label: str) -> bytes | None:
        """Return the manifest of an item, or None if it is not here."""
        held = self.catalogue.items.find(parse(label).canonical)
        if held is None:
            return None
        return manifest(replace(held.item, transfer=None), self.archive.files(held))

    async def read_bytes(self, place: str, path: str, offset: int, count: int) -> bytes | None:
        """Return bytes of a file, or None if it is not here."""
        held = self.catalogue.items.find(parse(place).canonical)
        if held is None or held.item.state is State.DELETED:
            return None
        try:
            return self.archive.store.open(place, path).read(offset, count)
        except UnknownError:
            return None

    # --- actions of people; they block, so they run in a greenlet ---

    def open_deposit(self, title: str) -> str:
        """Open a deposit; return its id."""
        return self.deposits.open(DepositRequest(metadata={"title": title}), "me").id

    def send(self, deposit: str, path: str, content: bytes, *, is_all: bool) -> int:
        """Send the missing part of a file; return the number of bytes that are here."""
        staged = {each.path: each for each in self.deposits.staged(deposit)}.get(path)
        if staged is not None and staged.file is not None:
            return staged.size
        here = 0 if staged is None else min(staged.size, len(content))
        with self.deposits.receive(deposit, path, here) as sink:
            sink.write(content[here:])
            if is_all:
                sink.finish()
        return len(content)

    def complete(self, deposit: str, *, is_whole: bool = True) -> Label:
        """Complete a deposit, twice; when this returns, the item is durable."""
        label = self.deposits.complete(deposit, "me").item.forms.label
        if not is_whole:
            self.world.violate(f"{self.name} made {label} of half a deposit")
        # The answer may be lost: the same request again must give the same label.
        again = self.deposits.complete(deposit, "me").item.forms.label
        if again != label:
            self.world.violate(f"one deposit became {label}, and then {again}")
        return label

    def revise(self, label: Label, path: str, content: bytes) -> Label:
        """Replace a file; when this returns, the change is durable."""
        opened = self.deposits.open(DepositRequest(item=str(label)), "me").id
        self.send(opened, path, content, is_all=True)
        return self.complete(opened)

    def copy(self, label: Label, address: str = "") -> bool:
        """Copy an item from another archive."""
        with self.sources() as sources:
            return self.copies.copy(sources, label, "me", address)

    def refresh(self, label: Label) -> bool:
        """Refresh a Copy."""
        with self.sources() as sources:
            return self.copies.refresh(sources, label, "me")

    def sources(self) -> SourcePool:
        """Return the pool of connections to other archives."""
        network, name = self.world.network, self.name
        return SourcePool(lambda address: SimulatedSource(network, name, address))


def _unpack(*_: object) -> list[str]:
    raise NotImplementedError


async def _problems(work: Coroutine[Any, Any, TransferReply]) -> TransferReply | Problem:
    try:
        return await work
    except IbiError as fault:
        return problem_of(fault)[0]
