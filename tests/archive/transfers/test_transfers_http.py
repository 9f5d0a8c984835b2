"""Transfers over real sockets: three archives and a resolver, each in a process of its own."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.servers.archive import ArchiveServer, plain
from tests.support.servers.federation import linked_archives
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

ORIGINAL = "?ibiurl.requireditemstatus=Original"
FILES = {"a.txt": b"the file", "in/b.txt": b"another" * 1000}


@dataclass
class Federation:
    """Archives that are linked to a resolver, and trust each other."""

    resolver: ResolverServer
    archives: list[ArchiveServer]
    tokens: dict[str, str]
    """By address, with which others may transfer something there."""

    def transfer(self, source: ArchiveServer, to: ArchiveServer, *labels: str) -> list[Any]:
        """Transfer by the command, which must succeed; return what it says."""
        token = self.tokens[to.address]
        done = source.ibi(
            *("transfer", *labels, "--to", to.address, "--yes", "--json"), IBI_TO_TOKEN=token
        )
        assert (done.returncode, done.stderr) == (0, "")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def begin(self, source: ArchiveServer, to: ArchiveServer, *labels: str) -> list[str]:
        """Begin to transfer; return the ids."""
        body = {"items": labels, "to": to.address, "token": self.tokens[to.address]}
        answer = source.api("POST", "transfers", body)
        assert answer.status == 202, answer.body
        return [each["id"] for each in answer.json()["transfers"]]

    def resolved(self, label: str, query: str = "") -> tuple[int, str]:
        """Return where the resolver leads to."""
        status, headers, _ = plain(self.resolver.address, f"/{label}{query}")
        return status, dict(headers).get("location", "")


def state(archive: ArchiveServer, id_: str) -> dict[str, Any]:
    answer = archive.api("GET", f"transfers/{id_}")
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json()
    return found


def ended(archive: ArchiveServer, id_: str) -> dict[str, Any]:
    wait_until(lambda: state(archive, id_)["state"] != "open")
    return state(archive, id_)


def says_original(archive: ArchiveServer, label: str) -> bool:
    """Ask as readers do that want the Original and nothing else."""
    status, _, body = plain(archive.address, f"/{label}{ORIGINAL}")
    assert status in {302, 404}, body
    return status == 302


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    with linked_archives(tmp_path_factory.mktemp("federation"), 3) as (resolver, archives):
        tokens = {each.address: each.add_token("friends", "receive") for each in archives}
        yield Federation(resolver, archives, tokens)


class Reader(threading.Thread):
    """Reads a file through the resolver without a pause; whatever goes wrong is remembered."""

    def __init__(self, federation: Federation, label: str) -> None:
        """Read the target file."""
        super().__init__()
        self._federation = federation
        self._label = label
        self._ending = threading.Event()
        self.read = 0
        self.faults: list[object] = []

    def run(self) -> None:
        """Read."""
        while not self._ending.is_set():
            try:
                self._read()
            except Exception as fault:  # noqa: BLE001  # whatever a reader would see
                self.faults.append(fault)

    def _read(self) -> None:
        status, location = self._federation.resolved(self._label)
        parts = location.split("/", 3)
        found = plain("/".join(parts[:3]), f"/{parts[3]}") if status == 302 else (0, [], b"")
        if (found[0], found[2]) != (200, FILES["a.txt"]):
            self.faults.append((status, location, found))
        self.read += 1

    def end(self) -> None:
        """Stop."""
        self._ending.set()
        self.join()


class Watcher(threading.Thread):
    """Asks all archives in turn who has the Original, without a pause."""

    def __init__(self, archives: list[ArchiveServer], label: str) -> None:
        """Ask for one item."""
        super().__init__()
        self._archives = archives
        self._label = label
        self._ending = threading.Event()
        self.claims: list[tuple[float, float, str]] = []
        """When it was asked and answered, and by whom, that it is the Original."""

    def run(self) -> None:
        """Watch."""
        while not self._ending.is_set():
            for archive in self._archives:
                asked = time.monotonic()
                if says_original(archive, self._label):
                    self.claims.append((asked, time.monotonic(), archive.address))

    def sees(self, owner: ArchiveServer) -> None:
        """Wait until an archive was the last that was seen with the Original."""
        wait_until(lambda: [claim[2] for claim in self.claims[-1:]] == [owner.address])

    def end(self) -> list[str]:
        """Stop; return who had the Original, one after the other.

        Each answer is of some moment between question and answer: who claims it after somebody
        else did must have been asked later.
        """
        self._ending.set()
        self.join()
        owners: list[str] = []
        for _, _, owner in self.claims:
            if owners[-1:] != [owner]:
                owners.append(owner)
        return owners


@contextmanager
def watched(federation: Federation, label: str) -> Iterator[Watcher]:
    """Read and watch an item meanwhile; it was read, and never in vain."""
    reader, watcher = Reader(federation, label), Watcher(federation.archives, label)
    for thread in (reader, watcher):
        thread.start()
    try:
        yield watcher
        wait_until(lambda: reader.read > 3 or bool(reader.faults))
    finally:
        reader.end()
        watcher.end()
    assert reader.faults == []


def test_an_item_is_read_all_the_time_while_its_original_goes_around(
    federation: Federation,
) -> None:
    a, b, c = federation.archives
    label = a.deposit(FILES, target="a.txt")["rep"]
    with watched(federation, label) as watcher:
        watcher.sees(a)
        for source, to in ((a, b), (b, c), (c, a), (a, b)):
            [done] = federation.transfer(source, to, label)
            watcher.sees(to)
            assert (done["state"], done["phase"], done["role"]) == ("done", "done", "giving")
            assert [says_original(each, label) for each in (source, to)] == [False, True]
    assert watcher.end() == [each.address for each in (a, b, c, a, b)]
    for archive in federation.archives:
        item = archive.item(label)
        assert item["state"] == ("Original" if archive is b else "Copy")
        files = archive.api("GET", f"items/{label}/files").json()["files"]
        assert {each["path"] for each in files} == set(FILES)
    location = federation.resolved(label, ORIGINAL)[1]
    assert location.startswith(b.address)
    assert federation.resolver.api("GET", "conflicts").json()["conflicts"] == []


def test_what_is_neither_listed_nor_everybodys_is_transferred_too(federation: Federation) -> None:
    a, b, _ = federation.archives
    label = a.deposit(FILES, target="a.txt", list_public=False, readers=["10.0.0.0/8"])["rep"]
    federation.transfer(a, b, label)
    assert b.item(label)["state"] == "Original"
    path = f"/col/{label}/doc/a.txt"
    for archive in (a, b):
        assert plain(archive.address, path)[0] == 403
        answer = archive.ask("GET", path)
        assert (answer.status, answer.body) == (200, FILES["a.txt"])
        assert "transfer" not in archive.get(f"/col/{label}/ibi.json").json()


def test_many_items_at_once(federation: Federation) -> None:
    a, b, _ = federation.archives
    labels = [a.deposit({"a.txt": str(n).encode()})["rep"] for n in range(12)]
    done = federation.transfer(a, b, *labels)
    assert [each["state"] for each in done] == ["done"] * 12
    for number, label in enumerate(labels):
        assert b.item(label)["state"] == "Original"
        assert plain(b.address, f"/col/{label}/doc/a.txt")[2] == str(number).encode()
    listed = b.ibi("transfers", "--json")
    came = [json.loads(line) for line in listed.stdout.splitlines()]
    assert set(labels) <= {each["item"] for each in came if each["role"] == "receiving"}


def test_commands_say_what_is_refused_and_nothing_changes(federation: Federation) -> None:
    a, b, c = federation.archives
    label = a.deposit(FILES, target="a.txt")["rep"]

    def refused(source: ArchiveServer, to: ArchiveServer, token: str) -> str:
        done = source.ibi("transfer", label, "--to", to.address, "--to-token", token, "--yes")
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        return done.stderr

    assert "A valid token is needed" in refused(a, b, "wrong")
    assert "scope 'receive'" in refused(a, b, b.add_token("depositor", "deposit"))
    assert "is needed" in refused(a, b, "")
    assert "is this archive itself" in refused(a, a, "x")
    assert "There is no item" in refused(c, b, "x")
    body = {"items": [label], "to": "http://archive.example.org:99999", "token": "x"}
    assert a.api("POST", "transfers", body).status == 400
    assert a.item(label)["state"] == "Original"
    assert b.api("GET", f"items/{label}").status == 404
    federation.transfer(a, b, label)
    assert "is a Copy here" in refused(a, c, federation.tokens[c.address])
    b.api("POST", f"items/{label}/deletion", {"reason": "Not wanted"})
    assert "was deleted" in refused(b, c, federation.tokens[c.address])


def test_an_original_that_is_marked_as_not_transferable_stays(federation: Federation) -> None:
    a, b, c = federation.archives
    token = federation.tokens[b.address]
    other = a.deposit(FILES, target="a.txt")["rep"]
    label = a.deposit(FILES, target="a.txt", transferable=False)["rep"]
    sentence = f"{label} is marked as not transferable: its Original stays in this archive."
    for labels in ([label], [other, label]):
        done = a.ibi("transfer", *labels, "--to", b.address, "--to-token", token, "--yes")
        assert (done.returncode, done.stdout) == (1, "")
        assert sentence in done.stderr
        answer = a.api("POST", "transfers", {"items": labels, "to": b.address, "token": token})
        assert answer.status == 409
        assert sentence in answer.json()["detail"]
    assert a.api("GET", "transfers?state=open").json()["transfers"] == []
    assert [a.item(each)["state"] for each in (other, label)] == ["Original", "Original"]
    assert b.api("GET", f"items/{other}").status == 404
    # A Copy of it is no transfer: it says what the Original says, and only that can change it.
    assert c.ibi("copy", label, "--from", a.address).returncode == 0
    copy = c.item(label)
    assert (copy["state"], copy["transferable"]) == ("Copy", False)
    assert c.api("PATCH", f"items/{label}", {"transferable": True}).status == 409
    assert a.ibi("describe", label, "--transferable").returncode == 0
    federation.transfer(a, b, label, other)
    assert b.item(label)["state"] == "Original"
    assert b.api("PATCH", f"items/{label}", {"transferable": False}).status == 200
    back = {"items": [label], "to": a.address, "token": federation.tokens[a.address]}
    assert b.api("POST", "transfers", back).status == 409


def test_the_software_of_an_item_goes_with_it(federation: Federation) -> None:
    a, b, c = federation.archives
    software = {"ibip": "LK47B6W/362SFKH"}
    label = a.deposit(FILES, target="a.txt", platform_software=software["ibip"])["rep"]
    federation.transfer(a, b, label)
    assert c.ibi("copy", label, "--from", b.address).returncode == 0
    assert [each.item(label)["platform_software"] for each in (a, b, c)] == [software] * 3


def test_nobody_home_then_undone_then_home_again(federation: Federation) -> None:
    a, b, _ = federation.archives
    first = a.deposit(FILES, target="a.txt")["rep"]
    second = a.deposit(FILES, target="a.txt")["rep"]
    b.stop()
    one, two = federation.begin(a, b, first, second)
    wait_until(lambda: "does not answer" in state(a, one).get("fault", ""))
    assert state(a, one)["phase"] == "offered"
    patched = a.api("PATCH", f"items/{first}", {"list_public": False})
    assert patched.status == 409
    assert "wait, or undo it" in patched.json()["detail"]
    said = a.ibi("transfers", "--undo", one)
    assert said.returncode == 0
    assert "ending" in said.stdout
    assert a.item(first)["state"] == "Original"
    assert a.api("PATCH", f"items/{first}", {"list_public": False}).status == 200
    a.restart()
    assert a.ibi("transfers", "--resume", two).returncode == 0  # it cannot have ended: b is away
    b.start()
    assert ended(a, one)["state"] == "undone"
    assert ended(a, two)["state"] == "done"
    assert [b.api("GET", f"items/{each}").status for each in (first, second)] == [404, 200]
    assert a.api("DELETE", f"transfers/{two}").status == 409
    assert a.api("DELETE", f"transfers/{'0' * 32}").status == 404
    unknown = a.ibi("transfers", "--undo", "0" * 32)
    assert unknown.returncode == 1
    assert "There is no transfer" in unknown.stderr


def test_the_other_goes_away_while_it_copies(federation: Federation) -> None:
    a, b, _ = federation.archives
    large = {"large.bin": b"0123456789abcdef" * (1 << 20)}
    label = a.deposit(large)["rep"]
    [id_] = federation.begin(a, b, label)
    wait_until(
        lambda: any(each["id"] == id_ for each in b.api("GET", "transfers").json()["transfers"])
    )
    b.kill()
    b.start()
    a.api("POST", f"transfers/{id_}")
    assert ended(a, id_)["state"] == "done"
    assert plain(b.address, f"/col/{label}/doc/large.bin")[2] == large["large.bin"]
    assert [says_original(each, label) for each in (a, b)] == [False, True]


def test_a_receiver_has_only_that_scope(federation: Federation) -> None:
    a, b, _ = federation.archives
    token = federation.tokens[b.address]
    for method, path in (
        ("GET", "items"),
        ("POST", "deposits"),
        ("GET", "tokens"),
        ("GET", "transfers"),
        ("POST", "transfers"),
    ):
        answer = b.api(method, path, {} if method == "POST" else None, token=token)
        assert (path, answer.status) == (path, 403)
    private = b.deposit({"a.txt": b"a"}, readers=["10.0.0.0/8"])["rep"]
    assert b.ask("GET", f"/col/{private}/doc/a.txt", token=token).status == 403
    offer = {"label": private, "source": a.address, "ticket": "x"}
    id_ = "f" * 32
    for allowed in (token, None):
        answer = b.api("PUT", f"incoming/{id_}", offer, token=allowed)
        assert (answer.status, answer.json()["state"]) == (200, "refused")
        assert "is the Original in this archive already" in answer.json()["reason"]
    for scope in ("read", "deposit"):
        other = b.add_token(f"only-{scope}", scope)
        assert b.api("PUT", f"incoming/{id_}", offer, token=other).status == 403
        assert b.api("DELETE", f"incoming/{id_}?label={private}", token=other).status == 403
        body = {"label": private, "receipt": "x"}
        assert b.api("POST", f"incoming/{id_}/acceptance", body, token=other).status == 403


def test_a_source_that_does_not_let_read_is_refused(federation: Federation) -> None:
    a, b, _ = federation.archives
    label = a.deposit({"a.txt": b"a"}, list_public=False)["rep"]
    offer = {"label": label, "source": a.address, "ticket": "0" * 64}
    id_ = "e" * 32

    def said() -> dict[str, Any]:
        found: dict[str, Any] = b.api("PUT", f"incoming/{id_}", offer).json()
        return found

    wait_until(lambda: said()["state"] != "copying")
    assert said()["state"] == "refused"
    assert b.api("GET", f"items/{label}").status == 404


def test_the_command_goes_on_where_the_other_is_by_now(federation: Federation) -> None:
    a, b, _ = federation.archives
    label = a.deposit(FILES, target="a.txt")["rep"]
    nowhere = "http://127.0.0.1:1"
    body = {"items": [label], "to": nowhere, "token": federation.tokens[b.address]}
    [begun] = a.api("POST", "transfers", body).json()["transfers"]
    wait_until(lambda: "does not answer" in state(a, begun["id"]).get("fault", ""))
    assert a.ibi("transfers", "--to", b.address).returncode == 2
    said = a.ibi("transfers", "--resume", begun["id"], "--to", b.address)
    assert (said.returncode, b.address in said.stdout) == (0, True)
    assert ended(a, begun["id"])["state"] == "done"
    assert [says_original(each, label) for each in (a, b)] == [False, True]


def test_the_command_takes_an_item_once_however_it_is_named(federation: Federation) -> None:
    a, b, _ = federation.archives
    made = a.deposit({"a.txt": b"a"})
    [done] = federation.transfer(a, b, made["rep"], made["ibip"], made["rep"])
    assert done["state"] == "done"
