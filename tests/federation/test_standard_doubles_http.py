"""The standard and nothing else on the other side: an archive in Tcl, and a resolver by hand.

What they know is 004. Whatever goes wrong between them and us is not in the standard.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Condition, Thread
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from tests.support.doubles.resolver import ResolverDouble
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked_resolver import label, metric
from tests.support.servers.resolver import SERVICE, ResolverServer
from tests.support.tools.debian import program
from tests.support.tools.tcl import Tcl
from tests.support.waiting import PATIENCE, wait_until

TCL_ARCHIVE: Final = Path(__file__).parents[1] / "support" / "doubles" / "archive.tcl"
TCL_SERVICE: Final = "sid.inpe.br/mtc-m19@80/2009/08.21.17.02"
TCL_ITEM, TCL_NAME = "8JMKD3MGP7W/3EPGUE5", "sid.inpe.br/mtc-m19/2013/09.04.12.27.57"
TCL_OLDER: Final = "8JMKD3MGP8W/35MMLL8"
KEY: Final = "1234567890"
"""As Table 5.1 has them at the shortest."""
TABLE_6_11: Final = {
    "servicesubject",
    "clientinformation.ipaddress",
    "contenttype",
    "ibi",
    "state",
    "url",
    "url.persistent",
    "urlkey",
}


@pytest.fixture(scope="module")
def tcl() -> Iterator[Tcl]:
    with Tcl() as running:
        yield running


class TclArchive:
    """The archive of tests/support/doubles/archive.tcl while it runs."""

    def __init__(self, resolver: ResolverServer, tcl: Tcl, next_edition: str) -> None:
        """Start it; one of its items has a next edition elsewhere."""
        place = urlsplit(resolver.address)
        given = (TCL_SERVICE, str(place.hostname), str(place.port), SERVICE, KEY, next_edition)
        self._tcl = tcl
        self._said: list[str] = []
        self._came = Condition()
        self._process = subprocess.Popen(  # noqa: S603  # the shell of Tcl
            [program("tclsh", "tcl", "an archive is written in it"), str(TCL_ARCHIVE), *given],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._thread = Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            with self._came:
                self._said.append(line.rstrip("\n"))
                self._came.notify_all()

    def said(self, what: str, number: int = 1) -> list[list[str]]:
        """Return what it said of something, when it did so often."""
        with self._came:
            assert self._came.wait_for(lambda: len(self._of(what)) >= number, PATIENCE), self._said
            return self._of(what)

    def _of(self, what: str) -> list[list[str]]:
        return [self._tcl.read(line)[1:] for line in self._said if line.startswith(f"{what} ")]

    def asked(self) -> list[dict[str, str]]:
        """Return the requests that it got, by their pairs."""
        with self._came:
            return [pairs_of(self._tcl, words[0]) for words in self._of("asked")]

    def switch_off(self) -> list[str]:
        """Let it say that it is off; return what it was told."""
        assert self._process.stdin
        self._process.stdin.close()
        assert self._process.wait(PATIENCE) == 0
        self._thread.join()
        return self._of("told")[-1]

    def end(self) -> None:
        """End it, however it is."""
        self._process.kill()
        self._process.wait(PATIENCE)
        self._thread.join()
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()


def pairs_of(tcl: Tcl, text: str) -> dict[str, str]:
    """Read a list of pairs as Tcl does."""
    words = tcl.read(text)
    return dict(zip(words[::2], words[1::2], strict=True))


@contextmanager
def tcl_archive(
    resolver: ResolverServer, tcl: Tcl, next_edition: str = TCL_NAME
) -> Iterator[TclArchive]:
    registered = resolver.ibi("register", TCL_SERVICE, "--key", KEY)
    assert registered.returncode == 0, registered.stderr
    archive = TclArchive(resolver, tcl, next_edition)
    try:
        yield archive
    finally:
        archive.end()


def is_included(resolver: ResolverServer) -> bool:
    """Tell whether the worker that we are connected to knows: one was told, others soon do."""
    return {each["state"] for each in resolver.archives().values()} == {"included"}


def test_an_archive_in_tcl_is_included_resolved_and_thanked(tmp_path: Path, tcl: Tcl) -> None:
    with ResolverServer(tmp_path) as resolver, tcl_archive(resolver, tcl) as archive:
        [[address]] = archive.said("listening")
        [[status, told]] = archive.said("told")
        assert status == "200"
        assert pairs_of(tcl, told) == {
            "status.archive": "included",
            "status.confirmation": "successful",
        }
        wait_until(lambda: is_included(resolver))
        [known] = resolver.archives().values()
        assert known["address"] == address

        file = f"http://{address}/col/report/Relat%f3rio%20Final.pdf"
        for number, asked in enumerate((TCL_ITEM, TCL_NAME), 1):
            answer = resolver.get(f"/{asked}")
            assert (answer.status, answer.headers["location"]) == (302, file)
            assert [f"{resolver.address}/{asked}", "Original"] in archive.said("counted", number)
        metadata = resolver.get(f"/{TCL_ITEM}:(oai_dc)").headers["location"]
        assert metadata == f"http://{address}/col/report/metadata.cgi?choice=oai_dc"
        assert [f"{resolver.address}/{TCL_ITEM}:(oai_dc)", "Original"] in archive.said("counted", 3)
        assert resolver.get(f"/{TCL_ITEM}+(fr)").status == 404
        assert resolver.get(f"/{TCL_ITEM}:(marc)").status == 406
        assert resolver.get(f"/{label(1)}").status == 404

        told_off = archive.switch_off()
        assert (told_off[0], pairs_of(tcl, told_off[1])) == ("200", {"status.archive": "excluded"})
        wait_until(lambda: resolver.get(f"/{TCL_ITEM}").status == 503)


def test_what_tcl_is_told_of_accesses_is_what_it_gave_keys_for(tmp_path: Path, tcl: Tcl) -> None:
    """An archive of the standard counts one access by one key: each is told by one of its own."""
    with ResolverServer(tmp_path) as resolver, tcl_archive(resolver, tcl) as archive:
        archive.said("told")
        wait_until(lambda: is_included(resolver))
        for _ in range(5):
            assert resolver.get(f"/{TCL_ITEM}").status == 302
        assert len(archive.said("counted", 5)) == 5
        wait_until(lambda: metric(resolver, "accesses_waiting") == 0)
        assert len(archive.said("counted", 5)) == 5
        thanks = [each for each in archive.asked() if each["servicesubject"] == "acknowledgment"]
        assert len({each["urlkey"] for each in thanks}) == 5
        # Table 6.11, and nothing that is ours.
        assert [set(each) for each in thanks] == [TABLE_6_11] * 5


def test_a_last_edition_of_an_item_in_tcl_may_be_in_an_archive_of_ours(
    tmp_path: Path, tcl: Tcl
) -> None:
    with ResolverServer(tmp_path) as resolver, ArchiveServer(tmp_path) as ours:
        key = resolver.register(ours.service)
        assert ours.ibi("link", resolver.address, "--key", key).returncode == 0
        wait_until(lambda: resolver.archives()[ours.service]["state"] == "included")
        later = ours.deposit({"a.txt": b"later"})
        with tcl_archive(resolver, tcl, later["rep"]) as archive:
            archive.said("told")
            wait_until(lambda: is_included(resolver))
            older = resolver.get(f"/{TCL_OLDER}").headers["location"]
            assert older.endswith("/col/older/CCSDS.pdf")
            last = resolver.get(f"/{TCL_OLDER}!")
            assert (last.status, last.headers["location"]) == (302, later["url"])
            wait_until(lambda: accesses(ours) == {later["rep"]: 1})
            assert len(archive.said("counted")) == 1


def accesses(archive: ArchiveServer) -> dict[str, int]:
    """Return how often each item of an archive was read."""
    found = archive.api("GET", "statistics/items").json()["items"]
    return {each["rep"]: each["count"] for each in found}


# A resolver by hand


class PlainResolver(ResolverDouble):
    """Resolves as section 6.2 says, one archive after the other."""

    def __init__(self, tcl: Tcl, registrations: dict[str, str]) -> None:
        """Read pair lists as Tcl does."""
        super().__init__(registrations)
        self._tcl = tcl
        self.hops: list[str] = []

    def request(self, service: str, pairs: dict[str, str]) -> dict[str, str]:
        """Send a request to an archive (section 4.1), and read its answer (section 4.2)."""
        query = "&".join(f"{name}={value.replace(' ', '%20')}" for name, value in pairs.items())
        connection = HTTPConnection(self.included[service], timeout=PATIENCE)
        try:
            connection.request("GET", f"/{service}?{query}")
            answer = connection.getresponse()
            assert (answer.status, answer.getheader("Content-Type")) == (200, "text/plain")
            return pairs_of(self._tcl, answer.read().decode("ascii"))
        finally:
            connection.close()

    def resolve(self, asked: str, verbs: str = "", path: str = "") -> str:
        """Return the URL that a reader is sent to; the archive is thanked for it."""
        relation = "".join(
            f".{verb.removeprefix('Get').lower()}" for verb in verbs.split() if "File" not in verb
        )
        current = asked
        while True:
            self.hops.append(current)
            service, listed = self._first(current, verbs, path)
            if f"url{relation}" in listed:
                self._thank(service, listed, relation, asked)
                return listed[f"url{relation}"]
            current = listed.get(f"ibi{relation}", listed.get("ibi.nextedition", "")).split()[1]

    def _first(self, asked: str, verbs: str, path: str) -> tuple[str, dict[str, str]]:
        """Return the first answer that is not empty (Table 6.9)."""
        pairs = {
            "servicesubject": "urlRequest",
            "clientinformation.ipaddress": "172.16.44.200 150.163.68.1",
            "parsedibiurl.ibi": asked,
            "parsedibiurl.verblist": verbs,
            "parsedibiurl.filepath": path,
        }
        given = {name: value for name, value in pairs.items() if value}
        answers = {service: self.request(service, given) for service in self.included}
        return next((service, listed) for service, listed in answers.items() if listed)

    def _thank(self, service: str, listed: dict[str, str], relation: str, asked: str) -> None:
        pairs = {
            "servicesubject": "acknowledgment",
            "clientinformation.ipaddress": "172.16.44.200 150.163.68.1",
            "contenttype": listed[f"contenttype{relation}"],
            "ibi": listed[f"ibi{relation}"],
            "state": listed[f"state{relation}"],
            "url": listed[f"url{relation}"].replace("?", "%3F").replace("=", "%3D"),
            "url.persistent": f"http://urlib.net:80/{asked}",
            "urlkey": listed["urlkey"],
        }
        assert self.request(service, pairs) == {"notice": "acknowledgment received"}


def test_a_resolver_of_the_standard_can_use_archives_of_ours(tmp_path: Path, tcl: Tcl) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    with (
        ArchiveServer(folders[0], host="one.example.org") as one,
        ArchiveServer(folders[1], host="two.example.org", ip="150.163.34.9") as two,
        PlainResolver(tcl, {one.service: KEY, two.service: KEY}) as resolver,
    ):
        for archive in (one, two):
            assert archive.ibi("link", resolver.address, "--key", KEY).returncode == 0
        wait_until(lambda: len(resolver.included) == 2)
        first = one.deposit({"a b.txt": b"1"})
        last = two.deposit({"a.txt": b"2", "b.txt": b"3"}, target="a.txt")
        edition = one.ibi("edition", first["rep"], last["rep"], "--unchecked")
        assert edition.returncode == 0, edition.stderr

        assert brought(one, resolver.resolve(first["ibip"])) == b"1"
        assert accesses(one) == {first["rep"]: 1}
        assert brought(two, resolver.resolve(first["ibip"], "GetLastEdition")) == b"2"
        assert resolver.hops[-2:] == [first["ibip"], last["rep"]]
        url = resolver.resolve(first["ibip"], "GetLastEdition GetMetadata(oai_dc)")
        assert b"<dc:title>" in brought(two, url)
        assert brought(two, resolver.resolve(last["ibip"], path="/b.txt")) == b"3"
        assert b"b.txt" in brought(two, resolver.resolve(last["ibip"], "GetFileList"))
        assert accesses(one) == {first["rep"]: 1}
        counted = accesses(two)
        assert counted[last["rep"]] == 3
        assert sum(counted.values()) == 4

        assert one.stop() == 0
        assert resolver.included.keys() == {two.service}


def brought(archive: ArchiveServer, url: str) -> bytes:
    """Fetch what a reader was sent to."""
    assert url.startswith(f"{archive.address}/")
    answer: Any = archive.get(url.removeprefix(archive.address))
    assert answer.status == 200
    return bytes(answer.body)
