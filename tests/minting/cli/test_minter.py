"""`ibi minter`: a service that starts, says so and ends in order, and what looks after it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from ibi import RepositoryName
from ibi.minting.label_binding import nanoseconds_of
from tests.support.processes.environment import environment
from tests.support.processes.shell import IBI, Shell, refusal
from tests.support.processes.terminal import at_a_terminal
from tests.support.servers.minting import HOST, IP, MintingServer, mark


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


# Tokens


def test_a_token_is_shown_once_listed_without_its_secret_and_removed(shell: Shell) -> None:
    secret = shell.said("minter", "token", "add", "library").strip()
    assert secret.startswith("ibi_")
    assert len(secret) > 40
    other = shell.said("minter", "token", "add", "boss", "--scope", "administer").strip()
    assert other != secret
    listed = shell.said("minter", "token", "list")
    rows = [line.split("\t") for line in listed.splitlines()]
    assert [row[:2] for row in rows] == [["library", "mint"], ["boss", "administer"]]
    facts = [json.loads(line) for line in shell.said("minter", "token", "list", "--json").split()]
    assert [fact["name"] for fact in facts] == ["library", "boss"]
    assert set(facts[0]) == {"name", "scope", "created"}
    assert secret not in listed
    assert shell.said("minter", "token", "remove", "library") == "removed library\n"
    assert "library" not in shell.said("minter", "token", "list")


def test_a_token_may_expire(shell: Shell) -> None:
    shell.said("minter", "token", "add", "guest", "--days", "30")
    shell.said("minter", "token", "add", "library")
    guest, library = shell.said("minter", "token", "list").splitlines()
    assert guest.split("\t")[3].startswith("expires 20")
    assert "expires" not in library
    facts = [json.loads(line) for line in shell.said("minter", "token", "list", "--json").split()]
    assert [sorted(each) for each in facts] == [
        ["created", "expires", "name", "scope"],
        ["created", "name", "scope"],
    ]


def test_names_of_tokens_that_cannot_be(shell: Shell) -> None:
    shell.said("minter", "token", "add", "library")
    assert "already" in shell.refused("minter", "token", "add", "library")
    assert "There is no token 'x'" in shell.refused("minter", "token", "remove", "x")
    for name in ("", "a b", "-", "é", "x" * 64, "a\nb", "\x1b[31m"):
        assert "is not a name" in shell.refused("minter", "token", "add", "--", name)
    assert "'root' is not" in shell.refused("minter", "token", "add", "x", "--scope", "root")
    assert len(shell.said("minter", "token", "list").splitlines()) == 1


# Status and confirmation


def test_the_status_says_whether_it_could_mint_and_mints_nothing(shell: Shell) -> None:
    subsystem = ("--host", HOST, "--ip", IP)
    shell.said("minter", "token", "add", "x")
    said = shell.said("minter", "status", *subsystem)
    assert said == "ready to mint under example.org/archive and 8JMKD3MGP8W\n"
    facts = json.loads(shell.said("minter", "status", *subsystem, "--json"))
    assert facts == {"ready": True, "prefixes": ["example.org/archive", "8JMKD3MGP8W"]}
    assert mark(shell.ledger) == 0


def test_a_confirmation_is_asked_for(shell: Shell) -> None:
    shell.said("minter", "token", "add", "x")
    command = ("minter", "confirm", "--host", HOST)
    assert "--yes" in refusal(shell.run(*command, stdin="y\n"))
    code, shown = at_a_terminal(shell.folder, *command, typed=b"n\n")
    assert code == 130
    assert "Is that right?" in shown
    assert mark(shell.ledger) == 0
    code, shown = at_a_terminal(shell.folder, *command, typed=b"y\n")
    assert code == 0
    assert "confirmed: labels go on after " in shown
    confirmed = mark(shell.ledger)
    assert confirmed > 0
    said = shell.said("minter", "confirm", "--host", HOST, "--yes")
    assert said.startswith("confirmed: labels go on after ")
    assert mark(shell.ledger) > confirmed


@pytest.mark.parametrize("command", ["status", "confirm", "unbound", "serve"])
def test_a_bad_subsystem_leaves_no_ledger_behind(shell: Shell, command: str) -> None:
    assert "is not a host name" in shell.refused("minter", command, "--host", "inpe")
    assert "is not a public address" in shell.refused("minter", command, "--ip", "10.0.0.1")
    assert not shell.ledger.exists()


@pytest.mark.parametrize("command", ["status", "unbound", "serve", "confirm"])
def test_every_command_has_help_with_an_example(shell: Shell, command: str) -> None:
    assert f"Example: ibi minter {command}" in shell.said("minter", command, "--help")


@pytest.mark.parametrize(
    "command", [["unbound", "--host", HOST], ["token", "list"], ["token", "remove", "x"]]
)
def test_looking_into_a_ledger_that_is_not_there_does_not_make_it(
    shell: Shell, command: list[str]
) -> None:
    assert "There is no ledger at" in shell.refused("minter", *command)
    assert not shell.ledger.exists()


# Serving


def test_the_first_start_shows_a_token_that_may_do_everything_and_only_the_first(
    tmp_path: Path,
) -> None:
    with MintingServer(tmp_path) as server:
        assert server.address.startswith("http://127.0.0.1:")
        changed = server.ask("PUT", "/api/v1/granularity", {"granularity": "0.001"})
        assert changed.status == 200
        assert server.log().startswith("This token may do everything.")
        server.stop()
        server.start()
        assert server.said().count("token ibi_") == 1
        assert server.token not in server.log()
        assert server.mint().status == 201


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order_and_gives_back_what_was_not_used(
    tmp_path: Path, number: int
) -> None:
    with MintingServer(tmp_path) as server:
        given = 0
        while server.mark() <= given or not given:  # until it is busy enough to reserve ahead
            [last] = server.mint().labels()
            given = nanoseconds_of(RepositoryName.parse(last).instant) or 0
        assert server.stop(number) == 0
        assert server.mark() == given
        assert "Traceback" not in server.log()
        assert server.said().splitlines()[-1].startswith("ready ")
        # The prefix is free for another ledger, without delay.
        assert Shell(tmp_path).call("mint", "--host", HOST).returncode == 0


def test_a_second_server_with_another_ledger_is_refused_and_the_holder_named(
    tmp_path: Path,
) -> None:
    with MintingServer(tmp_path) as server:
        other = Shell(tmp_path).run("minter", "serve", "--host", HOST, "--listen", "127.0.0.1:0")
        said = refusal(other)
        assert f"process {server.pid} " in said
        assert str(server.ledger) in said
        # And an address that is taken.
        port = server.address.rpartition(":")[2]
        taken = Shell(tmp_path).refused(
            "minter", "serve", "--host", "b.example.org", "--listen", f"127.0.0.1:{port}"
        )
        assert taken == f"ibi: Cannot listen at '127.0.0.1:{port}': Address already in use."


@pytest.mark.parametrize(
    "listen",
    [
        "",
        ":",
        "8810",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:x",
        "127.0.0.1:65536",
        ":8810",
        "127.0.0.1:-1",
        "127.0.0.1:٣",
        "127.0.0.1:" + "9" * 5000,
        "127.0.0.1:0\n",
    ],
    ids=lambda listen: repr(listen[:20]),
)
def test_where_nobody_can_listen(shell: Shell, listen: str) -> None:
    said = shell.refused("minter", "serve", "--host", HOST, "--listen", listen)
    assert "is not where one can listen" in said
    assert not shell.ledger.exists()


@pytest.mark.parametrize("listen", ["192.0.2.1:0", "\udcff:0", "\0:0"])
def test_an_address_of_somebody_else(shell: Shell, listen: str) -> None:
    said = shell.refused("minter", "serve", "--host", HOST, "--listen", listen)
    assert "isten" in said
    assert not shell.ledger.exists()


def test_it_listens_by_ipv6_too(tmp_path: Path) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    server = MintingServer(tmp_path)
    server.options[server.options.index("--listen") + 1] = "[::1]:0"
    with server:
        assert server.address.startswith("http://[::1]:")
        assert server.mint().status == 201


def test_a_bad_ledger_is_one_line(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("Dear Sir or Madam, " * 100)
    said = shell.refused(
        *("minter", "serve", "--host", HOST, "--listen", "127.0.0.1:0"),
        *("--ledger", str(tmp_path / "letter")),
    )
    assert "it is not an SQLite database, but a text" in said


def test_with_standard_output_closed_no_token_is_made_that_nobody_sees(shell: Shell) -> None:
    done = subprocess.run(  # noqa: S602  # the shell closes it
        f"{IBI} minter serve --host {HOST} --listen 127.0.0.1:0 >&-",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        env=environment(shell.folder),
    )
    assert "Standard output is closed" in refusal(done)
    assert not shell.ledger.exists()
