"""Who is included, who is senior and who is at home where: read at every search.

All of it is kept ready, and changed a little when one archive changes, so that a search among
100,000 archives does not begin by going through them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from ibi.identifier.ibip import Ibip
from ibi.identifier.label import Label
from ibi.identifier.repository_name import RepositoryName
from ibi.model.registration import RegisteredArchive

Place: TypeAlias = tuple[str, str, int]
"""Kind of label, host or IP address, and port."""
_ANY_PORT: Final = 0


def homes_for(label: Label) -> tuple[Place, ...]:
    """Return the places where a label may be at home; a legacy label is nowhere.

    What a legacy label says of its origin was recovered from examples, and proves nothing.
    """
    if isinstance(label, RepositoryName):
        return _at_port(label), (label.kind, label.host, _ANY_PORT)
    return (_at_address(label),) if isinstance(label, Ibip) else ()


def places_of(archive: RegisteredArchive) -> frozenset[Place]:
    """Return the places where an archive makes the labels that are found there at home."""
    service, inclusion = archive.service, archive.inclusion
    places: set[Place] = set()
    if isinstance(service, RepositoryName):
        places.add(_at_port(service))
    elif isinstance(service, Ibip):
        places.add(_at_address(service))
    if inclusion is not None and inclusion.confirmed:
        # It answered there, by a name that only the owner of the domain can point at it.
        places.add((RepositoryName.kind, host_of(inclusion.address), _ANY_PORT))
    return frozenset(places)


def host_of(address: str) -> str:
    """Return the host of host and port, as the host of a repository name is written."""
    host, colon, port = address.lower().rpartition(":")
    return (host if colon and port.isdigit() else address.lower()).removesuffix(".")


def _at_port(label: RepositoryName) -> Place:
    return label.kind, label.host, label.port


def _at_address(label: Ibip) -> Place:
    return label.kind, label.ip, _ANY_PORT


_NOBODY: Final[frozenset[str]] = frozenset()
_Standing: TypeAlias = tuple[str, bool, tuple[str, ...]]


class Roster:
    """Registered archives in memory; of one thread."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self.version = 0
        """Grows whenever it changes who is included, or where."""
        self._archives: dict[str, RegisteredArchive] = {}
        self._included: dict[str, RegisteredArchive] = {}
        self.by_name: Mapping[str, RegisteredArchive] = MappingProxyType(self._included)
        """Those that are included, as they are at any time."""
        self._down: dict[str, RegisteredArchive] = {}
        self._homes: dict[Place, frozenset[str]] = {}
        self._tuple: tuple[RegisteredArchive, ...] | None = ()
        self._ranks: Mapping[str, int] | None = None

    def all(self) -> tuple[RegisteredArchive, ...]:
        """Return all archives, by id."""
        return tuple(self._archives[name] for name in sorted(self._archives))

    def find(self, name: str) -> RegisteredArchive | None:
        """Return an archive."""
        return self._archives.get(name)

    def included(self) -> tuple[RegisteredArchive, ...]:
        """Return the archives that are included, those that are down among them."""
        if self._tuple is None:
            self._tuple = tuple(self._included.values())
        return self._tuple

    def down(self) -> tuple[RegisteredArchive, ...]:
        """Return the archives that are down."""
        return tuple(self._down.values())

    def ranks(self) -> Mapping[str, int]:
        """Return the seniority of archives, 0 for the most senior.

        It counts from when a registration became good: else whoever asks early to be registered,
        as anybody may by e-mail, would be senior before anybody trusts him.
        """
        if self._ranks is None:
            archives = self._archives.items()
            good = sorted((each.confirmed, name) for name, each in archives if each.confirmed)
            self._ranks = MappingProxyType({name: rank for rank, (_, name) in enumerate(good)})
        return self._ranks

    def homes(self, label: Label) -> frozenset[str]:
        """Return the included archives that are the home of a label."""
        places = homes_for(label)
        return _NOBODY.union(*(self._homes.get(place, _NOBODY) for place in places))

    def put(self, archive: RegisteredArchive) -> None:
        """Put an archive in the place of the one of its id."""
        name = archive.id
        before = self._archives.get(name)
        self._archives[name] = archive
        self._note(name, before, archive)

    def renew(self) -> None:
        """Make all that was remembered stale."""
        self.version += 1

    def drop(self, name: str) -> None:
        """Forget an archive."""
        before = self._archives.pop(name, None)
        self._note(name, before, None)

    def _note(
        self,
        name: str,
        before: RegisteredArchive | None,
        after: RegisteredArchive | None,
    ) -> None:
        if (before.confirmed if before else 0) != (after.confirmed if after else 0):
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
        if standing != _standing(before):
            self.version += 1
            self._move(name, _places(before), _places(after))

    def _move(self, name: str, before: frozenset[Place], after: frozenset[Place]) -> None:
        for place in before - after:
            left = self._homes[place] - {name}
            if left:
                self._homes[place] = left
            else:
                del self._homes[place]
        for place in after - before:
            self._homes[place] = self._homes.get(place, _NOBODY) | {name}


def _standing(archive: RegisteredArchive | None) -> _Standing | None:
    """Return what searches depend on; None for an archive that is not included."""
    if archive is None or not archive.confirmed or archive.inclusion is None:
        return None
    return archive.inclusion.address, archive.inclusion.confirmed, archive.hosts


def _places(archive: RegisteredArchive | None) -> frozenset[Place]:
    if archive is None or _standing(archive) is None:
        return frozenset()
    return places_of(archive)
