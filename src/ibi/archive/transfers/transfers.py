"""Transfers: continues all open ones, several at a time, until each has ended.

The rules are in `rules.transfer`, the two sides in `sender` and `receiver`. This module schedules
their steps: after a restart from durable state, and with growing pauses while a peer is silent.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal, get_args

import structlog

from ibi.archive.archive import Archive
from ibi.archive.copies.pull import Report
from ibi.archive.ports.maintenance import Role, TransferRecord
from ibi.archive.rules.transfer_messages import (
    TICKET_SETTING,
    Message,
    OpenPeer,
    ReadTickets,
    TransferReply,
)
from ibi.archive.transfers.item_pair import WHO
from ibi.archive.transfers.receiver import OpenSource, TransferReceiver
from ibi.archive.transfers.sender import TransferSender
from ibi.archive.transfers.step_scheduler import (
    NEVER,
    StepScheduler,
)
from ibi.errors import ArchiveRequestError, IbiError, Sentence, StateError, UnknownError
from ibi.model.clock import SECOND
from ibi.model.item import Item
from ibi.model.label_pair import Forms
from ibi.model.pace import Backoff

_LOG: Final = structlog.get_logger()
_THREADS: Final = 4
_AFTER_STOP: Final = SECOND // 20
"""Nanoseconds before an interrupted step is repeated."""
_LOOKS: Final = Backoff(SECOND // 10, 2 * SECOND)
"""Waits between two questions about the progress of the other side."""
_RETRY: Final = Backoff(SECOND // 2, 300 * SECOND)
"""Waits after a peer gave no answer or the storage failed."""
_RETRY_RECEIVING: Final = Backoff(SECOND // 2, 30 * SECOND)
"""The same on the receiving side, shorter because the sender keeps asking it."""

Phase = Literal["offered", "handed over", "copying", "ready", "ending", "done", "undone"]


class _StoppedError(Exception):
    """The process is about to end, or the transfer was undone during the pull."""


@dataclass(slots=True)
class _Way:
    """State of an open transfer in the memory of this process."""

    looks: int = 0
    """Steps in a row without progress."""
    failures: int = 0
    is_unwanted: bool = False
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class TransferProgress:
    """A transfer and its progress."""

    exchange: TransferRecord
    phase: Phase
    done: int = 0
    total: int = 0
    """Bytes that the receiver has, of those that it needs."""


class Transfers:
    """The transfers of one archive, outgoing and incoming."""

    def __init__(
        self,
        archive: Archive,
        address: str,
        service: Forms,
        open_peer: OpenPeer,
        open_source: OpenSource,
    ) -> None:
        """Connect to peers by these functions; no step runs before `start`."""
        self._archive = archive
        self._items = archive.catalogue.items
        self._transfers = archive.catalogue.transfers
        secret = archive.catalogue.settings.keep(TICKET_SETTING, secrets.token_hex(32))
        self._tickets = ReadTickets(bytes.fromhex(secret))
        self._sender = TransferSender(archive, address, self._tickets.of, open_peer)
        self._receiver = TransferReceiver(archive, address, service, open_source)
        # Two schedulers: an incoming item may be large, and handed-over items must not wait for it.
        self._scheduler: dict[Role, StepScheduler] = {
            role: StepScheduler(archive.clock, self.step, partial(self._open_ids, role), _THREADS)
            for role in get_args(Role)
        }
        self._ways: dict[str, _Way] = {}

    def start(self) -> None:
        """Start the schedulers; transfers that were open before continue first."""
        for role, scheduler in self._scheduler.items():
            scheduler.start(f"ibi-{role}")

    def stop(self) -> None:
        """Interrupt running pulls, and wait until no step changes anything any more."""
        for scheduler in self._scheduler.values():
            scheduler.stop()
        with self._archive.changing():
            return

    def offer(self, labels: list[str], to: str, token: str, who: str) -> list[TransferProgress]:
        """Begin to transfer items to the archive at an address, with a token of that archive."""
        begun = self._sender.offer(labels, to, token, who)
        self._scheduler["giving"].wake(*(exchange.id for exchange in begun))
        return [self._progress(exchange) for exchange in begun]

    def hear(self, message: Message) -> TransferReply:
        """Answer a message of an archive that transfers an item to this one."""
        answer = self._receiver.hear(message)
        way = self._ways.get(message.id)
        if answer.state == "copying" and way is not None:
            return replace(answer, done=way.done, total=way.total)
        if answer.state == "undone" and way is not None:
            way.is_unwanted = True
        if answer.state != "ready":
            self._way(message.id)
            self._scheduler["receiving"].wake(message.id)
        return answer

    def undo(self, id: str, who: str) -> TransferProgress:  # noqa: A002  # what it is called everywhere
        """Undo a transfer; raise StateError if it is too late."""
        exchange = self._open(id)
        if exchange.role == "receiving":
            self._receiver.undo(exchange, who)
        else:
            self._sender.undo(exchange, who)
        self._way(id).is_unwanted = True
        self._scheduler[exchange.role].wake(id)
        return self.get(id)

    def resume(self, id: str, token: str = "", to: str = "", who: str = WHO) -> TransferProgress:  # noqa: A002
        """Try again now, with another token or at another address of the peer if given."""
        exchange = self._open(id)
        if (token or to) and exchange.role == "receiving":
            msg = Sentence(
                "What comes here needs no token or address: the archive that gives it has both."
            )
            raise ArchiveRequestError(msg)
        if token or to:
            self._sender.renew(exchange, token, to, who)
        self._way(id).failures = 0
        self._scheduler[exchange.role].wake(id)
        return self.get(id)

    def get(self, id: str) -> TransferProgress:  # noqa: A002
        """Return a transfer, open or ended."""
        exchange = self._transfers.get(id)
        if exchange is None:
            raise UnknownError("transfer", id)
        return self._progress(exchange)

    def newest(self, limit: int, state: str = "") -> list[TransferProgress]:
        """Return the newest transfers, of one state or of all; the newest is the last."""
        return [self._progress(each) for each in self._transfers.listed(state, limit)]

    def is_ticket(self, item: Item, secret: str) -> bool:
        """Return whether a secret is the read ticket of the open transfer of an item."""
        return self._tickets.opens(item, secret)

    def _open(self, id_: str) -> TransferRecord:
        exchange = self.get(id_).exchange
        if exchange.state != "open":
            msg = Sentence(
                "This transfer has ended already: it is %(state)s.", state=exchange.state
            )
            raise StateError(msg)
        return exchange

    def _open_ids(self, role: Role) -> list[str]:
        return [each.id for each in self._transfers.listed("open") if each.role == role]

    def _progress(self, exchange: TransferRecord) -> TransferProgress:
        way = self._ways.get(exchange.id) or _Way()
        return TransferProgress(exchange, self._phase(exchange), way.done, way.total)

    def _phase(self, exchange: TransferRecord) -> Phase:
        if exchange.state != "open":
            return exchange.state
        held = self._items.find(exchange.label)
        known = None if held is None else held.item.transfer
        if known is None or known.id != exchange.id:
            return "copying" if exchange.role == "receiving" else "ending"
        return "handed over" if known.phase == "handed" else known.phase

    def _way(self, id_: str) -> _Way:
        return self._ways.setdefault(id_, _Way())

    def step(self, id_: str) -> int | None:
        """Carry out the next step of a transfer; return the nanoseconds until the one after it.

        None if the transfer has ended. Each step reads the durable state, as after a restart.
        """
        way = self._way(id_)
        retry = _RETRY
        try:
            exchange = self._transfers.get(id_)
            if exchange is None or exchange.state != "open":
                self._ways.pop(id_, None)
                return None
            pause = self._give(exchange, way)
            if exchange.role == "receiving":
                retry = _RETRY_RECEIVING
                self._receiver.go_on(exchange, self._report_of(way))
                self._note(id_, "")
        except _StoppedError:
            return _AFTER_STOP
        except IbiError as fault:
            self._fail(id_, way, fault)
            return retry.wait(way.failures - 1)
        way.failures = 0
        return pause

    def _give(self, exchange: TransferRecord, way: _Way) -> int:
        if exchange.role != "giving" or not exchange.secret:
            return NEVER  # until a message arrives, or an operator gives the lost token again
        answer = self._sender.say(exchange, undo=way.is_unwanted)
        way.done, way.total = answer.done, answer.total
        with self._archive.changing():
            if self._scheduler["giving"].is_stopping:  # the answer took long; it is asked for again
                raise _StoppedError
            is_further = self._sender.hear(exchange, answer)
        if is_further:
            way.looks = 0
            return 0
        way.looks += 1
        return _LOOKS.wait(way.looks - 1)

    def _report_of(self, way: _Way) -> Report:
        def report(done: int, total: int) -> None:
            way.done, way.total = done, total
            if self._scheduler["receiving"].is_stopping or way.is_unwanted:
                raise _StoppedError

        return report

    def _fail(self, id_: str, way: _Way, fault: IbiError) -> None:
        way.failures += 1
        _LOG.warning("a transfer does not go on", transfer=id_, reason=str(fault))
        with suppress(IbiError):
            self._note(id_, str(fault))

    def _note(self, id_: str, fault: str) -> None:
        """Record why a transfer makes no progress, unless its record says why it was undone."""
        with self._archive.changing():
            row = self._transfers.get(id_)
            if row is None or row.state != "open" or row.fault == fault:
                return
            if not row.fault or self._phase(row) != "ending":
                self._transfers.keep(replace(row, fault=fault))
