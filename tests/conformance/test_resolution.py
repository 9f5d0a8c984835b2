"""004, section 6.2 and chapter 8, from the resolver's side: every message that it sends, in order.

The archives are those of the report, at the addresses of the report, and answer what is printed.
All else is the resolver itself. Broken lines of the print are joined, and what optical recognition
did to it is mended where the report's own links have it right.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

import pytest
from starlette.applications import Starlette

from ibi.errors import ProofError
from ibi.foundation.sql.upgrade import upgrade
from ibi.identifier.label import Label, parse
from ibi.identifier.persistent_url import PersistentUrl
from ibi.model.archive_record import ArchiveRecord
from ibi.model.registration import RegisteredArchive
from ibi.model.relation import Relation
from ibi.resolver.ports.outbound import ArchiveReply, NoReply, Reply
from ibi.resolver.registry.registry import Registry
from ibi.resolver.settings import ResolverSettings
from ibi.resolver.storage.migrations import RESOLVER_MIGRATIONS
from ibi.resolver.wiring.app import ResolverInstance, resolver_app
from ibi.wire import requests, responses
from ibi.wire.digest import DigestPage
from ibi.wire.requests import (
    Acknowledgment,
    ExclusionRequest,
    InclusionConfirmationRequest,
    InclusionRequest,
    UrlRequest,
)
from ibi.wire.responses import UrlList
from tests.conformance.standard import covers
from tests.conformance.test_archive_answer import in_any_order
from tests.support.doubles.resolver_store import KEY, until

MTC_M16C: Final = "http://mtc-m16c.sid.inpe.br/sid.inpe.br/mtc-m18@80/2008/03.17.15.17"
MTC_M16D: Final = "http://mtc-m16d.sid.inpe.br/sid.inpe.br/mtc-m19@80/2009/08.21.17.02"
MTC_M21: Final = "http://mtc-m21.sid.inpe.br/sid.inpe.br/mtc-m21/2012/06.05.15.34.39"
MTC_M21_BY_IP: Final = MTC_M21.replace("mtc-m21.sid.inpe.br", "150.163.34.239:80", 1)
ARCHIVES: Final = (MTC_M16C, MTC_M16D, MTC_M21)
PREFERENCE: Final = "pt-BR,fr;q=0.8,en;q=0.5,pt;q=0.3"
NOTICE: Final = "notice {acknowledgment received}"


@dataclass
class Printed:
    """Archives that answer as printed, and to all else with an empty list."""

    answers: Mapping[str, str]
    """Lists of URLs by base URL, label and list of verbs, divided by blanks."""
    messages: list[str] = field(default_factory=list)
    """All that went to and fro, in order."""

    async def ask(self, archive: RegisteredArchive, request: UrlRequest, seconds: float) -> Reply:
        """Take message (3), and answer it by (4)."""
        del seconds
        base = f"http://{archive.address}/{archive.service.spelling}"
        self.messages.append(requests.at(base, request))
        verbs = "".join(f" {verb}" for verb in request.verbs)
        said = self.answers.get(f"{base} {request.label.spelling}{verbs}", "")
        listed = responses.decode("\r\n".join(map(str.strip, said.strip().splitlines())))
        assert listed is None or isinstance(listed, UrlList)
        return ArchiveReply(archive.id, listed)

    async def acknowledge(
        self, archive: RegisteredArchive, request: Acknowledgment, seconds: float
    ) -> str:
        """Take message (5), and answer it by (6)."""
        del seconds
        base = f"http://{archive.address}/{archive.service.spelling}"
        self.messages += [requests.at(base, request), NOTICE]
        return ""

    async def confirm(self, address: str, service: Label, seconds: float) -> str:
        """Take message (3) of Figure 5.1, and answer it by (4)."""
        del seconds
        base = f"http://{address}/{service.spelling}"
        self.messages += [requests.at(base, InclusionConfirmationRequest()), "confirmation yes"]
        return ""

    async def denies(self, address: str, service: Label, seconds: float) -> bool:
        """Deny an archive that is elsewhere: the standard has no such message."""
        del address, service, seconds
        return True

    async def digest(
        self, archive: RegisteredArchive, epoch: str, after: int, seconds: float
    ) -> DigestPage | NoReply | None:
        """Publish none: the standard has no digests."""
        del archive, epoch, after, seconds
        return None

    async def challenge(self, host: str, path: str, seconds: float) -> str:
        """Have nothing there."""
        del path, seconds
        raise ProofError(host)

    async def close(self) -> None:
        """Close nothing."""


@dataclass(frozen=True)
class Played:
    """What became of a reader's request."""

    messages: list[str]
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def location(self) -> str:
        """Message (7)."""
        assert self.status == HTTPStatus.FOUND, self.body
        return self.headers["location"]

    def about(self, subject: str) -> list[str]:
        """Return the messages on a subject."""
        return [each for each in self.messages if f"servicesubject={subject}" in each]


def play(  # noqa: PLR0913  # who asks for what, and what is there
    folder: Path,
    url: str,
    answers: Mapping[str, str],
    *,
    user: str = "172.16.44.200",
    proxy: str = "150.163.68.1",
    language: str = PREFERENCE,
) -> Played:
    """Let a user ask for a persistent URL at the resolver that it names."""
    base = "/".join(url.split("/")[:3])
    headers = {"accept-language": language, **({"x-forwarded-for": user} if proxy else {})}
    archives = Printed(answers)
    settings = _settings(folder, base, trusted_proxies=[f"{proxy}/32"] if proxy else [])

    async def ask(app: Starlette) -> Played:
        played = await _get(app, url.removeprefix(base), headers, proxy or user)
        if played.status == HTTPStatus.FOUND:
            await until(lambda: NOTICE in archives.messages)
        return Played(archives.messages, played.status, played.headers, played.body)

    return _running(settings, archives, ask)


def _settings(folder: Path, base: str, trusted_proxies: Sequence[str] = ()) -> ResolverSettings:
    """Tell archives all of an address, as the standard does, and remember nothing."""
    return ResolverSettings(
        folder=folder,
        name="Resolvedor",
        address=base,
        client_address="full",
        trusted_proxies=list(trusted_proxies),
        hot_seconds=0,
        absent_seconds=0,
    )


def _running(
    settings: ResolverSettings,
    archives: Printed,
    work: Callable[[Starlette], Awaitable[Played]],
) -> Played:
    """Run a resolver, whole but for the wire to its archives."""

    async def run() -> Played:
        await _register(instance)
        app, _ = resolver_app(instance)
        async with app.router.lifespan_context(app):
            return await work(app)

    upgrade(settings.place, RESOLVER_MIGRATIONS, postgresql=False)
    with (
        closing(ResolverInstance(settings)) as instance,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr("ibi.resolver.wiring.builders.HttpArchiveClient", lambda _: archives)
        return asyncio.run(run())


async def _register(instance: ResolverInstance) -> None:
    """Have all archives included."""
    registry = Registry(instance.store.archives, instance.store.feed, instance.clock)
    await registry.open()
    for base in ARCHIVES:
        record = _record(base)
        archive, _ = await registry.register(record.service, KEY, "", (), "operator", "test")
        await registry.include(archive.id, record, confirmed=True)
    await registry.close()


def _record(base: str) -> ArchiveRecord:
    address, _, service = base.removeprefix("http://").partition("/")
    return ArchiveRecord(
        address, parse(service), "150.163.34.239", "2014:11.09.02.16.15", "banon@dpi.inpe.br"
    )


async def _get(app: Starlette, target: str, headers: Mapping[str, str], peer: str) -> Played:
    """Ask an application as its server does."""
    path, _, query = target.partition("?")
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": (peer, 40_000),
    }
    await app(scope, receive, send)
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Played([], sent[0]["status"], found, sent[1]["body"])


# Chapter 8

ANSWER_8_1: Final = """
archiveaddress mtc-m16c.sid.inpe.br
contenttype Data
ibi {rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL8}
ibi.archiveservice {rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}
ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}
state Original
timestamp 2009-07-21T14:43:31Z
url http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18@80/2009/07.21.14.43/doc/CCSDS%20650.0-B-1.pdf
urlkey 1427244889-5349022633744855
"""
FIRST_ANSWER_8_2: Final = """
archiveaddress mtc-m16c.sid.inpe.br
ibi {rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL8}
ibi.archiveservice {rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}
ibi.nextedition {rep sid.inpe.br/mtc-m18/2012/07.12.18.08}
ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}
"""
SECOND_ANSWER_8_2: Final = """
archiveaddress mtc-m16c.sid.inpe.br
contenttype.lastedition.metadata(oai_dc) Metadata
ibi {rep sid.inpe.br/mtc-m18/2012/07.12.18.08 ibip 8JMKD3MGP8W/3C9EP6P}
ibi.archiveservice {rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}
ibi.lastedition.metadata(oai_dc) {rep sid.inpe.br/mtc-m18/2012/07.12.18.08.49}
ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}
state.lastedition.metadata(oai_dc) Original
timestamp.lastedition.metadata(oai_dc) 2014-04-04T17:36:01Z
url.lastedition.metadata(oai_dc) http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18/2012/07.12.18.08.49/doc/metadata.cgi?choice=oai_dc
urlkey 1426286454-36108967764060357
"""  # as printed
VERBS_8_2: Final = "GetLastEdition GetMetadata(oai_dc)"
SECTION_8_1: Final = {f"{MTC_M16C} 8JMKD3MGP8W/35MMLL8": ANSWER_8_1}
SECTION_8_2: Final = {
    f"{MTC_M16C} 8JMKD3MGP8W/35MMLL8 {VERBS_8_2}": FIRST_ANSWER_8_2,
    f"{MTC_M16C} sid.inpe.br/mtc-m18/2012/07.12.18.08 {VERBS_8_2}": SECOND_ANSWER_8_2,
}


def to_all(pairs: str) -> list[tuple[str, list[str]]]:
    """Return a message to every archive that is included."""
    return sorted(in_any_order(f"{base}?{pairs}") for base in ARCHIVES)


@covers("004", "Section 8.1")
@covers("004", "Figure 6.1")
def test_section_8_1_message_by_message(tmp_path: Path) -> None:
    # The port stands in what archives are told of the persistent URL, and only there.
    played = play(tmp_path, "http://urlib.net:80/8JMKD3MGP8W/35MMLL8", SECTION_8_1)
    *asked, thanks, notice = played.messages
    assert sorted(map(in_any_order, asked)) == to_all(
        "clientinformation.ipaddress=172.16.44.200%20150.163.68.1"
        "&parsedibiurl.ibi=8JMKD3MGP8W/35MMLL8&servicesubject=urlRequest"
    )
    assert in_any_order(thanks) == in_any_order(
        f"{MTC_M16C}?clientinformation.ipaddress=172.16.44.200%20150.163.68.1&contenttype=Data"
        "&ibi=rep%20sid.inpe.br/mtc-m18@80/2009/07.21.14.43%20ibip%208JMKD3MGP8W/35MMLL8"
        "&servicesubject=acknowledgment&state=Original"
        "&url=http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18@80/2009/07.21.14.43/doc/"
        "CCSDS%20650.0-B-1.pdf"
        "&url.persistent=http://urlib.net:80/8JMKD3MGP8W/35MMLL8"
        "&urlkey=1427244889-5349022633744855"
    )
    assert notice == NOTICE
    assert played.location == (
        "http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18@80/2009/07.21.14.43/doc/"
        "CCSDS%20650.0-B-1.pdf"
    )


@covers("004", "Section 8.2")
@covers("004", "Figure 6.1")
def test_section_8_2_message_by_message(tmp_path: Path) -> None:
    played = play(tmp_path, "http://urlib.net:80/8JMKD3MGP8W/35MMLL8!:(oai_dc)", SECTION_8_2)
    *asked, thanks, notice = played.messages
    number = len(ARCHIVES)
    # The proxy is printed 150.163.68.11 once, and in the link 150.163.68.1.
    for messages, label in (
        (asked[:number], "8JMKD3MGP8W/35MMLL8"),
        (asked[number:], "sid.inpe.br/mtc-m18/2012/07.12.18.08"),
    ):
        assert sorted(map(in_any_order, messages)) == to_all(
            f"clientinformation.ipaddress=172.16.44.200%20150.163.68.1&parsedibiurl.ibi={label}"
            "&parsedibiurl.verblist=GetLastEdition%20GetMetadata(oai_dc)&servicesubject=urlRequest"
        )
    assert in_any_order(thanks) == in_any_order(
        f"{MTC_M16C}?clientinformation.ipaddress=172.16.44.200%20150.163.68.1"
        "&contenttype=Metadata&ibi=rep%20sid.inpe.br/mtc-m18/2012/07.12.18.08.49"
        "&servicesubject=acknowledgment&state=Original"
        "&url=http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18/2012/07.12.18.08.49/doc/"
        "metadata.cgi%3Fchoice%3Doai_dc"
        "&url.persistent=http://urlib.net:80/8JMKD3MGP8W/35MMLL8!:(oai_dc)"
        "&urlkey=1426286454-36108967764060357"
    )
    assert notice == NOTICE
    assert played.location == (
        "http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18/2012/07.12.18.08.49/doc/"
        "metadata.cgi?choice=oai_dc"
    )


@covers("004", "Figure 6.1")
def test_figure_6_1_nobody_is_thanked_for_nothing(tmp_path: Path) -> None:
    """Its option [URL existe]: without a URL there are neither (5) and (6) nor (8) and (9)."""
    played = play(tmp_path, "http://urlib.net/LK47B6W/362SFKH", {})
    assert played.status == HTTPStatus.NOT_FOUND
    assert len(played.about("urlRequest")) == len(ARCHIVES) == len(played.messages)


# Examples 6.8 and 6.9

URL_6_8: Final = (
    "http://urlib.net/LK47B6W/362SFKH+"
    "?ibiurl.requireditemstatus=Original&ibiurl.verblist=GetMetadata"
)
USER_6_8: Final = "150.163.2.175"
VERBS_6_8: Final = "GetTranslation GetMetadata"


def translated(base: str, *languages: str, state: str = "Original") -> str:
    """Return what an archive says that has metadata of translations."""
    address, _, service = base.removeprefix("http://").partition("/")
    lines = [
        f"archiveaddress {address}",
        "ibi {ibip LK47B6W/362SFKH}",
        f"ibi.archiveservice {{rep {service}}}",
        "ibi.platformsoftware {}",
        "urlkey 1426286454-36108967764060357",
    ]
    for day, language in enumerate(languages, 10):
        relation = f".translation({language}).metadata"
        lines += [
            f"contenttype{relation} Metadata",
            f"ibi{relation} {{rep iconet.com.br/banon/2009/09.{day}.22.01}}",
            f"state{relation} {state}",
            f"timestamp{relation} 2014-04-04T17:36:01Z",
            f"url{relation} http://{address}/{language}",
        ]
    return "\n".join(lines)


@covers("004", "Example 6.8")
@covers("004", "Table 6.6")
@covers("004", "Table 6.7")
@covers("004", "Table 6.8")
def test_example_6_8_what_is_captured_and_what_becomes_of_it(tmp_path: Path) -> None:
    answers = {f"{MTC_M16C} LK47B6W/362SFKH {VERBS_6_8}": translated(MTC_M16C, "en", "fr", "pt")}
    played = play(tmp_path, URL_6_8, answers, user=USER_6_8, proxy="", language=PREFERENCE.lower())
    # Table 6.6, third column: what is passed on; file path there is none.
    assert sorted(map(in_any_order, played.about("urlRequest"))) == to_all(
        "servicesubject=urlRequest&clientinformation.ipaddress=150.163.2.175"
        "&parsedibiurl.ibi=LK47B6W/362SFKH&parsedibiurl.verblist=GetTranslation%20GetMetadata"
    )
    # pt-br is in Portuguese, and comes before French.
    assert played.location == "http://mtc-m16c.sid.inpe.br/pt"
    everything = "\n".join(played.messages)
    for kept in ("requireditemstatus", "languagepreference", "pt-br", "fr;q", "q=0.8"):
        assert kept not in everything


@covers("004", "Table 6.6")
@pytest.mark.parametrize("rival", ["Original", "Copy"])
def test_section_6_2_two_originals_are_an_alert_where_one_is_required(
    tmp_path: Path, rival: str
) -> None:
    answers = {
        f"{base} LK47B6W/362SFKH {VERBS_6_8}": translated(base, "pt", state=state)
        for base, state in ((MTC_M16C, "Original"), (MTC_M21, rival))
    }
    played = play(tmp_path, URL_6_8, answers, user=USER_6_8, proxy="")
    if rival == "Copy":
        assert played.location == "http://mtc-m16c.sid.inpe.br/pt"
    else:
        assert played.status == HTTPStatus.CONFLICT
        assert b"urn:ibi:problem:conflict" in played.body
        # The reader of Example 6.8 prefers Portuguese.
        assert "É necessária uma investigação" in played.body.decode()
        suspects = [base for base in ARCHIVES if base.split("/", 3)[3].encode() in played.body]
        assert suspects == [MTC_M16C, MTC_M21]
        assert played.about("acknowledgment") == []


ANSWER_4_2: Final = """
archiveaddress mtc-m16d.sid.inpe.br
contenttype Data
ibi {rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5}
ibi.archiveservice {rep sid.inpe.br/mtc-m19@80/2009/08.21.17.02}
ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}
state Original
timestamp 2013-10-04T14:32:14Z
url http://mtc-m16d.sid.inpe.br/col/sid.inpe.br/mtc-m19/2013/09.04.12.27.57/doc/Relat%f3rio%20Final.pdf
urlkey 1424636122-5331490054869684
"""  # as printed


@covers("004", "Example 6.9")
@covers("004", "Table 6.11")
def test_example_6_9_is_sent_for_example_4_2(tmp_path: Path) -> None:
    played = play(
        tmp_path,
        "http://mtc-m16d.sid.inpe.br:80/8JMKD3MGP7W/3EPGUE5",
        {f"{MTC_M16D} 8JMKD3MGP7W/3EPGUE5": ANSWER_4_2},
        user=USER_6_8,
        proxy="",
    )
    [thanks] = played.about("acknowledgment")
    assert in_any_order(thanks) == in_any_order(
        f"{MTC_M16D}?servicesubject=acknowledgment&clientinformation.ipaddress=150.163.2.175"
        "&contenttype=Data"
        "&ibi=rep%20sid.inpe.br/mtc-m19/2013/09.04.12.27.57%20ibip%208JMKD3MGP7W/3EPGUE5"
        "&url=http://mtc-m16d.sid.inpe.br/col/sid.inpe.br/mtc-m19/2013/09.04.12.27.57/doc/"
        "Relat%f3rio%20Final.pdf"
        "&url.persistent=http://mtc-m16d.sid.inpe.br:80/8JMKD3MGP7W/3EPGUE5"
        "&urlkey=1424636122-5331490054869684"
        # Mandatory by Table 6.11, and missing in the example.
        "&state=Original"
    )


# Tables 6.9 to 6.11

TABLE_6_9: Final = {
    "servicesubject": "obr.",
    "clientinformation.ipaddress": "obr.",
    "parsedibiurl.filepath": "fac.",
    "parsedibiurl.ibi": "obr.",
    "parsedibiurl.verblist": "fac.",
}
TABLE_6_11: Final = {
    "servicesubject": "obr.",
    "clientinformation.ipaddress": "obr.",
    "contenttype": "obr.",
    "ibi": "fac.",
    "state": "obr.",
    "url": "obr.",
    "url.persistent": "obr.",
    "urlkey": "obr.",
}


def check(table: Mapping[str, str], message: str) -> dict[str, str]:
    """Check that a message has all pairs that it must, each once, and no other; return them."""
    pairs = parse_qsl(message.partition("?")[2], strict_parsing=True)
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names)
    assert set(names) <= table.keys()
    assert {name for name, kind in table.items() if kind == "obr."} <= set(names)
    return dict(pairs)


RELATED: Final = {"contenttype", "state", "timestamp", "url"}


def of_relation(answer: str, relation: str) -> str:
    """Make an answer about an item one about what is related to it."""
    lines = [
        line.replace(" ", f"{relation} ", 1) if line.split()[0] in RELATED else line
        for line in answer.strip().splitlines()
    ]
    related = f"ibi{relation} {{rep sid.inpe.br/mtc-m19/2013/09.04.12.27.58}}"
    return "\n".join([*lines, *([related] if relation else [])])


@covers("004", "Table 6.9")
@covers("004", "Table 6.11")
@pytest.mark.parametrize(
    ("tail", "path", "verbs", "told"),
    [
        ("", None, None, ""),
        ("/reference.bib?x=1", "/reference.bib", None, "/reference.bib?x=1"),
        ("!:(oai_dc)", None, "GetLastEdition GetMetadata(oai_dc)", "!:(oai_dc)"),
        ("+(pt)!:/a", "/a", "GetTranslation(pt) GetLastEdition GetMetadata", "+(pt)!:/a"),
        (
            "!?ibiurl.verblist=GetMetadata",
            None,
            "GetLastEdition GetMetadata",
            "!?ibiurl.verblist=GetMetadata",
        ),
        ("?b=2&ibiurl.requireditemstatus=Original&a=1", None, None, "?b=2&a=1"),
        ("?IBIURL.Language=pt", None, None, ""),
        ("?ibiurl%2Elanguage=pt&a=1", None, None, "?a=1"),
        (
            "!?ibiurl.verblist=GetFileList&ibiurl.language=pt",
            None,
            "GetLastEdition GetFileList",
            "!?ibiurl.verblist=GetFileList",
        ),
    ],
)
def test_table_6_9_and_6_11_what_is_sent_of_a_persistent_url(
    tmp_path: Path, tail: str, path: str | None, verbs: str | None, told: str
) -> None:
    url = f"http://urlib.net/8JMKD3MGP7W/3EPGUE5{tail}"
    asked = PersistentUrl.parse(url).verbs
    known = " ".join([f"{MTC_M16D} 8JMKD3MGP7W/3EPGUE5", *map(str, asked)])
    played = play(tmp_path, url, {known: of_relation(ANSWER_4_2, str(Relation(asked)))})
    for message in played.about("urlRequest"):
        pairs = check(TABLE_6_9, message)
        assert pairs["parsedibiurl.ibi"] == "8JMKD3MGP7W/3EPGUE5"
        assert pairs.get("parsedibiurl.filepath") == path
        assert pairs.get("parsedibiurl.verblist") == verbs
    [thanks] = played.about("acknowledgment")
    pairs = check(TABLE_6_11, thanks)
    assert pairs["url.persistent"] == f"http://urlib.net/8JMKD3MGP7W/3EPGUE5{told}"


@covers("004", "Table 6.10")
@pytest.mark.parametrize(
    ("user", "proxy", "listed"),
    [
        ("172.16.44.200", "150.163.68.1", "172.16.44.200 150.163.68.1"),
        ("2001:db8::7", "150.163.68.1", "2001:db8::7 150.163.68.1"),
        ("150.163.2.175", "", "150.163.2.175"),
        ("2001:db8::7", "", "2001:db8::7"),
        # Whoever is no proxy of the resolver's may write what he likes, and is not believed.
        ("192.0.2.1, 172.16.44.200", "150.163.68.1", "172.16.44.200 150.163.68.1"),
    ],
)
def test_table_6_10_the_user_comes_first(
    tmp_path: Path, user: str, proxy: str, listed: str
) -> None:
    url = "http://urlib.net/8JMKD3MGP8W/35MMLL8"
    played = play(tmp_path, url, SECTION_8_1, user=user, proxy=proxy)
    for message in (*played.about("urlRequest"), *played.about("acknowledgment")):
        pairs = dict(parse_qsl(message.partition("?")[2]))
        assert pairs["clientinformation.ipaddress"] == listed
        decoded = requests.decode(message.partition("?")[2])
        assert isinstance(decoded, UrlRequest | Acknowledgment)
        assert list(decoded.clients) == listed.split()


@covers("004", "Figure 5.1")
def test_figure_5_1_message_by_message(tmp_path: Path) -> None:
    """On and off (1 and 6) the administrator says; 2 and 7 come from the archive.

    Our Decision: (3) and (4) are repeated at the archive's IP address, for its IBIps.
    """
    archives = Printed({})
    record = _record(MTC_M21)

    async def announce(app: Starlette) -> Played:
        for request in (InclusionRequest(record, KEY), ExclusionRequest(record, KEY)):
            archives.messages.append(request.subject)
            target = requests.at("/J8LNKB5R7W/3FUQHC5", request)
            status = await _get(app, target, {}, "150.163.34.239")
            # The rule espaco lets pairs be divided by a blank or by a line end.
            archives.messages.append(status.body.decode().replace("\r\n", " "))
        return status

    _running(_settings(tmp_path, "http://urlib.net"), archives, announce)
    assert archives.messages == [
        "inclusionRequest",
        f"{MTC_M21}?servicesubject=inclusionConfirmationRequest",
        "confirmation yes",
        f"{MTC_M21_BY_IP}?servicesubject=inclusionConfirmationRequest",
        "confirmation yes",
        "status.archive included status.confirmation successful",
        "exclusionRequest",
        "status.archive excluded",
    ]
