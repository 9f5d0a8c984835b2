"""Threats, row 3: whoever guesses a registration key, from one address or from many.

None of the guesses is accepted, and all but a few are refused without a look at them. The archive
whose key it is can be included meanwhile from where it always was. Its key stands nowhere.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.attacked import FULL, connected
from tests.support.servers.attacked_resolver import HTML, at_once, attacked, service_of
from tests.support.servers.resolver import SERVICE, ResolverServer

COUNT: Final = 100_000 if FULL else 400
GUESSERS: Final = 8
LOOKED_AT: Final = 100
"""How many wrong keys may be looked at: 50 of an archive, a few at once, and after each wait."""
OWN: Final = "198.51.100.7"
"""The address of the archive, as the proxy tells it."""
KEY: Final = "271828182845904523536028747135266249775"

WITHOUT_LIMITS: Final = """
from ibi.resolver.registry import registration_key
from ibi.resolver.registry.registration_key import KeyGuessLimit

registration_key._N = 2  # so that it takes no longer than the attack
KeyGuessLimit.admit = lambda self, client, archive, now: 0
"""


@pytest.fixture(scope="module")
def archive() -> Iterator[ArchiveDouble]:
    with ArchiveDouble(service_of(0)) as running:
        yield running


@pytest.fixture
def resolver(tmp_path: Path) -> Iterator[ResolverServer]:
    with attacked(tmp_path, trusted_proxies=["127.0.0.1/32"]) as running:
        yield running


def request(archive: ArchiveDouble, key: str, subject: str = "inclusionRequest") -> str:
    return (
        f"/{SERVICE}?servicesubject={subject}&archiveaddress={archive.address}"
        f"&archiveserviceibi={archive.service}&archiveip=127.0.0.1&archiveprotocol=HTTP"
        "&archiveplatformversion=2014:11.09.02.16.15&archiveadmemailaddress=a@example.org"
        f"&registrationkey={key}"
    )


def guesses(count: int, seed: int) -> Iterator[str]:
    """Yield wrong keys: near misses, parts, and random ones of ten digits and of 39."""
    chance = random.Random(seed)  # noqa: S311  # which guesses
    yield from (KEY[:-1], KEY + "0", KEY[::-1], KEY[:10], f"{KEY[:20]}-{KEY[20:]}", "0" * 39)
    for number in range(count - 6):
        if number % 3:
            yield f"{chance.randrange(10**10):010}"
        else:
            place = chance.randrange(39)
            other = str((int(KEY[place]) + chance.randrange(1, 10)) % 10)
            yield KEY[:place] + other + KEY[place + 1 :]


def guess(
    resolver: ResolverServer, archive: ArchiveDouble, count: int, *, many: bool
) -> Counter[int]:
    """Send wrong keys, as one client or as many; return how often each status came."""

    def act(turn: int) -> Counter[int]:
        chance = random.Random(turn)  # noqa: S311  # which addresses
        found: Counter[int] = Counter()
        with connected(resolver) as client:
            for number, key in enumerate(guesses(count // GUESSERS, turn)):
                address = f"203.0.{chance.randrange(256)}.{chance.randrange(256)}"
                peer = address if many else "203.0.113.77"
                subject = "inclusionRequest" if number % 5 else "exclusionRequest"
                answer = client.ask(request(archive, key, subject), f"X-Forwarded-For: {peer}")
                found[answer.status] += 1
                assert KEY.encode() not in answer.body
        return found

    return sum(at_once(GUESSERS, act, range(GUESSERS)), Counter())


def announced(resolver: ResolverServer, archive: ArchiveDouble) -> int:
    """Switch the archive on from its own address, with its key; return the status."""
    with connected(resolver) as client:
        return client.ask(request(archive, KEY), f"X-Forwarded-For: {OWN}").status


@pytest.mark.parametrize("many", [False, True])
def test_no_guess_is_accepted_and_few_are_looked_at(
    resolver: ResolverServer, archive: ArchiveDouble, *, many: bool
) -> None:
    resolver.register(archive.service, key=KEY)
    assert announced(resolver, archive) == 200
    before = archive.connections
    found = guess(resolver, archive, COUNT, many=many)
    assert set(found) == {403, 429}
    assert found.total() == COUNT
    assert 0 < found[403] < LOOKED_AT
    assert archive.connections == before, "a wrong key made the resolver call somebody"
    assert resolver.archives()[archive.service]["state"] == "included"
    assert announced(resolver, archive) == 200
    send_astray(resolver, archive)
    search(resolver, archive)


def send_astray(resolver: ResolverServer, archive: ArchiveDouble) -> None:
    """Send the key in requests that are garbled, and to where nobody expects it."""
    garbled = request(archive, KEY)
    with connected(resolver) as client:
        for target in (
            garbled.replace("archiveip=127.0.0.1", "archiveip=x"),
            garbled.replace("inclusionRequest", "urlRequest"),
            garbled.replace("&archiveprotocol=HTTP", ""),
            f"{garbled}&registrationkey={KEY}",
            f"{garbled}x",
            garbled.replace(SERVICE, archive.service),
            garbled.replace(SERVICE, "no-label"),
            garbled.replace(f"/{SERVICE}", "/explain"),
        ):
            for accept in (HTML, "Accept: text/plain"):
                answer = client.ask(target, accept)
                headers = "".join(value for _, value in answer.headers)
                assert answer.status >= 400, target
                assert KEY.encode() not in answer.body, target
                assert KEY not in headers


def search(resolver: ResolverServer, archive: ArchiveDouble) -> None:
    """Look for the key wherever the resolver writes or shows something."""
    shown = [
        resolver.ask("GET", path, headers={"Accept": accept}).body
        for path in ("/", "/archives", "/metrics", "/openapi.json", "/api/v1/archives",
                     "/api/v1/history", "/api/v1/resolver", request(archive, "1" * 10),
                     f"/{archive.service}?registrationkey={KEY[:-1]}x", "/explain?url=x")
        for accept in ("text/html", "application/json")
    ]  # fmt: skip
    assert len(set(shown)) > 5
    assert resolver.stop() == 0
    written = [path.read_bytes() for path in resolver.folder.rglob("*") if path.is_file()]
    said = [resolver.log().encode(), resolver.said().encode(), *shown, *written]
    assert any(archive.service.encode() in each for each in written), "not the right files"
    assert any(b"registration key refused" in each for each in written), "not the right files"
    for piece in (KEY, KEY[:20], KEY[19:]):
        assert not any(piece.encode() in each for each in said)


def test_the_limits_bite(tmp_path: Path, archive: ArchiveDouble) -> None:
    """The twin: without the limits, every key is looked at."""
    with attacked(tmp_path, WITHOUT_LIMITS) as resolver:
        resolver.register(archive.service, key=KEY)
        found = guess(resolver, archive, 2 * LOOKED_AT, many=False)
        assert found[403] == found.total() > LOOKED_AT
