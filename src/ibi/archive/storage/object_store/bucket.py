"""Objects in a bucket of S3 or of a compatible server: the only module that uses obstore to write.

Every upload carries the SHA-256 of its content, which the server compares. A put is atomic, and so
is a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import obstore
from obstore.store import S3Store

from ibi.archive.ports.file_store import pieces_of
from ibi.archive.storage.object_store.file import ObjectFile, object_errors
from ibi.errors import Sentence, StorageError

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config


from queue import Empty, Full, Queue
from threading import Event, Thread

from ibi.archive.rules.fixity import MANIFEST
from ibi.errors import FileNameError

LONGEST_KEY: Final = 1024
"""Bytes of UTF-8 of the longest key that S3 accepts, with the prefix of all keys."""


def doc(place: str, path: str) -> str:
    """Return the key of a file of an item."""
    return f"col/{place}/doc/{path}"


def old(change: str, place: str, path: str) -> str:
    """Return the key of a file that was replaced by a change."""
    return f"col/{place}/old/{change}/{path}"


def manifest(place: str) -> str:
    """Return the key of the manifest of an item."""
    return f"col/{place}/{MANIFEST}"


def intent(change: str) -> str:
    """Return the key of the intent of a change: the list of files that it is about to send."""
    return f"incoming/change-{change}/intent.json"


def waiting(change: str, number: int) -> str:
    """Return the key of a file that waits to replace another."""
    return f"incoming/change-{change}/{number}"


def journal(change: str) -> str:
    """Return the key of the line that decides a change."""
    return f"journal/{change}.json"


def check_key(place: str, path: str, longest: int = LONGEST_KEY) -> None:
    """Raise FileNameError if a file, or its old version once it is replaced, can have no key.

    Paths from clients have passed `check_path` before: this is a second check.
    """
    if {"", ".", ".."} & set(path.split("/")):
        raise FileNameError(path, Sentence("it is not a name"))
    if len(old("0" * 32, place, path).encode()) > longest:
        raise FileNameError(path, Sentence("it is too long for an object store"))


_AHEAD: Final = 2
"""Pieces that are read ahead."""
_LOOK: Final = 0.5
"""Seconds after which each thread checks whether the other one still runs."""


def read_ahead(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the same pieces, read ahead by a thread; an exception of `pieces` is raised here."""
    queue: Queue[bytes | BaseException | None] = Queue(_AHEAD)
    unwanted = Event()
    reader = Thread(target=_read, args=(pieces, queue, unwanted), name="read-ahead", daemon=True)
    reader.start()
    try:
        while (piece := _next(queue, reader)) is not None:
            if isinstance(piece, BaseException):
                raise piece
            yield piece
    finally:
        unwanted.set()


def _next(
    queue: Queue[bytes | BaseException | None], reader: Thread
) -> bytes | BaseException | None:
    while True:
        try:
            return queue.get(timeout=_LOOK)
        except Empty:
            if not reader.is_alive() and queue.empty():
                raise RuntimeError("The thread that reads ahead has ended.") from None


def _read(
    pieces: Iterator[bytes], queue: Queue[bytes | BaseException | None], unwanted: Event
) -> None:
    try:
        for piece in pieces:
            if not _put(queue, piece, unwanted):
                return
        _put(queue, None, unwanted)
    except BaseException as failure:  # noqa: BLE001  # raised in the consuming thread
        _put(queue, failure, unwanted)


def _put(
    queue: Queue[bytes | BaseException | None],
    piece: bytes | BaseException | None,
    unwanted: Event,
) -> bool:
    while not unwanted.is_set():
        try:
            queue.put(piece, timeout=_LOOK)
        except Full:
            continue
        return True
    return False


T = TypeVar("T")

SCHEME: Final = "s3://"
PART: Final = 8 << 20
"""Bytes of a part: a larger file is sent in several, and only a part that failed is sent again."""
_MOST_PARTS: Final = 9_000
"""Parts of one upload at most; S3 accepts 10,000."""
_PARTS_AT_ONCE: Final = 4
"""Parts of one upload that are sent concurrently."""
LARGEST_COPY: Final = 5_000_000_000
"""Bytes of the largest object that S3 copies in one request."""
_LINK_LIFE: Final = timedelta(minutes=5)
"""How long a presigned URL is valid."""
_AT_ONCE: Final = 8
"""Concurrent requests of one change."""

_CLIENT: Final[ClientConfig] = {
    "connect_timeout": timedelta(seconds=10),
    "read_timeout": timedelta(seconds=60),
    "timeout": timedelta(minutes=10),
}
_RETRY: Final[RetryConfig] = {"max_retries": 6, "retry_timeout": timedelta(minutes=1)}


class Objects:
    """The objects below s3://bucket/prefix."""

    def __init__(self, storage: str, endpoint: str = "", region: str = "") -> None:
        """Use a bucket; credentials come from the environment variables of the AWS tools."""
        bucket, _, prefix = storage.removeprefix(SCHEME).partition("/")
        self.name = storage.rstrip("/")
        self.longest_key = LONGEST_KEY - len(f"{prefix.strip('/')}/".encode())
        """Bytes of UTF-8 of the longest key in this bucket."""
        config: S3Config = {"checksum_algorithm": "SHA256"}
        client = _CLIENT.copy()
        if endpoint:
            config["endpoint"] = endpoint
            client["allow_http"] = endpoint.startswith("http://")
        if region:
            config["region"] = region
        self._pool = ThreadPoolExecutor(_AT_ONCE, "objects")
        try:
            self._store = S3Store(
                bucket,
                prefix=prefix.strip("/") or None,
                config=config,
                client_options=client,
                retry_config=_RETRY,
            )
        except Exception as fault:
            raise StorageError(self.name, "this is no object store that can be used") from fault

    def check(self) -> None:
        """Raise StorageError if the bucket does not answer."""
        next(self.keys("journal"), None)

    def put(
        self,
        key: str,
        content: bytes | Path | Iterator[bytes],
        size: int = 0,
        attributes: Mapping[str, str] | None = None,
    ) -> None:
        """Write or replace an object; its size determines how it is divided into parts."""
        if isinstance(content, Iterator):
            content = b"".join(content) if size <= PART else read_ahead(content)
        with object_errors(f"{self.name}/{key}"):
            obstore.put(
                self._store,
                key,
                content,
                attributes=dict(attributes or {}),
                chunk_size=max(PART, -(-size // _MOST_PARTS)),
                max_concurrency=_PARTS_AT_ONCE,
            )

    def get(self, key: str) -> bytes:
        """Return the content of an object; raise FileNotFoundError if there is none."""
        with object_errors(f"{self.name}/{key}"):
            return bytes(obstore.get(self._store, key).bytes())

    def open(self, key: str) -> ObjectFile:
        """Open an object for reading; raise FileNotFoundError if there is none."""
        return ObjectFile(self._store, self.name, key)

    def has(self, key: str) -> bool:
        """Return whether there is an object."""
        try:
            self._size(key)
        except FileNotFoundError:
            return False
        return True

    def _size(self, key: str) -> int:
        with object_errors(f"{self.name}/{key}"):
            return obstore.head(self._store, key)["size"]

    def copy(self, source: str, target: str) -> None:
        """Copy an object with its attributes; raise FileNotFoundError if there is none."""
        if self._size(source) <= LARGEST_COPY:
            with object_errors(f"{self.name}/{target}"):
                obstore.copy(self._store, source, target)
        else:
            file = self.open(source)
            self.put(target, pieces_of(file, count=PART), file.size, file.attributes)

    def delete(self, keys: Sequence[str]) -> None:
        """Remove objects; keys without an object are ignored."""
        if keys:
            with object_errors(self.name):
                obstore.delete(self._store, list(keys))

    def keys(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the keys in a folder and its subfolders with their sizes, in the order of S3."""
        with object_errors(self.name):
            for chunk in obstore.list(self._store, prefix or None, chunk_size=1000):
                yield from ((found["path"], found["size"]) for found in chunk)

    def link(self, key: str, method: str) -> str:
        """Return a URL that gives access to an object for some minutes, without credentials."""
        with object_errors(f"{self.name}/{key}"):
            return obstore.sign(self._store, "HEAD" if method == "HEAD" else "GET", key, _LINK_LIFE)

    def each(self, function: Callable[[T], object], values: Sequence[T]) -> None:
        """Call a function with each value, several at once; raise the first failure.

        When this returns or raises, no call is still running.
        """
        calls = [self._pool.submit(function, value) for value in values]
        wait(calls, return_when=FIRST_EXCEPTION)
        for call in calls:
            call.cancel()
        wait(calls)
        for call in calls:
            if not call.cancelled():
                call.result()
