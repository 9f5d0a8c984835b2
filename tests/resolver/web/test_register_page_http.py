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
from tests.support.doubles.archive import ArchiveDouble
from tests.support.doubles.domain_host import DomainHost
from tests.support.servers.resolver import ADMINISTRATOR, ResolverServer
from tests.support.waiting import wait_until

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


def operator(resolver: ResolverServer, **changed: str) -> dict[str, str]:
    """Return the operator's form, filled in."""
    filled = {"service": SERVICE, "administrator": ADMINISTRATOR, "hosts": ""}
    return {"origin": "operator", "token": resolver.token, **filled, **changed}


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


def form_of(root: html.HtmlElement, origin: str) -> dict[str, str]:
    """Return the fields of the form of an origin, as they are filled in."""
    [found] = [form for form in root.forms if form.fields.get("origin") == origin]
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


# The operator


def test_the_operator_registers_an_archive_which_comes_in_by_its_key(
    resolver: ResolverServer,
) -> None:
    with ArchiveDouble("8JMKD3MGP8W/34PHP45") as archive:
        form = form_of(read(resolver.get("/register"), 200), "operator")
        assert form.keys() == operator(resolver).keys()
        hosts = "files.example.org, mirror.example.org:8080"
        filled = operator(resolver, service=f" {archive.service} ", hosts=hosts)
        root = read(send(resolver, form | filled), 201)
        key = key_in(root)
        assert f"ibi archive link {resolver.address} --key {key}" in text_of(root)
        assert ADMINISTRATOR in text_of(root)
        nothing_is_known_of(resolver, key)
        nothing_is_known_of(resolver, resolver.token)
        found = resolver.archives()[archive.service]
        assert (found["origin"], found["administrator"]) == ("operator", ADMINISTRATOR)
        assert found["hosts"] == ["files.example.org", "mirror.example.org:8080"]
        history = resolver.api("GET", "history?limit=1000").json()["history"]
        assert ("register", "first", archive.service) in {
            (line["act"], line["who"], line["archive"]) for line in history
        }
        assert b"included" in resolver.announce(archive, key).body
        wait_until(lambda: bool(resolver.archives()[archive.service]["confirmed"]))
        # As a browser does when such a page is loaded again.
        again = read(send(resolver, filled), 400)
        assert "registered already" in text_of(again)
        assert form_of(again, "operator")["service"] == archive.service
        assert resolver.api("DELETE", f"archives/{archive.service}").status == 204


@pytest.mark.parametrize(
    ("language", "title", "words"),
    [
        ("en", "Register an archive", "This token is not known here"),
        ("pt", "Cadastrar acervo", "Esta chave de acesso não é conhecida aqui"),
    ],
)
@pytest.mark.parametrize("wrong", ["", "ibi_wrong", "\x00\r\nX: y", "ã" * 100])
def test_a_wrong_token_gets_the_form_again(
    resolver: ResolverServer, language: str, title: str, words: str, wrong: str
) -> None:
    shown = read(resolver.get("/register", Accept_Language=language), 200)
    assert str(shown.findtext(".//h1")) == title
    filled = operator(resolver, token=wrong, hosts="a.example.org")
    answer = send(resolver, filled, f"/register?lang={language}")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    root = read(answer, 401)
    assert words in text_of(root)
    assert form_of(root, "operator") == filled | {"token": ""}
    assert root.forms[0].action == f"/register?lang={language}"
    assert SERVICE not in resolver.archives()


def test_a_token_that_may_only_read_registers_nothing(resolver: ResolverServer) -> None:
    reader = resolver.add_token("reader-of-pages", "read")
    root = read(send(resolver, operator(resolver, token=reader)), 403)
    assert "scope operate" in text_of(root)
    assert SERVICE not in resolver.archives()


@pytest.mark.parametrize(
    "changed",
    [
        {"service": ""},
        {"service": "no label"},
        {"service": "<script>alert(1)</script>"},
        {"service": "\x00\ud7ff\ufffe"},
        {"administrator": "nobody at all"},
        {"administrator": "\x00"},
        {"hosts": "http://x/"},
        {"hosts": " ".join(f"h{number}.example.org" for number in range(101))},
    ],
)
def test_what_cannot_be_registered_is_told_and_can_be_mended(
    resolver: ResolverServer, changed: dict[str, str]
) -> None:
    before = resolver.archives()
    root = read(send(resolver, operator(resolver, **changed)), 400)
    assert "The archive was not registered:" in text_of(root)
    assert not root.xpath("//script[not(@integrity)]")
    assert form_of(root, "operator")["token"] == ""
    assert resolver.archives() == before


def _is_shut_out(resolver: ResolverServer) -> bool:
    """Guess here until there is no more to guess, and then at the API.

    On a slow machine one more may be allowed by then.
    """
    while send(resolver, operator(resolver, token="ibi_x")).status == 401:  # noqa: S106  # none
        pass
    return resolver.api("GET", "history", token="ibi_wrong").status == 429  # noqa: S106  # none


def test_who_guesses_tokens_here_is_told_to_wait_as_at_the_api(tmp_path: Path) -> None:
    with ResolverServer(tmp_path) as resolver:
        guesses = (
            send(resolver, operator(resolver, token=f"ibi_{number}")) for number in range(1000)
        )
        answer = next(answer for answer in guesses if answer.status != 401)
        assert "Too many requests. Try again in" in text_of(read(answer, 429))
        assert int(answer.headers["retry-after"]) >= 1
        # Guesses at both doors are counted together; who has a token is not kept out by them.
        assert any(_is_shut_out(resolver) for _ in range(100))
        read(send(resolver, operator(resolver)), 201)


# What is not sent from this page


def test_a_form_that_another_site_sent_is_refused(resolver: ResolverServer) -> None:
    for path in ("/register", "/register/proof"):
        filled = operator(resolver)
        assert send(resolver, filled, path, Sec_Fetch_Site="cross-site").status == 403
    assert SERVICE not in resolver.archives()
    label = "example.org/archive/2026/11.02.00.00"
    own = send(resolver, operator(resolver, service=label), Sec_Fetch_Site="same-origin")
    read(own, 201)


def test_what_is_no_form_is_refused(resolver: ResolverServer) -> None:
    filled = operator(resolver)
    for kind in ("multipart/form-data; boundary=x", "text/plain", "application/json", ""):
        assert send(resolver, filled, kind=kind).status == 415
    assert send(resolver, b"origin=operator&x=" + b"y" * 16_384).status == 413
    assert send(resolver, b"&".join(b"x%d=y" % number for number in range(17))).status == 400
    read(send(resolver, b"\xff\xfe%ff%&=&&token=%ED%A0%80"), 401)
    assert resolver.ask("PUT", "/register", token="").status == 405
    assert resolver.get("/register/proof").status == 405
    assert SERVICE not in resolver.archives()


def test_nothing_but_the_language_is_repeated_of_the_address(resolver: ResolverServer) -> None:
    answer = resolver.get("/register?token=secret-of-mine&lang=pt")
    read(answer, 200)
    assert b"secret-of-mine" not in answer.body
    assert "secret-of-mine" not in resolver.log()


# Strangers


def stranger(service: str, **changed: str) -> dict[str, str]:
    return {"origin": "domain", "service": service, "administrator": ADMINISTRATOR, **changed}


def test_strangers_have_no_form_and_no_way_where_registration_is_not_open(
    resolver: ResolverServer,
) -> None:
    root = read(resolver.get("/register"), 200)
    assert [form.fields["origin"] for form in root.forms] == ["operator"]
    assert send(resolver, stranger(SERVICE)).status == 403
    assert send(resolver, {"token": "x"}, "/register/proof").status == 403


def test_whoever_controls_a_host_registers_its_archive(open_resolver: ResolverServer) -> None:
    with DomainHost() as host:
        form = form_of(read(open_resolver.get("/register?lang=pt"), 200), "domain")
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
        assert form_of(again, "domain") == filled


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
    assert form_of(read(answer, 429), "domain") == wrong
    proof = {"token": '"><script>'}
    waiting = read(send(open_resolver, proof, "/register/proof"), 429)
    assert dict(waiting.forms[0].fields) == proof
    # The operator is not one of them.
    read(send(open_resolver, operator(open_resolver)), 201)


@pytest.mark.parametrize("token", ["", "x", "\x00", "ã\ufffe", "y" * 9000])
def test_a_token_of_no_challenge_begins_anew(open_resolver: ResolverServer, token: str) -> None:
    root = read(send(open_resolver, {"token": token}, "/register/proof"), 404)
    assert "Begin again." in text_of(root)
    assert form_of(root, "domain")["service"] == ""
