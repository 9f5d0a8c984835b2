"""The registry of a resolver: registered archives, included archives, and every change.

All archives are in memory, where searches read them at no cost. A change is applied to the store,
which other processes change too, and then to memory; `ibi.resolver.workers.change_feed` brings the
changes of other processes. Only outages go the other way: a search must not wait for a disk to
learn that an archive is down, so they are applied to memory at once and written in the background.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from ibi.errors import (
    LabelError,
    NotOnRecordError,
    RegistrationKeyError,
    ResolverRequestError,
    Sentence,
    StorageFullError,
    shown,
)
from ibi.identifier.label import Label, parse
from ibi.model.archive_record import ArchiveRecord, RegistrationKey
from ibi.model.clock import Clock
from ibi.model.registration import Origin, ProvedPlace, RegisteredArchive
from ibi.resolver.ports.store import ArchiveChange, ArchiveStore, ChangeArchive, RegistryEvent
from ibi.resolver.ports.workers import FeedStore
from ibi.resolver.registry.availability import Availability, ResponseTimes
from ibi.resolver.registry.outage_writer import OutageWriter
from ibi.resolver.registry.registration_key import hashed, issue, issue_link_secret
from ibi.resolver.rules import archive_transitions
from ibi.resolver.rules.archive_roster import Roster
from ibi.wire.addresses import is_mail_address

_Done = TypeVar("_Done")


class SerialExecutor:
    """Runs one act at a time; for one event loop."""

    def __init__(self) -> None:
        """Begin without acts."""
        self._alone = asyncio.Lock()
        self._acts: set[asyncio.Task[Any]] = set()

    async def run(self, act: Coroutine[Any, Any, _Done]) -> _Done:
        """Run an act to its end.

        If the caller is cancelled, the act continues: memory and store must agree all the same.
        """

        async def alone() -> _Done:
            async with self._alone:
                return await act

        task = asyncio.create_task(alone())
        self._acts.add(task)
        task.add_done_callback(self._acts.discard)
        # An act that still waits for its turn when the loop ends never begins.
        task.add_done_callback(lambda _: act.close())
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Wait for the end of all acts."""
        await asyncio.gather(*self._acts, return_exceptions=True)


ARCHIVE: Final = "archive"
"""The actor in the history if an archive acts itself, by its key."""
_Change: TypeAlias = Callable[[RegisteredArchive], RegisteredArchive]


class Registry:
    """The archives that a resolver has registered; for one event loop."""

    def __init__(
        self,
        store: ArchiveStore,
        feed: FeedStore,
        clock: Clock,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Begin empty; `open` reads the store, and the number of the last change."""
        self._store = store
        self._feed = feed
        self._clock = clock
        self._acts = SerialExecutor()
        self._outages = OutageWriter(self._put_on_record, clock)
        self._writer: asyncio.Task[None] | None = None
        self._roster = roster = Roster()
        self._availability = availability = Availability(roster, clock, self._outages.add, jitter)
        # These are read for every question, so they are called directly.
        self.all = roster.all
        self.included = roster.included
        self.by_name = roster.by_name
        self.down = availability.down
        self.ranks = roster.ranks
        self.homes = roster.homes
        self.is_free = roster.is_free
        self.knows_host = roster.knows_host
        self.find = roster.find
        self.is_asked = availability.is_asked
        self.last_asked = availability.last_asked
        self.note_reply = availability.note_reply
        self.note_confirmation = availability.note_confirmation
        self.end_disputes = availability.end_disputes
        self.response_times = ResponseTimes()
        self.followed = 0
        """The number of the last change that was read from the feed."""

    async def open(self) -> None:
        """Read all archives, and begin to write outages."""
        # First: a change between the two is read twice, and not missed.
        self.followed = await asyncio.to_thread(self._feed.newest)
        for archive in await asyncio.to_thread(self._store.archives):
            self._roster.put(archive)
        for name in await asyncio.to_thread(self._store.removed):
            self._note_removed(name)
        self._writer = asyncio.create_task(self._outages.run())

    async def close(self) -> None:
        """End all acts, and write the remaining outages unless the store fails."""
        if self._writer is not None:
            self._outages.close()
            await self._writer
        await self._acts.close()
        await self._outages.drain()

    @property
    def version(self) -> int:
        """Grows whenever an archive is included, excluded or moves; cache entries depend on it."""
        return self._roster.version

    def find_service(self, label: Label) -> RegisteredArchive | None:
        """Return an archive by the label of its service, in any spelling."""
        return self._roster.find(label.canonical)

    async def register(  # noqa: PLR0913, PLR0917  # what a registration is made of
        self,
        service: Label,
        key: RegistrationKey | None,
        administrator: str,
        hosts: Sequence[str],
        origin: Origin,
        who: str,
        *,
        pending: bool = False,
        proofs: tuple[ProvedPlace, ...] = (),
    ) -> tuple[RegisteredArchive, RegistrationKey]:
        """Register an archive, with a key that its administrator chose or with a new one.

        `proofs` are the places of which its administrator has proved control.

        A registration is never overwritten, and a pending request overwrites nothing. But a
        registration overwrites a pending request: anyone can request one by e-mail for a service of
        another, and must not lock its owner out by that.
        """
        if administrator and not is_mail_address(administrator):
            raise ResolverRequestError(
                Sentence(
                    "%(administrator)s is no e-mail address.", administrator=shown(administrator)
                )
            )
        allowed = archive_transitions.read_hosts(hosts)
        key = key or issue()
        of_key = await asyncio.to_thread(hashed, key)
        now = self._clock.wall()
        archive = RegisteredArchive(
            service=service,
            key=of_key,
            administrator=administrator,
            origin=origin,
            registered=now,
            confirmed=0 if pending else now,
            hosts=allowed,
            proofs=proofs,
        )

        def registered(known: RegisteredArchive | None) -> ArchiveChange:
            _refuse_second(known, archive)
            detail = f"{archive.origin}, {archive.state}"
            return ArchiveChange(archive, self._event(who, "register", archive.id, detail))

        await self._acts.run(self._put(archive.id, registered))
        return self._known(archive.id), key

    async def confirm(self, name: str, who: str) -> RegisteredArchive:
        """Confirm a pending registration."""
        now = self._clock.wall()
        return await self._change(
            name, lambda each: archive_transitions.confirmed(each, now), who, "confirm"
        )

    async def rotate(self, name: str, who: str) -> RegistrationKey:
        """Issue another key; the previous one is valid for a day more."""
        key, now = issue(), self._clock.wall()
        of_key = await asyncio.to_thread(hashed, key)
        await self._change(
            name, lambda each: archive_transitions.rotated(each, of_key, now), who, "rotate"
        )
        return key

    async def revoke(self, name: str, who: str) -> RegisteredArchive:
        """Delete the keys of an archive, and exclude it at once."""
        now = self._clock.wall()
        return await self._change(
            name, lambda each: archive_transitions.revoked(each, now), who, "revoke"
        )

    async def allow_hosts(self, name: str, hosts: Sequence[str], who: str) -> RegisteredArchive:
        """Set the further hosts that the URLs of an archive may be on."""
        allowed = archive_transitions.read_hosts(hosts)
        return await self._change(
            name, lambda each: replace(each, hosts=allowed), who, "hosts", " ".join(allowed)
        )

    async def remove(self, name: str, who: str) -> None:
        """Remove an archive."""

        def removed(known: RegisteredArchive | None) -> ArchiveChange:
            if known is None:
                raise NotOnRecordError("archive", name)
            return ArchiveChange(None, self._event(who, "remove", name))

        await self._acts.run(self._put(name, removed))

    async def include(  # noqa: PLR0913  # what an inclusion is made of
        self,
        name: str,
        record: ArchiveRecord,
        *,
        confirmed: bool,
        places: tuple[ProvedPlace, ...] = (),
        fitted: str | None = None,
        before: RegisteredArchive | None = None,
    ) -> RegisteredArchive:
        """Include an archive at the address of its record.

        `confirmed` if it confirmed there, `places` of which the confirmation proved control.
        `fitted` is the stored hash of the key in its request. If that key was revoked while the
        archive was asked for its confirmation, the request is refused. `before` is the archive as
        it was when the request came: a request that it sent since, to any process, takes
        precedence.
        """
        now, secret = self._clock.wall(), issue_link_secret()

        def included(archive: RegisteredArchive) -> RegisteredArchive:
            is_lost = fitted is not None and fitted not in archive_transitions.good_keys(
                archive, now
            )
            if is_lost or not archive.confirmed:
                raise RegistrationKeyError
            if before is not None and archive_transitions.is_overtaken(before, archive):
                return archive
            return archive_transitions.included(
                archive,
                record,
                now,
                confirmed=confirmed,
                places=places,
                secret=secret,
            )

        known = self._roster.find(name)
        detail = f"{record.address}, {'confirmed' if confirmed else 'unconfirmed'}"
        try:
            after = await self._change(name, included, ARCHIVE, "include", detail)
        except StorageFullError:
            # Readers are served as long as this process lives; the archive asks again.
            after = included(self._known(name))
            await self._acts.run(self._show_soon(after))
        if confirmed or known is None or known.address != after.address:
            self._availability.reset(name)
        return after

    async def exclude(self, name: str, who: str = ARCHIVE) -> RegisteredArchive:
        """Exclude an archive, at its own request or its operator's."""
        now = self._clock.wall()
        after = await self._change(
            name, lambda each: archive_transitions.excluded(each, now), who, "exclude"
        )
        self._availability.forget(name)
        return after

    async def note(self, event: RegistryEvent, *labels: str) -> None:
        """Add to the history of an archive; all processes drop these labels from their caches."""
        await asyncio.to_thread(self._store.note, event, labels)

    async def events(self, after: int, limit: int) -> list[RegistryEvent]:
        """Return the history, the oldest first, numbered later than `after`."""
        return await asyncio.to_thread(self._store.events, after, limit)

    async def fresh(self, name: str) -> RegisteredArchive | None:
        """Return an archive as it is in the store, where it may be newer than in memory."""
        await self.follow([name])
        return self._roster.find(name)

    async def follow(self, names: Collection[str]) -> None:
        """Read archives from the store into memory."""
        await self._acts.run(self._follow(sorted(names)))

    async def _follow(self, names: Sequence[str]) -> None:
        standing = {each.id: each for each in await asyncio.to_thread(self._store.archives, names)}
        for name in names:
            self._show(name, standing.get(name))

    async def reload(self) -> None:
        """Read all archives from the store into memory, and invalidate all caches."""
        await self._acts.run(self._reload())

    async def _reload(self) -> None:
        standing = {each.id: each for each in await asyncio.to_thread(self._store.archives)}
        for name in {*standing, *(each.id for each in self._roster.all())}:
            self._show(name, standing.get(name))
        self._roster.invalidate()

    async def _put(self, name: str, change: ChangeArchive) -> None:
        self._show(name, await asyncio.to_thread(self._store.change_archive, name, change))

    async def _put_on_record(self, event: RegistryEvent) -> None:
        """Store that an archive is down or up, unless the store has that already."""
        seen = self._known(event.archive)
        with_outage_of = partial(archive_transitions.with_outage_of, seen=seen)
        await self._acts.run(self._alter(event, with_outage_of, is_act=False))

    async def _change(
        self, name: str, change: _Change, who: str, act: str, detail: str = ""
    ) -> RegisteredArchive:
        event = self._event(who, act, name, detail)
        await self._acts.run(self._alter(event, change))
        return self._known(name)

    async def _alter(self, event: RegistryEvent, change: _Change, *, is_act: bool = True) -> None:
        """Change an archive in store and memory; an outage that the act ends is discarded."""
        name, stood = event.archive, list[RegisteredArchive]()

        def changed(before: RegisteredArchive | None) -> ArchiveChange | None:
            if before is None:
                raise NotOnRecordError("archive", name)
            stood.append(before)
            after = change(before)
            if after == before:
                return None
            return ArchiveChange(
                after, None if archive_transitions.is_repetition(before, after) else event
            )

        after = await asyncio.to_thread(self._store.change_archive, name, changed)
        mine = self._roster.find(name)
        if is_act and mine is not None and after is not None and mine.outage is not None:
            seen = replace(stood[-1], outage=mine.outage)
            if change(seen).outage is None:
                self._availability.reset(name)
                self._roster.put(replace(after, outage=None))
                return
        self._show(name, after)

    async def _show_soon(self, archive: RegisteredArchive) -> None:
        """Apply an archive to memory in the order of all acts."""
        self._show(archive.id, archive)

    def _show(self, name: str, archive: RegisteredArchive | None) -> None:
        """Apply the stored archive to memory, except an outage that is still being written."""
        if archive is not None:
            self._availability.adopt(archive, is_ours=self._outages.has(name))
            return
        self._roster.drop(name)
        self._availability.forget(name)
        self._outages.forget(name)

    def _note_removed(self, name: str) -> None:
        with suppress(LabelError):
            self._roster.note_host(parse(name, strict=True))

    def _known(self, name: str) -> RegisteredArchive:
        archive = self._roster.find(name)
        if archive is None:
            raise NotOnRecordError("archive", name)
        return archive

    def _event(self, who: str, act: str, name: str, detail: str = "") -> RegistryEvent:
        return RegistryEvent(0, self._clock.wall(), who, act, name, detail)


def _refuse_second(known: RegisteredArchive | None, archive: RegisteredArchive) -> None:
    if known is not None and (known.confirmed or not archive.confirmed):
        raise ResolverRequestError(
            Sentence("The archive %(id)s is registered already.", id=shown(archive.id))
        )
