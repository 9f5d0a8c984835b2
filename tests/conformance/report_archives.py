"""A resolver and the archives of 004 while they run, with the items of its examples.

Each is a process of its own. The items are in the archives that the report prints, under the labels
that it prints, which the archives adopted; the last edition of section 8.2 is in another one, so
that the resolver has to ask a second time. Addresses are those of this machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from ibi.wire import pairlist
from tests.support.clients.http import Answer
from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked_resolver import service_of
from tests.support.servers.federation import link
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

ADOPTED: Final = (
    *("sid.inpe.br/mtc-m18", "sid.inpe.br/mtc-m19", "iconet.com.br/banon", "dpi.inpe.br/banon"),
    *("8JMKD3MGP8W", "8JMKD3MGP7W", "LK47B6W"),
)
"""The prefixes of the labels that the reports print."""
CHANGED: Final = {
    "archive": {"adopts", "allowed_networks", "full_text", "requests_a_second"},
    "resolver": {"allowed_networks", "archive_seconds", "messages_a_second", "requests_a_second"},
}
"""The settings beyond those that `init` needs to know: names and addresses."""
CCSDS_643: Final = b"CCSDS 643.0-B-1: ASCII Encoded English"
RTC_07: Final = "RTC-07: Inglês Codificado em ASCII".encode()
CCSDS_650: Final = b"CCSDS 650.0-B-1: Reference Model for an OAIS"
CCSDS_650_2: Final = b"CCSDS 650.0-M-2: Reference Model for an OAIS"
BANON: Final = b"Identificador com base na Internet (IBI)"
REFERENCE: Final = b"@techreport{Banon:2011}"
FINAL_REPORT: Final = "Relatório final".encode()
EXAMPLE_1: Final = b"An item of 16 February 2009"
CLIENT: Final = "150.163.2.175"

_HEADING: Final = re.compile(r"<h1><span[^>]*>(.*?)</span></h1>")


@dataclass(frozen=True)
class MetadataFamily:
    """An item in English and its translation, each with two editions and with two languages."""

    label: str
    """Of the first edition in English."""
    metadata: str
    """The label of its metadata."""
    archive: ArchiveServer
    """Where it is."""


@dataclass
class ReportFederation:
    """The resolver and the archives mtc-m16c, mtc-m16d and mtc-m21."""

    resolver: ResolverServer
    m16c: ArchiveServer
    m16d: ArchiveServer
    m21: ArchiveServer
    _adopted: list[str] = field(default_factory=list, init=False)

    @property
    def archives(self) -> tuple[ArchiveServer, ...]:
        """All of them."""
        return self.m16c, self.m16d, self.m21

    def get(self, path: str, **headers: str) -> Answer:
        """Ask the resolver for a persistent URL."""
        return self.resolver.get(f"/{path}", **headers)

    def location(self, path: str, **headers: str) -> str:
        """Return where the resolver sends a reader."""
        answer = self.get(path, **headers)
        assert answer.status == 302, (path, answer.body)
        return answer.headers["location"]

    def brought(self, path: str, **headers: str) -> bytes:
        """Follow a persistent URL as a browser does, and return what is there."""
        return self.fetched(self.location(path, **headers), **headers)

    def fetched(self, location: str, **headers: str) -> bytes:
        """Fetch what is at a URL of one of the archives."""
        archive = self.holder(location)
        headers.setdefault("Accept", "text/html,*/*;q=0.5")
        found = archive.get(location.removeprefix(archive.address), **headers)
        assert found.status == 200, (location, found.body)
        return found.body

    def holder(self, location: str) -> ArchiveServer:
        """Return the archive that a URL leads to."""
        [found] = [each for each in self.archives if location.startswith(f"{each.address}/")]
        return found

    def followed(self, path: str, languages: str) -> str:
        """Follow a persistent URL; return the text of the file, or the heading of the page."""
        found = self.brought(path, Accept_Language=languages).decode()
        heading = _HEADING.search(found)
        return heading[1] if heading else found

    def states(self, label: str) -> dict[str, str]:
        """Return what each archive says that it has of an item: the graph G of Definition 3.1."""
        said = {archive.address: answered(archive, label) for archive in self.archives}
        return {address: pairs["state"] for address, pairs in said.items() if pairs}

    def adopt(
        self,
        archive: ArchiveServer,
        labels: list[str],
        files: dict[str, bytes],
        *,
        metadata_label: str = "",
        **wanted: Any,  # noqa: ANN401  # a description
    ) -> None:
        """Have an archive adopt an item."""
        adoption = {"labels": labels, "metadata_labels": [metadata_label] if metadata_label else []}
        archive.deposit(files, adoption=adoption, **wanted)
        self._adopted += labels

    def wait_for_adopted(self) -> None:
        """Wait until the resolver finds what was adopted.

        The labels are not young, so the resolver takes the digest of an archive for its answer
        until the notice of the change arrives.
        """
        while self._adopted:
            wait_until(partial(self._is_found, self._adopted[-1]))
            self._adopted.pop()

    def _is_found(self, label: str) -> bool:
        return self.get(label).status == HTTPStatus.FOUND

    @contextmanager
    def guest(self, number: int) -> Iterator[ArchiveDouble]:
        """Include an archive that records what it is told, for a while."""
        with ArchiveDouble(service_of(number)) as double:
            self.resolver.include(double)
            yield double
            gone = self.resolver.ibi("remove", double.service, "--yes")
            assert gone.returncode == 0, gone.stderr

    @cached_property
    def family(self) -> MetadataFamily:
        """Items whose translations are in another archive."""
        return self._family(self.m16d, self.m21)

    @cached_property
    def family_in_one_archive(self) -> MetadataFamily:
        """Items that are all in one archive."""
        return self._family(self.m16c, self.m16c)

    def _family(self, one: ArchiveServer, two: ArchiveServer) -> MetadataFamily:
        en1 = _two_languages(one, "en1", "en")
        en2 = _two_languages(one, "en2", "en", edition_of=en1["rep"])
        pt1 = _two_languages(two, "pt1", "pt")
        pt2 = _two_languages(two, "pt2", "pt", edition_of=pt1["rep"])
        for english, portuguese in ((en1, pt1), (en2, pt2)):
            _done(one, "translation", english["rep"], "pt", portuguese["rep"])
        return MetadataFamily(en1["rep"], en1["metadata"]["rep"], one)


def message(archive: ArchiveServer, **pairs: str) -> Answer:
    """Send a message to the archive service, as section 4.1 writes it."""
    query = urlencode(pairs, quote_via=quote, safe="/:")
    return archive.get(f"/{archive.service}?{query}")


def url_request(archive: ArchiveServer, label: str, verbs: str = "", path: str = "") -> Answer:
    """Send a `urlRequest` (Table 6.9)."""
    pairs = {
        "servicesubject": "urlRequest",
        "clientinformation.ipaddress": CLIENT,
        "parsedibiurl.ibi": label,
        **({"parsedibiurl.verblist": verbs} if verbs else {}),
        **({"parsedibiurl.filepath": path} if path else {}),
    }
    answer = message(archive, **pairs)
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"] == "text/plain"
    return answer


def answered(archive: ArchiveServer, label: str, verbs: str = "", path: str = "") -> dict[str, str]:
    """Return the pairs that an archive answers."""
    return dict(pairlist.decode(url_request(archive, label, verbs, path).body.decode("ascii")))


@contextmanager
def report_federation(folder: Path) -> Iterator[ReportFederation]:
    """Run the resolver and the archives, with the items of the examples in them."""
    with ExitStack() as stack:
        resolver = ResolverServer(folder)
        resolver.wanted_workers = ""  # of several, one may ask a guest that another has removed
        stack.enter_context(resolver)
        archives = []
        for number, name in ((239, "mtc-m16c"), (240, "mtc-m16d"), (241, "mtc-m21")):
            own = folder / name
            own.mkdir()
            archive = ArchiveServer(own, host=f"{name}.sid.inpe.br", ip=f"150.163.34.{number}")
            archive.set(adopts=list(ADOPTED), allowed_networks=["127.0.0.0/8"])
            archives.append(stack.enter_context(archive))
            link(resolver, archive)
        federation = ReportFederation(resolver, *archives)
        _fill(federation)
        yield federation


def _fill(federation: ReportFederation) -> None:
    m16c, m16d, m21 = federation.archives
    m18, m19 = "sid.inpe.br/mtc-m18@80/2009", "sid.inpe.br/mtc-m19/2013"
    federation.adopt(
        m16c,
        [f"{m18}/07.21.13.23", "8JMKD3MGP8W/35MME4E"],
        {"CCSDS 643.0-B-1.pdf": CCSDS_643},
        metadata_label=f"{m18}/07.21.13.23.47",
        language="en",
        metadata={"titles": ["ASCII Encoded English"]},
    )
    federation.adopt(
        m16c,
        [f"{m18}/08.25.19.43"],
        {"RTC-07.pdf": RTC_07},
        language="pt",
        translation_of="8JMKD3MGP8W/35MME4E",
        metadata={"titles": ["Inglês Codificado em ASCII"]},
    )
    federation.adopt(
        m16c,
        [f"{m18}/07.21.14.43", "8JMKD3MGP8W/35MMLL8"],
        {"CCSDS 650.0-B-1.pdf": CCSDS_650},
        metadata={"titles": ["OAIS, first edition"]},
    )
    federation.adopt(
        m21,
        ["sid.inpe.br/mtc-m18/2012/07.12.18.08", "8JMKD3MGP8W/3C9EP6P"],
        {"CCSDS 650.0-M-2.pdf": CCSDS_650_2},
        metadata_label="sid.inpe.br/mtc-m18/2012/07.12.18.08.49",
        metadata={"titles": ["OAIS, second edition"]},
    )
    federation.adopt(
        m16c,
        [f"{m18}/02.16.17.46", "8JMKD3MGP8W/34PGRBS"],
        {"item.txt": EXAMPLE_1},
        metadata={"titles": ["An item"]},
    )
    federation.adopt(
        m16d,
        ["iconet.com.br/banon/2009/09.09.22.01", "LK47B6W/362SFKH"],
        {"@relatorio.pdf": BANON, "reference.bib": REFERENCE},
        target="@relatorio.pdf",
        metadata={"titles": ["Identificador com base na Internet (IBI)"]},
    )
    federation.adopt(
        m16d,
        [f"{m19}/09.04.12.27.57", "8JMKD3MGP7W/3EPGUE5"],
        {"Relatório Final.pdf": FINAL_REPORT},
        metadata_label=f"{m19}/09.04.12.27.58",
        metadata={"titles": ["Relatório Final"]},
    )
    federation.wait_for_adopted()
    _done(m16c, "edition", "8JMKD3MGP8W/35MMLL8", "sid.inpe.br/mtc-m18/2012/07.12.18.08")


def _two_languages(
    archive: ArchiveServer, name: str, language: str, **related: str
) -> dict[str, Any]:
    """Deposit an item whose metadata have texts in its own language and in the other."""
    other = {"en": "pt", "pt": "en"}[language]
    metadata = {
        "titles": [f"{name} in {language}", {"value": f"{name} in {other}", "language": other}],
        "subjects": [f"subject in {language}", {"value": f"subject in {other}", "language": other}],
    }
    return archive.deposit(
        {"a.txt": name.encode()}, metadata=metadata, language=language, **related
    )


def _done(archive: ArchiveServer, *words: str) -> None:
    done = archive.ibi(*words)
    assert done.returncode == 0, done.stderr
