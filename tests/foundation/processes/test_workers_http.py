"""Several processes behind one address: whoever is killed or replaced, readers do not notice."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Thread
from urllib.parse import urlsplit

import pytest

from ibi.archive.web.api.operations import OPERATIONS
from ibi.foundation.system.instance_lock import is_held
from tests.support.clients.http import Answer
from tests.support.clients.steady_reader import SteadyReader
from tests.support.servers.archive import ArchiveServer, raw_get
from tests.support.servers.program import ProgramServer, refused
from tests.support.servers.resolver import ResolverServer
from tests.support.servers.worker_processes import keeper_of, readers_of
from tests.support.waiting import PATIENCE, wait_until

READERS = 3


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    made = ArchiveServer(tmp_path_factory.mktemp("workers"))
    try:
        yield made.start("--workers", str(READERS))
    finally:
        made.kill()


@pytest.fixture(scope="module")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResolverServer]:
    made = ResolverServer(tmp_path_factory.mktemp("workers"))
    try:
        yield made.start("--workers", "2")
    finally:
        made.kill()


def answering(served: ProgramServer) -> set[int]:
    """Return the processes that stand in the log as having answered."""
    lines = (json.loads(line) for line in served.log().splitlines() if line.startswith("{"))
    return {line["process"] for line in lines if line["event"] == "request"}


def anew(served: ProgramServer, path: str) -> bytes:
    """Ask by a connection of its own, which any worker may get."""
    return raw_get(served.address, path.encode())


def are_gone(pids: list[int]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_it_is_ready_once_and_several_answer(archive: ArchiveServer) -> None:
    assert archive.said() == f"ready archive={archive.address}\n"
    assert len(archive.workers()) == READERS + 1

    def several() -> bool:
        assert anew(archive, "/healthz").endswith(b"\r\n\r\nalive\n")
        return len(answering(archive)) > 1

    wait_until(several)
    assert answering(archive) <= set(archive.workers())


def test_what_was_deposited_is_seen_by_all_at_once(archive: ArchiveServer) -> None:
    for number in range(5):
        item = archive.deposit({"a.txt": str(number).encode()})
        for _ in range(2 * READERS):
            found = anew(archive, f"/col/{item['rep']}/doc/a.txt")
            assert found.endswith(f"\r\n\r\n{number}".encode())


def test_readers_refuse_a_wrong_method_like_the_writer(archive: ArchiveServer) -> None:
    methods: dict[str, set[str]] = {}
    for operation in OPERATIONS:
        methods.setdefault(operation.template, set()).add(operation.method)
    not_readable = {path: allowed for path, allowed in methods.items() if "GET" not in allowed}
    assert "/api/v1/items/{ibi}/deletion" in not_readable
    for path, allowed in not_readable.items():
        answer = archive.get(path.replace("{", "").replace("}", ""))
        refused(answer, 405)
        assert set(answer.headers["allow"].split(", ")) == allowed, path


def test_a_token_is_good_at_once_and_bad_at_once(archive: ArchiveServer) -> None:
    for number in range(2):
        secret = archive.add_token(f"reader-{number}", "read")
        header = f"Authorization: Bearer {secret}".encode()
        for status in (b"200", b"401"):
            for _ in range(2 * READERS):
                answer = raw_get(archive.address, b"/api/v1/items", header)
                assert answer.startswith(b"HTTP/1.1 " + status)
            if status == b"200":
                assert archive.api("DELETE", f"tokens/reader-{number}").status == 204


def test_a_large_file_passes_both_ways(archive: ArchiveServer) -> None:
    content = os.urandom(5_000_000)
    item = archive.deposit({"a.bin": content})
    assert archive.get(f"/col/{item['rep']}/doc/a.bin").body == content


def test_everybody_tells_the_numbers_of_all(archive: ArchiveServer) -> None:
    page = archive.get("/metrics").body.decode()
    told = {f'ibi_archive_request_seconds_count{{worker="{name}"}}' for name in ("keeper", 1, 2, 3)}
    assert told <= {line.split()[0] for line in page.splitlines() if not line.startswith("#")}


def test_a_reader_that_is_killed_is_missed_by_nobody(archive: ArchiveServer) -> None:
    before = readers_of(archive)
    with ExitStack() as stack:
        paths = {"/healthz": b"alive\n", "/readyz": b"ready\n"}
        reading = [
            stack.enter_context(SteadyReader(archive.address, paths, cuts=True)) for _ in range(4)
        ]
        _let_them_read(reading)
        os.kill(before[0], signal.SIGKILL)
        wait_until(lambda: len(set(readers_of(archive)) - set(before)) == 1)
        _let_them_read(reading)
    assert [failure for each in reading for failure in each.failures] == []
    assert "another takes its place" in archive.log()


def test_a_keeper_that_is_killed_keeps_nobody_from_reading(archive: ArchiveServer) -> None:
    kept = archive.deposit({"a.txt": b"a"})
    path = f"/col/{kept['rep']}/doc/a.txt"
    old = keeper_of(archive)
    acknowledged: list[str] = []
    with SteadyReader(archive.address, {path: b"a"}) as reader:
        _let_them_read([reader])
        os.kill(old, signal.SIGKILL)

        def deposited() -> bool:
            answer = _deposit(archive)
            if answer.status == 503:
                assert answer.headers["retry-after"]
                return False
            acknowledged.append(answer.json()["rep"])
            return keeper_of(archive) != old

        wait_until(deposited)
        _let_them_read([reader])
    assert reader.failures == []
    for rep in acknowledged:
        assert archive.item(rep)["rep"] == rep


def _deposit(archive: ArchiveServer) -> Answer:
    opened = archive.api("POST", "deposits", {"metadata": {"titles": ["A title"]}})
    if opened.status != 201:
        return opened
    id_ = opened.json()["id"]
    sent = archive.send(id_, "a.txt", b"a")
    if sent.status != 201:
        return sent
    return archive.api("POST", f"deposits/{id_}/completion")


def _let_them_read(reading: list[SteadyReader]) -> None:
    before = [each.answered.total() for each in reading]
    wait_until(
        lambda: all(
            each.answered.total() > count + 10 or each.failures
            for each, count in zip(reading, before, strict=True)
        )
    )


def test_workers_are_replaced_under_load_without_a_failure(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.txt": b"a"})
    paths = {f"/col/{item['rep']}/doc/a.txt": b"a", "/healthz": b"alive\n"}
    assert archive.process
    before = archive.workers()
    with ExitStack() as stack:
        reading = [stack.enter_context(SteadyReader(archive.address, paths)) for _ in range(4)]
        _let_them_read(reading)
        archive.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "workers were replaced" in archive.log() or _deposits(archive))
        _let_them_read(reading)
    assert [failure for each in reading for failure in each.failures] == []
    wait_until(lambda: not set(before) & set(archive.workers()))
    assert len(archive.workers()) == READERS + 1
    assert archive.said().count("ready") == 1


def _deposits(archive: ArchiveServer) -> bool:
    """Deposit something: while a keeper takes the place of another, that waits a moment."""
    answer = _deposit(archive)
    assert answer.status == 200, answer.body
    return False


def test_settings_that_cannot_be_replace_nobody(archive: ArchiveServer) -> None:
    before = archive.workers()
    path = archive.data / "archive.toml"
    good = path.read_text("utf-8")
    path.write_text(good + "nonsense = 1\n", encoding="utf-8")
    try:
        assert archive.process
        archive.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "workers are not replaced" in archive.log())
    finally:
        path.write_text(good, encoding="utf-8")
    assert archive.workers() == before


def test_all_end_together(tmp_path: Path) -> None:
    served = ArchiveServer(tmp_path).start("--workers", "2")
    pids = served.workers()
    assert len(pids) == 3
    assert served.stop() == 0
    assert are_gone(pids)
    assert not is_held(served.data)


def test_nobody_stays_whose_supervisor_is_gone(tmp_path: Path) -> None:
    served = ResolverServer(tmp_path).start("--workers", "2")
    pids = served.workers()
    assert len(pids) == 2
    assert served.process
    os.kill(served.process.pid, signal.SIGKILL)
    wait_until(lambda: are_gone(pids))
    assert not is_held(served.data)
    served.kill()


@pytest.mark.parametrize("made", [ArchiveServer, ResolverServer])
def test_a_start_waits_for_workers_whose_supervisor_was_killed(
    made: Callable[[Path], ProgramServer], tmp_path: Path
) -> None:
    served = made(tmp_path).start("--workers", "2")
    assert served.process
    former = served.process
    pids = served.workers()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)  # so that they do not notice yet
    os.kill(former.pid, signal.SIGKILL)
    former.wait(PATIENCE)
    former.stdout.close()
    waiting = f"Waiting for workers to end, whose supervisor was killed: they still use {tmp_path}"
    with ThreadPoolExecutor(1) as starting:
        try:
            started = starting.submit(served.start, "--workers", "2")
            wait_until(lambda: started.done() or waiting in served.log())
            assert not started.done(), started.exception()
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
        started.result(PATIENCE)
    try:
        wait_until(lambda: are_gone(pids))  # their files are closed before they are reaped
        assert served.log().count(waiting) == 1
        assert served.get("/readyz").status == 200
    finally:
        served.kill()


def test_a_second_start_is_refused_at_once(archive: ArchiveServer) -> None:
    refusal = archive.ibi("serve", "--workers", "2")
    assert refusal.returncode == 1
    assert f"is served already at {archive.address}: stop that first." in refusal.stderr
    assert "Waiting" not in refusal.stderr


def test_who_cannot_begin_says_why_and_ends(tmp_path: Path) -> None:
    served = ArchiveServer(tmp_path)
    (served.data / "catalogue.sqlite").write_bytes(b"no database" * 1000)
    ended = served.ibi("serve", "--workers", "2")
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert len([line for line in ended.stderr.splitlines() if line.startswith("ibi: ")]) == 1


def test_one_worker_is_the_process_itself(tmp_path: Path) -> None:
    served = ResolverServer(tmp_path).start("--workers", "1")
    assert served.workers() == []
    served.kill()


def test_workers_of_a_resolver_answer_and_are_replaced(resolver: ResolverServer) -> None:
    assert resolver.said() == f"ready resolver={resolver.address}\n"
    before = resolver.workers()
    assert len(before) == 2
    with ExitStack() as stack:
        paths = {"/healthz": b"alive\n", "/readyz": b"ready\n"}
        reading = [stack.enter_context(SteadyReader(resolver.address, paths)) for _ in range(4)]
        _let_them_read(reading)
        assert resolver.process
        resolver.process.send_signal(signal.SIGHUP)
        wait_until(lambda: not set(before) & set(resolver.workers()))
        _let_them_read(reading)
    assert [failure for each in reading for failure in each.failures] == []


@pytest.mark.long
def test_whatever_was_acknowledged_outlives_any_number_of_keepers(tmp_path: Path) -> None:
    served = ArchiveServer(tmp_path).start("--workers", "2")
    acknowledged: list[str] = []
    refused: list[int] = []
    over = Event()

    def go_on() -> None:
        while not over.is_set():
            answer = _deposit(served)
            if answer.status == 200:
                acknowledged.append(answer.json()["rep"])
            else:
                refused.append(answer.status)

    depositing = [Thread(target=go_on) for _ in range(3)]
    for thread in depositing:
        thread.start()
    for number in range(6):
        wait_until(lambda number=number: len(acknowledged) > 5 * number)  # type: ignore[misc]
        os.kill(keeper_of(served), signal.SIGKILL)
    over.set()
    for thread in depositing:
        thread.join(PATIENCE)
    assert set(refused) <= {503, 404, 409}  # 404, 409: it was done, and the answer was lost
    for rep in acknowledged:
        assert served.get(f"/col/{rep}/doc/a.txt").body == b"a"
    wait_until(lambda: served.api("GET", "archive").status == 200)
    audit = served.ibi("audit")
    assert audit.returncode == 0, audit.stdout
    assert served.stop() == 0


@pytest.mark.long
def test_a_slow_upload_is_finished_before_the_keeper_is_replaced(archive: ArchiveServer) -> None:
    old = keeper_of(archive)
    before = set(archive.workers())
    id_ = archive.open_deposit()
    parts = urlsplit(archive.address)
    size = 40 * 65_536
    with socket.create_connection((parts.hostname, parts.port), PATIENCE) as connection:
        connection.sendall(
            f"PUT /api/v1/deposits/{id_}/files/slow.bin HTTP/1.1\r\n"
            f"Host: x\r\nConnection: close\r\n"
            f"Authorization: Bearer {archive.token}\r\nContent-Length: {size}\r\n\r\n".encode()
        )
        for number in range(40):
            connection.sendall(bytes(65_536))
            if number == 20:
                assert archive.process
                archive.process.send_signal(signal.SIGHUP)
                wait_until(lambda: bool(set(archive.workers()) - before))
            assert archive.get("/healthz").status == 200
        answer = connection.recv(65_536)
    assert answer.startswith(b"HTTP/1.1 201"), answer
    wait_until(lambda: keeper_of(archive) != old)
    assert archive.complete(id_)["files"][0]["size"] == size


@pytest.mark.long
def test_memory_of_four_workers_is_shared(tmp_path: Path) -> None:
    served = ArchiveServer(tmp_path).start("--workers", "4")
    for _ in range(100):
        assert served.get("/").status == 200
    own = {pid: _memory(pid) for pid in served.workers()}
    served.kill()
    sys.stderr.write(f"\nkB of memory by process, that it does not share: {own}\n")
    assert len(own) == 5


def _memory(pid: int) -> int:
    """Return the kB that no other process has."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
