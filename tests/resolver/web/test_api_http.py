"""The API of a resolver: every route, who may use it, and what it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import pytest

from tests.support.doubles.archive import ArchiveDouble
from tests.support.doubles.domain_host import DomainHost
from tests.support.servers.mail import MailServer, message_in
from tests.support.servers.program import API, refused
from tests.support.servers.resolver import ADMINISTRATOR, ResolverServer
from tests.support.waiting import wait_until

KEY: Final = "1234567890"
ISO: Final = re.compile(r"20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-9:]{8}Z")
MESSAGE: Final = """\
From: Gerald <{sender}>
Subject: Cadastro de um novo Arquivo
Content-Type: text/plain; charset=utf-8

IBI do serviço de Arquivo:
archiveserviceibi = {service}

Chave de cadastro:
registrationkey = {key}
"""


@pytest.fixture(scope="module")
def inbox() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server


@pytest.fixture(scope="module")
def spare(tmp_path_factory: pytest.TempPathFactory, inbox: MailServer) -> Iterator[ResolverServer]:
    """Return a resolver that sends mail, for what would get in the way of others too."""
    resolver = ResolverServer(tmp_path_factory.mktemp("spare"))
    resolver.set(smtp=f"127.0.0.1:{inbox.port}", mail_from="resolver@example.org")
    with resolver:
        yield resolver


def label_of(number: int) -> str:
    return f"example.org/archive/2026/11.{number // 24 + 1:02}.{number % 24:02}.00"


@pytest.fixture
def service(request: pytest.FixtureRequest) -> str:
    """Return a label of an archive service, one for each test."""
    number = request.session.stash.setdefault(_USED, 0)
    request.session.stash[_USED] = number + 1
    return label_of(number)


_USED: Final = pytest.StashKey[int]()


# The resolver, and the archives on record


def test_everybody_may_know_what_the_resolver_is(resolver: ResolverServer, service: str) -> None:
    before = resolver.get(f"{API}/resolver").json()
    assert before["name"] == "Resolvedor de prova"
    assert before["address"] == resolver.address
    assert before["service"] == "J8LNKB5R7W/3FUQHC5"
    assert before["version"]
    assert before["archives"].keys() == {"pending", "included", "excluded", "down"}
    resolver.register(service)
    after = resolver.get(f"{API}/resolver").json()
    assert after["archives"]["excluded"] == before["archives"]["excluded"] + 1


def test_a_registered_archive_has_a_new_key_that_is_shown_once(
    resolver: ResolverServer, service: str
) -> None:
    answer = resolver.api("POST", "archives", {"service_ibi": service})
    assert answer.status == 201
    assert answer.json().keys() == {"service_ibi", "registration_key"}
    key = answer.json()["registration_key"]
    assert re.fullmatch("[0-9]{39}", key)
    assert key.encode() not in resolver.api("GET", "archives").body
    assert key.encode() not in resolver.api("GET", "history").body
    assert key not in resolver.log()


def test_what_is_public_of_an_archive_and_what_its_operator_knows(
    resolver: ResolverServer, service: str
) -> None:
    resolver.register(service, hosts=["files.example.org", "mirror.example.org:8080"])
    [public] = [
        archive
        for archive in resolver.get(f"{API}/archives").json()["archives"]
        if archive["service_ibi"] == service
    ]
    assert public.keys() == {"service_ibi", "address", "state", "since", "confirmed"}
    assert (public["address"], public["state"], public["confirmed"]) == ("", "excluded", False)
    assert ISO.fullmatch(public["since"])
    whole = resolver.archives()[service]
    assert whole == {
        **public,
        "administrator": ADMINISTRATOR,
        "origin": "operator",
        "hosts": ["files.example.org", "mirror.example.org:8080"],
        "key": "good",
        "response_seconds": 0.0,
    }


def test_a_token_that_is_not_known_is_told_even_where_none_is_needed(
    resolver: ResolverServer,
) -> None:
    unknown = "ibi_unknown"
    refused(resolver.api("GET", "archives", token=unknown), 401, "token-needed")


def test_an_included_archive_is_shown_where_it_is(resolver: ResolverServer) -> None:
    with ArchiveDouble("8JMKD3MGP8W/34PHP45") as archive:
        resolver.include(archive)
        wait_until(lambda: bool(resolver.archives()[archive.service]["confirmed"]))
        found = resolver.archives()[archive.service]
        assert (found["address"], found["state"]) == (archive.address, "included")
        assert ISO.fullmatch(found["seen"])
        path = f"archives/{quote(archive.service)}"
        excluded = resolver.api("POST", f"{path}/exclude")
        assert excluded.status == 200
        assert excluded.json()["state"] == "excluded"
        assert resolver.archives()[archive.service]["address"] == ""
        assert resolver.api("DELETE", path).status == 204


def test_a_label_in_a_path_may_be_encoded_or_not(resolver: ResolverServer, service: str) -> None:
    resolver.register(service)
    for spelling in (service, quote(service, safe=""), service.upper()):
        answer = resolver.api("PUT", f"archives/{spelling}/hosts", {"hosts": ["a.example.org"]})
        assert answer.status == 200, spelling
        assert answer.json()["hosts"] == ["a.example.org"]
    assert "hosts" not in resolver.api("PUT", f"archives/{service}/hosts", {"hosts": []}).json()


def test_a_rotated_key_replaces_the_one_before_after_a_day(
    resolver: ResolverServer, service: str
) -> None:
    first = resolver.register(service)
    answer = resolver.api("POST", f"archives/{service}/rotate").json()
    assert re.fullmatch("[0-9]{39}", answer["registration_key"])
    assert answer["registration_key"] != first
    assert ISO.fullmatch(answer["previous_key_until"])
    assert resolver.archives()[service]["previous_key_until"] == answer["previous_key_until"]


def test_a_revoked_key_is_gone(resolver: ResolverServer) -> None:
    with ArchiveDouble("8JMKD3MGP8W/34PHP46") as archive:
        key = resolver.include(archive)
        answer = resolver.api("POST", f"archives/{archive.service}/revoke").json()
        assert (answer["key"], answer["state"]) == ("revoked", "excluded")
        assert b"included" not in resolver.announce(archive, key).body


def test_a_removed_archive_is_forgotten(resolver: ResolverServer, service: str) -> None:
    resolver.register(service)
    assert resolver.api("DELETE", f"archives/{service}").status == 204
    assert service not in resolver.archives()
    refused(resolver.api("DELETE", f"archives/{service}"), 404, "not-on-record", service)
    for act in ("confirm", "rotate", "revoke", "exclude"):
        refused(resolver.api("POST", f"archives/{service}/{act}"), 404, "not-on-record")
    resolver.register(service)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({}, "service_ibi"),
        ({"service_ibi": "no label"}, ""),
        ({"service_ibi": "LK47B6W/362SFKH", "administrator": "nobody at all"}, "e-mail"),
        ({"service_ibi": "LK47B6W/362SFKH", "hosts": ["http://x/"]}, ""),
        ({"service_ibi": "LK47B6W/362SFKH", "hosts": "x"}, "hosts"),
        ({"service_ibi": "LK47B6W/362SFKH", "key": "123"}, "ten or more digits"),
        ({"service_ibi": "LK47B6W/362SFKH", "nonsense": 1}, "nonsense"),
        (b"{", ""),
        (b"\xff", ""),
        (b"[" * 60_000, ""),
    ],
)
def test_what_cannot_be_registered_is_refused(
    resolver: ResolverServer, wanted: object, words: str
) -> None:
    before = resolver.archives()
    refused(resolver.api("POST", "archives", wanted), 400, words=words)
    assert resolver.archives() == before


def test_a_key_that_is_refused_is_not_repeated(resolver: ResolverServer) -> None:
    body = {"service_ibi": "LK47B6W/362SFKH", "key": "12345-secret"}
    assert b"12345-secret" not in resolver.api("POST", "archives", body).body


def test_nothing_is_registered_twice(resolver: ResolverServer, service: str) -> None:
    resolver.register(service)
    answer = resolver.api("POST", "archives", {"service_ibi": service.upper(), "key": KEY})
    refused(answer, 400, words="registered already")


def test_a_body_has_a_limit(resolver: ResolverServer) -> None:
    refused(resolver.api("POST", "archives", b" " * 70_000), 413)
    refused(resolver.api("POST", "registrations/mail", b" " * (3 << 20)), 413)


# Registration by e-mail


def message(service: str, sender: str = ADMINISTRATOR, key: str = KEY) -> bytes:
    return MESSAGE.format(service=service, sender=sender, key=key).encode()


def test_an_e_mail_waits_for_the_operator(resolver: ResolverServer, service: str) -> None:
    answer = resolver.api("POST", "registrations/mail", message(service))
    assert answer.status == 202, answer.body
    assert answer.json() == {
        "service_ibi": service,
        "state": "pending",
        "administrator": ADMINISTRATOR,
        "mail_sent": False,
        "reason": "no mail server is set (smtp)",
    }
    found = resolver.archives()[service]
    assert (found["state"], found["origin"]) == ("pending", "mail")
    public = resolver.get(f"{API}/archives").json()["archives"]
    assert service not in {archive["service_ibi"] for archive in public}
    confirmed = resolver.api("POST", f"archives/{service}/confirm")
    assert confirmed.status == 200
    assert confirmed.json()["state"] == "excluded"
    assert confirmed.json()["mail_sent"] is False
    assert resolver.archives()[service]["state"] == "excluded"


def test_an_e_mail_overwrites_nothing(resolver: ResolverServer, service: str) -> None:
    resolver.register(service)
    before = resolver.archives()[service]
    answer = resolver.api("POST", "registrations/mail", message(service, "rogue@example.com"))
    refused(answer, 400, words="registered already")
    assert resolver.archives()[service] == before


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"", "subject"),
        (b"Subject: Hello\r\n\r\nHow are you?", "subject"),
        (message("no label"), "archiveserviceibi"),
        (message("LK47B6W/362SFKH", key="123"), "registrationkey"),
        (message("LK47B6W/362SFKH", sender="nobody"), "nobody who can be answered"),
        (b"Auto-Submitted: auto-replied\n" + message("LK47B6W/362SFKH"), "program"),
    ],
)
def test_what_is_no_registration_is_told_so(
    resolver: ResolverServer, sent: bytes, words: str
) -> None:
    refused(resolver.api("POST", "registrations/mail", sent), 400, words=words)
    assert "LK47B6W/362SFKH" not in resolver.archives()


def test_the_administrator_is_told_by_e_mail(
    spare: ResolverServer, inbox: MailServer, service: str
) -> None:
    pending = spare.api("POST", "registrations/mail", message(service)).json()
    assert pending["mail_sent"] is True
    confirmed = spare.api("POST", f"archives/{service}/confirm").json()
    assert confirmed["mail_sent"] is True
    assert "reason" not in confirmed
    for envelope, words in zip(inbox.envelopes, ("pending", "registered"), strict=True):
        assert envelope.rcpt_tos == [ADMINISTRATOR]
        sent = message_in(envelope)
        assert words in sent["Subject"].lower()
        text = sent.get_content()
        assert service in text
        assert spare.address in text
        assert KEY not in text


def test_an_archive_without_an_administrator_is_confirmed_in_silence(
    spare: ResolverServer, service: str
) -> None:
    spare.register(service, administrator="")
    answer = spare.api("POST", f"archives/{service}/confirm").json()
    assert answer["mail_sent"] is False
    assert "no address" in answer["reason"]


# Registration by whoever controls a host


def test_registration_is_not_open_unless_the_operator_says_so(resolver: ResolverServer) -> None:
    body = {"service_ibi": "example.org/archive/2026/01.01.00.00", "administrator": ADMINISTRATOR}
    refused(resolver.api("POST", "registrations", body, token=""), 403, words="not open")
    refused(
        resolver.api("POST", "registrations/proof", {"token": "x"}, token=""), 403, words="not open"
    )


@pytest.fixture(scope="module")
def open_resolver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResolverServer]:
    folder = tmp_path_factory.mktemp("open")
    with ResolverServer(folder, "--open-registration") as started:
        yield started


@pytest.fixture
def host() -> Iterator[DomainHost]:
    with DomainHost() as started:
        yield started


def test_whoever_controls_a_host_registers_its_archive(
    open_resolver: ResolverServer, host: DomainHost
) -> None:
    service = host.service
    body = {"service_ibi": service, "administrator": ADMINISTRATOR}
    answer = open_resolver.api("POST", "registrations", body, token="")
    assert answer.status == 202, answer.body
    challenge = answer.json()
    assert f"POST {open_resolver.address}{API}/registrations/proof" in challenge["next"]
    assert ISO.fullmatch(challenge["until"])
    proof = next(each for each in challenge["proofs"] if each["way"] == "http")
    assert proof["place"] in proof["instruction"]
    assert proof["text"] in proof["instruction"]
    path, shown = "registrations/proof", {"token": challenge["token"]}
    refused(open_resolver.api("POST", path, shown, token=""), 422, "proof", proof["place"])
    host.shown[urlsplit(proof["place"]).path] = proof["text"]
    done = open_resolver.api("POST", path, shown, token="")
    assert done.status == 201, done.body
    assert re.fullmatch("[0-9]{39}", done.json()["registration_key"])
    assert challenge["token"] not in open_resolver.log()
    found = open_resolver.archives()[done.json()["service_ibi"]]
    assert (found["origin"], found["administrator"]) == ("domain", ADMINISTRATOR)
    refused(open_resolver.api("POST", path, shown, token=""), 404, "not-on-record")
    again = open_resolver.api("POST", "registrations", body, token="")
    refused(again, 400, words="registered already")


def test_strangers_register_ten_times_an_hour(tmp_path: Path) -> None:
    with ResolverServer(tmp_path, "--open-registration") as resolver:
        statuses = [
            resolver.api("POST", "registrations", {"nonsense": 1}, token="").status
            for _ in range(11)
        ]
        assert statuses == [400] * 10 + [429]
        answer = resolver.api("POST", "registrations", {"nonsense": 1}, token="")
        refused(answer, 429, "too-many")
        assert int(answer.headers["retry-after"]) > 1
        # The operator is not one of them.
        resolver.register("LK47B6W/362SFKH")


# Conflicts


def test_rival_claims_are_shown_with_their_evidence_and_settled(resolver: ResolverServer) -> None:
    label = "8JMKD3MGP7W/3EPGUE5"
    with ArchiveDouble("8JMKD3MGP8W/34PHP47") as first, ArchiveDouble("LK47B6W/362SFKH") as rogue:
        for archive in (first, rogue):
            resolver.include(archive)
            archive.hold(label)
        resolver.get(f"/{label}?ibiurl.requireditemstatus=Original")
        wait_until(lambda: bool(resolver.api("GET", "conflicts").json()["conflicts"]))
        [conflict] = resolver.api("GET", "conflicts").json()["conflicts"]
        assert conflict["label"] == label
        assert {claim["archive"] for claim in conflict["claims"]} == {first.service, rogue.service}
        assert {claim["address"] for claim in conflict["claims"]} == {first.address, rogue.address}
        assert "urlkey" not in conflict["claims"][0]["answer"]
        assert ISO.fullmatch(conflict["opened"])
        path = f"conflicts/{conflict['number']}/settlement"
        settled = resolver.api("POST", path, {"owner": first.service, "note": "By telephone"})
        assert settled.status == 200, settled.body
        assert settled.json()["owner"] == first.service
        assert settled.json()["note"] == "By telephone"
        assert resolver.api("GET", "conflicts").json()["conflicts"] == []
        assert resolver.api("GET", "conflicts?all=true").json()["conflicts"] == [settled.json()]
        number = conflict["number"]
        assert resolver.api("GET", f"conflicts?all=true&after={number}").json()["conflicts"] == []
        # By its label, and again for another.
        again = resolver.api("POST", f"conflicts/{label}/settlement", {"owner": rogue.service})
        assert again.json()["owner"] == rogue.service
        for archive in (first, rogue):
            resolver.api("DELETE", f"archives/{archive.service}")


def test_what_cannot_be_settled(resolver: ResolverServer) -> None:
    body = {"owner": "LK47B6W/362SFKH"}
    unknown = resolver.api("POST", "conflicts/4711/settlement", body)
    refused(unknown, 404, "not-on-record", "4711")
    unknown = resolver.api("POST", "conflicts/LK47B6W/362SFK9/settlement", body)
    refused(unknown, 404, "not-on-record")
    for which in ("x", "0", "9" * 30, "%D9%A1"):
        refused(resolver.api("POST", f"conflicts/{which}/settlement", body), 400)
    refused(resolver.api("POST", "conflicts/1/settlement", {"owner": "x"}), 400)
    refused(resolver.api("POST", "conflicts/1/settlement", {}), 400, words="owner")
    for query in ("all=1", "after=-1", "after=x", "limit=0", "limit=1001", f"after={9**30}"):
        refused(resolver.api("GET", f"conflicts?{query}"), 400)


# History and tokens


def test_the_history_tells_who_did_what(resolver: ResolverServer, service: str) -> None:
    resolver.add_token("night-shift", "operate")
    secret = resolver.add_token("day-shift", "operate")
    resolver.register(service)
    resolver.api("PUT", f"archives/{service}/hosts", {"hosts": ["a.example.org"]}, token=secret)
    resolver.api("POST", f"archives/{service}/exclude", token=secret)
    lines = all_history(resolver)
    of_it = [(line["act"], line["who"]) for line in lines if line["archive"] == service]
    assert of_it[:2] == [("register", "first"), ("hosts", "day-shift")]
    assert [line["number"] for line in lines] == sorted({line["number"] for line in lines})
    for query in ("after=-1", "after=x", "limit=0", "limit=1001"):
        refused(resolver.api("GET", f"history?{query}"), 400)


def all_history(resolver: ResolverServer) -> list[dict[str, Any]]:
    lines, after = [], "0"
    while after:
        page = resolver.api("GET", f"history?limit=2&after={after}").json()
        assert len(page["history"]) <= 2
        lines += page["history"]
        after = page["after"]
    return lines


def test_tokens_are_made_listed_and_removed(resolver: ResolverServer) -> None:
    secret = resolver.add_token("watcher", "read")
    listed = resolver.api("GET", "tokens")
    assert secret.encode() not in listed.body
    assert {"name": "watcher", "scope": "read"}.items() <= next(
        token for token in listed.json()["tokens"] if token["name"] == "watcher"
    ).items()
    assert resolver.api("GET", "history", token=secret).status == 200
    assert resolver.api("DELETE", "tokens/watcher").status == 204
    refused(resolver.api("GET", "history", token=secret), 401, "token-needed")
    refused(resolver.api("DELETE", "tokens/watcher"), 404, "not-on-record", "watcher")
    for body in (
        {"name": "x", "scope": "administer"},
        {"name": "", "scope": "read"},
        {"name": "x"},
    ):
        refused(resolver.api("POST", "tokens", body), 400)
    resolver.add_token("twice", "read")
    refused(resolver.api("POST", "tokens", {"name": "twice", "scope": "read"}), 400)


def test_the_last_token_that_may_everything_stays(spare: ResolverServer) -> None:
    assert spare.api("DELETE", "tokens/local").status == 204
    refused(spare.api("DELETE", "tokens/first"), 409, "state")


# Methods


def test_a_wrong_method_is_told_the_right_ones(resolver: ResolverServer) -> None:
    for method, path, allowed in (
        ("DELETE", "archives", {"GET", "HEAD", "POST"}),
        ("GET", "archives/LK47B6W/362SFKH/rotate", {"POST"}),
        ("GET", "archives/LK47B6W/362SFKH", {"DELETE"}),
        ("GET", "registrations", {"POST"}),
    ):
        answer = resolver.api(method, path)
        refused(answer, 405)
        assert set(answer.headers["allow"].split(", ")) == allowed


def test_who_guesses_tokens_is_told_to_wait_and_who_has_one_is_not(spare: ResolverServer) -> None:
    guesses = (spare.api("GET", "history", token=f"ibi_{number}") for number in range(1000))
    answer = next(answer for answer in guesses if answer.status != 401)
    refused(answer, 429, "too-many")
    assert spare.api("GET", "history").status == 200


def test_a_token_has_its_share(tmp_path: Path) -> None:
    with ResolverServer(tmp_path, rate=1) as resolver:
        answers = (resolver.api("GET", "history") for _ in range(1000))
        answer = next(answer for answer in answers if answer.status != 200)
        refused(answer, 429, "too-many")
