"""Threats, row 1, through the doors of a running resolver.

An archive whose key is good says that it is at an address of the resolver's own machine. It is
included, as the standard has it, and never called: neither for its confirmation, nor for an item,
nor by a redirection of an archive that may be called.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import quote

from tests.attacks.test_ssrf import ELSEWHERE, LOOPBACK, NO_ADDRESSES, Canary
from tests.support.clients.http import Answer
from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.attacked import FULL
from tests.support.servers.attacked_resolver import attacked, label, service_of
from tests.support.servers.resolver import SERVICE, ResolverServer

ALLOWED: Final = "127.0.0.2"
SPELLINGS_OF_ALLOWED: Final = ("127.0.0.2", "2130706434", "[::ffff:127.0.0.2]")
STEP: Final = 1 if FULL else 8
"""Of the addresses every so manieth is declared."""
REFUSED: Final = "its address is not one that this resolver may call"

WITHOUT_GUARD: Final = """
from ibi.foundation.http_client.ssrf_guard import OutboundGuard

OutboundGuard.allows = lambda self, address, port: True
"""


def addresses(port: int) -> list[str]:
    spelled = [*LOOPBACK.split(), *ELSEWHERE.split(), *NO_ADDRESSES]
    return [
        each.format(port) for each in spelled if each.rpartition(":")[0] not in SPELLINGS_OF_ALLOWED
    ]


def declare(resolver: ResolverServer, service: str, key: str, address: str) -> Answer:
    """Say in the name of an archive that it is somewhere."""
    pairs = {
        "servicesubject": "inclusionRequest",
        "archiveaddress": address,
        "archiveserviceibi": service,
        "archiveip": "127.0.0.1",
        "archiveprotocol": "HTTP",
        "archiveplatformversion": "2014:11.09.02.16.15",
        "archiveadmemailaddress": "admin@example.org",
        "registrationkey": key,
    }
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in pairs.items())
    return resolver.get(f"/{SERVICE}?{query}")


def attack(resolver: ResolverServer, canary: Canary, step: int) -> set[str]:
    """Declare addresses, and look for an item at each; return how archives were spoken of."""
    key = resolver.register(service_of(0))
    included = 0
    reasons = set()
    for number, address in enumerate(addresses(canary.port)[::step]):
        answer = declare(resolver, service_of(0), key, address)
        if answer.status == 200:
            included += 1
            assert b"confirmation unsuccessful" in answer.body, (address, answer.body)
        assert resolver.get(f"/{label(number)}").status == 503
        asked = resolver.get(f"/api/v1/explain?url={label(number)}").json()["steps"][0]["asked"]
        reasons |= {each["detail"] for each in asked}
    assert included > 60 / step
    return reasons


def test_no_address_of_this_machine_is_called(tmp_path: Path) -> None:
    with (
        Canary() as canary,
        attacked(tmp_path, allowed_networks=[f"{ALLOWED}/32"]) as resolver,
        ArchiveDouble(service_of(1), host=ALLOWED) as archive,
    ):
        resolver.include(archive)
        reasons = attack(resolver, canary, STEP)
        archive.hold(label(-1))
        archive.behaviour, archive.location = "redirect", f"http://127.0.0.1:{canary.port}/"
        assert resolver.get(f"/{label(-1)}").status == 503
        archive.behaviour = "archive"
        assert resolver.archives()[archive.service]["confirmed"]
        assert canary.hits == 0
        assert REFUSED in reasons


def test_the_canary_is_heard(tmp_path: Path) -> None:
    """The twin: without the guard, the same addresses are called."""
    with (
        Canary() as canary,
        attacked(tmp_path, WITHOUT_GUARD, allowed_networks=[f"{ALLOWED}/32"]) as resolver,
    ):
        key = resolver.register(service_of(0))
        for number, address in enumerate(("127.0.0.1", "2130706433", "[::ffff:127.0.0.1]")):
            declare(resolver, service_of(0), key, f"{address}:{canary.port}")
            resolver.get(f"/{label(number)}")
        assert canary.hits > 2
