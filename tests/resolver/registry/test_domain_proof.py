"""Registration by whoever controls a domain name: what proves it, and what does not."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import shutil
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pytest

from ibi import parse
from ibi.errors import NotOnRecordError, OverloadError, ProofError, ResolverRequestError
from ibi.foundation.http_client.ssrf_guard import OutboundGuard
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.sql.upgrade import upgrade
from ibi.foundation.system.dns import DnsTexts
from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import Instant
from ibi.identifier.label import Label
from ibi.model.registration import EVERY_PORT, ProvedPlace
from ibi.resolver.peers.archive_client import HttpArchiveClient
from ibi.resolver.ports.store import Challenge
from ibi.resolver.registry import domain_proof
from ibi.resolver.registry.domain_proof import (
    CHALLENGE_SECONDS,
    MAX_CHALLENGES,
    DomainProof,
    MetChallenge,
    host_of,
    http_proof,
    text_proof,
)
from ibi.resolver.storage.migrations import RESOLVER_MIGRATIONS
from ibi.resolver.storage.store import SqlResolverStore
from tests.support.doubles.archive_client import UnusedArchiveClient
from tests.support.doubles.domain_host import DomainHost
from tests.support.doubles.minting_machine import SECOND, FakeClock
from tests.support.servers.dns import FAILS, DnsServer

SERVICE = parse("sid.inpe.br/mtc-m21/2012/06.05.15.34.39")
HOST = "mtc-m21.sid.inpe.br"
NAME = "_ibi-registration.mtc-m21.sid.inpe.br"
ADMINISTRATOR = "banon@dpi.inpe.br"
T = TypeVar("T")


class FakeHosts(UnusedArchiveClient):
    """What stands at the hosts of the world; of an archive's client only what is used here."""

    def __init__(self) -> None:
        """Begin with hosts that are not there."""
        self.pages: dict[str, str] = {}
        self.asked: list[str] = []
        self.meanwhile: Callable[[], object] = lambda: None

    async def challenge(self, host: str, path: str, seconds: float) -> str:
        """Return a page."""
        assert 0 < seconds <= 10
        url = f"http://{host}{path}"
        self.asked.append(url)
        self.meanwhile()
        if url not in self.pages:
            raise ProofError("The host did not show it: there is no connection to it.")
        return self.pages[url]


class World:
    """A registry, hosts and name servers."""

    def __init__(self, registry: Path, names: DnsServer) -> None:
        """Open a registry."""
        self.store = SqlResolverStore(Sqlite(registry), quick=True)
        self.hosts = FakeHosts()
        self.names = names
        self.clock = FakeClock()
        texts = DnsTexts(["127.0.0.1"], names.port)
        self.proof = DomainProof(self.store.challenges, self.hosts, texts, self.clock)
        self.lenient = DomainProof(
            self.store.challenges, self.hosts, texts, self.clock, allow_private=True
        )

    def begin(self, service: Label = SERVICE) -> Challenge:
        """Begin."""
        return run(self.proof.begin(service, ADMINISTRATOR))

    def complete(self, challenge: Challenge) -> Challenge:
        """Complete."""
        return self.met(challenge).challenge

    def met(self, challenge: Challenge) -> MetChallenge:
        """Complete it, and return what was proved too."""
        return run(self.proof.complete(challenge.token))

    def show(self, challenge: Challenge, text: str | None = None) -> None:
        """Put the right text where it should be, or another."""
        place, expected = http_proof(challenge)
        self.hosts.pages[place] = expected if text is None else text


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def shown_of(challenge: Challenge) -> str:
    """Return what the world may see of a token: not the token, which gets the key."""
    digest = hashlib.sha256(challenge.token.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty registry, of which each test has a copy."""
    path = tmp_path_factory.mktemp("registry") / "registry.sqlite"
    upgrade(str(path), RESOLVER_MIGRATIONS, postgresql=False)
    return path


@pytest.fixture
def world(registry: Path, tmp_path: Path) -> Iterator[World]:
    with DnsServer({}) as names:
        made = World(Path(shutil.copy(registry, tmp_path)), names)
        yield made
        made.store.close()


INSTANT = Instant(1_400_000_000)


@pytest.mark.parametrize(
    ("label", "host"),
    [
        ("sid.inpe.br/mtc-m21/2012/06.05.15.34.39", "mtc-m21.sid.inpe.br"),
        ("sid.inpe.br/MTC-m21@80/2012/06.05.15.34.39", "mtc-m21.sid.inpe.br"),
        ("sid.inpe.br/mtc-m21.8080/2012/06.05.15.34.39", "mtc-m21.sid.inpe.br:8080"),
        (str(Ibip.mount("150.163.34.239", 800, INSTANT)), "150.163.34.239:800"),
        (str(Ibip.mount("150.163.34.239", 80, INSTANT)), "150.163.34.239"),
        (str(Ibip.mount("2001:12f0::1", 8080, INSTANT)), "[2001:12f0::1]:8080"),
    ],
)
def test_the_host_is_that_of_the_prefix(label: str, host: str) -> None:
    assert host_of(parse(label)) == host


def test_a_legacy_label_names_no_host_for_certain() -> None:
    with pytest.raises(ResolverRequestError, match="names no host"):
        host_of(parse("6qtX3pFwXQZGivnK2Y/SskcB"))


def test_a_challenge_says_what_to_show_and_where(world: World) -> None:
    challenge = world.begin()
    assert challenge.service == SERVICE.canonical
    assert (challenge.host, challenge.administrator) == (HOST, ADMINISTRATOR)
    assert challenge.until - challenge.made == CHALLENGE_SECONDS * SECOND == 3600 * SECOND
    assert len(challenge.token) == 43
    token = shown_of(challenge)
    assert challenge.token not in token
    assert http_proof(challenge) == (
        f"http://{HOST}/.well-known/ibi-registration/{token}",
        f"{token}.sid.inpe.br/mtc-m21/2012/06.05.15.34.39",
    )
    assert text_proof(challenge) == (NAME, f"ibi-registration={token}")


def test_one_service_may_have_several_and_no_two_are_alike(world: World) -> None:
    first, second = world.begin(), world.begin()
    assert first.token != second.token
    world.show(first)
    world.show(second)
    assert world.complete(first) == first
    assert world.complete(second) == second


def test_a_text_at_the_host_proves_it_once(world: World) -> None:
    challenge = world.begin()
    place, expected = http_proof(challenge)
    world.hosts.pages[place] = f" {expected}\r\n"
    assert world.complete(challenge) == challenge
    assert world.names.asked == []
    with pytest.raises(NotOnRecordError, match="no challenge"):
        world.complete(challenge)


def test_a_text_record_proves_it(world: World) -> None:
    challenge = world.begin()
    text = f"ibi-registration={shown_of(challenge)}".encode()
    world.names.records[NAME] = [[b"v=spf1 -all"], [text[:20], text[20:]]]
    assert world.complete(challenge) == challenge


@pytest.mark.parametrize(
    ("port", "in_the_names", "proved"),
    [
        ("", False, EVERY_PORT),
        (".443", False, EVERY_PORT),
        (".8080", False, 8080),
        (".8080", True, EVERY_PORT),
    ],
)
def test_a_text_at_some_port_proves_that_port_alone(
    world: World,
    port: str,
    in_the_names: bool,  # noqa: FBT001  # a column
    proved: int,
) -> None:
    challenge = world.begin(parse(f"sid.inpe.br/mtc-m21{port}/2012/06.05.15.34.39"))
    if in_the_names:
        world.names.records[NAME] = [[f"ibi-registration={shown_of(challenge)}".encode()]]
    else:
        world.show(challenge)
    assert world.met(challenge).place == ProvedPlace(HOST, proved)


def test_a_port_is_no_part_of_the_name(world: World) -> None:
    challenge = world.begin(parse("sid.inpe.br/mtc-m21.8080/2012/06.05.15.34.39"))
    world.names.records[NAME] = [[f"ibi-registration={shown_of(challenge)}".encode()]]
    assert world.complete(challenge) == challenge
    assert world.hosts.asked == [
        f"http://{HOST}:8080/.well-known/ibi-registration/{shown_of(challenge)}"
    ]


def wrong_texts(challenge: Challenge, other: Challenge) -> list[str]:
    return [
        "",
        "<html>",
        shown_of(challenge),
        challenge.token,
        f"{challenge.token}.{challenge.service}",
        f"{shown_of(challenge)}.",
        f"{shown_of(other)}.{challenge.service}",
        f"{shown_of(challenge)}.{other.service}",
        f"{shown_of(challenge)}.{challenge.service}.{challenge.service}",
        f"x{shown_of(challenge)}.{challenge.service}",
        f"{shown_of(challenge)}.{challenge.service}".upper(),
    ]


def test_another_text_proves_nothing(world: World) -> None:
    challenge = world.begin()
    other = world.begin(parse("sid.inpe.br/mtc-m21/2012/06.05.15.34.40"))
    for text in wrong_texts(challenge, other):
        world.show(challenge, text)
        with pytest.raises(ProofError):
            world.complete(challenge)
    world.show(challenge)
    assert world.complete(challenge) == challenge


def test_another_record_proves_nothing(world: World) -> None:
    challenge, other = world.begin(), world.begin()
    for text in (
        challenge.token,
        f"ibi-registration={challenge.token}",
        f"ibi-registration={shown_of(other)}",
        "ibi-registration=",
    ):
        world.names.records[NAME] = [[text.encode()]]
        with pytest.raises(ProofError):
            world.complete(challenge)
    right = [[f"ibi-registration={shown_of(challenge)}".encode()]]
    world.names.records = {HOST: right, "_ibi-registration.sid.inpe.br": right}
    with pytest.raises(ProofError):
        world.complete(challenge)


def test_what_was_looked_for_and_found_is_told(world: World) -> None:
    challenge = world.begin()
    place, expected = http_proof(challenge)
    record = f"ibi-registration={shown_of(challenge)}"
    with pytest.raises(ProofError) as caught:
        world.complete(challenge)
    assert str(caught.value) == (
        f"Control of {HOST} was not shown. At {place} the text {expected} was looked for. "
        "The host did not show it: there is no connection to it. "
        f"A TXT record {record} of {NAME} was looked for; it has none."
    )
    world.show(challenge, "\x1b[31m<script>")
    world.names.records[NAME] = [[b"<script>"], [b"x"]]
    with pytest.raises(ProofError) as caught:
        world.complete(challenge)
    assert str(caught.value) == (
        f"Control of {HOST} was not shown. "
        f"At {place} the text {expected} was looked for, and another was found. "
        f"A TXT record {record} of {NAME} was looked for, and others were found: 2."
    )
    world.names.records[NAME] = FAILS
    with pytest.raises(
        ProofError, match=f"The name servers do not return the TXT records of {NAME}"
    ):
        world.complete(challenge)


def test_a_challenge_that_nobody_gave_out(world: World) -> None:
    world.begin()
    for token in ("", "x", "\x00", "é" * 1000):
        with pytest.raises(NotOnRecordError):
            run(world.proof.complete(token))
    assert world.hosts.asked == []


def test_a_challenge_lives_for_an_hour(world: World) -> None:
    challenge = world.begin()
    world.show(challenge)
    world.clock.true += CHALLENGE_SECONDS * SECOND + 1
    with pytest.raises(NotOnRecordError):
        world.complete(challenge)
    assert world.hosts.asked == []
    world.clock.true -= 1
    assert world.complete(challenge) == challenge


def test_of_two_at_once_one_gets_it(world: World) -> None:
    challenge = world.begin()
    world.show(challenge)
    world.hosts.meanwhile = lambda: world.store.challenges.take_challenge(challenge.token)
    with pytest.raises(NotOnRecordError):
        world.complete(challenge)


def fill(world: World, count: int) -> None:
    now = world.clock.wall()
    for n in range(count):
        challenge = Challenge(f"token-{n}", "service", HOST, ADMINISTRATOR, now, now + SECOND)
        world.store.challenges.keep_challenge(challenge)


def test_so_many_are_open_and_no_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_CHALLENGES == 1000
    monkeypatch.setattr(domain_proof, "MAX_CHALLENGES", 10)  # a thousand take seconds to write
    fill(world, 8)

    async def at_once() -> list[Challenge | BaseException]:
        begins = (world.proof.begin(SERVICE, ADMINISTRATOR) for _ in range(5))
        return await asyncio.gather(*begins, return_exceptions=True)

    outcomes = [type(outcome) for outcome in run(at_once())]
    assert outcomes.count(Challenge) == 2
    assert outcomes.count(OverloadError) == 3
    world.clock.true += 2 * SECOND  # those of others have ended, and are forgotten
    assert world.begin().host == HOST
    assert world.store.challenges.forget_challenges(0) == 3


@pytest.mark.parametrize("administrator", ["", "nobody", "a@b.org\nBcc: c@d.org"])
def test_who_cannot_be_reached_begins_nothing(world: World, administrator: str) -> None:
    with pytest.raises(ResolverRequestError, match="an e-mail address"):
        run(world.proof.begin(SERVICE, administrator))
    assert world.store.challenges.forget_challenges(0) == 0


NOT_PUBLIC = [
    "localhost/archive/2012/06.05.15.34.39",
    "local/archive/2012/06.05.15.34.39",
    "LOCAL/printer/2012/06.05.15.34.39",
    "internal/archive/2012/06.05.15.34.39",
    "google.internal/metadata/2012/06.05.15.34.39",
    "arpa/home/2012/06.05.15.34.39",
    "home.arpa/nas.8080/2012/06.05.15.34.39",
    "corp/archive/2012/06.05.15.34.39",
    *(
        str(Ibip.mount(ip, 80, INSTANT))
        for ip in ("127.0.0.1", "10.1.2.3", "169.254.169.254", "0.0.0.0", "::1", "fd00::1")
    ),
]


@pytest.mark.parametrize("label", NOT_PUBLIC)
def test_a_host_that_is_not_public_is_refused_unless_allowed(world: World, label: str) -> None:
    with pytest.raises(ResolverRequestError, match="is not public"):
        world.begin(parse(label))
    assert world.store.challenges.forget_challenges(0) == 0
    challenge = run(world.lenient.begin(parse(label), ADMINISTRATOR))
    assert challenge.host == host_of(parse(label))


@pytest.mark.parametrize(
    "label",
    [
        "local.org/archive/2012/06.05.15.34.39",
        "example.org/localhost/2012/06.05.15.34.39",
        "mylocal/archive/2012/06.05.15.34.39",
        str(Ibip.mount("150.163.34.239", 800, INSTANT)),
    ],
)
def test_a_public_host_is_not(world: World, label: str) -> None:
    assert world.begin(parse(label)).service == parse(label).canonical


async def test_an_ip_address_is_proved_by_http_alone(world: World) -> None:
    """With a real web server, and the client that asks archives."""
    with DomainHost() as host:
        client = HttpArchiveClient(OutboundGuard(["127.0.0.0/8"]))
        texts = DnsTexts(["127.0.0.1"], world.names.port)
        proof = DomainProof(world.store.challenges, client, texts, world.clock, allow_private=True)
        challenge = await proof.begin(parse(host.service), ADMINISTRATOR)
        with pytest.raises(ProofError) as caught:
            await proof.complete(challenge.token)
        place, text = http_proof(challenge)
        host.shown[urlsplit(place).path] = text
        met = await proof.complete(challenge.token)
        assert met.challenge == challenge
        assert met.place == ProvedPlace("127.0.0.1", host.port)
        await client.close()
    assert text_proof(challenge) is None
    assert "it answered 404" in str(caught.value)
    assert "An IP address has no texts" in str(caught.value)
    assert world.names.asked == []
