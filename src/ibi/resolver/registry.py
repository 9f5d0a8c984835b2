"""The registry of a resolver: who is registered, who is included, and every change of it.

All archives stand in memory, where searches read them at no cost; a change is written to the
store first and shown in memory then. Only outages go the other way: a search must not wait for a
disk to learn that an archive is down, so they are shown at once and written in the background.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from ibi.errors import NotOnRecordError, RegistrationKeyError, ResolverRequestError, shown
from ibi.identifier.label import Label
from ibi.model.archive_record import ArchiveRecord, RegistrationKey
from ibi.model.registration import Origin, RegisteredArchive
from ibi.ports import Clock, RegistryEvent, RegistryStore
from ibi.resolver import acts
from ibi.resolver.outage_journal import OutageJournal
from ibi.resolver.presence import Presence
from ibi.resolver.registration_key import issue, kept
from ibi.resolver.registration_mail import is_mail_address
from ibi.resolver.roster import Roster

ARCHIVE: Final = "archive"
"""Who acts where an archive does so itself, by its key."""
_Done = TypeVar("_Done")


class Registry:
    """The archives that a resolver knows; of one event loop, and of one process for a store."""

    def __init__(
        self, store: RegistryStore, clock: Clock, jitter: Callable[[], float] = random.random
    ) -> None:
        """Get ready; `open` reads the store."""
        self._store = store
        self._clock = clock
        self._changing = asyncio.Lock()
        self._acts: set[asyncio.Task[Any]] = set()
        self._journal = OutageJournal(self.note, clock)
        self._writer: asyncio.Task[None] | None = None
        self._roster = roster = Roster()
        self._presence = presence = Presence(roster, clock, self._journal.add, jitter)
        # What is read at every question is read without a call in between.
        self.all = roster.all
        self.included = roster.included
        self.down = roster.down
        self.ranks = roster.ranks
        self.homes = roster.homes
        self.find = roster.find
        self.is_asked = presence.is_asked
        self.last_asked = presence.last_asked
        self.heard = presence.heard
        self.returned = presence.returned

    async def open(self) -> None:
        """Read all archives, and begin to write outages."""
        for archive in await asyncio.to_thread(self._store.archives):
            self._roster.put(archive)
        self._writer = asyncio.create_task(self._journal.run())

    async def close(self) -> None:
        """End all acts, and write what is not written yet if the store takes it."""
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.gather(self._writer, return_exceptions=True)
        await asyncio.gather(*self._acts, return_exceptions=True)
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
        allowed = acts.read_hosts(hosts)
        self._refuse_second(service.canonical, pending=pending)
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
        await self._act(self._register(archive, who))
        return archive, key

    async def _register(self, archive: RegisteredArchive, who: str) -> None:
        self._refuse_second(archive.id, pending=not archive.confirmed)
        event = self._event(who, "register", archive.id, f"{archive.origin}, {archive.state}")
        await asyncio.to_thread(self._store.keep_archive, archive, event)
        self._roster.put(archive)

    def _refuse_second(self, name: str, *, pending: bool) -> None:
        known = self._roster.find(name)
        if known is not None and (known.confirmed or pending):
            raise ResolverRequestError(f"The archive {shown(name)} is registered already.")

    async def confirm(self, name: str, who: str) -> RegisteredArchive:
        """Make a pending registration good."""
        now = self._clock.wall()
        return await self._change(name, lambda each: acts.confirmed(each, now), who, "confirm")

    async def rotate(self, name: str, who: str) -> RegistrationKey:
        """Issue another key; the one before is good for a day more."""
        self._known(name)
        key, now = issue(), self._clock.wall()
        of_key = await asyncio.to_thread(kept, key)
        await self._change(name, lambda each: acts.rotated(each, of_key, now), who, "rotate")
        return key

    async def revoke(self, name: str, who: str) -> RegisteredArchive:
        """Take the keys from an archive, and exclude it at once."""
        now = self._clock.wall()
        return await self._change(name, lambda each: acts.revoked(each, now), who, "revoke")

    async def allow_hosts(self, name: str, hosts: Sequence[str], who: str) -> RegisteredArchive:
        """Set the further hosts that the URLs of an archive may be on."""
        allowed = acts.read_hosts(hosts)
        return await self._change(
            name, lambda each: replace(each, hosts=allowed), who, "hosts", " ".join(allowed)
        )

    async def remove(self, name: str, who: str) -> None:
        """Forget an archive."""
        await self._act(self._remove(name, self._event(who, "remove", name)))

    async def _remove(self, name: str, event: RegistryEvent) -> None:
        self._known(name)
        await asyncio.to_thread(self._store.drop_archive, name, event)
        self._roster.drop(name)
        self._presence.forget(name)
        self._journal.forget(name)

    async def include(
        self,
        name: str,
        record: ArchiveRecord,
        *,
        confirmed: bool,
        fitted: str | None = None,
    ) -> RegisteredArchive:
        """Include an archive where it says that it is.

        `fitted` is what is kept of the key that it came with, which may have been revoked while
        the archive was asked for its confirmation: then it is refused after all.
        """
        now = self._clock.wall()

        def included(archive: RegisteredArchive) -> RegisteredArchive:
            is_lost = fitted is not None and fitted not in acts.good_keys(archive, now)
            if is_lost or not archive.confirmed:
                raise RegistrationKeyError
            return acts.included(archive, record, now, confirmed=confirmed)

        before = self._roster.find(name)
        detail = f"{record.address}, {'confirmed' if confirmed else 'unconfirmed'}"
        after = await self._change(name, included, ARCHIVE, "include", detail)
        if confirmed or before is None or before.address != after.address:
            self._presence.forgive(name)
        return after

    async def exclude(self, name: str, who: str = ARCHIVE) -> RegisteredArchive:
        """Exclude an archive, as it asked, or its operator did."""
        now = self._clock.wall()
        after = await self._change(name, lambda each: acts.excluded(each, now), who, "exclude")
        self._presence.forget(name)
        return after

    async def note(self, event: RegistryEvent) -> None:
        """Add to the history of an archive, and keep the archive as it is now."""
        await self._act(self._note(event))

    async def _note(self, event: RegistryEvent) -> None:
        await asyncio.to_thread(self._store.keep_archive, self._known(event.archive), event)

    async def _change(
        self,
        name: str,
        change: Callable[[RegisteredArchive], RegisteredArchive],
        who: str,
        act: str,
        detail: str = "",
    ) -> RegisteredArchive:
        event = self._event(who, act, name, detail)
        return await self._act(self._changed(name, change, event))

    async def _changed(
        self,
        name: str,
        change: Callable[[RegisteredArchive], RegisteredArchive],
        event: RegistryEvent,
    ) -> RegisteredArchive:
        before = self._known(name)
        after = change(before)
        if after == before:
            return before
        told = None if acts.is_repetition(before, after) else event
        await asyncio.to_thread(self._store.keep_archive, after, told)
        # Once more, of what it is now: an outage may have begun or ended meanwhile.
        after = change(self._known(name))
        self._roster.put(after)
        return after

    def _known(self, name: str) -> RegisteredArchive:
        archive = self._roster.find(name)
        if archive is None:
            raise NotOnRecordError("archive", name)
        return archive

    def _event(self, who: str, act: str, name: str, detail: str = "") -> RegistryEvent:
        return RegistryEvent(0, self._clock.wall(), who, act, name, detail)

    async def _act(self, act: Coroutine[Any, Any, _Done]) -> _Done:
        """Carry out an act, one at a time and to its end.

        Who asked for it may hang up, and memory and store must agree all the same.
        """

        async def alone() -> _Done:
            async with self._changing:
                return await act

        task = asyncio.create_task(alone())
        self._acts.add(task)
        task.add_done_callback(self._acts.discard)
        return await asyncio.shield(task)
