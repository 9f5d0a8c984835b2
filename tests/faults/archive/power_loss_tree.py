"""What a power loss leaves of the folder of an archive.

Of a file it leaves what was synced, of a folder the names that were there when it was synced; of
what came later all, nothing, or some. A rename takes place or not, for both folders at once, as in
every journaling file system; without a journal a rename may lose the file.
"""

from __future__ import annotations

import os
import random
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any, Final

from tests.faults.archive.failpoint import Failpoint, install
from tests.faults.sqlite_disks import PowerLossDisk

SURVIVORS: Final = "survivors"
_DATABASES: Final = ("catalogue.sqlite", "ledger.sqlite")
_DISKS: Final[list[PowerLossDisk]] = []


class Node:
    """A file or a folder, as it is on the disk."""

    __slots__ = ("content", "entries", "modified", "moves")

    def __init__(self, entries: dict[str, Node] | None = None) -> None:
        self.entries = entries
        """Of a folder, the names in it."""
        self.content = b""
        self.modified = 0
        self.moves: list[tuple[Node, str, Node, str]] = []
        """Renames that no sync has made durable yet: from where, to where."""


class PowerLossTree:
    """A folder that computes what a power loss would leave of it."""

    def __init__(self, root: Path, *, careless: bool) -> None:
        """Start with all files durable; a `careless` disk syncs no folder."""
        self._root = root
        self._careless = careless
        self._run_child: dict[int, Node] = {}
        self._top = self._adopt(root)

    def _adopt(self, path: Path) -> Node:
        if path.is_dir():
            node = Node({each.name: self._adopt(each) for each in _listed(path)})
        else:
            node = Node()
            node.content, node.modified = path.read_bytes(), path.stat().st_mtime_ns
        self._run_child[path.stat().st_ino] = node
        return node

    def _node(self, path: Path) -> Node:
        status = path.lstat()
        folder = stat.S_ISDIR(status.st_mode)
        return self._run_child.setdefault(status.st_ino, Node({} if folder else None))

    def sync(self, descriptor: int) -> None:
        """Mark a synced file or folder as durable."""
        place = _opened(descriptor)
        if not place.is_relative_to(self._root):
            return
        node = self._node(place)
        if node.entries is None:
            node.content, node.modified = place.read_bytes(), place.stat().st_mtime_ns
        elif not self._careless:
            there = {each.name: self._node(each) for each in _listed(place)}
            gone = [child for name, child in node.entries.items() if there.get(name) is not child]
            for child in (*there.values(), *gone):
                self._settle(child, node)
            node.entries = there

    @staticmethod
    def _settle(child: Node, synced: Node) -> None:
        """Make the renames of something durable, in the folder that was synced and in the other."""
        if any(synced in {source, target} for source, _, target, _ in child.moves):
            for source, old, target, new in child.moves:
                assert source.entries is not None
                assert target.entries is not None
                if source.entries.get(old) is child:
                    del source.entries[old]
                target.entries[new] = child
            child.moves = []

    def move(self, source: Path, target: Path) -> None:
        """Note a rename."""
        if source.is_relative_to(self._root) and source.exists():
            places = self._node(source.parent), source.name, self._node(target.parent), target.name
            self._node(source).moves.append(places)

    def last_name(self, path: Path, folder: int | None = None) -> int:
        """Return the inode of a folder or of a file with one name; 0 otherwise."""
        try:
            status = os.stat(path, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return 0
        return status.st_ino if stat.S_ISDIR(status.st_mode) or status.st_nlink == 1 else 0

    def forget(self, number: int) -> None:
        """Forget an inode that has lost its last name, as its number may be used again."""
        self._run_child.pop(number, None)

    def write_survivors(self, rng: random.Random, kept: float, into: Path) -> None:
        """Write what a power loss at this moment would leave."""
        coins: dict[int, bool] = {}

        def is_kept(node: Node) -> bool:
            return coins.setdefault(id(node), rng.random() < kept)

        self._write(self._top, self._root, into, is_kept)

    def _write(
        self, node: Node, place: Path | None, into: Path, is_kept: Callable[[Node], bool]
    ) -> None:
        if node.entries is None:
            whole = place is not None and is_kept(node)
            into.write_bytes(place.read_bytes() if whole and place else node.content)
            modified = place.stat().st_mtime_ns if whole and place else node.modified
            os.utime(into, ns=(modified, modified))
            return
        into.mkdir()
        there = {each.name: self._node(each) for each in _listed(place)} if place else {}
        for name in node.entries.keys() | there.keys():
            old, new = node.entries.get(name), there.get(name)
            changed = new if new is not None else old
            assert changed is not None
            # Where the new state is unknown, the old one is left.
            chosen = new if place is not None and (new is old or is_kept(changed)) else old
            if chosen is not None:
                inner = place / name if place is not None and chosen is new else None
                self._write(chosen, inner, into / name, is_kept)


def _listed(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if not path.name.startswith(_DATABASES))


def install_power_loss(failpoint: Failpoint, data: Path, *, careless: bool = False) -> None:
    """Run this process on a disk whose power the failpoint can cut."""
    tree = PowerLossTree(data, careless=careless)
    disk = PowerLossDisk("powered", failpoint.pass_or_fail)
    _DISKS.append(disk)
    for path in data.iterdir():
        if path.name.startswith(_DATABASES) and not path.name.endswith("-shm"):
            disk.adopt(str(path), path.read_bytes())
    calls = _TrackedCalls(tree)

    def lose() -> None:
        rng = random.Random(failpoint.steps)  # noqa: S311  # reproducible, not secret
        survivors = data.parent / SURVIVORS
        with calls.lock:
            tree.write_survivors(rng, rng.choice([0.0, 0.0, rng.random(), 1.0]), survivors)
        for place, content in disk.survivors(rng).items():
            if Path(place).parent == data:
                (survivors / Path(place).name).write_bytes(content)

    calls.replace()
    failpoint.lose = lose
    install(failpoint, disk.name)


class _TrackedCalls:
    """The calls of `os` that the tree tracks, one at a time."""

    def __init__(self, tree: PowerLossTree) -> None:
        self.lock = RLock()
        self._tree = tree
        self._fsync, self._rename = os.fsync, os.rename

    def replace(self) -> None:
        """Replace the calls of `os`."""
        names = vars(os)
        names["fsync"] = self.fsync
        names["unlink"] = names["remove"] = partial(self.remove, os.unlink)
        names["rmdir"] = partial(self.remove, os.rmdir)
        names["rename"] = names["replace"] = self.rename

    def fsync(self, descriptor: int) -> None:
        with self.lock:
            self._fsync(descriptor)
            self._tree.sync(descriptor)

    def remove(self, call: Callable[..., None], path: Any, *, dir_fd: int | None = None) -> None:  # noqa: ANN401  # as os does
        with self.lock:
            number = self._tree.last_name(path, dir_fd)
            call(path, dir_fd=dir_fd)
            self._tree.forget(number)

    def rename(
        self,
        source: Any,  # noqa: ANN401  # as os does
        target: Any,  # noqa: ANN401  # as os does
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
    ) -> None:
        with self.lock:
            number = self._tree.last_name(target, dst_dir_fd)
            self._tree.move(_place(source, src_dir_fd), _place(target, dst_dir_fd))
            self._rename(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
            self._tree.forget(number)


def _place(path: Any, folder: int | None) -> Path:  # noqa: ANN401  # as os does
    return Path(path) if folder is None else _opened(folder) / path


def _opened(descriptor: int) -> Path:
    return Path(f"/proc/self/fd/{descriptor}").readlink()
