"""Inclusion and exclusion of archives, on their request (004, section 5.2, Figure 5.1).

Our Decision: in the figure the resolver asks for the confirmation before it checks the key. Then
anyone could make it call any address; so the key is checked first (threats, row 1).
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Final

import structlog

from ibi.errors import RegistrationKeyError, StorageError, TooManyRequestsError
from ibi.model.archive_record import ArchiveRecord, RegistrationKey
from ibi.model.clock import Clock
from ibi.model.registration import ProvedPlace, RegisteredArchive
from ibi.resolver.ports.outbound import ArchiveClient
from ibi.resolver.registry.registration_key import KeyGuessLimit, matches
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.acknowledgment import OUR_PLATFORM
from ibi.resolver.rules.archive_transitions import good_keys
from ibi.resolver.rules.home_places import (
    SECONDS_OF_STRANGERS,
    another_service,
    at_ip,
    proved_at,
)
from ibi.wire.requests import ExclusionRequest, InclusionRequest
from ibi.wire.responses import ExclusionStatus, InclusionStatus

TIMEOUT_SECONDS: Final = 3.0
"""Seconds that an archive has for its confirmation; it waits for the status meanwhile."""
MAX_KEY_CHECKS: Final = 2
"""Keys that are checked at the same time: a check takes a twentieth of a second of a core,
intentionally."""
MAX_WAITING: Final = 32
"""Requests that wait for a check: all of them are served before their clients give up."""
_LOG: Final = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Announced:
    """An archive as it announced itself, and what its confirmation proved."""

    record: ArchiveRecord
    fitted: str
    """The stored hash of the key in the request."""
    confirmed: bool
    places: tuple[ProvedPlace, ...]


class InclusionService:
    """Serves the requests of archives to be included and excluded; for one event loop."""

    def __init__(
        self, registry: Registry, client: ArchiveClient, guesses: KeyGuessLimit, clock: Clock
    ) -> None:
        """Serve requests for the archives of a registry."""
        self._registry = registry
        self._client = client
        self._guesses = guesses
        self._clock = clock
        self._keys = asyncio.Semaphore(MAX_KEY_CHECKS)
        self._waiting = 0
        self._last: dict[str, InclusionRequest] = {}
        """The newest request of archives that are being asked for their confirmation."""

    async def serve(
        self, request: InclusionRequest | ExclusionRequest, peer: str
    ) -> InclusionStatus | ExclusionStatus:
        """Include or exclude an archive, if its key is right; `peer` is the client's address."""
        archive, fitted = await self._admitted(request.record, request.key, peer)
        if isinstance(request, ExclusionRequest):
            self._last.pop(archive.id, None)
            await self._registry.exclude(archive.id)
            return ExclusionStatus()
        return await self._include(archive, request, fitted)

    async def _admitted(
        self, record: ArchiveRecord, key: RegistrationKey, peer: str
    ) -> tuple[RegisteredArchive, str]:
        """Return the archive that the key belongs to, and the stored hash of the key.

        An archive that is unknown or still pending is refused like one whose key is wrong, and at
        the same cost, so that the reply does not disclose which archives are registered.
        """
        client, name = _network(peer), record.service.canonical
        if self._waiting >= MAX_WAITING:
            raise TooManyRequestsError(1)
        wait = self._guesses.admit(client, name, self._clock.uptime())
        if wait:
            raise TooManyRequestsError(wait)
        self._waiting += 1
        try:
            async with self._keys:
                archive = await self._on_record(name)
                good = good_keys(archive, self._clock.wall())
                fitted = await asyncio.to_thread(_fitting, key, good)
        finally:
            self._waiting -= 1
        if archive is None or not fitted:
            self._guesses.failed(client, name, self._clock.uptime())
            _LOG.warning("registration key refused", archive=name, peer=peer)
            raise RegistrationKeyError
        self._guesses.good(client, name)
        return archive, fitted

    async def _on_record(self, name: str) -> RegisteredArchive | None:
        """Return an archive, also if another process registered it just now."""
        with suppress(StorageError):  # then as it is in memory
            return await self._registry.fresh(name)
        return self._registry.find(name)

    async def _include(
        self, archive: RegisteredArchive, request: InclusionRequest, fitted: str
    ) -> InclusionStatus:
        name = archive.id
        self._last[name] = request
        try:
            confirmed, places = await self._confirms(request.record)
            moves = confirmed or not await self._is_still_elsewhere(name, request.record)
            # A later request of the archive takes precedence: it may be off, or at another address.
            if moves and self._last.get(name) is request:
                announced = _Announced(request.record, fitted, confirmed, places)
                after = await self._put(name, announced, archive)
                has_moved = after.inclusion is not None and after.address != request.record.address
                if confirmed and has_moved:
                    confirmed = await self._put_again(request, announced, after)
        finally:
            if self._last.get(name) is request:
                del self._last[name]
        return InclusionStatus(confirmed, self._secret_for(name, request.record))

    async def _put(
        self, name: str, announced: _Announced, before: RegisteredArchive
    ) -> RegisteredArchive:
        return await self._registry.include(
            name,
            announced.record,
            confirmed=announced.confirmed,
            places=announced.places,
            fitted=announced.fitted,
            before=before,
        )

    async def _put_again(
        self, request: InclusionRequest, announced: _Announced, before: RegisteredArchive
    ) -> bool:
        """Include an archive although another request of it to be included was served meanwhile.

        That one may have been sent earlier or later, to any process. Where the archive is now, its
        confirmation says. Returns whether it is on record at the address of this request.
        """
        name, record = before.id, announced.record
        if not await self._confirms_at(record.address, record):
            return False
        if self._last.get(name) is not request:
            return False
        after = await self._put(name, announced, before)
        return after.address == record.address

    def _secret_for(self, name: str, record: ArchiveRecord) -> str:
        """Return the secret of the link for this software; other software gets no further pair."""
        archive = self._registry.find(name)
        if archive is None or not record.platform_version.startswith(OUR_PLATFORM):
            return ""
        return archive.link_secret

    async def _confirms(self, record: ArchiveRecord) -> tuple[bool, tuple[ProvedPlace, ...]]:
        """Ask an archive for its confirmation (Example 5.4); return where that proves control.

        At its address it counts for the labels that name its host, and at its IP address, where it
        is asked too, for those that name that.
        """
        if not await self._confirms_at(record.address, record):
            return False, ()
        number = at_ip(record.address, record.ip)
        # At once: the archive waits for the status meanwhile.
        at_name, at_number, confirms_at_number = await asyncio.gather(
            self._is_particular(record.address, record),
            self._is_particular(number, record),
            self._confirms_at(number, record),
        )
        found = [(proved_at(record.address), at_name)]
        if confirms_at_number:
            found.append((proved_at(number), at_number))
        name = record.service.canonical
        return True, tuple(
            place
            for place, is_particular in found
            if is_particular or self._registry.is_free(place, name)
        )

    async def _confirms_at(self, place: str, record: ArchiveRecord) -> bool:
        if not place:
            return False
        return not await self._client.confirm(place, record.service, TIMEOUT_SECONDS)

    async def _is_particular(self, place: str, record: ArchiveRecord) -> bool:
        """Return whether the server at a place confirms this archive, and not whatever it is asked.

        The confirmation does not say which archive it is of. A server that confirms under every
        label may be that of another archive, and then proves control only of places where no other
        archive is at home (threats, row 37).
        """
        if not place:
            return False
        stranger = another_service(record.service, secrets.randbelow(SECONDS_OF_STRANGERS))
        return await self._client.denies(place, stranger, TIMEOUT_SECONDS)

    async def _is_still_elsewhere(self, name: str, record: ArchiveRecord) -> bool:
        """Return whether an archive still confirms at its old address, and not at the new one.

        The standard includes an archive whose key is right, confirmed or not, and so do we. But the
        key travels in a URL, and a party that has seen one could send readers of that archive to an
        address where nothing is (threats, row 22). The archive's own confirmation counts more:
        while it comes from the address at which it was confirmed, the archive stays included there,
        and the status says, correctly, that it is included and that the new address was not
        confirmed. Once the old address falls silent, or the new one confirms, the archive has
        moved.
        """
        archive = self._registry.find(name)
        inclusion = archive.inclusion if archive is not None else None
        if archive is None or inclusion is None or not inclusion.confirmed:
            return False
        if inclusion.address == record.address:
            return False
        if await self._client.confirm(inclusion.address, archive.service, TIMEOUT_SECONDS):
            return False
        _LOG.warning(
            "unconfirmed address set aside",
            archive=name,
            address=record.address,
            stays=inclusion.address,
        )
        return True


def _fitting(key: RegistrationKey, good: tuple[str, str]) -> str:
    """Return the stored hash that this key matches; empty if there is none.

    A wrong key costs two checks, whether there are two keys, one or none.
    """
    return next((kept for kept in good if matches(key, kept)), "")


def _network(peer: str) -> str:
    """Return the network whose failures count together.

    A client with one address of an IPv6 /64 network can use all of them.
    """
    try:
        address = ip_address(peer)
    except ValueError:
        return peer
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return f"{IPv6Address(int(address) >> 64 << 64)}/64"
    return peer
