"""`ibi up`: the settings that it makes and moves, the link that it keeps, what it refuses."""

from __future__ import annotations

import asyncio
import signal
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from ibi.archive.resolver_links.announcer import CatalogueLinks
from ibi.archive.rules.announcement import Link
from ibi.archive.settings import read_archive
from ibi.archive.wiring.stores import open_catalogue
from ibi.errors import RequestError
from ibi.foundation.processes.server import ServedApp, address_of, listening_at, run_together
from ibi.foundation.settings_file import written
from ibi.installation.programs import Installation, opened
from ibi.installation.settings import InstallationRequest, archive_settings, resolver_settings
from ibi.resolver.registry.registration_key import matches
from ibi.resolver.registry.registry import Registry
from ibi.resolver.settings import read_resolver
from ibi.resolver.wiring.app import ResolverInstance, open_resolver_store
from tests.support.clients.http import Client
from tests.support.processes.shell import Shell
from tests.support.servers.port_reservation import reserved_port

PUBLIC = InstallationRequest(
    port=8800, archive_address="http://archive.example.org", ip="150.163.34.243", listen="0.0.0.0"
)


def kept(folder: Path, wanted: InstallationRequest) -> None:
    """Keep the settings of an installation, as `ibi up` does."""
    for name, settings in (
        ("resolver", resolver_settings(folder, wanted)),
        ("archive", archive_settings(folder, wanted)),
    ):
        (folder / f"{name}.toml").write_text(written(settings), encoding="utf-8")


# Settings


def test_new_settings_are_those_of_a_try(tmp_path: Path) -> None:
    resolver = resolver_settings(tmp_path, InstallationRequest(port=9000))
    assert (resolver.address, resolver.listen) == ("http://127.0.0.1:9000", "127.0.0.1:9000")
    assert resolver.allowed_networks == ["127.0.0.0/8:9001", "[::1]:9001"]
    assert (resolver.hot_seconds, resolver.absent_seconds) == (1.0, 1.0)
    archive = archive_settings(tmp_path, InstallationRequest(port=9000))
    assert (archive.address, archive.listen) == ("http://127.0.0.1:9001", "127.0.0.1:9001")
    # Labels have the address and port at which the archive is reached (003, Algorithm 1).
    assert (archive.host, archive.port) == ("archive.localhost", 9001)
    assert (archive.ip, archive.ip_port, archive.allow_private) == ("127.0.0.1", 9001, True)


def test_addresses_of_this_machine_move_with_the_port_and_nothing_else_does(tmp_path: Path) -> None:
    kept(tmp_path, InstallationRequest(port=9000))
    resolver, archive = read_resolver(tmp_path), read_archive(tmp_path)
    moved = InstallationRequest(port=9100)
    assert resolver_settings(tmp_path, moved) == replace(
        resolver,
        address="http://127.0.0.1:9100",
        listen="127.0.0.1:9100",
        allowed_networks=["127.0.0.0/8:9101", "[::1]:9101"],
    )
    assert archive_settings(tmp_path, moved) == replace(
        archive,
        address="http://127.0.0.1:9101",
        listen="127.0.0.1:9101",
        allowed_networks=["127.0.0.0/8:9100", "[::1]:9100"],
    )


def test_a_public_name_stays_until_another_is_given(tmp_path: Path) -> None:
    wanted = replace(PUBLIC, resolver_address="http://resolver.example.org")
    kept(tmp_path, wanted)
    archive = archive_settings(tmp_path, InstallationRequest(port=9000))
    assert (archive.address, archive.host) == ("http://archive.example.org", "archive.example.org")
    assert archive.listen == "127.0.0.1:9001"
    assert (archive.ip, archive.allow_private) == ("150.163.34.243", False)
    assert (
        resolver_settings(tmp_path, InstallationRequest(port=9000)).address
        == "http://resolver.example.org"
    )
    moved = InstallationRequest(port=9000, resolver_address="http://r.example.org")
    assert resolver_settings(tmp_path, moved).address == "http://r.example.org"


def test_a_port_in_the_public_address_stands_in_labels(tmp_path: Path) -> None:
    for address, port in (
        ("http://archive.example.org:8080", 8080),
        ("https://archive.example.org", 443),
        ("http://archive.example.org", 80),
    ):
        assert archive_settings(tmp_path, replace(PUBLIC, archive_address=address)).port == port


def test_an_address_that_is_no_domain_name_mints_for_a_try(tmp_path: Path) -> None:
    for address, ip, port in (
        ("http://192.168.1.5:8801", "192.168.1.5", 8801),
        ("http://[::1]:8802", "::1", 8802),
        ("http://localhost:8803", "127.0.0.1", 8803),
        ("https://localhost", "127.0.0.1", 443),
    ):
        archive = archive_settings(
            tmp_path, InstallationRequest(port=9000, archive_address=address)
        )
        assert (archive.address, archive.host) == (address, "archive.localhost")
        assert (archive.ip, archive.ip_port, archive.port) == (ip, port, port)


def test_an_archive_of_an_earlier_version_keeps_its_prefixes(tmp_path: Path) -> None:
    (tmp_path / "archive.toml").write_text(
        'name = "x"\naddress = "http://127.0.0.1:8801"\nhost = "archive.localhost"\nport = 80\n'
        'ip = "127.0.0.1"\nallow_private = true\n',
        encoding="utf-8",
    )
    archive = archive_settings(tmp_path, InstallationRequest(port=9000))
    assert (archive.host, archive.port) == ("archive.localhost", 80)
    assert (archive.ip, archive.ip_port) == ("127.0.0.1", 800)


def test_a_public_name_needs_a_public_ip_address(tmp_path: Path) -> None:
    for name in ("archive.nowhere.invalid", "xn--a.b"):
        with pytest.raises(RequestError, match="name it with --ip"):
            archive_settings(
                tmp_path, InstallationRequest(port=9000, archive_address=f"http://{name}")
            )
    with pytest.raises(RequestError, match="not a public address"):
        archive_settings(tmp_path, replace(PUBLIC, ip="10.0.0.1"))


def test_the_name_in_labels_is_not_changed_by_the_way(tmp_path: Path) -> None:
    kept(tmp_path, InstallationRequest(port=9000))
    with pytest.raises(RequestError, match=r"under archive\.localhost, not archive\.example\.org"):
        archive_settings(tmp_path, PUBLIC)
    elsewhere = InstallationRequest(port=9000, archive_address="http://192.168.1.5:9001")
    assert archive_settings(tmp_path, elsewhere).host == "archive.localhost"


def test_a_network_of_ones_own_is_allowed_when_it_is_listened_to(tmp_path: Path) -> None:
    wanted = InstallationRequest(port=9000, listen="192.168.1.5")
    resolver = resolver_settings(tmp_path, wanted)
    assert (resolver.address, resolver.listen) == ("http://192.168.1.5:9000", "192.168.1.5:9000")
    assert resolver.allowed_networks[-1] == "192.168.1.5:9001"
    assert archive_settings(tmp_path, wanted).address == "http://192.168.1.5:9001"
    # All addresses are none that a link could have.
    for listen in ("0.0.0.0", "::"):
        everywhere = resolver_settings(tmp_path, InstallationRequest(port=9000, listen=listen))
        assert everywhere.address == "http://127.0.0.1:9000"
    assert everywhere.listen == "[::]:9000"


def test_a_name_of_this_machine_is_listened_to_like_its_address(tmp_path: Path) -> None:
    wanted = InstallationRequest(port=9000, listen="localhost")
    resolver = resolver_settings(tmp_path, wanted)
    assert (resolver.address, resolver.listen) == ("http://localhost:9000", "localhost:9000")
    assert resolver.allowed_networks == ["127.0.0.0/8:9001", "[::1]:9001"]


def test_only_the_port_of_the_other_program_is_allowed_on_this_machine(tmp_path: Path) -> None:
    # As earlier versions wrote it, with a network and a port that the operator added.
    (tmp_path / "resolver.toml").write_text(
        'name = "x"\naddress = "http://127.0.0.1:8800"\n'
        'allowed_networks = ["127.0.0.0/8", "::1/128", "10.0.0.0/8", "127.0.0.1:7000"]\n',
        encoding="utf-8",
    )
    resolver = resolver_settings(tmp_path, InstallationRequest(port=9000))
    assert resolver.allowed_networks == [
        *("10.0.0.0/8", "127.0.0.1:7000", "127.0.0.0/8:9001", "[::1]:9001")
    ]
    # All of this machine is allowed if the operator says so.
    (tmp_path / "resolver.toml").write_text(
        'name = "x"\naddress = "http://127.0.0.1:8800"\nallowed_networks = ["127.0.0.0/8"]\n',
        encoding="utf-8",
    )
    resolver = resolver_settings(tmp_path, InstallationRequest(port=9000))
    assert resolver.allowed_networks == ["127.0.0.0/8", "127.0.0.0/8:9001", "[::1]:9001"]


def test_an_archive_of_another_making_gets_what_a_link_needs(tmp_path: Path) -> None:
    text = 'name = "x"\naddress = "http://archive.localhost:8801"\nhost = "archive.localhost"\n'
    (tmp_path / "archive.toml").write_text(f"{text}port = 8801\n", encoding="utf-8")
    (tmp_path / "resolver.toml").write_text(
        'name = "x"\naddress = "http://127.0.0.1:8800"\nallowed_networks = ["10.0.0.0/8"]\n',
        encoding="utf-8",
    )
    archive = archive_settings(tmp_path, InstallationRequest(port=9000))
    assert (archive.address, archive.port) == ("http://127.0.0.1:9001", 8801)
    assert (archive.ip, archive.administrator) == ("127.0.0.1", "admin@localhost")
    resolver = resolver_settings(tmp_path, InstallationRequest(port=9000))
    assert resolver.allowed_networks == ["10.0.0.0/8", "127.0.0.0/8:9001", "[::1]:9001"]
    assert resolver.hot_seconds == 10.0


# Options


@pytest.mark.parametrize(
    "options",
    [("--port", "0"), ("--port", "65535"), ("--port", "x"), ("--listen", "nowhere.invalid")],
)
def test_what_cannot_be_is_refused_in_one_line(tmp_path: Path, options: tuple[str, ...]) -> None:
    assert Shell(tmp_path).refused("up", *options)
    assert not list((tmp_path / "data").rglob("*.toml"))


def test_addresses_that_are_none_are_refused_before_anything_is_made(tmp_path: Path) -> None:
    for option in ("--resolver-address", "--archive-address"):
        for address in ("x", "ftp://archive.example.org", "http://a.b/c", "http://[::1"):
            line = Shell(tmp_path).refused("up", option, address, "--ip", "150.163.34.243")
            assert "expected" in line
    assert not list((tmp_path / "data").rglob("*.toml"))


# The link


@pytest.fixture
def port() -> int:
    return reserved_port(2)


@pytest.fixture
def installation(tmp_path: Path, port: int) -> Path:
    """Return the folder of an installation that was made, and does not run."""
    with opened(tmp_path / "ibi", InstallationRequest(port=port)):
        pass
    return tmp_path / "ibi"


def link_of(started: Installation, folder: Path) -> Link:
    """Return the only link, whose key is the one that the resolver knows."""
    [link] = started.links.all()
    with closing(open_resolver_store(read_resolver(folder / "resolver"))) as store:
        [archive] = store.archives.archives()
        assert matches(link.key, archive.key)
        assert archive.confirmed
    return link


def test_the_key_is_kept_and_the_link_follows_the_address(installation: Path, port: int) -> None:
    with opened(installation, InstallationRequest(port=port)) as started:
        first = link_of(started, installation)
    assert first.resolver == f"http://127.0.0.1:{port}"
    assert len(first.key.text) == 39
    other = reserved_port(2)
    with opened(installation, InstallationRequest(port=other)) as started:
        moved = link_of(started, installation)
        assert started.made == ()
    assert moved.resolver == f"http://127.0.0.1:{other}"
    assert moved.key == first.key


def test_a_link_that_was_lost_is_made_again_by_another_key(installation: Path, port: int) -> None:
    with opened(installation, InstallationRequest(port=port)) as started:
        lost = link_of(started, installation)
        started.links.remove(lost.resolver)
    with opened(installation, InstallationRequest(port=port)) as started:
        assert link_of(started, installation).key != lost.key


def test_links_to_other_resolvers_stay_as_they_are(installation: Path, port: int) -> None:
    with opened(installation, InstallationRequest(port=port)) as started:
        own = link_of(started, installation)
        other = replace(own, resolver="http://urlib.net", key=type(own.key)("1" * 39))
        started.links.save(other)
    with opened(installation, InstallationRequest(port=port)) as started:
        assert other in started.links.all()
        assert len(started.links.all()) == 2


def test_a_registration_that_was_lost_is_made_again_by_the_same_key(
    installation: Path, port: int
) -> None:
    with closing(ResolverInstance(read_resolver(installation / "resolver"))) as resolver:

        async def forget() -> None:
            registry = Registry(resolver.store.archives, resolver.store.feed, resolver.clock)
            await registry.open()
            await registry.remove(registry.all()[0].id, "operator")
            await registry.close()

        asyncio.run(forget())
    with closing(open_catalogue(read_archive(installation / "archive"))) as catalogue:
        [before] = CatalogueLinks(catalogue.links).all()
    with opened(installation, InstallationRequest(port=port)) as started:
        assert link_of(started, installation).key == before.key


def test_a_key_that_was_revoked_is_not_given_back(installation: Path, port: int) -> None:
    with closing(ResolverInstance(read_resolver(installation / "resolver"))) as resolver:

        async def revoke() -> None:
            registry = Registry(resolver.store.archives, resolver.store.feed, resolver.clock)
            await registry.open()
            await registry.revoke(registry.all()[0].id, "operator")
            await registry.close()

        asyncio.run(revoke())
    with opened(installation, InstallationRequest(port=port)):
        pass
    with closing(ResolverInstance(read_resolver(installation / "resolver"))) as resolver:
        [archive] = resolver.store.archives.archives()
        assert archive.key == ""


# Two servers in one loop


def app(text: str) -> Starlette:
    return Starlette(routes=[Route("/", lambda _: PlainTextResponse(text))])


def services() -> list[ServedApp]:
    return [ServedApp(app(text), listening_at("127.0.0.1:0")) for text in ("one", "two")]


def test_both_answer_when_they_are_ready_and_still_do_before_they_stop() -> None:
    both = services()
    heard: list[list[bytes]] = []

    def ask() -> None:
        heard.append([ask_one(address_of(service.listener)) for service in both])

    async def on_ready() -> None:
        await asyncio.to_thread(ask)
        signal.raise_signal(signal.SIGTERM)

    run_together(both, on_ready, ask)
    assert heard == [[b"one", b"two"]] * 2
    assert [service.listener.fileno() for service in both] == [-1, -1]


def test_what_fails_when_they_are_ready_ends_both() -> None:
    both = services()
    stopped: list[str] = []

    async def on_ready() -> None:
        raise RequestError("No.")

    with pytest.raises(RequestError, match="No"):
        run_together(both, on_ready, lambda: stopped.append("once"))
    assert stopped == ["once"]
    assert [service.listener.fileno() for service in both] == [-1, -1]


def test_a_port_is_taken_as_soon_as_it_is_listened_to() -> None:
    with listening_at("127.0.0.1:0") as listener:
        host, port = listener.getsockname()
        with pytest.raises(RequestError, match="Address already in use"):
            listening_at(f"{host}:{port}")


def ask_one(address: str) -> bytes:
    client = Client(address, "")
    try:
        return client.ask("GET", "/").body
    finally:
        client.close()
