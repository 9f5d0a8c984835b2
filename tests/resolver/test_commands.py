"""`ibi resolver` and `ibi resolve`, run as their users run them."""

from __future__ import annotations

import json
import mailbox
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.doubles.archive import ArchiveDouble
from tests.support.processes.environment import own_environment
from tests.support.processes.shell import IBI, Done, Shell, refusal, said
from tests.support.servers.archive import files_in
from tests.support.servers.resolver import ADMINISTRATOR, ResolverServer
from tests.support.waiting import wait_until

ITEM: Final = "8JMKD3MGP7W/3EPGUE5"
UNKNOWN: Final = "LK47B6W/362SFK9"
KEY: Final = "1234567890"


@pytest.fixture(scope="module")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResolverServer]:
    with ResolverServer(tmp_path_factory.mktemp("resolver")) as started:
        yield started


def call(folder: Path, *arguments: str, **more: str) -> Done:
    """Run `ibi` in this process, by its entry point."""
    return Shell(folder).call(*arguments, **more)


def on(resolver: ResolverServer, *arguments: str) -> Done:
    """Run a command on a resolver, in this process."""
    return call(resolver.folder, "resolver", *arguments, "--data", str(resolver.data))


def resolve(resolver: ResolverServer, *arguments: str) -> Done:
    return call(resolver.folder, "resolve", *arguments, "--data", str(resolver.data))


def key_of(done: Done) -> str:
    """Return the key that a command shows, with the word that it is shown once."""
    assert done.returncode == 0, done
    assert "only now" in done.stderr
    return done.stdout.strip()


# init


def test_init_makes_a_resolver_and_shows_a_token_once(tmp_path: Path) -> None:
    place = tmp_path / "a" / "b"
    done = call(tmp_path, "resolver", "init", "--data", str(place))
    assert done.returncode == 0, done
    facts = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert facts.keys() == {"resolver", "token", "administrator"}
    assert facts["resolver"] == str(place)
    assert "only now" in done.stderr
    assert facts["token"].encode() not in b"".join(files_in(place).values())
    assert (place / "token").stat().st_mode & 0o777 == 0o600
    before = files_in(place)
    again = call(tmp_path, "resolver", "init", "--data", str(place))
    assert "already" in refusal(again)
    assert files_in(place) == before


def test_init_keeps_what_it_is_told_and_answers_programs(tmp_path: Path) -> None:
    place = tmp_path / "place"
    options = ["--name", "Resolvedor", "--address", "HTTP://Resolver.Example.ORG/"]
    options += ["--listen", "0.0.0.0:80", "--operator", ADMINISTRATOR, "--open-registration"]
    options += ["--allow-network", "10.0.0.0/8", "--allow-network", "fd00::/8", "--json"]
    done = call(tmp_path, "resolver", "init", "--data", str(place), *options)
    assert json.loads(done.stdout).keys() == {"resolver", "token", "administrator"}
    assert (place / "resolver.toml").read_text() == (
        'name = "Resolvedor"\n'
        'address = "http://resolver.example.org"\n'
        'listen = "0.0.0.0:80"\n'
        f'operator = "{ADMINISTRATOR}"\n'
        'allowed_networks = ["10.0.0.0/8","fd00::/8"]\n'
        "open_registration = true\n"
    )


@pytest.mark.parametrize(
    "options",
    [
        ("--address", "resolver.example.org"),
        ("--address", "http://resolver.example.org/path"),
        ("--name", ""),
        ("--operator", "nobody at all"),
        ("--listen", "nowhere"),
        ("--allow-network", "everywhere"),
        ("--allow-network", "10.0.0.1/8"),
        ("--nonsense",),
    ],
)
def test_what_init_refuses_leaves_nothing_behind(tmp_path: Path, options: tuple[str, ...]) -> None:
    place = tmp_path / "place"
    refusal(call(tmp_path, "resolver", "init", "--data", str(place), *options))
    assert not place.exists()


def test_init_says_where_it_cannot_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    line = refusal(call(tmp_path, "resolver", "init", "--data", str(tmp_path / "file" / "a")))
    assert "ot a directory" in line
    nowhere = "postgresql://nobody:secret@127.0.0.1:1/x"
    place = str(tmp_path / "p")
    line = refusal(call(tmp_path, "resolver", "init", "--data", place, "--database", nowhere))
    assert "cannot be used" in line
    assert "secret" not in line


def test_init_takes_no_database_from_another_resolver(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert call(tmp_path, "resolver", "init", "--data", str(first)).returncode == 0
    before = files_in(first)
    options = ("--data", str(second), "--database", str(first / "registry.sqlite"))
    assert "copy the folder" in refusal(call(tmp_path, "resolver", "init", *options))
    assert not second.exists()
    options = ("--data", str(second), "--database", "../first/registry.sqlite")
    assert "copy the folder" in refusal(call(tmp_path, "resolver", "init", *options))
    assert files_in(first) == before


def test_init_that_was_interrupted_begins_anew(tmp_path: Path) -> None:
    database = tmp_path / "elsewhere.sqlite"
    options = ("--data", str(tmp_path / "place"), "--database", str(database))
    assert call(tmp_path, "resolver", "init", *options).returncode == 0
    (tmp_path / "place" / "resolver.toml").unlink()  # what is written last
    assert call(tmp_path, "resolver", "init", *options).returncode == 0


# serve


def test_serve_says_when_it_is_ready_and_ends_in_order(tmp_path: Path) -> None:
    resolver = ResolverServer(tmp_path)
    with resolver:
        assert resolver.said().splitlines()[-1] == f"ready resolver={resolver.address}"
        assert resolver.get("/healthz").status == 200
        line = refusal(on(resolver, "serve", "--listen", "127.0.0.1:0"))
        assert f"served already at {resolver.address}" in line
        key = key_of(on(resolver, "register", ITEM))
        assert resolver.stop(signal.SIGINT) == 0
        assert not (resolver.data / "serving").exists()
        assert "ibi resolver serve" in refusal(on(resolver, "archives"))
        resolver.start()
        assert ITEM in said(on(resolver, "archives"))
        assert resolver.stop() == 0
    assert "Traceback" not in resolver.log()
    assert key not in resolver.log()


def test_serve_wants_a_resolver(tmp_path: Path) -> None:
    nothing = str(tmp_path / "none")
    assert "ibi resolver init" in refusal(call(tmp_path, "resolver", "serve", "--data", nothing))
    place = tmp_path / "place"
    call(tmp_path, "resolver", "init", "--data", str(place))
    (place / "resolver.toml").write_text('name = "x"\naddress = "http://x"\nhot_seconds = 900\n')
    line = refusal(call(tmp_path, "resolver", "serve", "--data", str(place)))
    assert f"{place}/resolver.toml: hot_seconds = 900" in line


# archives


def test_register_prints_a_key_that_includes_the_archive(resolver: ResolverServer) -> None:
    with ArchiveDouble("8JMKD3MGP8W/34PHP45") as archive:
        key = key_of(on(resolver, "register", archive.service, "--administrator", ADMINISTRATOR))
        assert re.fullmatch("[0-9]{39}", key)
        assert b"included" in resolver.announce(archive, key).body
        table = said(on(resolver, "archives")).splitlines()
        assert table[0].split() == ["archive", "state", "since", "address", "digest", "reason"]
        [row] = [line.split() for line in table if line.startswith(archive.service)]
        assert (row[1], row[3]) == ("included", archive.address)
        listed = json.loads(said(on(resolver, "archives", "--json")))
        assert isinstance(listed, list)
        [found] = [each for each in listed if each["service_ibi"] == archive.service]
        assert found["state"] == "included"
        assert found["address"] == archive.address
        assert found["administrator"] == ADMINISTRATOR
        assert said(on(resolver, "exclude", archive.service)) == f"excluded {archive.service}\n"
        assert (
            said(on(resolver, "remove", archive.service, "--yes")) == f"removed {archive.service}\n"
        )
    assert archive.service not in said(on(resolver, "archives", "--json"))
    assert "not on record" not in said(on(resolver, "history"))
    acts = [
        (line["act"], line["who"])
        for line in map(json.loads, said(on(resolver, "history", "--json")).splitlines())
        if line["archive"] == archive.service
    ]
    assert ("register", "local") in acts
    assert ("exclude", "local") in acts
    assert acts[-1] == ("remove", "local")


def test_a_key_of_the_administrator_is_taken(resolver: ResolverServer) -> None:
    options = ("--key", KEY, "--host", "a.example.org", "--host", "b.example.org:81", "--json")
    done = on(resolver, "register", "example.org/a/2026/01.01.00.00", *options)
    answer = json.loads(key_of(done))
    assert answer["registration_key"] == KEY
    service = answer["service_ibi"]
    found = resolver.archives()[service]
    assert found["hosts"] == ["a.example.org", "b.example.org:81"]
    assert said(on(resolver, "hosts", service, "c.example.org")) == "c.example.org\n"
    assert said(on(resolver, "hosts", service)) == "only its own\n"
    new = key_of(on(resolver, "rotate", service))
    assert re.fullmatch("[0-9]{39}", new)
    assert said(on(resolver, "revoke", service, "--yes")) == f"revoked {service}\n"
    assert resolver.archives()[service]["key"] == "revoked"


@pytest.mark.parametrize(
    "arguments",
    [
        ("register", "no label"),
        ("register", UNKNOWN, "--key", "123"),
        ("register", UNKNOWN, "--host", "http://x"),
        ("register", UNKNOWN, "--administrator", "nobody"),
        ("confirm", UNKNOWN),
        ("rotate", UNKNOWN),
        ("revoke", UNKNOWN, "--yes"),
        ("exclude", UNKNOWN),
        ("remove", UNKNOWN, "--yes"),
        ("hosts", UNKNOWN, "a.example.org"),
        ("settle", UNKNOWN, "--owner", ITEM, "--yes"),
        ("settle", UNKNOWN),
        ("mail", "nowhere"),
        ("token", "remove", "nobody"),
        ("token", "add", "x", "--scope", "administer"),
        ("nonsense",),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    resolver: ResolverServer, arguments: tuple[str, ...]
) -> None:
    refusal(on(resolver, *arguments))


# mail


def message(service: str, key: str = KEY) -> EmailMessage:
    written = EmailMessage()
    written["From"] = f"João <{ADMINISTRATOR}>"
    written["Subject"] = "Cadastro de um novo Arquivo"
    written.set_content(f"IBI do serviço:\narchiveserviceibi = {service}\nregistrationkey = {key}")
    return written


def test_a_message_on_standard_input_waits_for_confirm(resolver: ResolverServer) -> None:
    service = "example.org/mail/2026/01.01.00.00"
    given = ("resolver", "mail", "--data", str(resolver.data))
    done = Shell(resolver.folder).run(*given, stdin=message(service).as_string())
    assert said(done) == f"pending {service} {ADMINISTRATOR}\n"
    assert resolver.archives()[service]["state"] == "pending"
    confirmed = on(resolver, "confirm", service)
    assert (confirmed.returncode, confirmed.stdout) == (0, f"confirmed {service}\n")
    assert "The administrator was not notified: no mail server" in confirmed.stderr
    assert resolver.archives()[service]["state"] == "excluded"


def test_a_file_is_one_message_or_a_box_of_them(resolver: ResolverServer, tmp_path: Path) -> None:
    services = [f"example.org/box/2026/01.01.00.{number:02}" for number in range(5)]
    one = tmp_path / "message.eml"
    one.write_bytes(message(services[0]).as_bytes())
    assert services[0] in said(on(resolver, "mail", str(one)))
    box = mailbox.mbox(tmp_path / "box")
    for service in services[1:3]:
        box.add(message(service))
    box.close()
    assert len(said(on(resolver, "mail", str(tmp_path / "box"))).splitlines()) == 2
    folder = mailbox.Maildir(tmp_path / "maildir")
    for service in services[3:]:
        folder.add(message(service))
    folder.close()
    lines = said(on(resolver, "mail", str(tmp_path / "maildir"), "--json")).splitlines()
    assert {json.loads(line)["state"] for line in lines} == {"pending"}
    assert set(services) <= resolver.archives().keys()


def test_a_message_that_is_refused_does_not_stop_the_next(
    resolver: ResolverServer, tmp_path: Path
) -> None:
    service = "example.org/next/2026/01.01.00.00"
    box = mailbox.mbox(tmp_path / "box")
    for written in (message("no label"), message(service)):
        box.add(written)
    box.close()
    done = on(resolver, "mail", str(tmp_path / "box"))
    assert done.returncode == 1
    assert done.stdout == f"pending {service} {ADMINISTRATOR}\n"
    [line] = done.stderr.splitlines()
    assert line.startswith("ibi: Message 1: The archiveserviceibi")


# conflicts


def test_a_conflict_is_shown_and_settled(resolver: ResolverServer) -> None:
    assert said(on(resolver, "conflicts")) == ""
    assert json.loads(said(on(resolver, "conflicts", "--json"))) == []
    with ArchiveDouble("8JMKD3MGP8W/34PHP46") as first, ArchiveDouble("LK47B6W/362SFKH") as rogue:
        for archive in (first, rogue):
            resolver.include(archive)
            archive.hold(ITEM)
        done = resolve(resolver, f"{ITEM}?ibiurl.requireditemstatus=Original")
        assert "investigation" in refusal(done)
        wait_until(lambda: said(on(resolver, "conflicts")) != "")
        shown = said(on(resolver, "conflicts")).splitlines()
        assert shown[0].split()[1:3] == [ITEM, "open"]
        assert {line.split()[0] for line in shown[1:]} == {first.service, rogue.service}
        options = ("--owner", first.service, "--note", "By telephone", "--yes")
        done = on(resolver, "settle", ITEM, *options)
        assert said(done) == f"settled {ITEM} for {first.service}\n"
        assert said(on(resolver, "conflicts")) == ""
        assert "By telephone" in said(on(resolver, "conflicts", "--all"))
        [conflict] = json.loads(said(on(resolver, "conflicts", "--all", "--json")))
        assert conflict["owner"] == first.service
        for archive in (first, rogue):
            on(resolver, "remove", archive.service, "--yes")


# tokens, and where the resolver is


def test_tokens_are_made_listed_and_removed(resolver: ResolverServer) -> None:
    secret = said(on(resolver, "token", "add", "watcher")).strip()
    assert "watcher\tread\t" in said(on(resolver, "token", "list"))
    where = ("--resolver", resolver.address, "--token", secret)
    assert said(call(resolver.folder, "resolver", "history", *where))
    denied = call(resolver.folder, "resolver", "register", UNKNOWN, *where)
    assert "'operate'" in refusal(denied)
    assert said(on(resolver, "token", "remove", "watcher")) == "removed watcher\n"
    assert "token" in refusal(call(resolver.folder, "resolver", "history", *where))


def test_a_resolver_is_found_by_folder_address_or_environment(
    resolver: ResolverServer, tmp_path: Path
) -> None:
    place, address = str(resolver.data), resolver.address
    both = ("--data", place, "--resolver", address)
    assert "not by both" in refusal(call(tmp_path, "resolver", "archives", *both))
    said(call(tmp_path, "resolver", "archives", IBI_DATA=place))
    said(call(tmp_path, "resolver", "history", IBI_RESOLVER=address, IBI_TOKEN=resolver.token))
    # Of a folder that is typed, the environment's token is nobody's business.
    said(call(tmp_path, "resolver", "history", "--data", place, IBI_TOKEN=UNKNOWN))
    # Where services run together, each has a folder in one.
    together = str(resolver.data.parent)
    said(call(tmp_path, "resolver", "history", "--data", together))
    assert "No resolver is running" in refusal(call(tmp_path, "resolver", "history"))
    gone = call(tmp_path, "resolver", "history", "--resolver", "http://127.0.0.1:1")
    assert "does not answer" in refusal(gone)
    bad = call(tmp_path, "resolver", "history", "--resolver", "nowhere")
    assert "http://host[:port]" in refusal(bad)


def test_an_archive_is_found_in_the_folder_that_it_shares(tmp_path: Path) -> None:
    place = tmp_path / "both"
    assert call(tmp_path, "archive", "init", "--data", str(place / "archive")).returncode == 0
    line = refusal(call(tmp_path, "archive", "list", "--data", str(place)))
    assert f"No archive is running on {place / 'archive'}:" in line
    (place / "archive.toml").write_text("")
    line = refusal(call(tmp_path, "archive", "list", "--data", str(place)))
    assert f"No archive is running on {place}:" in line


# resolve


def test_resolve_prints_where_an_item_is(resolver: ResolverServer) -> None:
    label = "8JMKD3MGP7W/3EPGUE7"
    with ArchiveDouble("8JMKD3MGP8W/34PHP47") as archive:
        resolver.include(archive)
        archive.hold(label)
        url = f"http://{archive.address}/col/{label}/a.html"
        for text in (label, f"http://urlib.net/{label}", f"ibi:{label}"):
            assert said(resolve(resolver, text)) == f"{url}\n", text
        where = ("--resolver", resolver.address)
        assert said(call(resolver.folder, "resolve", label, *where)) == f"{url}\n"
        environment = {"IBI_RESOLVER": resolver.address}
        assert said(call(resolver.folder, "resolve", label, **environment)) == f"{url}\n"
        answer = json.loads(said(resolve(resolver, label, "--json")))
        assert answer["location"] == url
        explained = said(resolve(resolver, label, "--explain"))
        assert archive.service in explained
        assert f"redirect: {url}" in explained
        whole: dict[str, Any] = json.loads(said(resolve(resolver, label, "--explain", "--json")))
        assert whole["outcome"] == "redirect"
        assert [asked["archive"] for asked in whole["steps"][0]["asked"] if asked["chosen"]] == [
            archive.service
        ]
        assert archive.acknowledged == []
        on(resolver, "remove", archive.service, "--yes")


def test_resolve_says_why_it_leads_nowhere(resolver: ResolverServer) -> None:
    assert "none has the item" in refusal(resolve(resolver, UNKNOWN))
    assert "is not an IBI" in refusal(resolve(resolver, "x"))
    done = resolve(resolver, UNKNOWN, "--explain")
    assert (done.returncode, done.stderr) == (1, "")
    assert "not-found" in done.stdout


def test_resolve_wants_a_resolver(tmp_path: Path) -> None:
    line = refusal(call(tmp_path, "resolve", ITEM))
    assert "--resolver URL" in line
    assert "ibi resolver serve" in line
    gone = call(tmp_path, "resolve", ITEM, "--resolver", "http://127.0.0.1:1")
    assert "does not answer" in refusal(gone)


# help


COMMANDS: Final = """\
resolve
resolver
resolver init
resolver serve
resolver register
resolver archives
resolver confirm
resolver rotate
resolver revoke
resolver exclude
resolver remove
resolver hosts
resolver conflicts
resolver settle
resolver mail
resolver history
resolver token
resolver token add
resolver token list
resolver token remove
"""


@pytest.mark.parametrize("command", COMMANDS.splitlines())
def test_every_command_has_an_example(tmp_path: Path, command: str) -> None:
    text = said(call(tmp_path, *command.split(), "--help"))
    assert re.search(rf"Examples?:\s+ibi {command}", text)


def test_the_commands_run_in_processes_of_their_own(tmp_path: Path) -> None:
    for command in ([IBI], [sys.executable, "-m", "ibi"]):
        done = subprocess.run(  # noqa: S603
            [*command, "resolve", ITEM],
            capture_output=True,
            text=True,
            check=False,
            env=own_environment(tmp_path),
        )
        assert "No resolver is running" in refusal(done)
