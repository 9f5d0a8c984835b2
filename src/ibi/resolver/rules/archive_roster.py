"""The registered archives in memory: which are included, which are senior, which are homes.

Every search reads them. All indexes are updated when an archive changes, so that a search among
100,000 archives does not begin with a loop over all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from ibi.identifier.label import Label
from ibi.model.registration import EVERY_PORT, ProvedPlace, RegisteredArchive
from ibi.resolver.rules.home_places import Place, homes_for, host_and_port, places_of

_NO_ARCHIVES: Final[frozenset[str]] = frozenset()
_Standing: TypeAlias = tuple[str, bool, tuple[str, ...]]


class Roster:
    """Registered archives in memory; for use by one thread."""

    def __init__(self) -> None:
        """Begin without archives."""
        self.version = 0
        """Grows whenever an archive is included, excluded or moves, or a home changes."""
        self._archives: dict[str, RegisteredArchive] = {}
        self._included: dict[str, RegisteredArchive] = {}
        self.by_name: Mapping[str, RegisteredArchive] = MappingProxyType(self._included)
        """A live view of the included archives, by id."""
        self._down: dict[str, RegisteredArchive] = {}
        self._homes: dict[str, dict[int, frozenset[str]]] = {}
        """The archives at a host or IP address, by port."""
        self._hosts: set[str] = set()
        """Hosts and IP addresses at which an archive is registered, or was."""
        self._tuple: tuple[RegisteredArchive, ...] | None = ()
        self._ranks: Mapping[str, int] | None = None

    def all(self) -> tuple[RegisteredArchive, ...]:
        """Return all archives, by id."""
        return tuple(self._archives[name] for name in sorted(self._archives))

    def find(self, name: str) -> RegisteredArchive | None:
        """Return the archive with an id; None if there is none."""
        return self._archives.get(name)

    def included(self) -> tuple[RegisteredArchive, ...]:
        """Return the archives that are included, also those that are down."""
        if self._tuple is None:
            self._tuple = tuple(self._included.values())
        return self._tuple

    def down(self) -> tuple[RegisteredArchive, ...]:
        """Return the archives that are down."""
        return tuple(self._down.values())

    def ranks(self) -> Mapping[str, int]:
        """Return the seniority of archives, 0 for the most senior.

        It counts from the confirmation of the registration: anyone may request a registration by
        e-mail, and must not become senior by requesting it early.
        """
        if self._ranks is None:
            good = sorted(
                (each for each in self._archives.values() if each.confirmed), key=seniority
            )
            self._ranks = MappingProxyType({each.id: rank for rank, each in enumerate(good)})
        return self._ranks

    def homes(self, label: Label) -> frozenset[str]:
        """Return the archives that are homes of a label, also those that are switched off."""
        return _NO_ARCHIVES.union(*map(self._at, homes_for(label)))

    def knows_host(self, host: str) -> bool:
        """Return whether an archive is registered at a host or IP address, or ever was."""
        return host in self._hosts

    def note_host(self, service: Label) -> None:
        """Remember the host of an archive that was removed, by the label of its service."""
        self._hosts.update(host for host, _ in homes_for(service))

    def is_free(self, place: ProvedPlace, name: str) -> bool:
        """Return whether no other archive is at home at a place, nor at any port that it covers."""
        ports = self._homes.get(place.host, {})
        covered = ports if place.port == EVERY_PORT else (place.port, EVERY_PORT)
        return all(ports.get(port, _NO_ARCHIVES) <= {name} for port in covered)

    def put(self, archive: RegisteredArchive) -> None:
        """Store an archive, or replace the one with its id."""
        name = archive.id
        before = self._archives.get(name)
        self._archives[name] = archive
        if before is None or before.address != archive.address:
            self.note_host(archive.service)
            self._hosts.update(host for host, _ in places_of(archive))
            self._hosts.add(host_and_port(archive.address)[0])
        self._note(name, before, archive)

    def invalidate(self) -> None:
        """Make all caches that depend on the version stale."""
        self.version += 1

    def drop(self, name: str) -> None:
        """Remove an archive."""
        before = self._archives.pop(name, None)
        self._note(name, before, None)

    def _note(
        self,
        name: str,
        before: RegisteredArchive | None,
        after: RegisteredArchive | None,
    ) -> None:
        if _seniority(before) != _seniority(after):
            self._ranks = None
        standing = _standing(after)
        if after is not None and standing is not None:
            self._included[name] = after
        else:
            self._included.pop(name, None)
        if after is not None and standing is not None and after.outage is not None:
            self._down[name] = after
        else:
            self._down.pop(name, None)
        self._tuple = None
        old, new = _places(before), _places(after)
        if standing != _standing(before) or old != new:
            self.version += 1
            self._move(name, old, new)

    def _move(self, name: str, before: frozenset[Place], after: frozenset[Place]) -> None:
        for place in before - after:
            self._put_at(place, self._at(place) - {name})
        for place in after - before:
            self._put_at(place, self._at(place) | {name})

    def _at(self, place: Place) -> frozenset[str]:
        host, port = place
        ports = self._homes.get(host)
        return _NO_ARCHIVES if ports is None else ports.get(port, _NO_ARCHIVES)

    def _put_at(self, place: Place, names: frozenset[str]) -> None:
        host, port = place
        ports = self._homes.setdefault(host, {})
        if names:
            ports[port] = names
            return
        del ports[port]
        if not ports:
            del self._homes[host]


def seniority(archive: RegisteredArchive) -> tuple[int, int, str]:
    """Return the sort key of registered archives, the most senior first.

    Archives that were confirmed before the database numbered them come first, by their times.
    """
    return archive.seniority, archive.confirmed, archive.id


def _seniority(archive: RegisteredArchive | None) -> tuple[int, int, str] | None:
    return seniority(archive) if archive is not None and archive.confirmed else None


def _standing(archive: RegisteredArchive | None) -> _Standing | None:
    """Return the facts that searches depend on; None for an archive that is not included."""
    if archive is None or not archive.confirmed or archive.inclusion is None:
        return None
    return archive.inclusion.address, archive.inclusion.confirmed, archive.hosts


def _places(archive: RegisteredArchive | None) -> frozenset[Place]:
    """Return the places of an archive; none before it is registered, or if its key was revoked."""
    if archive is None or not archive.confirmed or not archive.key:
        return frozenset()
    return places_of(archive)
