"""The page on which archives are registered, over HTTP: as a browser without scripts uses it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlencode, urlsplit

import pytest
from lxml import html

from ibi.foundation.pages.static_files import SECURITY_POLICY
from tests.support.clients.http import Answer
from tests.support.doubles.domain_host import DomainHost
from tests.support.servers.resolver import ADMINISTRATOR, ResolverServer

KEY: Final = re.compile(r"\b[0-9]{39}\b")
FORM: Final = "application/x-www-form-urlencoded"
SERVICE: Final = "example.org/archive/2026/11.01.00.00"


@pytest.fixture
def open_resolver(tmp_path: Path) -> Iterator[ResolverServer]:
    """Return a resolver of its own: a network has few registrations an hour."""
    with ResolverServer(tmp_path, "--open-registration") as started:
        yield started


def send(
    resolver: ResolverServer,
    fields: Mapping[str, str] | bytes,
    path: str = "/register",
    kind: str = FORM,
    **headers: str,
) -> Answer:
    """Send a form as a browser does."""
    body = fields if isinstance(fields, bytes) else urlencode(fields).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {"Content-Type": kind, "Accept": "text/html", **named}
    return resolver.ask("POST", path, body, token="", headers=sent)


def read(answer: Answer, status: int) -> html.HtmlElement:
    """Read a page, and check what every one of them has."""
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["content-security-policy"] == SECURITY_POLICY
    assert "form-action 'self'" in SECURITY_POLICY
    assert "set-cookie" not in answer.headers
    root: html.HtmlElement = html.document_fromstring(answer.body)
    assert root.get("lang") == answer.headers["content-language"]
    return root


def text_of(root: html.HtmlElement) -> str:
    return " ".join(str(root.text_content()).split())


def form_of(root: html.HtmlElement) -> dict[str, str]:
    """Return the fields of the form, as they are filled in."""
    [found] = root.forms
    assert (found.method, found.action.partition("?")[0]) == ("POST", "/register")
    return {name: value or "" for name, value in found.fields.items()}


def key_in(root: html.HtmlElement) -> str:
    [key] = set(KEY.findall(text_of(root)))
    assert key not in str(root.findtext(".//title"))
    assert key not in "".join(root.xpath("//@href | //@action"))
    return str(key)


def nothing_is_known_of(resolver: ResolverServer, secret: str) -> None:
    """Check that a secret is in no log, nor in what is kept."""
    assert secret not in resolver.log()
    assert secret not in resolver.said()
    assert secret.encode() not in resolver.api("GET", "archives").body
    assert secret.encode() not in resolver.api("GET", "history").body


# Operators have pages of their own


def test_there_is_no_form_for_tokens(resolver: ResolverServer) -> None:
    for language, title in (("en", "Register an archive"), ("pt", "Cadastrar acervo")):
        root = read(resolver.get("/register", Accept_Language=language), 200)
        assert str(root.findtext(".//h1")) == title
        assert not root.xpath("//input[@type='password']")
        assert root.xpath("//a[contains(@href, '/admin/registrations')]")
    filled = {"origin": "operator", "token": resolver.token, **stranger(SERVICE)}
    assert send(resolver, filled).status == 403
    assert SERVICE not in resolver.archives()


# What is not sent from this page


def test_a_form_that_another_site_sent_is_refused(open_resolver: ResolverServer) -> None:
    for path in ("/register", "/register/proof"):
        filled = stranger(SERVICE)
        assert send(open_resolver, filled, path, Sec_Fetch_Site="cross-site").status == 403
    read(send(open_resolver, stranger(SERVICE), Sec_Fetch_Site="same-origin"), 202)


def test_what_is_no_form_is_refused(open_resolver: ResolverServer) -> None:
    filled = stranger(SERVICE)
    for kind in ("multipart/form-data; boundary=x", "text/plain", "application/json", ""):
        assert send(open_resolver, filled, kind=kind).status == 415
    assert send(open_resolver, b"service=x&x=" + b"y" * 16_384).status == 413
    assert send(open_resolver, b"&".join(b"x%d=y" % number for number in range(17))).status == 400
    for changed in (
        {"service": "<script>alert(1)</script>"},
        {"service": "\x00\ud7ff\ufffe"},
        {"administrator": "nobody at all"},
    ):
        root = read(send(open_resolver, stranger(SERVICE) | changed), 400)
        assert "The archive was not registered:" in text_of(root)
        assert not root.xpath("//script[not(@integrity)]")
    assert open_resolver.ask("PUT", "/register", token="").status == 405
    assert open_resolver.get("/register/proof").status == 405
    assert SERVICE not in open_resolver.archives()


def test_nothing_but_the_language_is_repeated_of_the_address(resolver: ResolverServer) -> None:
    answer = resolver.get("/register?token=secret-of-mine&lang=pt")
    read(answer, 200)
    assert b"secret-of-mine" not in answer.body
    assert "secret-of-mine" not in resolver.log()


# Strangers


def stranger(service: str, **changed: str) -> dict[str, str]:
    return {"service": service, "administrator": ADMINISTRATOR, **changed}


def test_strangers_have_no_form_and_no_way_where_registration_is_not_open(
    resolver: ResolverServer,
) -> None:
    root = read(resolver.get("/register"), 200)
    assert not root.forms
    assert send(resolver, stranger(SERVICE)).status == 403
    assert send(resolver, {"token": "x"}, "/register/proof").status == 403


def test_whoever_controls_a_host_registers_its_archive(open_resolver: ResolverServer) -> None:
    with DomainHost() as host:
        form = form_of(read(open_resolver.get("/register?lang=pt"), 200))
        filled = stranger(host.service)
        assert form.keys() == filled.keys()
        root = read(send(open_resolver, filled, "/register?lang=pt"), 202)
        [look] = root.forms
        assert look.action == "/register/proof?lang=pt"
        assert list(look.fields) == ["token"]
        proof = {"token": str(look.fields["token"])}
        place, text = (each.text_content() for each in root.xpath("//code"))

        missing = read(send(open_resolver, proof, look.action), 422)
        assert "O controle do computador não foi demonstrado." in text_of(missing)
        assert f"At {place} the text {text} was looked for" in text_of(missing)
        assert [each.text_content() for each in missing.xpath("//code")] == [place, text]
        assert dict(missing.forms[0].fields) == proof

        host.shown[urlsplit(place).path] = text
        done = read(send(open_resolver, proof, look.action), 201)
        key = key_in(done)
        assert f"ibi archive link {open_resolver.address} --key {key}" in text_of(done)
        found = open_resolver.archives()[host.service]
        assert (found["origin"], found["administrator"]) == ("domain", ADMINISTRATOR)
        nothing_is_known_of(open_resolver, key)
        nothing_is_known_of(open_resolver, proof["token"])

        ended = read(send(open_resolver, proof, look.action), 404)
        assert "Comece de novo." in text_of(ended)
        assert proof["token"] not in text_of(ended)
        again = read(send(open_resolver, filled), 400)
        assert "registered already" in text_of(again)
        assert form_of(again) == filled


def test_a_domain_name_is_offered_a_record_too(open_resolver: ResolverServer) -> None:
    shown = text_of(read(send(open_resolver, stranger(SERVICE)), 202))
    assert "http://archive.example.org/.well-known/ibi-registration/" in shown
    assert "_ibi-registration.archive.example.org" in shown


def test_strangers_send_ten_forms_an_hour_and_lose_no_token_by_it(
    open_resolver: ResolverServer,
) -> None:
    wrong = stranger("no label")
    statuses = [send(open_resolver, wrong).status for _ in range(9)]
    statuses.append(open_resolver.api("POST", "registrations", {}, token="").status)
    assert statuses == [400] * 10
    answer = send(open_resolver, wrong)
    assert int(answer.headers["retry-after"]) > 1
    assert form_of(read(answer, 429)) == wrong
    proof = {"token": '"><script>'}
    waiting = read(send(open_resolver, proof, "/register/proof"), 429)
    assert dict(waiting.forms[0].fields) == proof


@pytest.mark.parametrize("token", ["", "x", "\x00", "ã\ufffe", "y" * 9000])
def test_a_token_of_no_challenge_begins_anew(open_resolver: ResolverServer, token: str) -> None:
    root = read(send(open_resolver, {"token": token}, "/register/proof"), 404)
    assert "Begin again." in text_of(root)
    assert form_of(root)["service"] == ""
