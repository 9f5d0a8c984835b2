"""A stranger registers under the label of another archive, by records in the DNS.

The record of a domain name has the key of its archive (`ibi.wire.domain_record`). The stranger has
a key of its own, and may add a text to the name, or finds one of another archive there: nothing of
that gets the registration key. A real name server answers over UDP.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import count
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ibi.identifier.label import parse
from ibi.wire.domain_record import DomainRecord, signed_text
from tests.support.servers.archive import ArchiveServer, neighbour
from tests.support.servers.attacked_resolver import attacked
from tests.support.servers.dns import DnsServer
from tests.support.servers.program import API
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

VICTIM: Final = "example.org/library/2026/01.02.03.04.05"
OTHER: Final = "example.org/museum/2026/01.02.03.04.05"
NAME: Final = "_ibi.library.example.org"
ADDRESS: Final = "http://library.example.org"
STRANGER: Final = "http://stranger.example.net"
ADMINISTRATOR: Final = "stranger@example.org"
SETTINGS: Final[dict[str, object]] = {
    "open_registration": True,
    "trusted_proxies": ["127.0.0.1/32"],
}
WITH_NAMES: Final = """
from ibi.foundation.system.dns import DnsTexts

DnsTexts.__init__.__defaults__ = (["127.0.0.1"], {port})
"""
"""Not a guard: the name server of the test is that of the machine."""
ANY_RECORD_COUNTS: Final = """
from ibi.wire import domain_record

def any_record(service, texts):
    return next(domain_record._read(each) for each in texts if "stranger" in each)

domain_record.record_of = any_record
"""
ANY_SIGNATURE_COUNTS: Final = """
from ibi.foundation.system import signatures

signatures.is_signed = lambda key, text, signature: True
"""


class Key:
    """A key pair."""

    def __init__(self) -> None:
        """Make one."""
        self._private = Ed25519PrivateKey.generate()

    def record(self, service: str = VICTIM, address: str = ADDRESS) -> list[bytes]:
        """Return the record of a service with this key, in two pieces."""
        key = self._private.public_key().public_bytes_raw().hex()
        text = str(DomainRecord(parse(service), address, key)).encode()
        return [text[:30], text[30:]]

    def sign(self, resolver: str, proof: str, service: str = VICTIM) -> str:
        """Sign the proof for a resolver."""
        return self._private.sign(signed_text(resolver, parse(service), proof)).hex()


@dataclass(frozen=True)
class Scene:
    """A resolver, and the name server that it asks."""

    resolver: ResolverServer
    names: DnsServer
    networks: Iterator[int] = field(default_factory=count)

    def begin(self) -> tuple[str, str]:
        """Begin a registration of the victim; return the token, and the proof to sign."""
        wanted = {"service_ibi": VICTIM, "administrator": ADMINISTRATOR}
        begun = self._post("registrations", wanted)
        assert begun.status == HTTPStatus.ACCEPTED
        [proof] = [each for each in begun.json()["proofs"] if each["way"] == "key"]
        assert proof["place"] == NAME
        return begun.json()["token"], proof["text"]

    def complete(self, token: str, signature: str) -> int:
        """Present a signature; return the status."""
        answer = self._post("registrations/proof", {"token": token, "signature": signature})
        assert ("registration_key" in answer.json()) == (answer.status == HTTPStatus.CREATED)
        return int(answer.status)

    def _post(self, path: str, body: dict[str, str]) -> Any:  # noqa: ANN401
        # Each time from another network: what one may do in an hour is limited too.
        peer = {"X-Forwarded-For": f"203.0.{next(self.networks)}.1"}
        return self.resolver.ask("POST", f"{API}/{path}", body, token="", headers=peer)


@contextmanager
def scene(folder: Path, without: str = "") -> Iterator[Scene]:
    with DnsServer({}) as names:
        lines = WITH_NAMES.format(port=names.port) + without
        with attacked(folder, lines, **SETTINGS) as resolver:
            yield Scene(resolver, names)


def test_only_the_key_of_the_one_record_registers(tmp_path: Path) -> None:
    owner, stranger = Key(), Key()
    refused = HTTPStatus.UNPROCESSABLE_ENTITY
    with scene(tmp_path) as all_of_it:
        place, records = all_of_it.resolver.address, all_of_it.names.records
        token, proof = all_of_it.begin()
        forged = stranger.sign(place, proof)
        right = owner.sign(place, proof)
        damaged = [b"v=ibi1; service=x; address=y; key=z"]
        many = [b"v=ibi1; ; key"], [b"v=ibi1;" + b"a=b;" * 999], [b"v=ibi1; key=a; key=b"]
        for texts, signatures in (
            (None, (forged, right)),
            ([], (forged, right)),
            ([[b"v=spf1 -all"], stranger.record(OTHER)], (forged, right)),
            ([owner.record(), stranger.record()], (forged, right)),
            ([owner.record(), damaged], (forged, right)),
            *(([each, owner.record()], (right,)) for each in many),
            ("fails", (forged, right)),
            ([owner.record()], (forged, "00" * 64, "x", right[:-2], right.upper() + "00")),
            # A resolver that got the signature for itself cannot use it here.
            ([owner.record()], (owner.sign("http://resolver.example.net", proof),)),
            ([owner.record()], (owner.sign(place, proof, OTHER), owner.sign(place, token))),
        ):
            records.pop(NAME, None)
            if texts is not None:
                records[NAME] = texts
            for signature in signatures:
                assert all_of_it.complete(token, signature) == refused, (texts, signature)
        assert all_of_it.resolver.archives() == {}
        records[NAME] = [[b"v=spf1 -all"], stranger.record(OTHER), owner.record()]
        assert all_of_it.complete(token, right) == HTTPStatus.CREATED
        assert all_of_it.complete(token, right) == HTTPStatus.NOT_FOUND
        assert all_of_it.resolver.archives().keys() == {VICTIM}


def test_a_forged_record_bites(tmp_path: Path) -> None:
    """The twin: where any one of two records counts, a stranger adds one and gets the key."""
    owner, stranger = Key(), Key()
    with scene(tmp_path, ANY_RECORD_COUNTS) as all_of_it:
        all_of_it.names.records[NAME] = [owner.record(), stranger.record(address=STRANGER)]
        token, proof = all_of_it.begin()
        signature = stranger.sign(all_of_it.resolver.address, proof)
        assert all_of_it.complete(token, signature) == HTTPStatus.CREATED


def test_another_key_bites(tmp_path: Path) -> None:
    """The twin: where no signature is verified, any key registers."""
    with scene(tmp_path, ANY_SIGNATURE_COUNTS) as all_of_it:
        all_of_it.names.records[NAME] = [Key().record()]
        token, proof = all_of_it.begin()
        signature = Key().sign(all_of_it.resolver.address, proof)
        assert all_of_it.complete(token, signature) == HTTPStatus.CREATED


def test_an_archive_registers_itself_by_its_domain_name(tmp_path: Path) -> None:
    """What the record is for: one command, and the archive is included."""
    (tmp_path / "resolver").mkdir()
    archive: ArchiveServer
    with scene(tmp_path / "resolver") as all_of_it, neighbour(tmp_path, 1) as archive:
        told = archive.ibi("domain-record", "--json")
        record = archive.api("GET", "domain-record").json()
        assert told.returncode == 0, told.stderr
        assert record["text"] in told.stdout
        assert record["name"].startswith("_ibi.")
        options = ("--administrator", "library@example.org")
        early = archive.ibi("register", all_of_it.resolver.address, *options)
        assert early.returncode != 0
        assert "There is no record" in early.stderr
        all_of_it.names.records[record["name"]] = [[record["text"].encode()]]
        done = archive.ibi("register", all_of_it.resolver.address, *options)
        assert done.returncode == 0, done.stderr
        wait_until(lambda: all_of_it.resolver.archives()[archive.service]["state"] == "included")
        item = archive.deposit({"a.txt": b"a"})
        assert all_of_it.resolver.get(f"/{item['rep']}").headers["location"] == item["url"]
        wanted = {"resolver": "javascript:x", "proof": "x"}
        refused = archive.api("POST", "registration-signatures", wanted)
        assert refused.status == HTTPStatus.BAD_REQUEST
