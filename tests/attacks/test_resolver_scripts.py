"""Threats, row 10: script in whatever a resolver shows, in a real browser.

Payloads stand in identifiers, paths, queries, what is pasted, and in what archives say. Each is
shown by a page that is opened in a browser, where a dialog would tell that it ran; and every page
is read for elements and attributes that none of our templates has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest

from ibi.foundation.pages.static_files import SCRIPT_CHECKSUM
from tests.attacks.test_resolver_redirects import UrlGiver
from tests.support.clients.raw_http import Connection
from tests.support.hostile.script_payloads import VECTORS, payloads
from tests.support.processes.fork_server import BEFORE_IMPORTS
from tests.support.servers.attacked import FULL, connected
from tests.support.servers.attacked_resolver import attacked, label, service_of
from tests.support.servers.resolver import SERVICE, ResolverServer
from tests.support.tools.chromium import Chromium, Page, chromium

COUNT: Final = 2_000 if FULL else 20
TAGS: Final = frozenset(
    {
        *(
            "html",
            "head",
            "meta",
            "title",
            "link",
            "body",
            "header",
            "nav",
            "main",
            "footer",
            "section",
        ),
        *(
            "h1",
            "h2",
            "h3",
            "p",
            "a",
            "ul",
            "ol",
            "li",
            "dl",
            "dt",
            "dd",
            "div",
            "span",
            "code",
            "br",
        ),
        *(
            "form",
            "label",
            "input",
            "button",
            "table",
            "caption",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
        ),
        *("strong", "em", "small", "time", "hr", "abbr", "kbd", "b", "wbr", "script"),
        *("svg", "path", "circle", "rect", "g"),
    }
)
ADDRESSES: Final = ("href", "src", "action", "formaction")

WITHOUT_ESCAPING: Final = (
    BEFORE_IMPORTS
    + """
import jinja2

class Plain(jinja2.Environment):
    def __init__(self, **options):
        super().__init__(**{**options, "autoescape": False})

jinja2.Environment = Plain
from ibi.resolver.web import page_responses

page_responses.PAGE_HEADERS["Content-Security-Policy"] = "img-src *"
"""
)


class Reader(HTMLParser):
    """Looks for what no template of ours has."""

    def __init__(self) -> None:
        """Begin."""
        super().__init__()
        self.faults: list[str] = []
        self.count = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at an element."""
        self.count += 1
        if tag not in TAGS:
            self.faults.append(f"<{tag}>")
        if tag == "script" and ("integrity", SCRIPT_CHECKSUM) not in attrs:
            self.faults.append(f"script {attrs}")
        for name, value in attrs:
            if name.startswith("on") or name in {"style", "srcdoc", "autofocus"}:
                self.faults.append(f"{tag} {name}={value}")
            if name in ADDRESSES and not _is_good(value or ""):
                self.faults.append(f"{tag} {name}={value}")


def _is_good(address: str) -> bool:
    is_local = address.startswith("/") and not address.startswith(("//", "/\\"))
    return is_local or address.startswith(("http://", "https://", "#", "?"))


class Places:
    """Where a payload can stand: each makes an address whose page shows it."""

    def __init__(self, resolver: ResolverServer, archive: UrlGiver) -> None:
        """Show what this archive says."""
        self._resolver = resolver
        self._archive = archive
        self._number = 0

    def all(self) -> list[Callable[[str], str]]:
        """Return all places."""
        return [
            lambda text: f"/?q={_encoded(text)}",
            lambda text: f"/?q={label(1)}/{_encoded(text)}",
            lambda text: f"/?lang={_encoded(text)}&{_encoded(text)}={_encoded(text)}",
            lambda text: f"/{_encoded(text)}",
            lambda text: f"/{_bare(text)}",
            lambda text: f"/{label(1)}/{_encoded(text)}",
            lambda text: f"/{label(1)}/{_bare(text)}",
            lambda text: f"/{label(1)}?{_bare(text)}={_bare(text)}",
            lambda text: f"/{label(1)}:({_encoded(text)})",
            lambda text: f"/{label(1)}?ibiurl.verblist={_encoded(text)}",
            lambda text: f"/{label(1)}?ibiurl.language={_encoded(text)}",
            lambda text: f"/explain?url={_encoded(text)}",
            lambda text: f"/explain?url={label(1)}/{_encoded(text)}",
            lambda text: f"/archives?{_encoded(text)}",
            lambda text: f"/doi/{_encoded(text)}",
            lambda text: f"/api/v1/{_encoded(text)}",
            self._said,
            self._announced,
        ]

    def _said(self, text: str) -> str:
        """An archive says it, in whatever it can say."""
        self._number += 1
        name = self._archive.give(1000 + self._number, f"http://{self._archive.address}/{text}")
        return f"/explain?url={name}"

    def _announced(self, text: str) -> str:
        """An archive says that it is there."""
        pairs = {
            "servicesubject": "inclusionRequest",
            "archiveaddress": text,
            "archiveserviceibi": self._archive.service,
            "archiveip": text,
            "archiveprotocol": text,
            "archiveplatformversion": text,
            "archiveadmemailaddress": text,
            "registrationkey": "1" * 10,
        }
        return f"/{SERVICE}?" + "&".join(f"{name}={_encoded(each)}" for name, each in pairs.items())


def _encoded(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def _bare(text: str) -> str:
    """Write a payload as bare as an address can be."""
    return quote(text, safe="<>\"'(){}=:;,/!$*+@|^`[]&~")


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResolverServer]:
    with attacked(tmp_path_factory.mktemp("resolver")) as running:
        yield running


@pytest.fixture(scope="module")
def archive(resolver: ResolverServer) -> Iterator[UrlGiver]:
    with UrlGiver(service_of(0)) as running:
        resolver.include(running)
        yield running


def dialogs(page: Page, resolver: ResolverServer, targets: list[str]) -> int:
    """Open pages; return how many dialogs they opened."""
    found = 0
    for target in targets:
        page.open(resolver.address + target)
        found += page.dialogs
    return found


def test_no_script_runs_in_a_browser(
    resolver: ResolverServer, archive: UrlGiver, browser: Chromium
) -> None:
    places = Places(resolver, archive).all()
    targets = [places[number % len(places)](text) for number, text in enumerate(payloads(COUNT))]
    with browser.page() as page:
        assert dialogs(page, resolver, targets) == 0
    assert len(targets) >= COUNT


def faults_of(reader: Connection, target: str) -> tuple[list[str], int]:
    answer = reader.ask(target, "Accept: text/html")
    headers = dict(answer.headers)
    if not headers.get("content-type", "").startswith("text/html"):
        assert "html" not in headers.get("content-type", ""), target
        return [], 0
    read = Reader()
    read.feed(answer.body.decode())
    if "default-src 'none'" not in headers.get("content-security-policy", ""):
        read.faults.append("no policy")
    if headers.get("x-content-type-options") != "nosniff":
        read.faults.append("no nosniff")
    return read.faults, read.count


def test_no_page_has_what_no_template_has(resolver: ResolverServer, archive: UrlGiver) -> None:
    places = Places(resolver, archive).all()
    elements = 0
    with connected(resolver) as reader:
        for text in payloads(COUNT):
            for place in places:
                target = place(text)
                faults, count = faults_of(reader, target)
                elements += count
                assert faults == [], (target, faults)
    assert elements > 10 * COUNT


def test_the_payloads_bite(tmp_path: Path, browser: Chromium) -> None:
    """The twin: the same pages without escaping and without a policy."""
    with (
        attacked(tmp_path, WITHOUT_ESCAPING) as resolver,
        UrlGiver(service_of(0)) as archive,
        browser.page() as page,
    ):
        resolver.include(archive)
        first = VECTORS[0]
        places = Places(resolver, archive).all()
        pasted = [places[0](f"{label(1)}/{first}"), places[1](first)]
        assert dialogs(page, resolver, pasted) > 0
        with connected(resolver) as reader:
            assert any(faults_of(reader, place(first))[0] for place in places)
