"""The pool: minters here and elsewhere as one, while some of them are down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from ibi import Minter, RepositoryName
from ibi.errors import BusyError, MinterClosedError, MinterUnreachableError, MintingRequestError
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.system.clock import SystemClock
from ibi.minting.pool import SKIP_NANOSECONDS, Pool
from ibi.minting.remote_minter import RemoteMinter
from ibi.minting.rules.label_generator import Minted
from ibi.minting.rules.subsystem import Subsystem
from ibi.minting.storage.ledger import SqlLedger
from ibi.minting.storage.machine_folder import MachineFolder
from tests.support.doubles.minting_machine import FakeClock
from tests.support.servers.minting import MintingServer


def local(folder: Path, host: str, granularity: str = "auto") -> Minter:
    """Open a minter with a ledger of its own."""
    return Minter(
        Subsystem(host),
        SqlLedger(Sqlite(folder / f"{host}.sqlite")),
        SystemClock(),
        MachineFolder(folder / "machine"),
        granularity=granularity,
    )


def host_of(label: Minted) -> str:
    assert label.rep
    return RepositoryName.parse(label.rep).host


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def minters(tmp_path: Path) -> Iterator[list[Minter]]:
    with ExitStack() as stack:
        hosts = [f"m{number}.example.org" for number in range(3)]
        yield [stack.enter_context(local(tmp_path, host)) for host in hosts]


def test_requests_go_round(minters: list[Minter], clock: FakeClock) -> None:
    pool = Pool(minters, clock)
    labels = [pool.mint() for _ in range(30)]
    assert len({label.rep for label in labels}) == 30
    assert Counter(map(host_of, labels)) == dict.fromkeys(map(host_of, labels[:3]), 10)


def test_a_batch_is_of_one_subsystem(minters: list[Minter], clock: FakeClock) -> None:
    pool = Pool(minters, clock)
    hosts = [set(map(host_of, pool.mint_many(50))) for _ in range(3)]
    assert [len(each) for each in hosts] == [1, 1, 1]
    assert len(set.union(*hosts)) == 3


def test_one_that_is_closed_is_left_out(minters: list[Minter], clock: FakeClock) -> None:
    pool = Pool(minters, clock)
    minters[1].close()
    hosts = Counter(host_of(pool.mint()) for _ in range(20))
    assert sorted(hosts) == ["m0.example.org", "m2.example.org"]


def test_when_all_are_down_the_last_error_is_raised(
    minters: list[Minter], clock: FakeClock
) -> None:
    pool = Pool([*minters, RemoteMinter("http://127.0.0.1:1", "")], clock)
    for minter in minters:
        minter.close()
    with pytest.raises(MinterUnreachableError, match="no connection"):
        pool.mint()
    with pytest.raises((MinterUnreachableError, MinterClosedError)):
        pool.mint()


def test_a_request_that_cannot_be_is_not_passed_on(minters: list[Minter], clock: FakeClock) -> None:
    pool = Pool(minters, clock)
    with pytest.raises(MintingRequestError, match="0 is not a number of labels"):
        pool.mint_many(0)
    # Nobody was sent to rest for it.
    assert len({host_of(pool.mint()) for _ in range(3)}) == 3


def test_a_pool_of_nobody_is_refused(clock: FakeClock) -> None:
    with pytest.raises(MintingRequestError, match="at least one"):
        Pool([], clock)


def test_one_that_is_busy_is_left_alone_for_as_long_as_it_says(
    tmp_path: Path, minters: list[Minter], clock: FakeClock
) -> None:
    with local(tmp_path, "slow.example.org", "60") as slow:
        pool = Pool([slow, minters[0]], clock)
        assert len(pool.mint_many(2, timeout=1)) == 2  # a minute for slow: too long
        with pytest.raises(BusyError):
            slow.mint_many(2, timeout=1)
        assert {host_of(pool.mint()) for _ in range(4)} == {"m0.example.org"}
        clock.sleep(SKIP_NANOSECONDS)
        assert {host_of(pool.mint(timeout=5)) for _ in range(2)} == {
            "slow.example.org",
            "m0.example.org",
        }


def test_threads_share_a_pool(minters: list[Minter], clock: FakeClock) -> None:
    pool = Pool(minters, clock)
    with ThreadPoolExecutor(8) as threads:
        labels = list(threads.map(lambda _: pool.mint().rep, range(400)))
    assert len(set(labels)) == 400


def test_closing_a_pool_closes_its_members(minters: list[Minter], clock: FakeClock) -> None:
    Pool(minters, clock).close()
    for minter in minters:
        with pytest.raises(MinterClosedError):
            minter.mint()


def test_over_http_one_that_is_killed_is_left_out_until_it_is_back(
    tmp_path: Path, minters: list[Minter], clock: FakeClock
) -> None:
    with MintingServer(tmp_path, host="remote.example.org") as server:
        remote = RemoteMinter(server.address, server.token)
        pool = Pool([remote, minters[0]], clock)
        labels = [pool.mint() for _ in range(10)]
        assert Counter(map(host_of, labels)) == {"remote.example.org": 5, "m0.example.org": 5}
        server.kill()
        labels += [pool.mint() for _ in range(10)]
        assert Counter(map(host_of, labels[10:])) == {"m0.example.org": 10}
        port = server.address.rpartition(":")[2]
        server.options[server.options.index("--listen") + 1] = f"127.0.0.1:{port}"
        server.start()
        # It rests a while yet, then it is asked again.
        assert {host_of(pool.mint()) for _ in range(4)} == {"m0.example.org"}
        clock.sleep(SKIP_NANOSECONDS)
        labels += [pool.mint() for _ in range(10)]
        assert Counter(map(host_of, labels[20:])) == {"remote.example.org": 5, "m0.example.org": 5}
        assert len({label.rep for label in labels}) == len(labels)
        remote.close()
