"""Threats, row 12, at the doors of a resolver that take text.

What makes a matcher go back is read or refused with work that grows with its length and not faster;
and through the doors of a running resolver a megabyte of it gets an answer that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from typing import Final

import pytest
from starlette.requests import Request

from ibi.foundation.system.mailbox import messages
from ibi.foundation.translation.language import preference_of
from ibi.foundation.web.client_address import ClientAddresses
from ibi.identifier.instant import Instant
from ibi.identifier.label import parse
from ibi.identifier.persistent_url import PersistentUrl
from ibi.identifier.verbs import read_verblist
from ibi.model.registration import Inclusion, RegisteredArchive
from ibi.resolver.rules import registration_mail
from ibi.resolver.rules.archive_transitions import read_hosts
from ibi.resolver.rules.foreign_identifiers import onward
from ibi.resolver.rules.redirect_target import is_permitted
from ibi.resolver.web.pasted_text import what_is
from ibi.wire import requests, responses
from tests.attacks.test_text import MOST_OF_TIME, WORST, cpu_seconds
from tests.support.counted_text import LINEAR_AT_MOST, growth, work_of
from tests.support.servers.attacked import FULL, connected
from tests.support.servers.attacked_resolver import attacked, label
from tests.support.servers.resolver import ResolverServer

MEGABYTE: Final = 1_000_000
PART: Final = MEGABYTE // 16
OWN: Final = [
    *(
        "10.1/",
        "10.1000.1",
        "doi:",
        "http://doi.org/",
        "ark:/",
        "> ",
        ">",
        "re: ",
        "\n",
        "=\n",
        "\r",
    ),
    *(
        "registrationkey = 1\n",
        "archiveserviceibi=\n",
        "{",
        "}",
        "\\",
        '"',
        "a {b} ",
        "a@",
        "@",
        ",",
    ),
    *(
        "servicesubject=a&",
        "127.0.0.1,",
        "127.0.0.1:",
        "::",
        "en-",
        "en;q=0.5,",
        "*,",
        "x.example:80/",
    ),
    *("Subject: a\n", "--a\n", "=?utf-8?q?a?=", "(", "\t", "%", "%3", "&#x", "[", "]", "_"),
]
"""Beside those that are bad for labels, what is bad for the texts that only a resolver reads."""
CHOSEN: Final = [*WORST, *OWN] if FULL else [*WORST[::7], *OWN[::5]]
FRAMES: Final = ["{}", "{}\0", "10.1000/{}\0"] if FULL else ["{}\0"]
GATEWAYS: Final = dict.fromkeys(("doi", "hdl", "ark", "urn"), "https://upstream.example/")
SUBJECT: Final = registration_mail.SUBJECTS[0]
NOW: Final = Instant(1_800_000_000)
ARCHIVE: Final = RegisteredArchive(
    service=parse("LK47B6W/362SFKH"),
    key="",
    inclusion=Inclusion(
        address="a.example", ip="", platform_version="", administrator="", since=0, seen=0
    ),
)


def forwarded(text: str) -> object:
    header = (b"x-forwarded-for", text.encode("utf-8"))
    scope = {"type": "http", "client": ("127.0.0.1", 1), "headers": [header]}
    return ClientAddresses(["127.0.0.0/8"], "full").of(Request(scope))


DOORS: Final[dict[str, Callable[[str], object]]] = {
    "persistent URL": PersistentUrl.parse,
    "pasted text": lambda text: what_is(text, NOW),
    "Accept-Language": preference_of,
    "chosen language": lambda text: preference_of("", text),
    "verblist": read_verblist,
    "DOI": lambda text: onward(f"/doi/{text}", GATEWAYS),
    "handle": lambda text: onward(f"/hdl/{text}", GATEWAYS),
    "ARK": lambda text: onward(f"/ark:/{text}", GATEWAYS),
    "URN": lambda text: onward(f"/urn:{text}", GATEWAYS),
    "mail": lambda text: list(messages(BytesIO(text.encode()))),
    "mail text": lambda text: registration_mail.read(SUBJECT, "a@example.org", text),
    "mail subject": lambda text: registration_mail.read(text, "a@example.org", ""),
    "mail sender": lambda text: registration_mail.read(SUBJECT, text, ""),
    "hosts": lambda text: read_hosts([text]),
    "announcement": lambda text: requests.decode(
        f"servicesubject=inclusionRequest&{text}".encode()
    ),
    "answer": responses.decode,
    "URL of an answer": lambda text: is_permitted(f"http://{text}", ARCHIVE),
    "X-Forwarded-For": forwarded,
}


@pytest.mark.parametrize("door", DOORS)
def test_work_grows_with_the_length_and_not_faster(door: str) -> None:
    for frame in FRAMES:
        for each in (*WORST, *OWN):
            assert growth(DOORS[door], frame, each) < LINEAR_AT_MOST, (frame, each)


@pytest.mark.parametrize(("door", "pair"), [("answer", "n{} {{v w}} "), ("announcement", "n{}=v&")])
def test_work_grows_with_the_number_of_pairs_and_not_faster(door: str, pair: str) -> None:
    """No name may come twice, so that nothing that is repeated is read to its end."""
    few, many = ("".join(map(pair.format, range(count))) for count in (50, 200))
    assert work_of(DOORS[door], many) / work_of(DOORS[door], few) < LINEAR_AT_MOST


def growth_of_time(read: Callable[[str], object], frame: str, worst: list[str]) -> float:
    """Return how many times longer it takes to read a megabyte than a sixteenth of it."""
    part, whole = (
        cpu_seconds(read, (frame.format((each * length)[:length]) for each in worst))
        for length in (PART, MEGABYTE)
    )
    # What is refused unread takes microseconds, which are noise.
    return whole / max(part, len(worst) * 1e-4)


@pytest.mark.alone
@pytest.mark.skipif(not FULL, reason="times are compared in the full count alone")
@pytest.mark.parametrize("door", DOORS)
def test_time_grows_with_the_length_and_not_faster(door: str) -> None:
    for frame in FRAMES:
        assert growth_of_time(DOORS[door], frame, CHOSEN) < MOST_OF_TIME, frame


@pytest.mark.alone
@pytest.mark.skipif(not FULL, reason="times are compared in the full count alone")
def test_the_measure_of_time_finds_a_quadratic_reader() -> None:
    """The twin: the same measure, of a reader that begins anew at every character."""

    def quadratic(text: str) -> object:
        short = text[:: MEGABYTE // 16_000]
        return [short[at:].count(short) + short.count(short[at:]) for at in range(len(short))]

    assert growth_of_time(quadratic, "{}", ["ab"]) > MOST_OF_TIME


@pytest.fixture(scope="module")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResolverServer]:
    with attacked(tmp_path_factory.mktemp("resolver"), open_registration=True) as running:
        yield running


def test_a_persistent_url_has_a_length(resolver: ResolverServer) -> None:
    assert resolver.get(f"/{label(1)}/{'a' * 1000}").status == 404
    assert resolver.get(f"/{label(1)}?{'a=b&' * 2000}").status == 404
    for length in (9000, 30_000, 60_000):
        assert resolver.get(f"/{label(1)}/{'a' * length}").status == 414
        query = f"/{label(1)}?{'a=b&' * (length // 4)}"
        assert resolver.get(query, Accept="text/html").status == 414


def test_a_megabyte_is_refused_by_the_doors(resolver: ResolverServer) -> None:
    for worst in CHOSEN[::4]:
        octets = (worst.encode() * MEGABYTE)[:MEGABYTE]
        asked = [
            resolver.api("POST", "registrations/mail", octets),
            resolver.api("POST", "registrations", octets, token=""),
            resolver.api("POST", "archives", {"service_ibi": worst * 10_000}),
        ]
        assert all(400 <= answer.status < 500 for answer in asked), worst
    for head in (
        b"GET /%b HTTP/1.1\r\n",
        b"GET /?q=%b HTTP/1.1\r\n",
        b"GET / HTTP/1.1\r\nX: %b\r\n",
    ):
        with connected(resolver) as client, suppress(ConnectionError):
            client.socket.sendall(head % (b"a" * MEGABYTE))
            said = client.rest()
            assert said.startswith(b"HTTP/1.1 4") or not said, head
    assert resolver.get("/healthz").status == 200


@pytest.mark.parametrize("name", ["Accept-Language", "X-Forwarded-For", "Accept", "Cookie"])
def test_a_long_header_changes_nothing(resolver: ResolverServer, name: str) -> None:
    for worst in CHOSEN[::3]:
        value = "".join(sign for sign in worst if sign.isprintable() and sign.isascii())
        long = (value * 60_000)[:60_000].strip() or "x"
        for target, status in (("/", 200), (f"/{label(1)}+", 404), ("/?q=x", 200)):
            assert resolver.ask("GET", target, token="", headers={name: long}).status == status


def test_what_is_pasted_is_told_however_long(resolver: ResolverServer) -> None:
    for worst in CHOSEN:
        text = (worst * 20_000)[:20_000]
        answer = resolver.ask("GET", "/?" + "q=" + _encoded(text), token="")
        assert answer.status == 200


def _encoded(text: str) -> str:
    return "".join(f"%{octet:02X}" for octet in text.encode("utf-8"))[:60_000]
