"""What lies in the tree and belongs to no item that the catalogue knows.

A catalogue that was restored from an older copy does not know the newest items; whoever writes
into the tree by hand leaves files that nobody deposited. Both are told, and nothing is removed.
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
    """Goes through the tree, while others change it."""

    def __init__(self, archive: Archive, check: Callable[[], None]) -> None:
        """Look at an archive; `check` is called now and again, and may end it."""
        self._archive = archive
        self._check = check
        self._place: str | None = None
        self._paths: frozenset[str] | None = None
        """Of the files that the catalogue has at the place that was looked up last."""

    def found(self, places: Sequence[str]) -> Iterator[Damage]:
        """Return what belongs to nobody: at some places, or anywhere if none is given."""
        told: set[str] = set()
        for within in places or ("",):
            for key in self._archive.store.keys(within):
                place = self._suspected(key)
                if place is not None and place not in told:
                    told.add(place)
                    yield from self._judged(place, key)

    def _suspected(self, key: str) -> str | None:
        """Return the place of what seems to belong to nobody."""
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
        """Look again at a place, which nobody changes meanwhile."""
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
        """Return what lies in the folder of an item; not what is of labels that go on there."""
        for key in self._archive.store.keys(place):
            name = key.removeprefix(f"{place}/")
            if name == MANIFEST or name.partition("/")[0] in {DOC, "old"}:
                yield name

    def still(self, label: str, name: str) -> bool:
        """Tell whether something that was damaged is there, or should be."""
        catalogue, store = self._archive.catalogue, self._archive.store
        with self._archive.changing():
            self._archive.settle()
            if not label:
                # What is no text is not written there as it lies on the disk.
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
    """Return the label of which a folder bears the name; empty if it is none."""
    try:
        return parse(place, strict=True).canonical
    except IbiError:
        return ""
