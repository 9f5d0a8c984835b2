"""Threats, row 15: Host and X-Forwarded headers that lie, and answers that are kept for others.

Nothing of such a header comes back. Archives are told of a reader what the connection shows, or
what a proxy that the operator trusts says. An answer that depends on the reader is no one else's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.attacked import connected
from tests.support.servers.attacked_resolver import HTML, attacked, label, metric, service_of
from tests.support.servers.resolver import ResolverServer

MARK: Final = "evil-spoofed.example"
NAMES: Final = (
    *("X-Forwarded-Host", "X-Forwarded-Server", "X-Host", "X-HTTP-Host-Override", "X-Original-URL"),
    *("X-Rewrite-URL", "X-Forwarded-Prefix", "X-Forwarded-Port", "X-Forwarded-Proto", "Origin"),
    *("X-Forwarded-Scheme", "X-Original-Host", "X-ProxyUser-Ip", "True-Client-IP", "X-Real-IP"),
    *("X-Client-IP", "CF-Connecting-IP", "Forwarded", "Referer", "From", "Via", "X-Wap-Profile"),
)
SPOOFS: Final = [
    *(
        [f"{name}: {value}"]
        for name in NAMES
        for value in (MARK, f"http://{MARK}/", f"host={MARK}")
    ),
    *(
        [f"X-Forwarded-For: {value}"]
        for value in (MARK, f"{MARK}, 127.0.0.1", f"127.0.0.1, {MARK}")
    ),
    [f"Forwarded: for={MARK};host={MARK};proto=https"],
    [f"X-Forwarded-Host: {MARK}", "X-Forwarded-Proto: https", "X-Forwarded-Port: 666"],
]
HOSTS: Final = (
    *(MARK, f"{MARK}:80", f"{MARK}@x", f"x@{MARK}", f"127.0.0.1, {MARK}", f"127.0.0.1\t{MARK}"),
    *(f"127.0.0.1#{MARK}", f"127.0.0.1/{MARK}", f'"{MARK}"', f"<b>{MARK}", f"[::1]{MARK}", ""),
)
FULL_ADDRESS: Final = "198.51.100.77"
FORWARDED: Final = [
    # What proxies that are trusted wrote, and who is told of it besides the last of them.
    ([FULL_ADDRESS], [FULL_ADDRESS]),
    ([f"6.6.6.6, {FULL_ADDRESS}"], [FULL_ADDRESS]),
    (["6.6.6.6", FULL_ADDRESS], [FULL_ADDRESS]),
    ([f"6.6.6.6, {FULL_ADDRESS}, 10.0.0.9"], [FULL_ADDRESS, "10.0.0.9"]),
    ([f"6.6.6.6, {MARK}"], []),
    ([f"{FULL_ADDRESS}:80"], []),
    ([f'for="{FULL_ADDRESS}"'], []),
    ([f"{FULL_ADDRESS}&x=y"], []),
    ([f"{FULL_ADDRESS} 6.6.6.6"], []),
    ([",".join(["6.6.6.6"] * 5000)], ["6.6.6.6"]),
    (["2001:db8:1:2:3::4"], ["2001:db8:1:2:3::4"]),
    (["::ffff:198.51.100.77"], [FULL_ADDRESS]),
]
Running: TypeAlias = tuple[ResolverServer, ArchiveDouble]

WITHOUT_DOUBT: Final = """
from ibi.resolver.web import redirect
from ibi.foundation.web.client_address import ClientAddresses

redirect.Question.depends_on_reader = property(lambda self: False)
ClientAddresses._is_trusted = lambda self, address: True
found = redirect.RedirectEndpoint.answer

async def answer(self, request, wanted):
    self._base = "http://" + request.headers.get("x-forwarded-host", "x")
    return await found(self, request, wanted)

redirect.RedirectEndpoint.answer = answer
"""


@contextmanager
def started(folder: Path, without: str = "", **settings: object) -> Iterator[Running]:
    with attacked(folder, without, **settings) as resolver, ArchiveDouble(service_of(0)) as archive:
        resolver.include(archive)
        archive.hold(label(1))
        translated(archive)
        yield resolver, archive


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A resolver whose proxies are elsewhere."""
    settings = {"trusted_proxies": ["10.0.0.0/8"], "client_address": "full"}
    with started(tmp_path_factory.mktemp("resolver"), "", **settings) as running:
        yield running


def translated(archive: ArchiveDouble) -> None:
    """Have an item in three languages."""
    pairs = {}
    for language in ("en", "pt", "fr"):
        pairs[f"ibi.translation({language})"] = f"ibip {label(20)}"
        pairs[f"url.translation({language})"] = f"http://{archive.address}/{language}"
    archive.hold(label(2), **pairs)


def targets(archive: ArchiveDouble) -> list[str]:
    """Return what is asked for: what is found, what is not, pages, errors, the API."""
    return [
        *(f"/{label(1)}", f"/{label(2)}+", f"/{label(3)}", "/", "/?q=x", "/archives", "/healthz"),
        *(
            f"/explain?url={label(1)}",
            "/explain",
            f"/{label(1)}!+!",
            "/no-label",
            "/doi/10.1000/182",
        ),
        *(f"/api/v1/resolve?url={label(1)}", f"/api/v1/explain?url={label(3)}", "/openapi.json"),
        *("/api/v1/resolver", "/api/v1/archives", "/api/v1/nothing", f"/{archive.service}"),
    ]


def reflections(resolver: ResolverServer, archive: ArchiveDouble) -> list[tuple[str, list[str]]]:
    """Return what came back of what was made up: of which request, and by which headers."""
    found = []
    with connected(resolver) as reader:
        for target in targets(archive):
            for number, spoof in enumerate(SPOOFS):
                accept = [HTML] if number % 2 else []
                answer = reader.ask(target, *spoof, *accept)
                if MARK in str(answer.headers) or MARK.encode() in answer.body:
                    found.append((target, spoof))
    return found


def test_nothing_of_a_header_comes_back(plain: Running) -> None:
    resolver, archive = plain
    assert reflections(resolver, archive) == []
    for host in HOSTS:
        for target in targets(archive):
            with connected(resolver) as reader:
                head = f"GET {target} HTTP/1.1\r\nHost: {host}\r\n{HTML}\r\n"
                reader.socket.sendall(f"{head}Connection: close\r\n\r\n".encode())
                rest = reader.rest()
            assert rest.startswith(b"HTTP/1.1 ")
            assert MARK.encode() not in rest, (host, target)
    # Who comes next gets what is true.
    answer = resolver.get(f"/{label(1)}")
    assert answer.headers["location"] == archive.items[label(1)]["url"]
    assert f"<{resolver.address}/{label(1)}>" in answer.headers["link"]
    assert not any(MARK in str(told) for told in [*archive.queries, *archive.headers])


def said_of_reader(running: Running, number: int, forwarded: list[str]) -> list[str]:
    """Return what the archive is told of a reader, as it came over the wire."""
    resolver, archive = running
    name = label(1000 + number)
    with connected(resolver) as reader:
        assert (
            reader.ask(f"/{name}", *(f"X-Forwarded-For: {each}" for each in forwarded)).status
            == 404
        )
    [query] = [each for each in archive.queries if each.get("parsedibiurl.ibi") == name]
    return query["clientinformation.ipaddress"].split()


def test_who_is_no_proxy_speaks_for_nobody(plain: Running) -> None:
    for number, (forwarded, _) in enumerate(FORWARDED):
        assert said_of_reader(plain, number, forwarded) == ["127.0.0.1"]


def test_a_proxy_speaks_for_who_came_to_it_and_no_further(tmp_path: Path) -> None:
    settings = {"trusted_proxies": ["127.0.0.1/32", "10.0.0.0/8"], "client_address": "full"}
    with started(tmp_path, "", **settings) as proxied:
        for number, (forwarded, told) in enumerate(FORWARDED):
            assert said_of_reader(proxied, number, forwarded) == [*told, "127.0.0.1"]


def read(running: Running, target: str, *languages: str) -> list[tuple[str, str]]:
    """Return where readers of languages are sent, and what the answer varies by."""
    found = []
    with connected(running[0]) as reader:
        for language in languages:
            answer = reader.ask(target, f"Accept-Language: {language}")
            assert answer.status == 302, answer
            headers = dict(answer.headers)
            assert headers["cache-control"] == "no-cache"
            found.append((headers["location"].rpartition("/")[2], headers.get("vary", "")))
    return found


def test_no_reader_gets_the_translation_of_another(plain: Running) -> None:
    languages = ["en", "pt", "fr", "pt-BR", "en;q=0.1, fr", "de", *["pt", "en"] * 20]
    right = ["en", "pt", "fr", "pt", "fr", "a.html", *["pt", "en"] * 20]
    target = f"/{label(2)}+"
    found = read(plain, target, *languages)
    assert found == [(each, "Accept, Accept-Language") for each in right]
    # What a URL says goes before what a browser says, for that URL alone.
    chosen = f"{target}?ibiurl.language=fr"
    assert {place for place, _ in read(plain, chosen, "pt", "en", "pt")} == {"fr"}
    assert read(plain, target, "pt") == [("pt", "Accept, Accept-Language")]


def test_pages_are_of_the_language_that_was_asked_for(plain: Running) -> None:
    resolver, _ = plain
    shared = ("/", "/archives")
    for target in (*shared, f"/{label(3)}", "/no-label"):
        kept = "no-cache" if target in shared else "no-store"
        for language in ("en", "pt", "en"):
            answer = resolver.get(target, Accept="text/html", Accept_Language=language)
            assert answer.headers["content-language"] == language
            assert answer.headers["vary"] == "Accept-Language, Accept, Cookie, Accept-Encoding"
            assert answer.headers["cache-control"] == kept


def test_a_warm_answer_is_for_the_same_request_alone(plain: Running) -> None:
    resolver, archive = plain
    place = archive.items[label(1)]["url"]
    before = metric(resolver, "warm_answers")
    targets = {
        f"/{label(1)}": place,
        f"/{label(1)}?x=1": f"{place}?x=1",
        f"/{label(1)}?x=2": f"{place}?x=2",
        f"/{label(1)}?x=1&y": f"{place}?x=1&y",
        f"/{label(1)}?x=%31": f"{place}?x=%31",
    }
    with connected(resolver) as reader:
        for turn in range(10):
            for target, right in targets.items():
                spoof = SPOOFS[turn] if turn % 2 else []
                answer = reader.ask(target, *spoof)
                assert answer["location"] == right
                assert MARK not in str(answer.headers)
        assert metric(resolver, "warm_answers") > before
        assert reader.ask(f"/{label(1)}", method="HEAD").status == 302
        assert reader.ask(f"/{label(1)}", method="POST").status == 405
        # Who requires the Original gets an answer of his own.
        rival = f"/{label(4)}"
        archive.hold(label(4), state="Copy")
        for _ in range(3):
            assert reader.ask(rival).status == 302
            assert reader.ask(f"{rival}?ibiurl.requireditemstatus=Original").status == 404


def test_the_spoofs_bite(tmp_path: Path) -> None:
    """The twin: a resolver that believes what it is told, and keeps answers for everybody."""
    with started(tmp_path, WITHOUT_DOUBT, client_address="full") as running:
        assert any(target == f"/{label(1)}" for target, _ in reflections(*running))
        assert said_of_reader(running, 0, [FULL_ADDRESS]) != ["127.0.0.1"]
        assert len(set(read(running, f"/{label(2)}+", "en", "pt", "fr"))) == 1
