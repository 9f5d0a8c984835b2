"""Threats, row 16: a false client IP to get a limited file.

A stranger says in every way that there is that he reads from a network of its readers: by headers,
by the protocol's own parameter, in odd spellings of the address and odd forms of the request, and
by way of a proxy that is believed. No byte of the file stands anywhere else, so that one is enough
to see that it was served.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import random
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import pytest

from tests.support.clients.local_address import read_from
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked import FULL
from tests.support.servers.attacked_archive import attacked
from tests.support.waiting import PATIENCE

COUNT: Final = 1_000 if FULL else 100
INSIDER, STRANGER, PROXY = "127.0.0.2", "127.0.0.1", "127.0.0.3"
OUTSIDE: Final = "8.8.8.8"

# Bytes that no text in UTF-8 has.
SECRET: Final = b"\xff\xfe" * 5_000
SIGNS: Final = (
    b"\xff",
    b"\xfe",
    hashlib.sha256(SECRET).hexdigest().encode(),
    base64.b64encode(hashlib.sha256(SECRET).digest()),
)
ETAG: Final = f'"{hashlib.sha256(SECRET).hexdigest()}"'

BELIEVING: Final = """
from ibi.foundation.web.client_address import ClientAddresses

def told(self, request):
    return request.headers.get("x-forwarded-for", "0.0.0.0").partition(",")[0].strip()

ClientAddresses.reader = told
"""

SPELLINGS: Final = (
    INSIDER,
    f" {INSIDER} ",
    f"\t{INSIDER}",
    f'"{INSIDER}"',
    f"[{INSIDER}]",
    f"{INSIDER}:80",
    f"{INSIDER}/32",
    f"::ffff:{INSIDER}",
    f"[::ffff:{INSIDER}]",
    f'"[::ffff:{INSIDER}]:80"',
    "::ffff:7f00:2",
    "0:0:0:0:0:ffff:7f00:0002",
    f"::{INSIDER}",
    f"64:ff9b::{INSIDER}",
    "2002:7f00:2::",
    f"::ffff:{INSIDER}%lo",
    "127.0.0.02",
    "127.000.000.002",
    "0177.0.0.2",
    "0x7f.0.0.2",
    "0x7f000002",
    "2130706434",
    "127.2",
    "127.0.2",
    "１２７.0.0.2",
    "127%2e0%2e0%2e2",
    f"{INSIDER}\x00",
    f"{INSIDER}.",
    "localhost",
    f"{INSIDER}, {STRANGER}",
    f"{STRANGER}, {INSIDER}",
    f"{INSIDER},{INSIDER},{INSIDER}",
    f"{INSIDER}, {PROXY}",
    f"unknown, {INSIDER}",
    f",{INSIDER},",
    ", ".join([INSIDER] * 200),
    f"{OUTSIDE} {INSIDER}",
)
NAMES: Final = (
    *("X-Forwarded-For", "x-forwarded-for", "X-FORWARDED-FOR", "X_Forwarded_For", "X-Forwarded"),
    *("Forwarded-For", "X-Forwarded-By", "X-Forwarded-Host", "X-Forwarded-Server", "X-Real-IP"),
    *("X-Client-IP", "Client-IP", "True-Client-IP", "CF-Connecting-IP", "Fastly-Client-IP"),
    *("X-Cluster-Client-IP", "X-Originating-IP", "X-Remote-IP", "X-Remote-Addr", "Remote-Addr"),
    *("REMOTE_ADDR", "Proxy-Client-IP", "WL-Proxy-Client-IP", "X-ProxyUser-Ip", "X-Original-For"),
    *("X-Azure-ClientIP", "X-Appengine-User-IP", "X-Envoy-External-Address", "X-Host", "Via"),
    *("Forwarded", "Origin", "Referer", "From", "User-Agent", "Cookie", "X-Api-Key", "clientip"),
    *("clientinformation.ipaddress", "Authorization", "Proxy-Authorization", "X-HTTP-Forward"),
)
TEMPLATES: Final = ("{}", "for={}", "for={};by={};host={}", "1.1 {}", "Bearer {}", "http://{}/")
CONDITIONS: Final = (
    (),
    ("Range: bytes=0-3",),
    ("Range: bytes=-1",),
    ("Range: bytes=0-1,5-6,9-",),
    (f"If-None-Match: {ETAG}",),
    ("If-None-Match: *",),
    (f"If-Match: {ETAG}",),
    ("If-Match: *",),
    ("If-Modified-Since: Fri, 01 Jan 2038 00:00:00 GMT",),
    ("If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT",),
    (f"If-Range: {ETAG}", "Range: bytes=0-9"),
    ("Accept: text/html", "Accept-Language: pt"),
    ("Accept: text/plain",),
    ("Accept-Encoding: gzip, br",),
    ("X-HTTP-Method-Override: GET", "X-Original-URL: /healthz"),
    ("Host: 127.0.0.2",),
    ("Host: localhost", "Host: 127.0.0.2"),
    ("Content-Length: 0",),
    ("Transfer-Encoding: chunked",),
)


@dataclass(frozen=True)
class Form:
    """One way to ask for the file."""

    source: str = STRANGER
    method: str = "GET"
    target: str = ""
    """Written with {} for the path of the file, {host}, {service} and {label}."""
    version: str = "1.1"
    headers: tuple[str, ...] = ()
    before: bytes = b""

    def written(self, archive: ArchiveServer, item: dict[str, Any]) -> bytes:
        """Return the bytes that are sent."""
        path = urlsplit(item["url"]).path
        target = self.target.format(
            path, host=archive.place, service=archive.service, label=item["ibip"]
        )
        headers = self.headers
        if not any(each.lower().startswith("host:") for each in headers):
            headers = (f"Host: {archive.place}", *headers)
        lines = [f"{self.method} {target} HTTP/{self.version}", *headers, "Connection: close"]
        ending = b"0\r\n\r\n" if any("chunked" in each for each in headers) else b""
        return self.before + "\r\n".join(lines).encode() + b"\r\n\r\n" + ending


def targets() -> Iterator[str]:
    """Write the address of the file in all ways."""
    parameter = f"clientinformation.ipaddress={INSIDER}"
    yield from ("{}", "{}?", "{}?choice=", "{}?choice=oai_dc", "{}?lang=pt", "{}?" + parameter)
    yield from (f"{{}}?ip={INSIDER}&x-forwarded-for={INSIDER}", "http://{host}{}", "//{host}{}")
    yield from (f"http://{INSIDER}{{}}", f"http://{INSIDER}:80@{{host}}{{}}", "HTTP://{host}{}")
    yield from ("/{}", "//{}", "/.{}", "/./{}", "/x/..{}", "{}/", "{}.", "{}/.", "{}/../a.bin")
    yield from ("{}%00", "{};x", "{};jsessionid=1", "{}#x", "{}%20", "{}%2e", "{}\\")
    yield from ("/%63%6f%6c/../{}", "/col//{label}/doc/a.bin", "/col/{label}/doc/a.bin")
    yield from ("/col/{label}/doc//a.bin", "/col/{label}/doc/./a.bin", "/col/{label}/doc/A.BIN")
    yield from ("/COL/{label}/DOC/a.bin", "/col/{label}/doc/%61.bin", "/col/{label}/doc/a%2Ebin")
    yield from (
        "/col/{label}/doc/%2561.bin",
        "/col/{label}%2Fdoc%2Fa.bin",
        "/col%2F{label}/doc/a.bin",
    )
    yield from ("/col/{label}/doc/", "/col/{label}/doc", "/col/{label}/doc/../doc/a.bin")
    yield from ("/{label}", "/{label}/a.bin", "/{label}?" + parameter, "/ibi/{label}/a.bin")
    yield from ("/{label}!", "/{label}+", "/{label}?ibiurl.verblist=GetFileList&" + parameter)
    yield from ("/api/v1/items/{label}/files/a.bin", "/api/v1/items/{label}", "/api/v1/col/{label}")
    yield f"/{{service}}?servicesubject=urlRequest&{parameter}&parsedibiurl.ibi={{label}}"
    yield (
        f"/{{service}}?servicesubject=urlRequest&{parameter}&parsedibiurl.ibi={{label}}"
        "&parsedibiurl.filepath=a.bin"
    )
    yield f"/{{service}}{{}}?servicesubject=urlRequest&{parameter}&parsedibiurl.ibi={{label}}"


def spoofs() -> Iterator[tuple[str, ...]]:
    """Write header lines that name the address of a reader."""
    for name, (number, spelling) in itertools.product(NAMES, enumerate(SPELLINGS)):
        template = TEMPLATES[number % len(TEMPLATES)] if name not in NAMES[:4] else "{}"
        value = template.replace("{}", spelling)
        yield (f"{name}: {value}",)
    for name in NAMES[:8]:
        yield f"{name}: {INSIDER}", f"{name}: {STRANGER}"
        yield f"{name}: {STRANGER}", f"{name}: {INSIDER}"
        yield (f"{name}: {STRANGER},\r\n {INSIDER}",)  # a line that is folded
        yield (f"{name} : {INSIDER}",)
        yield tuple(f"{each}: {INSIDER}" for each in NAMES)


def forms() -> list[Form]:
    """Return the forms, every kind of each part among the first."""
    drawn = random.Random(16)  # noqa: S311  # the same ones every time
    named, places = list(spoofs()), list(targets())
    drawn.shuffle(named)
    found = [Form(target="{}", headers=spoof) for spoof in named[:300]]
    found += [Form(target=place, headers=(f"X-Forwarded-For: {INSIDER}",)) for place in places]
    for method, version in itertools.product(
        ("GET", "HEAD", "OPTIONS", "POST", "PUT", "TRACE", "PROPFIND", "get", "CONNECT"),
        ("1.1", "1.0", "0.9", "2.0"),
    ):
        headers = (f"X-Forwarded-For: {INSIDER}", f"Forwarded: for={INSIDER}")
        found.append(Form(method=method, target="{}", version=version, headers=headers))
    for before in (
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        f"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: {INSIDER}\r\n\r\n".encode(),
        f"PROXY TCP4 {INSIDER} {STRANGER} 56324 80\r\n".encode(),
        b"\r\n\r\nQUIT\n!\x11\x00\x0c\x7f\x00\x00\x02\x7f\x00\x00\x01\x30\x39\x00\x50",
        b"\r\n\r\n",
    ):
        found += [Form(target="{}", before=before, method=method) for method in ("GET", "HEAD")]
    found = list(dict.fromkeys(found))
    while len(found) < 1_000:
        spoof = drawn.choice(named) + drawn.choice(CONDITIONS)
        method = drawn.choice(("GET", "GET", "HEAD"))
        place = drawn.choice(places) if drawn.random() < 0.5 else "{}"
        form = Form(method=method, target=place, headers=spoof)
        found += [] if form in found else [form]
    # Each second one by way of the proxy, which adds of whom it has it.
    by_proxy = (f"X-Forwarded-For: {OUTSIDE}",)
    found[1::2] = [
        replace(form, source=PROXY, headers=form.headers + by_proxy) for form in found[1::2]
    ]
    drawn.shuffle(found)
    return found


def sent(archive: ArchiveServer, source: str, octets: bytes) -> bytes:
    """Send bytes from an address; return all that comes back."""
    place = urlsplit(archive.address)
    assert place.hostname
    assert place.port
    answer = b""
    with socket.create_connection(
        (place.hostname, place.port), timeout=PATIENCE, source_address=(source, 0)
    ) as connection:
        try:
            connection.sendall(octets)
            while chunk := connection.recv(65_536):
                answer += chunk
        except ConnectionError:  # what was refused before it was read
            pass
    return answer


@pytest.fixture(scope="module")
def limited(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[ArchiveServer, dict[str, Any]]]:
    archive = ArchiveServer(tmp_path_factory.mktemp("archive"))
    archive.set(trusted_proxies=[f"{PROXY}/32"])
    with archive:
        yield archive, deposited(archive)


def deposited(archive: ArchiveServer) -> dict[str, Any]:
    return archive.deposit({"a.bin": SECRET}, readers=[f"{INSIDER}/32"])


def served(answer: bytes) -> bool:
    """Tell whether something of the file came."""
    return any(sign in answer for sign in SIGNS)


def test_no_false_address_gets_a_limited_file(
    limited: tuple[ArchiveServer, dict[str, Any]],
) -> None:
    archive, item = limited
    wanted = forms()[:COUNT]
    assert len(set(wanted)) == COUNT
    answers = {form: sent(archive, form.source, form.written(archive, item)) for form in wanted}
    assert [form for form, answer in answers.items() if served(answer)] == []
    refused = [answer for answer in answers.values() if answer.startswith(b"HTTP/1.1 403 ")]
    assert len(refused) > COUNT / 2
    assert all(answers.values())
    # Who is there reads it all the while.
    assert read_from(INSIDER, archive.address, item["url"]).body == SECRET
    assert "unforeseen" not in archive.log()


def test_what_the_protocol_is_told_only_chooses_a_page(
    limited: tuple[ArchiveServer, dict[str, Any]],
) -> None:
    archive, item = limited
    for spelling in SPELLINGS if FULL else SPELLINGS[:3]:
        query = (
            "servicesubject=urlRequest&parsedibiurl.ibi="
            + item["ibip"]
            + f"&clientinformation.ipaddress={quote(spelling, safe='')}"
        )
        answer = read_from(STRANGER, archive.address, f"/{archive.service}?{query}")
        assert not served(answer.body)
    # By the true address of a reader the URL is that of the file, and leads a stranger nowhere.
    assert (
        item["url"].encode()
        in read_from(
            STRANGER,
            archive.address,
            f"/{archive.service}?servicesubject=urlRequest&parsedibiurl.ibi={item['ibip']}"
            f"&clientinformation.ipaddress={INSIDER}",
        ).body
    )
    assert read_from(STRANGER, archive.address, item["url"]).status == 403


def test_an_archive_that_believes_the_address_serves_the_file(tmp_path: Path) -> None:
    """The twin: the same forms where what a request says of itself is believed."""
    with attacked(tmp_path, BELIEVING) as archive:
        item = deposited(archive)
        wanted = [form for form in forms()[:COUNT] if form.source == STRANGER]
        assert any(served(sent(archive, STRANGER, form.written(archive, item))) for form in wanted)
