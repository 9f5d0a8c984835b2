"""ARCHIVE TRANSFER: Originals are transferred between two archives that are killed repeatedly.

The sender, the receiver or both are killed some time after a transfer began, or at a step of the
disk, and again during recovery; some transfers are undone. A watcher asks both all the time. Once
the receiver has answered that it has the Original, the sender must never claim it again; the sender
is readable whenever it answers; and in the end there is one Original, whole, without any help.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any, Final, Self

import urllib3

from tests.faults.archive.failpoint import KILL
from tests.faults.archive.operation_generator import OperationGenerator
from tests.faults.archive.operations import expect
from tests.faults.archive.server_process import SERVER_GONE, KillableArchive
from tests.faults.archive.twins import FORGETFUL, SELFISH
from tests.faults.figures import PATIENCE, Figures, Violation
from tests.faults.sites import ReportProgress, Site

LIFE: Final = 60
"""Kills of one pair of archives, before a new pair is created."""
_ITEMS: Final = 3
_NEXT: Final = 0.02
_MOMENT: Final = 3.0
"""Seconds to wait for a step that may never be reached."""
_ORIGINAL: Final = "?ibiurl.requireditemstatus=Original"


@dataclass(frozen=True, slots=True)
class TransferKillPlan:
    """Which archives are killed, and how."""

    victims: tuple[str, ...] = ("sender", "receiver", "receiver", "both")
    ways: tuple[str, ...] = ("time", "step")
    undo: float = 0.3
    twin: str = ""


class OriginalWatcher:
    """Asks sender and receiver repeatedly which of them has the Original."""

    def __init__(self, sender: str, receiver: str, label: str) -> None:
        self._sender, self._receiver, self._label = sender, receiver, label
        self._ending = Event()
        self._received = 0.0
        """Time of the first answer of the receiver that it has the Original."""
        self.found = ""
        self.asked = 0
        self._thread = Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()

    def _watch(self) -> None:
        with urllib3.PoolManager(retries=False) as http:
            while not self._ending.is_set() and not self.found:
                for address in (self._sender, self._receiver):
                    with suppress(*SERVER_GONE):
                        self._ask(http, address)

    def _ask(self, http: urllib3.PoolManager, address: str) -> None:
        asked = time.monotonic()
        answer = http.request(
            "GET", f"{address}/{self._label}{_ORIGINAL}", redirect=False, timeout=10
        )
        self.asked += 1
        is_original = answer.status == 302
        if address == self._receiver:
            if is_original and not self._received:
                self._received = time.monotonic()
        elif is_original and self._received and asked > self._received:
            self.found = f"two Originals of {self._label}: the sender claims it again"
        elif answer.status not in {302, 404} or b"no item" in answer.data:
            self.found = f"the sender answers {answer.status}: {answer.data[:200]!r}"


class ArchivePair:
    """Two archives, their items, and which has the Original of each."""

    def __init__(self, archives: list[KillableArchive], seed: int, counts: Counter[str]) -> None:
        self.archives = archives
        self.rng = OperationGenerator(seed).rng
        self.counts = counts
        self.tokens = {each.address: each.add_token("friend", "receive") for each in archives}
        self.files: dict[str, dict[str, bytes]] = {}
        self.owners: dict[str, KillableArchive] = {}
        for number in range(_ITEMS):
            owner = archives[number % 2]
            files = {"a.txt": b"a", "in/b.bin": self.rng.randbytes(1 << 18)}
            label = owner.deposit(files, target="a.txt", list_public=False)["rep"]
            self.files[label], self.owners[label] = files, owner

    def transfer_and_kill(self, plan: TransferKillPlan) -> None:
        """Start a transfer, kill one or both archives, and check the end."""
        label = self.rng.choice(sorted(self.files))
        sender = self.owners[label]
        [receiver] = [each for each in self.archives if each is not sender]
        parties = {"sender": [sender], "receiver": [receiver], "both": [sender, receiver]}
        victims = parties[self.rng.choice(plan.victims)]
        with OriginalWatcher(sender.address, receiver.address, label) as watcher:
            self._kill_meanwhile(plan, label, sender, receiver, victims)
            self._await_end(label)
        self.counts["looks"] += watcher.asked
        if watcher.found:
            raise Violation(watcher.found)
        self._judge(label, sender, receiver)

    def _kill_meanwhile(
        self,
        plan: TransferKillPlan,
        label: str,
        sender: KillableArchive,
        receiver: KillableArchive,
        victims: list[KillableArchive],
    ) -> None:
        is_timed = self.rng.choice(plan.ways) == "time"
        for victim in victims:
            if is_timed:
                victim.kill_in(self.rng.uniform(0, 0.3))
            else:
                victim.failpoint.set(self.rng.randint(1, 160), KILL)
        body = {"items": [label], "to": receiver.address, "token": self.tokens[receiver.address]}
        with suppress(*SERVER_GONE):
            expect(sender.api("POST", "transfers", body), 202)
        if self.rng.random() < plan.undo:
            time.sleep(self.rng.uniform(0, 0.15))
            self._undo(self.rng.choice([sender, receiver]))
        if not is_timed:
            self._wait_for_step(victims)
        for victim in victims:
            victim.end()
        for victim in victims:
            again = self.rng.randint(1, 60) if self.rng.random() < 0.25 else 0
            victim.failpoint.disable()
            victim.revive(forked=bool(plan.twin) or self.rng.random() < 0.95, again=again)

    def _undo(self, archive: KillableArchive) -> None:
        with suppress(*SERVER_GONE):
            for each in archive.api("GET", "transfers?state=open").json()["transfers"]:
                answer = archive.api("DELETE", f"transfers/{each['id']}")
                expect(answer, 202, 409)
                self.counts["undoings"] += 1

    def _wait_for_step(self, victims: list[KillableArchive]) -> None:
        """Wait until an archive is killed, or the transfer ends with fewer steps."""
        until = time.monotonic() + _MOMENT
        while time.monotonic() < until:
            triggered = [victim.failpoint.triggered for victim in victims]
            if any(triggered):
                self.counts["killed at a step"] += sum(triggered)
                return
            with suppress(*SERVER_GONE):
                if not any(map(_open, self.archives)):
                    return
            time.sleep(_NEXT)

    def _await_end(self, label: str) -> None:
        """Wait until the transfer has ended, mostly with requests to retry at once."""
        helps = self.rng.random() < 0.8
        until = time.monotonic() + PATIENCE
        while rows := [(each, row) for each in self.archives for row in _open(each)]:
            if time.monotonic() > until:
                raise Violation(f"the transfer of {label} does not end: {rows}")
            for archive, row in rows:
                if helps and row["role"] == "giving":
                    expect(archive.api("POST", f"transfers/{row['id']}"), 202, 409)
            time.sleep(_NEXT)

    def _judge(self, label: str, sender: KillableArchive, receiver: KillableArchive) -> None:
        states = {each.address: _states(each, label) for each in self.archives}
        owners = [each for each in self.archives if states[each.address][:1] == ["Original"]]
        if len(owners) != 1:
            raise Violation(f"the Original of {label} is in {len(owners)} archives: {states}")
        for archive in self.archives:
            found = states[archive.address]
            if len(set(found)) > 1 or (not found and archive is sender):
                raise Violation(f"{label} is there by halves: {states}")
            for path, content in self.files[label].items() if found else ():
                answer = archive.get(f"/col/{label}/doc/{path}")
                if (answer.status, answer.body) != (200, content):
                    raise Violation(f"{path} of {label} is not what it was: {answer.status}")
        moved = owners[0] is receiver
        last = sender.api("GET", "transfers?limit=1").json()["transfers"]
        if moved and (not last or last[0]["state"] != "done"):
            raise Violation(f"{label} moved, and the sender does not know: {last}")
        self.counts["moved" if moved else "stayed"] += 1
        self.owners[label] = owners[0]


def _open(archive: KillableArchive) -> list[dict[str, Any]]:
    answer = expect(archive.api("GET", "transfers?state=open"), 200)
    found: list[dict[str, Any]] = answer.json()["transfers"]
    return found


def _states(archive: KillableArchive, label: str) -> list[str]:
    """Return the states of an item and of its metadata; empty if it is not there."""
    answer = expect(archive.api("GET", f"items/{label}"), 200, 404)
    if answer.status == 404:
        return []
    metadata = answer.json()["metadata"]["rep"]
    return [archive.item(each)["state"] for each in (label, metadata)]


@contextmanager
def _pair(
    site: Site, number: int, seed: int, twin: str, counts: Counter[str]
) -> Iterator[ArchivePair]:
    with ExitStack() as stack:
        archives = []
        for ip in ("150.163.34.1", "150.163.34.2"):  # or one label may be given in both
            archive = KillableArchive(site, f"transfers-{number}-{ip}", twin, ip)
            archive.set(allowed_networks=["127.0.0.0/8"])
            archives.append(stack.enter_context(archive))
        yield ArchivePair(archives, seed * 1_000_003 + number, counts)


def kill_transfers(
    site: Site,
    size: int,
    seed: int,
    report_progress: ReportProgress,
    plan: TransferKillPlan = TransferKillPlan(),  # noqa: B008  # it is frozen
) -> Figures:
    """Kill both sides of transfers."""
    figures, counts, number = Figures(), Counter[str](), 0
    while figures.kills < size:
        number += 1
        with _pair(site, number, seed, plan.twin, counts) as pair:
            kills = 0
            while kills < min(LIFE, size - figures.kills):
                try:
                    pair.transfer_and_kill(plan)
                except Violation as found:
                    what = f"{found}\n [seed {seed}, pair {number}, kill {kills}]"
                    raise Violation(what) from found
                kills = sum(each.kills for each in pair.archives)
                report_progress(f"{figures.kills + kills} of {size} kills, {counts['moved']} moved")
            figures.kills += kills
            figures.labels += len(pair.files)
    figures.notes = ", ".join(f"{count} {what}" for what, count in counts.most_common())
    return figures


def _caught(
    site: Site, size: int, seed: int, report_progress: ReportProgress, twin: str
) -> Figures:
    """Run a twin until it is caught."""
    try:
        return kill_transfers(
            site, size, seed, report_progress, TransferKillPlan(("receiver",), ("step",), 0, twin)
        )
    except Violation as caught:
        return Figures(labels=1, found=caught.brief)


def kill_selfish(site: Site, size: int, seed: int, report_progress: ReportProgress) -> Figures:
    """The twin that takes back what it handed over if the receiver does not answer."""
    return _caught(site, size, seed, report_progress, SELFISH)


def kill_forgetful(site: Site, size: int, seed: int, report_progress: ReportProgress) -> Figures:
    """The twin that does not remember what it accepted."""
    return _caught(site, size, seed, report_progress, FORGETFUL)
