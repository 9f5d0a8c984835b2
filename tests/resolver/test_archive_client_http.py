"""The resolver's client at archives of every kind, over real sockets."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any, Final, TypeVar

import pytest
import uvloop

from ibi.errors import ProofError
from ibi.foundation.http_client.ssrf_guard import OutboundGuard
from ibi.identifier.label import Label, parse
from ibi.model.archive_record import UrlKey
from ibi.model.item import ContentType, State
from ibi.model.registration import Inclusion, RegisteredArchive
from ibi.model.relation import Relation
from ibi.resolver.peers.archive_client import HttpArchiveClient, url_of
from ibi.resolver.ports.outbound import ArchiveReply, NoReply, Reply
from ibi.wire.requests import Acknowledgment, UrlRequest
from tests.support.doubles.archive import BEHAVIOURS, ENDLESS, SERVICE, ArchiveDouble, doubles
from tests.support.waiting import wait_until

LABEL: Final = "8JMKD3MGP7W/3EPGUES"
REQUEST: Final = UrlRequest(clients=("203.0.113.0",), label=parse(LABEL))
ENOUGH: Final = 60.0
"""Seconds: nobody who answers at all takes that long."""
SHORT: Final = 0.3
LATE: Final = "it did not answer in time"
BROKEN: Final = "it broke off, or does not speak HTTP"
NONSENSE: Final = "its answer makes no sense"
COMPRESSED: Final = "its answer is compressed, which nobody asked for"
TOO_LONG: Final = "its answer is too long"
SILENCES: Final = {
    "late": LATE,
    "single use": LATE,
    "hang": LATE,
    "hang in the body": LATE,
    "drip": LATE,
    "drip headers": LATE,
    "flood": TOO_LONG,
    "flood of chunks": TOO_LONG,
    "flood of headers": BROKEN,
    "flood of trailers": BROKEN,
    "flood of beginnings": TOO_LONG,
    "endless line": BROKEN,
    "garbage": BROKEN,
    "garbled list": NONSENSE,
    "garbled chunks": BROKEN,
    "two lengths": BROKEN,
    "reset": BROKEN,
    "reset in the body": BROKEN,
    "hang up": BROKEN,
    "bomb": COMPRESSED,
    "hidden bomb": NONSENSE,
    "redirect": "it answered 302",
    "wrong content type": "its answer is no text",
    "no content type": "its answer is no text",
    "huge header": BROKEN,
    "many headers": BROKEN,
    "a megabyte": TOO_LONG,
    "cut": BROKEN,
    "broken off": "its answer broke off",
    "error": "it answered 500",
    "error answer": "it answered with an error",
    "not found": "it answered 404",
    "unavailable": "it answered 503",
    "another answer": NONSENSE,
}
ANSWERS: Final = {"a page", "close", "cookies"}

_Made = TypeVar("_Made")


def archive_at(address: str, service: str = SERVICE) -> RegisteredArchive:
    """Return an archive that was included at an address."""
    inclusion = Inclusion(
        address=address, ip="", platform_version="", administrator="", since=1, seen=1
    )
    return RegisteredArchive(service=parse(service), key="", confirmed=1, inclusion=inclusion)


def acknowledgment(key: str) -> Acknowledgment:
    return Acknowledgment(
        clients=("203.0.113.0",),
        content=ContentType.DATA,
        url="http://a.example/b c?d&e",
        persistent_url=f"http://urlib.net/{LABEL}",
        key=UrlKey(key),
    )


def run(
    act: Callable[[HttpArchiveClient], Awaitable[_Made]],
    client: HttpArchiveClient | None = None,
    loop: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> _Made:
    """Do something with a client that may speak to this machine, and close it."""

    async def whole() -> _Made:
        used = client or HttpArchiveClient(OutboundGuard(["127.0.0.0/8"]))
        try:
            return await act(used)
        finally:
            await used.close()

    with asyncio.Runner(debug=loop is None, loop_factory=loop) as runner:
        return runner.run(whole())


def ask(double: ArchiveDouble, seconds: float = ENOUGH, **options: Any) -> Reply:  # noqa: ANN401  # those of `run`
    return run(lambda client: client.ask(archive_at(double.address), REQUEST, seconds), **options)


@pytest.fixture
def double() -> Iterator[ArchiveDouble]:
    with ArchiveDouble() as running:
        running.hold(LABEL)
        yield running


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nobody is to write what a stranger did into the log."""
    caplog.set_level(logging.INFO)
    yield
    slow = [each for each in caplog.records if not each.getMessage().startswith("Executing")]
    assert not slow


def connections(ports: set[int]) -> list[str]:
    """Return the TCP connections that this process has open to one of these ports, or from it."""
    owned = set()
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208  # names are enough
        with suppress(FileNotFoundError):  # it was closed in between
            owned.add(os.readlink(f"/proc/self/fd/{name}"))  # noqa: PTH115  # not a path
    rows = [row.split() for row in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    return [
        f"{local} {remote}"
        for _, local, remote, *_, inode in (row[:10] for row in rows)
        if f"socket:[{inode}]" in owned
        and ports & {int(end.rpartition(":")[2], 16) for end in (local, remote)}
    ]


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("loop", [None, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_an_archive_says_what_it_knows_of_an_item(
    double: ArchiveDouble, loop: Callable[[], asyncio.AbstractEventLoop] | None
) -> None:
    heard = ask(double, loop=loop)
    assert isinstance(heard, ArchiveReply)
    assert heard.archive == archive_at("").id
    assert heard.seconds > 0
    assert heard.listed is not None
    related = heard.listed.related[Relation(())]
    assert (related.url, related.state) == (
        f"http://{double.address}/col/{LABEL}/a.html",
        State.ORIGINAL,
    )
    [query] = double.queries
    assert query == {
        "servicesubject": "urlRequest",
        "clientinformation.ipaddress": "203.0.113.0",
        "parsedibiurl.ibi": LABEL,
    }
    [headers] = double.headers
    assert headers == {
        "host": double.address,
        "accept": "text/plain",
        "accept-encoding": "identity",
        "user-agent": "ibi-resolver",
    }


def test_an_item_that_is_not_there_is_an_answer_too(double: ArchiveDouble) -> None:
    double.items.clear()
    heard = ask(double)
    assert isinstance(heard, ArchiveReply)
    assert heard.listed is None


def test_every_behaviour_is_expected() -> None:
    assert SILENCES.keys() | ANSWERS == BEHAVIOURS.keys()


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("loop", [None, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("behaviour", SILENCES)
def test_whatever_else_an_archive_does_is_silence(
    double: ArchiveDouble,
    behaviour: str,
    loop: Callable[[], asyncio.AbstractEventLoop] | None,
) -> None:
    double.behaviour = behaviour
    heard = ask(double, SHORT if behaviour in ENDLESS else ENOUGH, loop=loop)
    assert isinstance(heard, NoReply)
    assert (heard.archive, heard.reason) == (archive_at("").id, SILENCES[behaviour])
    assert heard.asked
    assert heard.seconds > 0


@pytest.mark.parametrize("behaviour", sorted(ANSWERS))
def test_what_an_old_archive_may_do_is_taken(double: ArchiveDouble, behaviour: str) -> None:
    double.behaviour = behaviour

    async def twice(client: HttpArchiveClient) -> list[Reply]:
        archive = archive_at(double.address)
        return [await client.ask(archive, REQUEST, ENOUGH) for _ in range(2)]

    for heard in run(twice):
        assert isinstance(heard, ArchiveReply)
        assert heard.listed is not None
    assert all("cookie" not in headers for headers in double.headers)


def test_a_redirect_is_not_followed(double: ArchiveDouble) -> None:
    with ArchiveDouble() as other:
        double.behaviour, double.location = "redirect", f"http://{other.address}/{SERVICE}"
        ask(double)
        assert not other.connections
    assert len(double.queries) == 1


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("127.0.0.1:1", "there is no connection to it"),
        ("nowhere.invalid", "its name is not known"),
        (f"{'a' * 80}.example:80", "its address cannot be used"),
        ("127.1:80", "its address cannot be used"),
        ("10.0.0.1:80", "its address is not one that this resolver may call"),
        ("user@127.0.0.1:1", "its address cannot be used"),
        ("127.0.0.1:0", "its address cannot be used"),
        ("127.0.0.1:65536", "its address cannot be used"),
        ("127.0.0.1:1/x", "its address cannot be used"),
        ("127.0.0.1:1\r\nX: y", "its address cannot be used"),
        ("[::1", "its address cannot be used"),
        ("[1::2::3]:80", "its address is not one that this resolver may call"),
        ("é.example", "its address cannot be used"),
    ],
)
def test_an_address_that_leads_nowhere_is_silence(address: str, reason: str) -> None:
    heard = run(lambda client: client.ask(archive_at(address), REQUEST, ENOUGH))
    assert isinstance(heard, NoReply)
    assert heard.reason == reason


def test_an_archive_that_is_not_included_is_not_asked() -> None:
    archive = RegisteredArchive(service=parse(SERVICE), key="", confirmed=1)
    heard = run(lambda client: client.ask(archive, REQUEST, ENOUGH))
    assert heard == NoReply(archive.id, "it is not included", asked=False)


def test_what_does_not_speak_tls_at_the_port_of_https_is_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ArchiveDouble() as plain:
        real = OutboundGuard.socket_to

        def led_elsewhere(self: OutboundGuard, place: Any) -> socket.socket:  # noqa: ANN401  # what aiohttp gives
            made = real(self, place)
            monkeypatch.setattr(
                asyncio.SelectorEventLoop, "sock_connect", lambda *_: connected(made)
            )
            return made

        async def connected(made: socket.socket) -> None:
            made.setblocking(True)  # noqa: FBT003  # a name of the library
            made.connect(("127.0.0.1", plain.port))
            made.setblocking(False)  # noqa: FBT003  # likewise

        monkeypatch.setattr(OutboundGuard, "socket_to", led_elsewhere)
        heard = run(lambda client: client.ask(archive_at("127.0.0.1:443"), REQUEST, ENOUGH))
        assert isinstance(heard, NoReply)
        assert heard.reason == "there is no secure connection to it"
        assert not plain.queries


def test_urls_are_sent_as_they_were_written() -> None:
    repository = "iconet.com.br/banon@1905/2001/02.10.22.55"
    assert str(url_of("a.example", repository, "a=%2F+b%7e")) == (
        f"http://a.example/{repository}?a=%2F+b%7e"
    )
    assert str(url_of("a.example:443", SERVICE)) == f"https://a.example/{SERVICE}"
    assert str(url_of("[2600::1]:8080", "/x")) == "http://[2600::1]:8080/x"


def test_connections_are_kept_and_not_more_than_allowed(double: ArchiveDouble) -> None:
    async def many(client: HttpArchiveClient) -> list[Reply]:
        asked = (client.ask(archive_at(double.address), REQUEST, ENOUGH) for _ in range(40))
        return list(await asyncio.gather(*asked))

    client = HttpArchiveClient(OutboundGuard(["127.0.0.0/8"]), per_archive=3)
    heard = run(many, client)
    assert all(isinstance(each, ArchiveReply) for each in heard)
    assert len(double.queries) == 40
    assert double.connections <= 3


def test_connections_that_an_archive_closed_are_replaced(double: ArchiveDouble) -> None:
    """Its server may end while several connections are kept, and a request is on its way."""
    double.behaviour = "single use"

    async def ask_again(client: HttpArchiveClient) -> list[Reply]:
        asks = [
            asyncio.create_task(client.ask(archive_at(double.address), REQUEST, ENOUGH))
            for _ in range(3)
        ]
        await asyncio.to_thread(double.asked, lambda: len(double.queries) == 3)
        double.released.set()
        await asyncio.gather(*asks)
        assert double.connections == 3
        return [await client.ask(archive_at(double.address), REQUEST, ENOUGH)]

    [heard] = run(ask_again)
    assert isinstance(heard, ArchiveReply)
    assert double.connections == 4


def test_who_answers_is_not_kept_waiting_by_who_does_not() -> None:
    with doubles(10) as archives:
        for archive in archives[:5]:
            archive.behaviour = "hang"
        for archive in archives[5:]:
            archive.hold(LABEL)

        async def honest_first(client: HttpArchiveClient) -> list[Reply]:
            asked = [
                asyncio.create_task(client.ask(archive_at(archive.address), REQUEST, ENOUGH))
                for archive in archives
            ]
            heard = list(await asyncio.gather(*asked[5:]))
            assert not any(task.done() for task in asked[:5])
            for task in asked[:5]:
                task.cancel()
            cancelled = await asyncio.gather(*asked[:5], return_exceptions=True)
            assert all(isinstance(each, asyncio.CancelledError) for each in cancelled)
            return heard

        assert all(isinstance(each, ArchiveReply) for each in run(honest_first))


def test_names_that_take_forever_to_look_up_keep_nobody_waiting(
    double: ArchiveDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, released = socket.getaddrinfo, Event()

    def getaddrinfo(host: Any, *rest: Any, **named: Any) -> Any:  # noqa: ANN401  # as the library has it
        if str(host).endswith(".slow.example"):
            released.wait(ENOUGH)
            raise socket.gaierror
        return real(host, *rest, **named)

    async def slow_first(client: HttpArchiveClient) -> None:
        slow = [
            asyncio.create_task(client.ask(archive_at(f"a{n}.slow.example"), REQUEST, ENOUGH))
            for n in range(40)
        ]
        heard = await client.ask(archive_at(f"localhost:{double.port}"), REQUEST, ENOUGH)
        assert isinstance(heard, ArchiveReply)
        assert not any(task.done() for task in slow)
        late = await client.ask(archive_at("a1.slow.example"), REQUEST, SHORT)
        assert isinstance(late, NoReply)
        assert late.reason == LATE
        released.set()
        unknown = await asyncio.gather(*slow)
        assert {each.reason for each in unknown if isinstance(each, NoReply)} == {
            "its name is not known"
        }

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    try:
        run(slow_first)
    finally:
        released.set()


def test_fan_outs_that_are_cancelled_leave_nothing_open() -> None:
    async def fan_outs(client: HttpArchiveClient) -> int:
        for turn in range(20):
            asked = [
                asyncio.create_task(client.ask(archive_at(archive.address), REQUEST, ENOUGH))
                for archive in archives
            ]
            for _ in range(turn):
                await asyncio.sleep(0)
            if turn % 2:
                await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        return len(asyncio.all_tasks())

    with doubles(6) as archives:
        for archive, behaviour in zip(archives[1:], ("hang", "drip", "flood"), strict=False):
            archive.behaviour = behaviour
        assert run(fan_outs) == 1
    wait_until(lambda: not connections({archive.port for archive in archives}))


def test_faulty_archives_leave_nothing_open() -> None:
    behaviours = sorted(SILENCES.keys() - ENDLESS)

    async def each_twice(client: HttpArchiveClient) -> list[Reply]:
        heard = []
        for behaviour in behaviours * 2:
            archive.behaviour = behaviour
            heard.append(await client.ask(archive_at(archive.address), REQUEST, ENOUGH))
        assert len(connections({archive.port})) < 20
        return heard

    with ArchiveDouble() as archive:
        assert all(isinstance(each, NoReply) for each in run(each_twice))
    wait_until(lambda: not connections({archive.port}))


def test_an_archive_confirms_that_it_is_there(double: ArchiveDouble) -> None:
    service: Label = parse(SERVICE)
    assert run(lambda client: client.confirm(double.address, service, ENOUGH)) == ""
    assert double.queries == [{"servicesubject": "inclusionConfirmationRequest"}]
    for behaviour, reason in SILENCES.items():
        if behaviour not in ENDLESS:
            double.behaviour = behaviour
            said = run(lambda client: client.confirm(double.address, service, ENOUGH))
            assert said == reason, behaviour


DENIALS: Final = {
    "not found",
    "redirect",
    "another answer",
    "error answer",
    "garbled list",
    "hidden bomb",
}
"""Behaviours of a server at which there is no such archive."""


def test_a_server_denies_an_archive_only_if_it_answers(double: ArchiveDouble) -> None:
    async def each(client: HttpArchiveClient) -> set[str]:
        found = set()
        for behaviour in sorted(BEHAVIOURS.keys() - ENDLESS):
            double.behaviour = behaviour
            if await client.denies(double.address, parse(SERVICE), ENOUGH):
                found.add(behaviour)
        return found

    assert run(each) == DENIALS
    double.behaviour = "archive"
    own, other = parse(SERVICE), parse(LABEL)
    assert not run(lambda client: client.denies(double.address, own, ENOUGH))
    assert run(lambda client: client.denies(double.address, other, ENOUGH))


def test_an_archive_takes_notice(double: ArchiveDouble) -> None:
    archive = archive_at(double.address)

    async def resolve(client: HttpArchiveClient) -> str:
        heard = await client.ask(archive, REQUEST, ENOUGH)
        assert isinstance(heard, ArchiveReply)
        assert heard.listed is not None
        return await client.acknowledge(archive, acknowledgment(str(heard.listed.key)), ENOUGH)

    assert run(resolve) == ""
    [acknowledged] = double.acknowledged
    assert acknowledged["url"] == "http://a.example/b c?d&e"
    double.behaviour = "another answer"
    assert run(resolve_again(archive)) == NONSENSE
    double.behaviour = "hang"
    assert run(resolve_again(archive, SHORT)) == LATE
    assert len(double.acknowledged) == 1


def resolve_again(
    archive: RegisteredArchive, seconds: float = ENOUGH
) -> Callable[[HttpArchiveClient], Awaitable[str]]:
    return lambda client: client.acknowledge(
        archive, acknowledgment("1424636122-5331490054869684"), seconds
    )


def test_a_host_shows_a_text(double: ArchiveDouble) -> None:
    path = "/.well-known/ibi/a-token"
    shown = run(lambda client: client.challenge(double.address, path, ENOUGH))
    assert shown.startswith("status.error unknown-subject")
    double.behaviour = "wrong content type"
    assert run(lambda client: client.challenge(double.address, path, ENOUGH)) == shown
    for behaviour in ("a megabyte", "garbled list", "redirect", "not found", "reset", "bomb"):
        double.behaviour = behaviour
        with pytest.raises(ProofError, match=r"The host did not show the text .*: it"):
            run(lambda client: client.challenge(double.address, path, ENOUGH))
    for host, where in ((double.address, "/a b"), (double.address, "/a?b"), ("a@b", "/c")):
        with pytest.raises(ProofError, match="its address cannot be used"):
            run(lambda client, host=host, where=where: client.challenge(host, where, ENOUGH))  # type: ignore[misc]


def test_a_client_that_was_closed_asks_nobody(double: ArchiveDouble) -> None:
    async def close_first(client: HttpArchiveClient) -> Reply:
        await client.close()
        return await client.ask(archive_at(double.address), REQUEST, ENOUGH)

    heard = run(close_first)
    assert isinstance(heard, NoReply)
    assert heard.reason == "this resolver is being switched off"
    assert not double.connections


def test_who_waits_when_the_client_is_closed_gets_silence(double: ArchiveDouble) -> None:
    double.behaviour = "hang"

    async def close_meanwhile(client: HttpArchiveClient) -> Reply:
        waiting = asyncio.create_task(client.ask(archive_at(double.address), REQUEST, ENOUGH))
        await asyncio.to_thread(double.asked, lambda: len(double.queries) == 1)
        await client.close()
        return await waiting

    heard = run(close_meanwhile)
    assert isinstance(heard, NoReply)
    assert heard.reason == BROKEN


def test_the_environment_does_not_lead_elsewhere(
    double: ArchiveDouble, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with ArchiveDouble() as proxy:
        monkeypatch.setenv("http_proxy", f"http://{proxy.address}")
        monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.address}")
        netrc = tmp_path / "netrc"
        netrc.write_text("default login a password b\n", encoding="ascii")
        netrc.chmod(0o600)
        monkeypatch.setenv("NETRC", str(netrc))
        assert isinstance(ask(double), ArchiveReply)
        assert not proxy.connections
    assert "authorization" not in double.headers[0]
