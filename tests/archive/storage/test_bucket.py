"""The door to an object store: what it takes, how it divides it, and what it says of failures."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ibi.archive.ports.file_store import pieces_of
from ibi.archive.storage.object_store import bucket as module
from ibi.archive.storage.object_store.bucket import PART, Objects
from ibi.archive.storage.object_store.store import ObjectFiles, ObjectStore
from ibi.errors import FileNameError, StorageError, StorageFullError, UnknownError
from ibi.model.item import File
from tests.support.servers.object_store import ObjectServer
from tests.support.waiting import PATIENCE

TRUTH = b"a true text"


@pytest.fixture
def objects(object_server: ObjectServer) -> Objects:
    return object_server.objects()


@pytest.mark.parametrize(
    "name",
    [
        *("a b", "ü/é.txt", "%41", "%2F", "~", "#x", "st'r", "[x]", "{y}", "plus+plus", "a&b=c;d"),
        *(".hidden", "日本", "x" * 255, "@", "a,b", "doc/old/ibi.json", "^`", "$!()"),
    ],
)
def test_every_name_that_a_file_can_have_is_a_key(objects: Objects, name: str) -> None:
    objects.put(f"doc/{name}", b"data", 4, {"sha256": "1", "modified": "5"})
    assert objects.get(f"doc/{name}") == b"data"
    assert list(objects.keys("doc")) == [(f"doc/{name}", 4)]
    objects.copy(f"doc/{name}", f"old/{name}")
    copied = objects.open(f"old/{name}")
    assert (copied.modified, copied.attributes["sha256"]) == (5, "1")
    objects.delete([f"doc/{name}"])
    assert not objects.has(f"doc/{name}")


def test_a_prefix_is_a_folder_and_not_the_beginning_of_a_name(objects: Objects) -> None:
    for key in ("a/1", "a/b/2", "ab/3", "a.b/4"):
        objects.put(key, b"")
    assert [key for key, _ in objects.keys("a")] == ["a/1", "a/b/2"]
    assert len(list(objects.keys(""))) == 4


def test_large_files_are_sent_in_parts_and_read_in_pieces(objects: Objects, tmp_path: Path) -> None:
    content = os.urandom(3 * PART + 5)
    (tmp_path / "large").write_bytes(content)
    objects.put("a", tmp_path / "large", len(content))
    pieces = iter([content[:PART], content[PART : PART + 7], content[PART + 7 :]])
    objects.put("b", pieces, len(content), {"modified": "9"})
    for key in ("a", "b"):
        with closing(objects.open(key)) as opened:
            assert opened.size == len(content)
            found = hashlib.sha256()
            for piece in pieces_of(opened, count=1 << 20):
                found.update(piece)
            assert found.digest() == hashlib.sha256(content).digest()
            assert opened.read(65_530, 10) == content[65_530:65_540]
            assert opened.read(len(content) - 1, 100) == content[-1:]
            assert opened.read(len(content), 100) == b""
    assert objects.open("b").modified == 9


def test_what_s3_does_not_copy_by_itself_is_read_and_written(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = os.urandom(PART + 1)
    objects.put("a", iter([content]), len(content), {"sha256": "1", "modified": "5"})
    monkeypatch.setattr(module, "LARGEST_COPY", 1000)
    monkeypatch.delattr("obstore.copy")
    objects.copy("a", "b")
    assert objects.get("b") == content
    assert objects.open("b").modified == 5
    with pytest.raises(FileNotFoundError):
        objects.copy("nothing", "c")


def test_a_source_that_fails_leaves_nothing(objects: Objects) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"a" * (PART + 1)
        raise StorageError("of the test", "the disk failed")

    with pytest.raises(StorageError, match="the disk failed"):
        objects.put("a", pieces(), 3 * PART)
    assert not objects.has("a")


def test_a_file_that_is_replaced_while_it_is_read_is_told(objects: Objects) -> None:
    objects.put("a", b"1" * 200_000)
    opened = objects.open("a")
    assert opened.read(100_000, 2) == b"11"
    objects.put("a", b"2" * 200_000)
    with pytest.raises(StorageError, match="replaced while it was read"):
        opened.read(100_000, 2)


def test_the_first_failure_of_many_is_raised_when_none_is_under_way(objects: Objects) -> None:
    ended = []

    def work(number: int) -> None:
        if number == 3:
            raise StorageError("of the test", "3")
        objects.put(f"a/{number}", b"")
        ended.append(number)

    with pytest.raises(StorageError, match="3"):
        objects.each(work, list(range(50)))
    there = len(list(objects.keys("a")))
    assert there == len(ended) < 50


def pass_on(source: socket.socket, sink: socket.socket, truth: bytes, told: bytes) -> None:
    """Hand on what comes, with another text in the place of one."""
    with suppress(OSError):
        while data := source.recv(65_536):
            sink.sendall(data.replace(truth, told))
        sink.shutdown(socket.SHUT_WR)


@contextmanager
def between(endpoint: str, told: bytes) -> Iterator[str]:
    """Stand between us and the store, and change a text on its way there."""
    server = urlsplit(endpoint)
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        ends: list[socket.socket] = []
        threads: list[threading.Thread] = []

        def begin(work: Callable[..., None], *arguments: object) -> None:
            threads.append(threading.Thread(target=work, args=arguments))
            threads[-1].start()

        def accept() -> None:
            with suppress(OSError):
                while True:
                    ends.append(listener.accept()[0])
                    ends.append(socket.create_connection((server.hostname, server.port), PATIENCE))
                    here, there = ends[-2:]
                    begin(pass_on, here, there, TRUTH, told)
                    begin(pass_on, there, here, TRUTH, TRUTH)

        begin(accept)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            for end in (listener, *ends):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()
            for end in ends:
                end.close()


def test_what_is_spoiled_on_its_way_is_not_taken(
    object_server: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    retry = {"max_retries": 1, "retry_timeout": timedelta(seconds=5)}
    monkeypatch.setattr(module, "_RETRY", retry)
    storage = object_server.storage()
    with between(object_server.endpoint, TRUTH) as endpoint:
        Objects(storage, endpoint, "us-east-1").put("good", TRUTH)
    with between(object_server.endpoint, b"a fake text") as endpoint:
        objects = Objects(storage, endpoint, "us-east-1")
        with pytest.raises(StorageError):
            objects.put("bad", TRUTH)
    there = object_server.objects(storage)
    assert there.get("good") == TRUTH
    assert not there.has("bad")


def test_a_key_that_is_too_long_is_refused_before_anything_is_sent(
    objects: Objects, tmp_path: Path
) -> None:
    store = ObjectStore(objects, tmp_path)
    with pytest.raises(FileNameError, match="too long"):
        store.open("example.org/archive/2023/11.14.22.13.21", "/".join(["y" * 200] * 5))


def test_the_prefix_of_all_keys_counts(object_server: ObjectServer, tmp_path: Path) -> None:
    path = "/".join(["y" * 200] * 3)
    objects = object_server.objects(f"{object_server.storage()}/{'p' * 255}")
    store = ObjectStore(objects, tmp_path)
    with pytest.raises(FileNameError, match="too long"):
        store.open("example.org/archive/2023/11.14.22.13.21", f"{path}/{'y' * 80}")
    with pytest.raises(UnknownError):
        store.open("example.org/archive/2023/11.14.22.13.21", path)


@pytest.mark.parametrize(
    ("said", "kind", "told"),
    [
        (
            "Error performing PUT http://169.254.169.254/latest/api/token - status code: 403 x",
            StorageError,
            "no credentials in the environment",
        ),
        ("status code: 507 Insufficient Storage: ", StorageFullError, "no room left"),
        ("status code: 403 x <Code>QuotaExceeded</Code>", StorageFullError, "no room left"),
        (
            "status code: 403 x <Code>AccessDenied</Code>",
            StorageError,
            r"refuses access \(AccessDenied",
        ),
        ("status code: 500 x <Code>InternalError</Code>", StorageError, "answered InternalError"),
        ("PUT http://x - HTTP error: refused\nDebug: x", StorageError, r"not answer \(HTTP error"),
    ],
)
def test_failures_are_told_in_our_words(said: str, kind: type[StorageError], told: str) -> None:
    from obstore.exceptions import GenericError  # noqa: PLC0415  # as the library raises it

    from ibi.archive.storage.object_store.file import object_errors  # noqa: PLC0415

    with pytest.raises(StorageError, match=told) as found, object_errors("s3://b"):
        raise GenericError(f"Generic S3 error: {said}")
    assert type(found.value) is kind


def test_what_lies_in_one_bucket_is_written_to_another(object_server: ObjectServer) -> None:
    source, target = ObjectFiles(object_server.objects()), ObjectFiles(object_server.objects())
    content = os.urandom(2 * PART + 1)
    file = File("a", len(content), hashlib.sha256(content).hexdigest(), "", 7)
    source.write("col/a", iter([content]), file)
    with closing(source.open("col/a")) as opened:
        target.write("col/a", pieces_of(opened), file)
    with closing(target.open("col/a")) as opened:
        assert (opened.size, opened.modified) == (file.size, 7)
        assert b"".join(pieces_of(opened)) == content
    target.remove(["col/a", "col/b"])
    assert list(target.keys("col")) == []
    with pytest.raises(UnknownError):
        target.open("col/a")
    with pytest.raises(FileNameError, match="too long"):
        target.write("/".join(["y" * 200] * 6), iter([]), file)
