"""`ibi mint`, by the door users use: a process of its own."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ibi import Ibip, RepositoryName
from tests.support.processes.environment import environment
from tests.support.processes.shell import IBI, Shell, refusal
from tests.support.servers.minting import HOST, IP, MintingServer, mark


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def minted(shell: Shell, *arguments: str, **more: str) -> list[str]:
    """Mint; return the repository names."""
    printed = shell.said("mint", *arguments, **more)
    return [line.partition("\t")[0] for line in printed.splitlines()]


# What it prints


def test_a_line_has_both_forms_and_a_tab_between_them(shell: Shell) -> None:
    done = shell.run("mint", "--host", HOST, "--ip", IP)
    assert (done.returncode, done.stderr) == (0, "")
    [line] = done.stdout.splitlines()
    rep, ibip = line.split("\t")
    assert RepositoryName.parse(rep).instant == Ibip.parse(ibip).instant
    assert (RepositoryName.parse(rep).host, Ibip.parse(ibip).ip) == (HOST, IP)


def test_an_absent_form_is_empty(shell: Shell) -> None:
    [line] = shell.call("mint", "--host", HOST, "--port", "8080").stdout.splitlines()
    rep, ibip = line.split("\t")
    assert (RepositoryName.parse(rep).port, ibip) == (8080, "")
    [line] = shell.call("mint", "--ip", IP, "--ip-port", "80").stdout.splitlines()
    rep, ibip = line.split("\t")
    assert (rep, Ibip.parse(ibip).port) == ("", 80)


def test_many_labels_are_different_and_in_order(shell: Shell) -> None:
    labels = minted(shell, "-n", "25000", "--host", HOST)
    assert len(set(labels)) == 25_000
    instants = [RepositoryName.parse(label).instant for label in labels[:1000]]
    assert instants == sorted(instants)
    assert not set(labels) & set(minted(shell, "-n", "1000", "--host", HOST))


def test_for_programs_an_object_a_line(shell: Shell) -> None:
    done = shell.call("mint", "-n", "2", "--host", HOST, "--json")
    one, two = (json.loads(line) for line in done.stdout.splitlines())
    assert set(one) == {"rep", "instant"}
    assert RepositoryName.parse(one["rep"]).instant.iso8601 == one["instant"]
    assert one["rep"] != two["rep"]
    [both] = shell.call("mint", "--host", HOST, "--ip", IP, "--json").stdout.splitlines()
    assert set(json.loads(both)) == {"rep", "ibip", "instant"}


@pytest.mark.parametrize(("granularity", "digits"), [("0.001", 3), ("0.000001", 6)])
def test_the_granularity_is_as_fine_as_was_said(
    shell: Shell, granularity: str, digits: int
) -> None:
    labels = minted(shell, "-n", "100", "--host", HOST, "--granularity", granularity)
    fractions = [RepositoryName.parse(label).instant.significant_fraction for label in labels]
    assert max(map(len, fractions)) == digits


def test_the_ledger_lies_where_data_of_users_do(shell: Shell, tmp_path: Path) -> None:
    minted(shell, "--host", HOST)
    assert mark(shell.ledger) > 0
    minted(shell, "--host", HOST, XDG_DATA_HOME="", HOME=str(tmp_path / "home"))
    assert (tmp_path / "home" / ".local" / "share" / "ibi" / "ledger.sqlite").is_file()


def test_settings_come_from_the_environment_too(shell: Shell, tmp_path: Path) -> None:
    ledger = tmp_path / "a folder" / "that is not there" / "ledger"
    [label] = minted(shell, IBI_HOST=HOST, IBI_LEDGER=str(ledger))
    assert RepositoryName.parse(label).host == HOST
    assert mark(ledger) > 0
    assert not shell.ledger.exists()


def test_a_private_address_is_taken_when_it_is_allowed(shell: Shell) -> None:
    done = shell.call("mint", "--ip", "10.0.0.1", "--allow-private")
    assert Ibip.parse(done.stdout.strip()).ip == "10.0.0.1"


# What it remembers


def test_the_same_key_gets_the_same_labels(shell: Shell) -> None:
    arguments = ("--host", HOST, "-n", "3", "--key", "k")
    labels = minted(shell, *arguments)
    assert minted(shell, *arguments) == labels
    assert "'k' was used for another request" in shell.refused("mint", "--host", HOST, "--key", "k")


def test_a_label_is_reserved_listed_and_bound(shell: Shell) -> None:
    subsystem = ("--host", HOST, "--ip", IP)
    done = shell.call("mint", *subsystem, "-n", "2", "--reserve")
    one, two = done.stdout.splitlines()
    listed = shell.call("minter", "unbound", *subsystem).stdout.splitlines()
    assert [line.rpartition("\t")[0] for line in listed] == [one, two]
    rep, ibip = one.split("\t")
    bound = shell.call("minter", "bind", *subsystem, ibip, "https://example.org/x")
    assert (bound.returncode, bound.stdout) == (0, f"{ibip} is bound to https://example.org/x\n")
    refused = shell.refused("minter", "bind", *subsystem, rep, "elsewhere")
    assert "already bound to 'https://example.org/x'" in refused
    [line] = shell.call("minter", "unbound", *subsystem, "--json").stdout.splitlines()
    facts = json.loads(line)
    assert f"{facts['rep']}\t{facts['ibip']}" == two


def test_a_label_is_bound_when_it_is_minted(shell: Shell) -> None:
    [label] = minted(shell, "--host", HOST, "--target", "there")
    assert shell.call("minter", "unbound", "--host", HOST).stdout == ""
    refused = shell.refused("minter", "bind", "--host", HOST, label, "elsewhere")
    assert "already bound to 'there'" in refused


@pytest.mark.parametrize(
    ("label", "target", "said"),
    [
        ("nonsense", "x", "is not an IBI"),
        ("example.org/archive/9999/01.01.00.00", "x", "was not reserved"),
        ("example.org/archive/2026/01.01.00.00", "", "the target is empty"),
        ("example.org/archive/2026/01.01.00.00", "a\nb", "is not a target"),
    ],
)
def test_what_cannot_be_bound_is_refused(shell: Shell, label: str, target: str, said: str) -> None:
    shell.said("mint", "--host", HOST)
    assert said in shell.refused("minter", "bind", "--host", HOST, label, target)


# What cannot be

BAD = [
    # hosts
    (["--host", "inpe"], "is not a host name"),
    (["--host", ""], "needs a host name, an IP address"),
    (["--host", "", "--ip", IP], "is not a host name"),
    ([], "needs a host name, an IP address"),
    (["--host", "\x1b[31m.example.org"], "is not a host name"),
    # addresses
    (["--ip", "text"], "is not an IP address"),
    (["--ip", ""], "needs a host name, an IP address"),
    (["--ip", "10.0.0.1"], "is not a public address"),
    # ports
    (["--host", HOST, "--port", "0"], "0 is not a port"),
    (["--host", HOST, "--port", "x"], "'x' is not a valid integer"),
    (["--ip", IP, "--ip-port", "0"], "0 is not a port"),
    # granularities
    (["--host", HOST, "--granularity", "7"], "is not a granularity"),
    (["--host", HOST, "--granularity", ""], "is not a granularity"),
    # counts
    (["--host", HOST, "-n", "0"], "0 is not a number of labels"),
    (["--host", HOST, "-n", "1000000000"], "is not a number of labels"),
    (["--host", HOST, "-n", "1.5"], "'1.5' is not a valid integer"),
    # the rest
    (["--host", HOST, "--key", "k" * 256], "is not a key"),
    (["--host", HOST, "--target", "a\tb"], "is not a target"),
    (["--host", HOST, "-n", "2", "--target", "x"], "A target takes one label"),
    (["--host", HOST, "word"], "unexpected extra argument"),
    (["--host", HOST, "--minter", "http://127.0.0.1:1"], "--minter goes with"),
    (["--granularity", "1", "--minter", "http://127.0.0.1:1"], "--minter goes with"),
    (["--key", "k", "--minter", "http://127.0.0.1:1"], "--minter goes with"),
    (["--minter", "nonsense"], "expected an address with http"),
    (["--minter", "http://127.0.0.1:1"], "there is no connection to it"),
    (["--minter", "http://127.0.0.1:1", "--token", "a\nb"], "the token for it is not one"),
    (["--minter", "http://127.0.0.1:1", "-n", "0"], "0 is not a number of labels"),
]


@pytest.mark.parametrize(("arguments", "said"), BAD, ids=[" ".join(a)[:50] for a, _ in BAD])
def test_what_cannot_be_minted_is_one_line_and_leaves_nothing_behind(
    shell: Shell, arguments: list[str], said: str
) -> None:
    assert said in shell.refused("mint", *arguments)
    assert not shell.ledger.exists()
    assert list(shell.folder.iterdir()) == []


@pytest.mark.parametrize("arguments", [["--host", "inpe"], ["--host", HOST, "-n", "x"]])
def test_so_it_is_in_a_process_of_its_own(shell: Shell, arguments: list[str]) -> None:
    done = shell.run("mint", *arguments)
    assert refusal(done) == shell.refused("mint", *arguments)
    assert done.returncode == shell.call("mint", *arguments).returncode
    assert list(shell.folder.iterdir()) == []


# What the ledger may say


def test_a_folder_that_may_not_be_written_is_named(shell: Shell) -> None:
    refused = shell.refused("mint", "--host", HOST, "--ledger", "/proc/ledger")
    assert "The ledger '/proc/ledger' cannot be used, nothing was minted" in refused


def test_what_is_no_database_is_no_ledger_and_stays_as_it_is(shell: Shell, tmp_path: Path) -> None:
    letter = tmp_path / "letter"
    letter.write_text("Dear Sir or Madam, " * 100)
    refused = shell.refused("mint", "--host", HOST, "--ledger", str(letter))
    assert "it is not an SQLite database, but a text" in refused
    assert letter.read_text() == "Dear Sir or Madam, " * 100


# With others


def lines_of(process: subprocess.Popen[str]) -> list[str]:
    with process:
        assert process.stdout
        return process.stdout.read().splitlines()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("resolver_archive", "it is the registry of a resolver"),
        ("archive_item", "it is the catalogue of an archive"),
        ("songs", "it is a database of another program, with the table 'songs'"),
    ],
)
@pytest.mark.parametrize("command", [("mint", "--host", HOST), ("minter", "token", "list")])
def test_the_database_of_another_program_is_refused_and_stays_as_it_is(
    shell: Shell, tmp_path: Path, command: tuple[str, ...], table: str, said: str
) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"CREATE TABLE {table} (title TEXT)")
    before = path.read_bytes()
    refused = shell.run(*command, "--ledger", str(path))
    assert refused.returncode == 1
    assert said in refusal(refused)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.glob("other*")] == ["other.sqlite"]


def test_two_at_once_on_one_ledger_share_no_label(shell: Shell) -> None:
    processes = [
        subprocess.Popen(  # noqa: S603
            [IBI, "mint", "-n", "500", "--host", HOST, "--granularity", granularity],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(shell.folder),
        )
        for granularity in ("0.001", "0.001", "auto", "auto")
    ]
    labels = [line for process in processes for line in lines_of(process)]
    assert [process.returncode for process in processes] == [0, 0, 0, 0]
    assert len(labels) == len(set(labels)) == 2000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MintingServer]:
    with MintingServer(tmp_path_factory.mktemp("server"), "--ip", IP) as started:
        yield started


def test_another_ledger_for_a_prefix_that_is_held_is_refused_and_the_holder_named(
    server: MintingServer,
) -> None:
    other = Shell(server.folder)
    refused = other.refused("mint", "--host", HOST)
    assert f"process {server.pid} " in refused
    assert str(server.ledger) in refused
    # With the ledger of the holder there is nothing to refuse.
    labels = minted(other, "--host", HOST, "--ip", IP, "--ledger", str(server.ledger), "-n", "5")
    assert not set(labels) & set(server.mint({"count": 5}).labels())


def test_labels_come_from_a_service(shell: Shell, server: MintingServer) -> None:
    done = shell.call("mint", "-n", "3", "--minter", server.address, "--token", server.token)
    assert (done.returncode, done.stderr) == (0, "")
    for line in done.stdout.splitlines():
        rep, ibip = line.split("\t")
        assert RepositoryName.parse(rep).instant == Ibip.parse(ibip).instant
    many = minted(shell, "-n", "10001", "--minter", server.address, IBI_TOKEN=server.token)
    assert len(set(many)) == 10_001
    assert not shell.ledger.exists()


def test_of_several_services_any_that_answers(shell: Shell, server: MintingServer) -> None:
    addresses = ("--minter", "http://127.0.0.1:1", "--minter", server.address)
    for _ in range(2):
        assert len(minted(shell, *addresses, "--token", server.token)) == 1
        addresses = (*addresses[2:], *addresses[:2])


def test_a_token_that_the_service_does_not_know_is_refused_and_not_shown(
    shell: Shell, server: MintingServer
) -> None:
    refused = shell.refused("mint", "--minter", server.address, "--token", "secret-of-mine")
    assert "A valid token is needed" in refused
    assert "secret-of-mine" not in refused


# Streams


@pytest.mark.parametrize(
    ("redirection", "said"),
    [(">&-", "Standard output is closed"), (">/dev/full", "Cannot read or write: No space left")],
)
def test_standard_output_that_cannot_be_used_is_one_line(
    shell: Shell, redirection: str, said: str
) -> None:
    environ = environment(shell.folder)
    environ.pop("PYTHONUNBUFFERED", None)
    done = subprocess.run(  # noqa: S602  # the shell redirects
        f"{IBI} mint --host {HOST} {redirection}",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        env=environ,
    )
    assert said in refusal(done)


def test_a_reader_that_goes_away_is_no_error_to_shout_about(shell: Shell) -> None:
    with subprocess.Popen(  # noqa: S603
        [IBI, "mint", "-n", "100000", "--host", HOST],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(shell.folder),
    ) as process:
        assert process.stdout
        assert process.stderr
        assert os.read(process.stdout.fileno(), 10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1
    assert len(minted(shell, "--host", HOST)) == 1


def test_help_has_examples(shell: Shell) -> None:
    done = shell.call("mint", "--help")
    assert done.returncode == 0
    assert "ibi mint --host mtc-m19.sid.inpe.br" in done.stdout
