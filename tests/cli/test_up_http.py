"""`ibi up`: a resolver and an archive that know each other, whatever happens to their process."""

from __future__ import annotations

import json
import re
import signal
import socket
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ibi.archive.settings import read_archive
from ibi.foundation.system.instance_lock import serving_at, token_of
from ibi.identifier.numerals import IBIP
from ibi.minting.storage.machine_folder import FOLDER
from ibi.model.registration import ArchiveState, RegisteredArchive
from ibi.resolver.settings import read_resolver
from ibi.resolver.wiring.app import open_resolver_store
from tests.support.clients.http import Client
from tests.support.processes.shell import refusal
from tests.support.servers.installation import InstallationServer
from tests.support.values.citable import OPTIONS
from tests.support.waiting import wait_until

LABEL = re.compile(r"localhost/archive\.([0-9]+)/20[0-9/.]+\tLK47B6W([2-9A-U]+)/[2-9A-UW]+\n")
PUBLIC = ("--archive-address", "http://archive.example.org", "--ip", "150.163.34.243")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InstallationServer]:
    with InstallationServer(tmp_path_factory.mktemp("up")) as started:
        yield started


@pytest.fixture
def up(tmp_path: Path) -> Iterator[InstallationServer]:
    installation = InstallationServer(tmp_path)
    yield installation
    installation.kill()


def registered(up: InstallationServer) -> list[RegisteredArchive]:
    """Return what the resolver has on record, while it does not run."""
    with closing(open_resolver_store(read_resolver(up.data / "resolver"))) as store:
        return list(store.archives.archives())


def archives(up: InstallationServer) -> Any:  # noqa: ANN401  # JSON
    return json.loads(up.ibi("resolver", "archives", "--json").stdout)


def links(up: InstallationServer) -> list[list[str]]:
    said = up.ibi("archive", "links").stdout
    return [line.split("\t")[:2] for line in said.splitlines()]


def deposited(up: InstallationServer, *options: str) -> str:
    """Deposit a file; return its short label."""
    (up.folder / "hello.txt").write_text("Hello, world.\n", encoding="utf-8")
    done = up.ibi("archive", "deposit", "hello.txt", "--title", "Greetings", *OPTIONS, *options)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.strip().split("\t")[1]


def items(up: InstallationServer) -> list[dict[str, Any]]:
    """Return all items of the archive."""
    client = Client(up.archive, token_of(up.data / "archive"))
    try:
        found: list[dict[str, Any]] = client.ask("GET", "/api/v1/items?limit=1000").json()["items"]
    finally:
        client.close()
    return found


def settings_of(up: InstallationServer) -> tuple[str, ...]:
    """Return what was made once: settings and tokens."""
    names = ("resolver/resolver.toml", "resolver/token", "archive/archive.toml", "archive/token")
    return tuple((up.data / name).read_text("utf-8") for name in names)


# The first start


def test_it_says_that_it_is_ready_when_the_archive_is_included(running: InstallationServer) -> None:
    assert running.said == running.ready
    [archive] = archives(running)
    assert archive["state"] == "included"
    assert archive["confirmed"]
    assert archive["address"] == f"127.0.0.1:{running.port + 1}"
    assert archive["service_ibi"].startswith(f"localhost/archive.{running.port + 1}/20")


def test_it_says_once_what_was_made_and_where_the_tokens_are(running: InstallationServer) -> None:
    log = running.log()
    [line] = [line for line in log.splitlines() if "archive.localhost" in line]
    assert "good for a try" in line
    for name in ("resolver", "archive"):
        path = running.data / name / "token"
        assert f"\n  {path}\n" in log
        # Only the file has the secret: standard error may be a log that others read.
        assert path.read_text("utf-8").strip() not in log + running.said
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_commands_that_it_prints_work_as_they_are(running: InstallationServer) -> None:
    commands = running.log().partition("try:\n")[2].partition("No administrator")[0]
    [deposit, resolve, explain] = commands.splitlines()
    done = running.shell(deposit)
    assert done.returncode == 0
    label = LABEL.fullmatch(done.stdout)
    assert label
    assert label[1] == str(running.port + 1)
    assert label[2] == IBIP.from_decimal(running.port + 1)
    name = done.stdout.split("\t")[0]
    found = running.shell(resolve)
    assert found.stdout == f"{running.archive}/col/{name}/doc/hello.txt\n"
    assert running.follow(found.stdout.strip()).body == b"Hello, world.\n"
    explained = running.shell(explain)
    assert explained.returncode == 0
    assert "chosen because" in explained.stdout


def test_both_have_pages_and_persistent_urls_begin_at_the_resolver(
    running: InstallationServer,
) -> None:
    for address in (running.resolver, running.archive):
        page = running.get(f"{address}/", accept="text/html")
        assert (page.status, page.body[:15].lower()) == (200, b"<!doctype html>")
    label = deposited(running, "--language", "en")
    shown = running.ibi("archive", "show", label).stdout
    assert f"persistent_url    {running.resolver}/{label}\n" in shown
    assert running.follow(f"{running.resolver}/{label}").body == b"Hello, world.\n"


def test_all_commands_find_them_by_the_folder_of_both(running: InstallationServer) -> None:
    data = ("--data", str(running.data))
    assert "included" in running.ibi("resolver", "archives", *data).stdout
    assert "included" in running.ibi("archive", "links", *data).stdout
    label = deposited(running, *data)
    assert running.ibi("resolve", label, *data).stdout.startswith(running.archive)


# A second start on the same folder, or at the same port


def test_a_second_start_on_the_folder_is_refused_and_changes_nothing(
    running: InstallationServer,
) -> None:
    before = settings_of(running)
    other = InstallationServer(running.folder)
    line = refusal(running.ibi("up", "--port", str(other.port)))
    assert f"is served already at {running.resolver}" in line
    assert settings_of(running) == before
    assert archives(running)[0]["state"] == "included"


def test_a_port_in_use_is_refused_before_anything_is_made(up: InstallationServer) -> None:
    for port in (up.port, up.port + 1):
        with socket.create_server(("127.0.0.1", port)):
            line = refusal(up.ibi("up", "--port", str(up.port)))
        assert "Address already in use" in line
        assert f":{port}'" in line
        made = sorted(path.name for path in up.data.rglob("*") if path.is_file())
        assert made == ["lock", "lock"]
    up.start()


def test_the_folder_of_an_archive_is_not_that_of_both(running: InstallationServer) -> None:
    line = refusal(running.ibi("up", "--data", str(running.data / "archive")))
    assert "the folder of one instance" in line


def test_several_run_beside_each_other_each_under_its_own_port(
    running: InstallationServer, tmp_path: Path
) -> None:
    # One machine, with one folder of claims, but another folder of data.
    other = InstallationServer(tmp_path)
    other.machine = running.environment[FOLDER]
    with other:
        assert other.environment[FOLDER] == running.environment[FOLDER]
        assert archives(other)[0]["service_ibi"].startswith(f"localhost/archive.{other.port + 1}/")
        labels = {deposited(running), deposited(other)}
        assert len({label.partition("/")[0] for label in labels}) == 2
        # And an archive as the tutorial makes it.
        port = InstallationServer(tmp_path).port
        address = ("--address", f"http://archive.localhost:{port}", "--ip", "127.0.0.1")
        third = other.ibi("archive", "init", "--data", "third", *address, "--allow-private")
        assert third.returncode == 0, third


def test_it_listens_at_a_name_of_this_machine(up: InstallationServer) -> None:
    up.start("--listen", "localhost")
    assert archives(up)[0]["address"] == f"localhost:{up.port + 1}"
    label = deposited(up)
    assert up.ibi("resolve", label).stdout.startswith(f"http://localhost:{up.port + 1}/col/")


# The end, and the next start


def test_it_ends_in_order_and_the_archive_is_excluded_first(up: InstallationServer) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        up.start()
        assert up.stop(number) == 0
        assert up.said == up.ready
        [archive] = registered(up)
        assert archive.state is ArchiveState.EXCLUDED
        assert [serving_at(up.data / name) for name in ("resolver", "archive")] == ["", ""]
        assert "Traceback" not in up.log()


@pytest.mark.long
def test_a_restart_keeps_items_labels_and_tokens_and_says_less(up: InstallationServer) -> None:
    up.start()
    label, service, before = deposited(up), archives(up)[0]["service_ibi"], settings_of(up)
    assert up.stop() == 0
    up.start()
    assert "Made in" not in up.log()
    assert "token" not in up.log()
    assert settings_of(up) == before
    assert [each["service_ibi"] for each in archives(up)] == [service]
    assert up.follow(f"{up.resolver}/{label}").body == b"Hello, world.\n"


@pytest.mark.long
def test_it_starts_again_after_it_was_killed(up: InstallationServer) -> None:
    up.start()
    label = deposited(up)
    up.kill()
    up.start()
    assert links(up) == [[up.resolver, "included"]]
    assert up.follow(f"{up.resolver}/{label}").body == b"Hello, world.\n"
    assert deposited(up) != label


@pytest.mark.long
def test_another_port_moves_both_and_their_link(up: InstallationServer) -> None:
    up.start()
    label, service = deposited(up), archives(up)[0]["service_ibi"]
    assert up.stop() == 0
    up.port = InstallationServer(up.folder).port
    up.start()
    assert links(up) == [[up.resolver, "included"]]
    [archive] = archives(up)
    assert (archive["service_ibi"], archive["state"]) == (service, "included")
    assert up.follow(f"{up.resolver}/{label}").body == b"Hello, world.\n"
    assert f"{up.resolver}/{label}" in up.ibi("archive", "show", label).stdout
    assert (up.data / "archive" / "archive.toml").read_text("utf-8").count(up.archive) == 1


@pytest.mark.long
def test_a_first_start_that_is_killed_again_and_again_is_completed(up: InstallationServer) -> None:
    killed = 0
    for moment in (
        "resolver/registry.sqlite",
        "resolver/token",
        "archive/catalogue.sqlite",
        "archive/ledger.sqlite",
        "archive/token",
        "archive/archive.toml",
        "archive/serving",
    ):
        path = up.data / moment
        if not path.exists():
            up.begin()
            wait_until(path.exists)
            up.kill()
            killed += 1
    assert killed > 1
    up.start()
    assert links(up) == [[up.resolver, "included"]]
    assert len(archives(up)) == 1
    assert [each["kind"] for each in items(up)] == ["service", "metadata"]
    label = deposited(up)
    assert up.follow(f"{up.resolver}/{label}").body == b"Hello, world.\n"


# Names of one's own


@pytest.mark.long
def test_a_public_name_is_what_labels_are_minted_under(up: InstallationServer) -> None:
    up.start(*PUBLIC)
    assert "good for a try" not in up.log()
    # Nobody knows that name here, nor would it lead to this machine.
    assert "could not reach this archive" in up.log()
    [archive] = archives(up)
    assert archive["service_ibi"].startswith("example.org/archive/20")
    assert archive["address"] == "archive.example.org"
    assert deposited(up).startswith("8JMKD3MGP8W/")
    assert up.stop() == 0
    up.port = InstallationServer(up.folder).port
    up.start()
    assert read_archive(up.data / "archive").address == "http://archive.example.org"
    assert up.stop() == 0
    before = settings_of(up)
    line = refusal(up.ibi("up", "--archive-address", "http://other.example.org"))
    assert "mints labels under archive.example.org, not other.example.org" in line
    assert settings_of(up) == before


@pytest.mark.long
def test_an_archive_for_a_try_does_not_change_its_name_by_the_way(up: InstallationServer) -> None:
    up.start()
    assert up.stop() == 0
    before = settings_of(up)
    line = refusal(up.ibi("up", "--port", str(up.port), *PUBLIC))
    assert "mints labels under archive.localhost, not archive.example.org" in line
    assert settings_of(up) == before


# The demonstration

WORDS = (
    ("en", b"What is an IBI?</h1>", 200),
    ("en", b"Third edition</h1>", 200),
    ("pt", "O que é um IBI?</h1>".encode(), 200),
    ("en", "O que é um IBI?</h1>".encode(), 200),
    ("en", "Troisième édition</h1>".encode(), 200),
    ("en", b"Example", 200),
    ("en", b"<dc:title", 200),
    ("en", b"data/satellites.csv", 200),
    ("en", b"Modelo-1,2021-02-08", 200),
    ("en", "satélites imaginários</span></h1>".encode(), 200),
    ("en", b"", 302),
    ("en", b"The item was deleted", 410),
    ("en", b"This is a Copy.", 200),
    ("en", b"It was a draft, full of errors.", 410),
    ("en", b"<mark>rio</mark> Exemplo", 200),
    ("pt", "Medições, mapas e estudos".encode(), 200),
    ("en", b"known to have the Original", 200),
)
"""What a reader of a language finds at each address of the tour."""


def tour(up: InstallationServer) -> list[str]:
    """Return the addresses that it prints."""
    lines = up.log().partition("Open in a browser:\n")[2].splitlines()
    assert all(len(line.split("  ", 2)) == 3 for line in lines)
    return [line.split()[0] for line in lines]


def test_the_demonstration_shows_what_it_promises_and_is_made_once(up: InstallationServer) -> None:
    # Killed in the midst of it, first.
    up.begin("--demo")
    wait_until((up.data / "archive" / "demo.json").exists)
    up.kill()
    up.start("--demo")
    addresses = tour(up)
    assert len(addresses) == len(WORDS)
    for address, (language, words, status) in zip(addresses, WORDS, strict=True):
        answer = up.follow(address, accept="text/html", accept_language=language)
        assert (answer.status, words in answer.body) == (status, True), address
    assert up.follow(addresses[10]).headers["location"] == "https://example.org/"
    assert up.follow(f"{up.resolver}/?lang=en", accept="text/html").body.count(b"rainfall") == 2
    assert up.follow(f"{up.archive}/api/v1/search?q=rainfall").json()["count"] == 1
    assert up.follow(f"{up.archive}/api/v1/search?q=chuva").json()["count"] > 0
    tombstone = up.follow(addresses[11], accept="application/problem+json").json()
    assert tombstone["who"] == "ana.example"
    for site in (up.resolver, up.archive):
        home = up.follow(f"{site}/", accept="text/html").body
        assert b'href="mailto:library@example.org"' in home
        assert up.follow(f"{site}/imprint", accept="text/html").status == 200
    # None of the depositors exists.
    found = up.follow(f"{up.archive}/api/v1/search?limit=100").json()
    creators = {each["value"] for each in found["facets"]["creator"]}
    assert len(creators) > 3
    assert [name for name in creators if not re.search(r"Example|Sample|Modelo", name)] == []
    assert [each["title"] for each in found["items"] if "INPE" in each["title"]] == []
    before = items(up)
    # Each of the fifteen has its metadata, as the archive itself has; one is of another archive.
    assert Counter(each["kind"] for each in before) == {"service": 1, "data": 15, "metadata": 16}
    states = Counter(each["state"] for each in before if each["kind"] == "data")
    assert states == {"Original": 13, "Copy": 1, "Deleted": 1}
    assert up.ibi("archive", "reserved").stdout == ""
    assert up.stop() == 0
    up.start("--demo")
    assert tour(up) == addresses
    assert [each["ibip"] for each in items(up)] == [each["ibip"] for each in before]
