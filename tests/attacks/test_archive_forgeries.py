"""Threats, row 22, at a running archive that is linked to a resolver.

Requests in the name of resolvers, of other archives and of people with tokens; answers in the name
of its resolver. Nothing changes but how the archive stands with that resolver.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

from ibi.wire import pairlist
from tests.support.doubles.resolver import BEHAVIOURS, ResolverDouble
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked import FULL
from tests.support.servers.attacked_archive import attacked
from tests.support.waiting import wait_until

KEY: Final = "1234567890123456789012345678901234567890"
GUESSES: Final = 2_000 if FULL else 40
QUICK: Final = ("redirect", "garbage", "a megabyte", "the key", "excluded", "confirmation")
SOMEBODY: Final = ("LK47B6W/362SFKH", "J8LNKB5R7W/3FUQHC5", "example.org/other/2020/01.01.01.01")
SUBJECTS: Final = (
    "inclusionRequest",
    "exclusionRequest",
    "inclusionConfirmationRequest",
    "acknowledgment",
    "transferRequest",
)
READ, DEPOSIT, ADMINISTER = range(3)

WITHOUT_TOKENS: Final = """
from ibi.foundation.web.tokens import Tokens

Tokens.identify = lambda self, authorization: next(iter(self._by_digest.values()))
Tokens.check_scope = lambda self, token, scope: None
"""


class Target:
    """An archive that somebody wants to change, and what can be forged of it."""

    def __init__(self, archive: ArchiveServer, resolver: ResolverDouble) -> None:
        """Fill it, and link it."""
        self.archive = archive
        self.resolver = resolver
        resolver.registrations[archive.service] = KEY
        self.link()
        wait_until(lambda: self.standing()["state"] == "included")
        self.item = archive.deposit({"a.txt": b"x"})
        self.deposit = archive.open_deposit()
        archive.send(self.deposit, "b.txt", b"y")
        self.reader = archive.add_token("reader", "read")
        self.depositor = archive.add_token("depositor", "deposit")

    def link(self) -> None:
        """Link it to the resolver, or anew."""
        wanted = {"resolver": self.resolver.address, "key": KEY}
        assert self.archive.api("POST", "resolvers", wanted).status == 201

    def standing(self) -> dict[str, Any]:
        """Return how it stands with its resolver."""
        [found] = self.archive.api("GET", "resolvers").json()["links"]
        link: dict[str, Any] = found
        return link

    def state(self) -> tuple[object, ...]:
        """Return all that must stay as it is."""
        archive = self.archive
        statistics = archive.api("GET", "statistics").json()
        staged = archive.api("GET", f"deposits/{self.deposit}").json()
        return (*archive.snapshot(), statistics, staged)

    def acts(self) -> Iterator[tuple[int, str, str, object]]:
        """Yield what the API does for somebody: scope, method, path, body."""
        label, deposit = self.item["rep"], f"deposits/{self.deposit}"
        resolver = quote(self.resolver.address, safe="")
        yield READ, "GET", f"items/{label}", None
        yield READ, "GET", "history", None
        yield READ, "GET", "statistics", None
        yield READ, "GET", "resolvers", None
        yield DEPOSIT, "POST", "deposits", {"metadata": {"titles": ["forged"]}}
        yield DEPOSIT, "PUT", f"{deposit}/files/evil.txt", b"forged"
        yield DEPOSIT, "DELETE", f"{deposit}/files/b.txt", None
        yield DEPOSIT, "POST", f"{deposit}/completion", None
        yield DEPOSIT, "DELETE", deposit, None
        yield DEPOSIT, "POST", "reservations", {"count": 2}
        yield DEPOSIT, "PUT", f"items/{label}/metadata", {"titles": ["forged"]}
        yield DEPOSIT, "PATCH", f"items/{label}", {"list_public": False}
        yield ADMINISTER, "POST", f"items/{label}/deletion", {"reason": "forged"}
        yield ADMINISTER, "POST", "tokens", {"name": "forged", "scope": "administer"}
        yield ADMINISTER, "GET", "tokens", None
        yield ADMINISTER, "DELETE", "tokens/first", None
        yield ADMINISTER, "POST", "resolvers", {"resolver": "http://evil.example"}
        yield ADMINISTER, "DELETE", f"resolvers/{resolver}", None

    def forged_authorizations(self, count: int) -> Iterator[str]:
        """Yield headers of those who have no token, or think that they have."""
        chance = random.Random(22)  # noqa: S311  # which guesses
        token = self.archive.token
        digest = hashlib.sha256(token.encode()).hexdigest()
        yield from (f"Basic {token}", token, f"Bearer{token}", f"Digest {token}", "Bearer", "")
        yield from (f"Bearer {digest}", f"Bearer {KEY}", "Bearer null", "Bearer first")
        yield from (f"Bearer {token[:-1]}", f"Bearer {token}x", f"Bearer {token},{token}")
        for _ in range(count):
            at = chance.randrange(len(token))
            other = chance.choice("abcdefghijklmnopqrstuvwxyz0123456789_-".replace(token[at], ""))
            yield f"Bearer {token[:at]}{other}{token[at + 1 :]}"


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with ResolverDouble() as resolver, attacked(tmp_path_factory.mktemp("forged")) as archive:
        yield Target(archive, resolver)


def forge_api_requests(target: Target, count: int) -> set[int]:
    """Use the API without a right to; return the statuses."""
    acts = list(target.acts())
    statuses = set()
    for number, forged in enumerate(target.forged_authorizations(count)):
        _, method, path, body = acts[number % len(acts)]
        answer = target.archive.api(method, path, body, token="", Authorization=forged)
        statuses.add(answer.status)
    for scope, method, path, body in acts:
        for token, own in (("", -1), (target.reader, READ), (target.depositor, DEPOSIT)):
            if own < scope:
                answer = target.archive.api(method, path, body, token=token)
                statuses.add(answer.status)
    return statuses


def forge_protocol_requests(target: Target) -> Iterator[tuple[str, int, bytes]]:
    """Speak as a resolver that is none; yield path, status and body."""
    archive, item = target.archive, target.item
    pairs = {
        "archiveaddress": "evil.example",
        "archiveserviceibi": archive.service,
        "archiveip": "203.0.113.66",
        "archiveprotocol": "HTTP",
        "archiveplatformversion": "x",
        "archiveadmemailaddress": "evil@evil.example",
        "registrationkey": KEY,
        "clientinformation.ipaddress": "203.0.113.66",
        "contenttype": "Data",
        "ibi": f"rep {item['rep']} ibip {item['ibip']}",
        "state": "Original",
        "url": item["url"],
        "url.persistent": f"http://urlib.net/{item['ibip']}",
        "urlkey": "1424636122-5331490054869684",
    }
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in pairs.items())
    for subject in SUBJECTS:
        for service in (archive.service, item["ibip"], item["rep"], *SOMEBODY):
            for method in ("GET", "POST", "PUT", "DELETE"):
                asked = f"servicesubject={subject}&{query}&accesses.others={item['ibip']}:999"
                # A resolver posts what is too long for a query.
                path, body = (f"/{service}?{asked}", b"")
                if method == "POST":
                    path, body = f"/{service}", asked.encode()
                answer = archive.ask(method, path, body, token="")
                yield f"{method} {service} {subject}", answer.status, answer.body


def test_whoever_has_no_right_changes_nothing(target: Target) -> None:
    before = target.state()
    assert forge_api_requests(target, GUESSES) <= {401, 403, 429}
    assert target.state() == before


def test_whoever_speaks_as_a_resolver_or_for_another_archive_changes_nothing(
    target: Target,
) -> None:
    before = target.state()
    for asked, status, body in forge_protocol_requests(target):
        service = target.archive.service
        if not asked.startswith((f"GET {service}", f"POST {service}")):
            assert status in {302, 404, 405}, asked
        elif asked.endswith("inclusionConfirmationRequest"):
            assert (status, body) == (200, b"confirmation yes")
        elif asked.endswith("acknowledgment"):
            assert (status, pairlist.decode(body)["status.error"]) == (403, "unproved")
        else:
            assert status == 400, asked
            assert pairlist.decode(body).keys() == {"status.error", "status.reason"}
    assert target.state() == before


def without_link(target: Target) -> list[str]:
    """Return what must stay, but for the link: also in persistent URLs, which begin with it."""
    kept = []
    for each in target.state():
        if isinstance(each, dict) and "history" in each:
            kept.append(str([line for line in each["history"] if line["act"] != "link"]))
        elif not (isinstance(each, dict) and "links" in each):
            kept.append(str(each))
    return [each.replace(target.resolver.address, target.archive.address) for each in kept]


def test_a_resolver_that_lies_changes_nothing_but_the_link(target: Target) -> None:
    before = without_link(target)
    for behaviour in BEHAVIOURS if FULL else QUICK:
        target.resolver.behaviour = behaviour
        target.link()
        wait_until(lambda: target.standing()["state"] != "pending")
        standing = target.standing()
        assert standing["state"] in {"unreachable", "refused", "unconfirmed"}, (behaviour, standing)
        assert standing["reason"].isprintable()
        assert KEY not in str(standing)
        assert without_link(target) == before, behaviour
    target.resolver.behaviour = "resolver"
    target.link()
    wait_until(lambda: target.standing()["state"] == "included")
    assert KEY not in target.archive.log()


def test_the_forged_requests_bite(tmp_path: Path) -> None:
    """The twin: where any token will do, they change what they want."""
    with ResolverDouble() as resolver, attacked(tmp_path, WITHOUT_TOKENS) as archive:
        target = Target(archive, resolver)
        before = archive.snapshot()
        assert {200, 201, 204} & forge_api_requests(target, 20)
        assert archive.snapshot() != before
