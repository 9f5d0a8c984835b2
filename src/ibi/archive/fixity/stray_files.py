"""Finds files in the store that belong to no item of the catalogue.

A catalogue that was restored from an older copy lacks the newest items; files that were written by
hand were never deposited. Both are reported, and nothing is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ibi.archive.archive import Archive
from ibi.archive.ports.catalogue import StoredItem
from ibi.archive.ports.maintenance import Damage
from ibi.archive.rules.fixity import DOC, MANIFEST, NOBODYS, UNKNOWN_ITEM, is_known, owners
from ibi.errors import IbiError
from ibi.identifier.label import parse


class StrayFiles:
    """Searches the store for stray files, while the archive changes."""

    def __init__(self, archive: Archive, check: Callable[[], None]) -> None:
        """Search the store of an archive; `check` is called now and then, and may raise."""
        self._archive = archive
        self._check = check
        self._place: str | None = None
        self._paths: frozenset[str] | None = None
        """Paths of the catalogue's files in the item folder that was looked up last."""

    def found(self, places: Sequence[str]) -> Iterator[Damage]:
        """Yield stray files: in some item folders, or in the whole store if none is given."""
        reported: set[str] = set()
        for within in places or ("",):
            for key in self._archive.store.keys(within):
                place = self._suspected(key)
                if place is not None and place not in reported:
                    reported.add(place)
                    yield from self._judged(place, key)

    def _suspected(self, key: str) -> str | None:
        """Return the item folder of a key that seems to be stray."""
        nobodys = ""
        for place, name in owners(key):
            paths = self._known(place)
            if paths is not None:
                return None if is_known(name, paths) else place
            if not nobodys and _canonical(place):
                nobodys = place
        return nobodys or key

    def _known(self, place: str) -> frozenset[str] | None:
        if place != self._place:
            self._check()
            self._place, self._paths = place, self._paths_at(place)
        return self._paths

    def _paths_at(self, place: str) -> frozenset[str] | None:
        held = self._held(place)
        if held is None:
            return None
        return frozenset(file.path for file in self._archive.catalogue.items.files(held.id))

    def _held(self, place: str) -> StoredItem | None:
        canonical = _canonical(place)
        held = self._archive.catalogue.items.find(canonical) if canonical else None
        return held if held is not None and held.item.forms.label.spelling == place else None

    def _judged(self, place: str, key: str) -> Iterator[Damage]:
        """Check an item folder again, under the lock for changes."""
        now = self._archive.clock.wall()
        with self._archive.changing():
            self._archive.settle()
            paths = self._paths_at(place)
            names = list(self._names(place))
        if not _canonical(place):
            yield Damage(label="", path=key, found=now, what=NOBODYS)
        elif paths is None and names:
            what = UNKNOWN_ITEM if MANIFEST in names else NOBODYS
            yield Damage(label=place, path="", found=now, what=what)
        elif paths is not None:
            label = _canonical(place)
            for name in names:
                if not is_known(name, paths):
                    yield Damage(label=label, path=name, found=now, what=NOBODYS)

    def _names(self, place: str) -> Iterator[str]:
        """Yield the names in an item folder, without those of labels that extend this label."""
        for key in self._archive.store.keys(place):
            name = key.removeprefix(f"{place}/")
            if name == MANIFEST or name.partition("/")[0] in {DOC, "old"}:
                yield name

    def still(self, label: str, name: str) -> bool:
        """Return whether a logged file still exists, or should."""
        catalogue, store = self._archive.catalogue, self._archive.store
        with self._archive.changing():
            self._archive.settle()
            if not label:
                # A name that is no UTF-8 is logged in another spelling than it has on the disk.
                return name in store.keys(name.partition("\\")[0].rpartition("/")[0])
            if not name:
                return self._held(label) is None and any(store.keys(label))
            held = catalogue.items.find(label)
            if held is None:
                return False
            folder, _, path = name.partition("/")
            if name == MANIFEST or (
                folder == DOC and catalogue.items.file(held.id, path) is not None
            ):
                return True
            return name in self._names(held.item.forms.label.spelling)


def _canonical(place: str) -> str:
    """Return the label that a folder is named after; empty if there is none."""
    try:
        return parse(place, strict=True).canonical
    except IbiError:
        return ""
