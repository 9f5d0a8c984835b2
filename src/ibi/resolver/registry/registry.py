"""The registry of a resolver: who is registered, who is included, and every change of it.

All archives stand in memory, where searches read them at no cost. A change is made of what stands
in the store, which other processes change too, and shown in memory then; `following` brings what
others have changed. Only outages go the other way: a search must not wait for a disk to learn that
an archive is down, so they are shown at once and written in the background.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from ibi.errors import NotOnRecordError, RegistrationKeyError, ResolverRequestError, shown
from ibi.identifier.label import Label
from ibi.model.archive_record import ArchiveRecord, RegistrationKey
from ibi.model.clock import Clock
from ibi.model.registration import Origin, RegisteredArchive
from ibi.resolver.ports.store import ArchiveChange, ArchiveStore, ChangeArchive, RegistryEvent
from ibi.resolver.ports.workers import FeedStore
from ibi.resolver.registry.availability import Availability
from ibi.resolver.registry.outage_writer import OutageWriter
from ibi.resolver.registry.registration_key import issue, kept
from ibi.resolver.rules import archive_transitions
from ibi.resolver.rules.archive_roster import Roster
from ibi.wire.mail_address import is_mail_address

_Done = TypeVar("_Done")


class SerialExecutor:
    """One act at a time; of one event loop."""

    def __init__(self) -> None:
        """Begin with none."""
        self._alone = asyncio.Lock()
        self._acts: set[asyncio.Task[Any]] = set()

    async def take(self, act: Coroutine[Any, Any, _Done]) -> _Done:
        """Carry out an act to its end.

        Who asked for it may hang up, and memory and store must agree all the same.
        """

        async def alone() -> _Done:
            async with self._alone:
                return await act

        task = asyncio.create_task(alone())
        self._acts.add(task)
        task.add_done_callback(self._acts.discard)
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Wait for the end of all acts."""
        await asyncio.gather(*self._acts, return_exceptions=True)


ARCHIVE: Final = "archive"
"""Who acts where an archive does so itself, by its key."""
_Change: TypeAlias = Callable[[RegisteredArchive], RegisteredArchive]


class Registry:
    """The archives that a resolver knows; of one event loop."""

    def __init__(
        self,
        store: ArchiveStore,
        feed: FeedStore,
        clock: Clock,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Get ready; `open` reads the store, and the number of the last change."""
        self._store = store
        self._feed = feed
        self._clock = clock
        self._turns = SerialExecutor()
        self._journal = OutageWriter(self._put_on_record, clock)
        self._writer: asyncio.Task[None] | None = None
        self._roster = roster = Roster()
        self._presence = presence = Availability(roster, clock, self._journal.add, jitter)
        # What is read at every question is read without a call in between.
        self.all = roster.all
        self.included = roster.included
        self.by_name = roster.by_name
        self.down = presence.down
        self.ranks = roster.ranks
        self.homes = roster.homes
        self.find = roster.find
        self.is_asked = presence.is_asked
        self.last_asked = presence.last_asked
        self.heard = presence.heard
        self.returned = presence.returned
        self.end_disputes = presence.end_disputes
        self.followed = 0
        """The number of the news that are known here."""

    async def open(self) -> None:
        """Read all archives, and begin to write outages."""
        # First: what changes between the two is read twice, and not missed.
        self.followed = await asyncio.to_thread(self._feed.newest)
        for archive in await asyncio.to_thread(self._store.archives):
            self._roster.put(archive)
        self._writer = asyncio.create_task(self._journal.run())

    async def close(self) -> None:
        """End all acts, and write what is not written yet if the store takes it."""
        if self._writer is not None:
            self._journal.close()
            await self._writer
        await self._turns.close()
        await self._journal.drain()

    @property
    def version(self) -> int:
        """Grows whenever it changes who is included, or where: memories of before are stale."""
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
    ) -> tuple[RegisteredArchive, RegistrationKey]:
        """Register an archive, by a key of its administrator's choice or a new one.

        What is registered is never overwritten, and a wish overwrites nothing. But a wish is no
        registration: anybody can mail one for a service that is not his, and must not keep its
        owner out by that.
        """
        if administrator and not is_mail_address(administrator):
            raise ResolverRequestError(f"{shown(administrator)} is no e-mail address.")
        allowed = archive_transitions.read_hosts(hosts)
        key = key or issue()
        of_key = await asyncio.to_thread(kept, key)
        now = self._clock.wall()
        archive = RegisteredArchive(
            service=service,
            key=of_key,
            administrator=administrator,
            origin=origin,
            registered=now,
            confirmed=0 if pending else now,
            hosts=allowed,
        )

        def registered(known: RegisteredArchive | None) -> ArchiveChange:
            _refuse_second(known, archive)
            detail = f"{archive.origin}, {archive.state}"
            return ArchiveChange(archive, self._event(who, "register", archive.id, detail))

        await self._turns.take(self._put(archive.id, registered))
        return archive, key

    async def confirm(self, name: str, who: str) -> RegisteredArchive:
        """Make a pending registration good."""
        now = self._clock.wall()
        return await self._change(
            name, lambda each: archive_transitions.confirmed(each, now), who, "confirm"
        )

    async def rotate(self, name: str, who: str) -> RegistrationKey:
        """Issue another key; the one before is good for a day more."""
        key, now = issue(), self._clock.wall()
        of_key = await asyncio.to_thread(kept, key)
        await self._change(
            name, lambda each: archive_transitions.rotated(each, of_key, now), who, "rotate"
        )
        return key

    async def revoke(self, name: str, who: str) -> RegisteredArchive:
        """Take the keys from an archive, and exclude it at once."""
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
        """Forget an archive."""

        def removed(known: RegisteredArchive | None) -> ArchiveChange:
            if known is None:
                raise NotOnRecordError("archive", name)
            return ArchiveChange(None, self._event(who, "remove", name))

        await self._turns.take(self._put(name, removed))

    async def include(
        self,
        name: str,
        record: ArchiveRecord,
        *,
        confirmed: bool,
        fitted: str | None = None,
        before: RegisteredArchive | None = None,
    ) -> RegisteredArchive:
        """Include an archive where it says that it is.

        `fitted` is what is kept of the key that it came with, which may have been revoked while
        the archive was asked for its confirmation: then it is refused after all. `before` is what
        stood on record when it came: what the archive has said since, to whichever process, counts
        more.
        """
        now = self._clock.wall()

        def included(archive: RegisteredArchive) -> RegisteredArchive:
            is_lost = fitted is not None and fitted not in archive_transitions.good_keys(
                archive, now
            )
            if is_lost or not archive.confirmed:
                raise RegistrationKeyError
            if before is not None and archive_transitions.is_overtaken(before, archive):
                return archive
            return archive_transitions.included(archive, record, now, confirmed=confirmed)

        known = self._roster.find(name)
        detail = f"{record.address}, {'confirmed' if confirmed else 'unconfirmed'}"
        after = await self._change(name, included, ARCHIVE, "include", detail)
        if confirmed or known is None or known.address != after.address:
            self._presence.forgive(name)
        return after

    async def exclude(self, name: str, who: str = ARCHIVE) -> RegisteredArchive:
        """Exclude an archive, as it asked, or its operator did."""
        now = self._clock.wall()
        after = await self._change(
            name, lambda each: archive_transitions.excluded(each, now), who, "exclude"
        )
        self._presence.forget(name)
        return after

    async def note(self, event: RegistryEvent, *labels: str) -> None:
        """Add to the history of an archive; of these labels no memory holds any more."""
        await asyncio.to_thread(self._store.note, event, labels)

    async def events(self, after: int, limit: int) -> list[RegistryEvent]:
        """Return the history, the oldest first, numbered later than `after`."""
        return await asyncio.to_thread(self._store.events, after, limit)

    async def fresh(self, name: str) -> RegisteredArchive | None:
        """Return an archive as it is on record, of which this process may not have heard yet."""
        await self.follow([name])
        return self._roster.find(name)

    async def follow(self, names: Collection[str]) -> None:
        """Show archives as they are on record by now."""
        await self._turns.take(self._follow(sorted(names)))

    async def _follow(self, names: Sequence[str]) -> None:
        standing = {each.id: each for each in await asyncio.to_thread(self._store.archives, names)}
        for name in names:
            self._show(name, standing.get(name))

    async def begin_anew(self) -> None:
        """Show all as it is on record by now, whatever happened before."""
        await self._turns.take(self._begin_anew())

    async def _begin_anew(self) -> None:
        standing = {each.id: each for each in await asyncio.to_thread(self._store.archives)}
        for name in {*standing, *(each.id for each in self._roster.all())}:
            self._show(name, standing.get(name))
        self._roster.invalidate()

    async def _put(self, name: str, change: ChangeArchive) -> None:
        self._show(name, await asyncio.to_thread(self._store.change_archive, name, change))

    async def _put_on_record(self, event: RegistryEvent) -> None:
        """Put on record that an archive is down or up, unless that is known there."""
        seen = self._known(event.archive)
        with_outage_of = partial(archive_transitions.with_outage_of, seen=seen)
        await self._turns.take(self._alter(event, with_outage_of, is_act=False))

    async def _change(
        self, name: str, change: _Change, who: str, act: str, detail: str = ""
    ) -> RegisteredArchive:
        event = self._event(who, act, name, detail)
        await self._turns.take(self._alter(event, change))
        return self._known(name)

    async def _alter(self, event: RegistryEvent, change: _Change, *, is_act: bool = True) -> None:
        """Change an archive, and show it; an outage that the act ends is not seen any more."""
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
                self._presence.forgive(name)
                self._roster.put(replace(after, outage=None))
                return
        self._show(name, after)

    def _show(self, name: str, archive: RegisteredArchive | None) -> None:
        """Show an archive as it is on record, but for an outage that is on its way there."""
        if archive is not None:
            self._presence.believe(archive, is_ours=self._journal.has(name))
            return
        self._roster.drop(name)
        self._presence.forget(name)
        self._journal.forget(name)

    def _known(self, name: str) -> RegisteredArchive:
        archive = self._roster.find(name)
        if archive is None:
            raise NotOnRecordError("archive", name)
        return archive

    def _event(self, who: str, act: str, name: str, detail: str = "") -> RegistryEvent:
        return RegistryEvent(0, self._clock.wall(), who, act, name, detail)


def _refuse_second(known: RegisteredArchive | None, archive: RegisteredArchive) -> None:
    if known is not None and (known.confirmed or not archive.confirmed):
        raise ResolverRequestError(f"The archive {shown(archive.id)} is registered already.")
