"""`ibi doctor`: faults that were planted are found, and nothing is changed."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from pathlib import Path
from typing import Any

import apsw
import pytest

from ibi.installation.instance_checks import MAX_DIGEST_AGE_SECONDS, digest_findings
from ibi.installation.machine_checks import machine_findings
from ibi.model.clock import SECOND
from ibi.resolver.digests.locations import (
    MAX_AGE,
)
from tests.support.processes.shell import Done, Shell, refusal
from tests.support.servers.archive import files_in
from tests.support.servers.installation import InstallationServer
from tests.support.servers.threaded import QuietHandler, QuietHttpServer, ThreadedServer
from tests.support.values.citable import OPTIONS
from tests.support.waiting import wait_until

YEAR = 31_536_000


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InstallationServer]:
    with InstallationServer(tmp_path_factory.mktemp("doctor")) as started:
        yield started


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> InstallationServer:
    installation = InstallationServer(tmp_path_factory.mktemp("stopped")).start()
    assert installation.stop() == 0
    return installation


@pytest.fixture
def patient(stopped: InstallationServer, tmp_path: Path) -> Path:
    """Return the folder of an installation that does not run, to plant faults in."""
    return Path(shutil.copytree(stopped.data, tmp_path / "data" / "ibi"))


def doctor(folder: Path, *options: str) -> Done:
    return Shell(folder.parents[1]).call("doctor", "--data", str(folder), *options)


def findings(folder: Path, *options: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what it finds, by part and check."""
    done = doctor(folder, "--json", *options)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    is_failing = any(each["verdict"] == "failure" for each in found)
    assert (done.returncode, done.stderr) == (int(is_failing), "")
    return {(each["part"], each["check"]): each for each in found}


def wrong(folder: Path, *options: str) -> dict[tuple[str, str], str]:
    """Return what it finds that is not as of an installation that is well and does not run."""
    usual = {("resolver", "service"), ("archive", "service"), ("archive", "name")}
    found = findings(folder, *options)
    return {
        check: each["verdict"]
        for check, each in found.items()
        if each["verdict"] != "ok" and (check not in usual or each["verdict"] == "failure")
    }


@contextmanager
def server_whose_date(date: Callable[[], str]) -> Iterator[str]:
    """Answer at an address, with a header Date of the test's choice."""

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            self.send_response_only(200)
            self.send_header("Date", date())
            self.send_header("Content-Length", "0")
            self.end_headers()

    with ThreadedServer(QuietHttpServer(("127.0.0.1", 0), Handler)) as server:
        yield f"http://127.0.0.1:{server.port}"


# Well


def test_an_installation_that_runs_is_well(running: InstallationServer) -> None:
    found = findings(running.data)
    unwell = {check: each["text"] for check, each in found.items() if each["verdict"] != "ok"}
    assert unwell == {("archive", "name"): "archive.localhost is good for a try only"}
    assert found["archive", "link"]["text"].startswith(f"{running.resolver}: included")
    assert found["resolver", "archives"]["text"] == "1 of 1 included"
    assert found["resolver", "service"]["text"] == f"it runs at {running.resolver}"


@pytest.mark.parametrize("name", ["empty", "missing"])
def test_a_folder_that_is_no_installation_is_a_failure(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    folder = tmp_path / name
    done = Shell(tmp_path).call("doctor", "--data", str(folder))
    assert done.returncode == 1
    [line] = (line for line in done.stdout.splitlines() if line.startswith("failure"))
    expected = "no archive and no resolver in" if name == "empty" else "there is no folder"
    assert f"{expected} {folder}" in line
    # Without a name the machine alone is checked: an installation may come later.
    assert Shell(tmp_path).call("doctor").returncode == 0


def test_people_read_one_line_for_each_thing(running: InstallationServer) -> None:
    before = findings(running.data)
    done = running.ibi("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert all(line.startswith(("ok       ", "warning  ")) for line in lines)
    assert f"ok       archive service: it runs at {running.archive}" in lines
    # Something may have come to be known meanwhile, as the digest of the archive.
    things = [line[9:].partition(":")[0] for line in lines]
    assert len(things) == len(set(things))
    assert set(map(" ".join, before)) <= set(things) <= set(map(" ".join, findings(running.data)))


def test_one_that_does_not_run_is_told_how_to_start_and_is_not_changed(patient: Path) -> None:
    before = files_in(patient)
    assert wrong(patient) == {}
    found = findings(patient)
    for part in ("resolver", "archive"):
        assert found[part, "service"]["text"] == "it is not running"
        assert "ibi up" in found[part, "service"]["advice"]
    assert files_in(patient) == before


def test_an_archive_alone_is_looked_at_alone(patient: Path) -> None:
    assert {part for part, _ in findings(patient / "archive")} == {"machine", "archive"}


def test_where_nothing_is_it_says_how_to_begin(tmp_path: Path) -> None:
    found = findings(tmp_path / "data" / "ibi")
    assert "up" in found["installation", "folder"]["advice"]
    assert not (tmp_path / "data").exists()


# Planted faults


def test_secrets_that_others_may_read(patient: Path) -> None:
    (patient / "archive" / "token").chmod(0o644)
    assert wrong(patient) == {("archive", "folder"): "failure"}
    assert "chmod 600" in findings(patient)["archive", "folder"]["advice"]
    (patient / "archive" / "token").chmod(0o600)
    (patient / "archive" / "catalogue.sqlite").chmod(0o644)
    assert wrong(patient) == {("archive", "folder"): "failure"}
    assert "catalogue.sqlite" in findings(patient)["archive", "folder"]["text"]
    (patient / "archive" / "catalogue.sqlite").chmod(0o600)
    (patient / "resolver").chmod(0o755)
    assert wrong(patient) == {("resolver", "folder"): "warning"}


def test_a_clock_that_is_behind_the_last_label(patient: Path) -> None:
    connection = apsw.Connection(str(patient / "archive" / "ledger.sqlite"))
    connection.execute("UPDATE ibi_prefix SET mark = mark + ?", (YEAR * 10**9,))
    connection.close()
    assert wrong(patient) == {("archive", "ledger"): "failure"}
    assert "s behind the last label" in findings(patient)["archive", "ledger"]["text"]


def test_files_from_the_future(patient: Path) -> None:
    later = time.time() + YEAR
    os.utime(patient / "archive" / "token", (later, later))
    assert wrong(patient) == {("archive", "clock"): "warning"}


@pytest.mark.parametrize(
    ("seconds", "verdict"), [(0, "ok"), (-30, "warning"), (3600, "failure"), (-3600, "failure")]
)
def test_a_clock_that_differs_from_that_of_a_server(seconds: int, verdict: str) -> None:
    with server_whose_date(lambda: formatdate(time.time() + seconds, usegmt=True)) as address:
        *_, found = machine_findings(address)
    assert (found.check, found.verdict) == ("clock", verdict)
    if seconds:
        assert ("ahead of" if seconds < 0 else "behind") in found.text


def test_a_server_that_says_no_time_is_no_judge() -> None:
    with server_whose_date(lambda: "yesterday") as address:
        *_, found = machine_findings(address)
    assert (found.verdict, "sends no date" in found.text) == ("warning", True)
    *_, found = machine_findings(address)
    assert (found.verdict, "is unknown" in found.text) == ("warning", True)


def test_a_name_that_nobody_knows(patient: Path) -> None:
    settings = patient / "archive" / "archive.toml"
    text = settings.read_text("utf-8").replace("archive.localhost", "archive.nowhere.invalid")
    settings.write_text(text, encoding="utf-8")
    found = findings(patient)["archive", "name"]
    assert (found["verdict"], found["text"]) == (
        "failure",
        "archive.nowhere.invalid cannot be resolved",
    )


@pytest.mark.parametrize(
    ("file", "check"),
    [
        ("archive/catalogue.sqlite", ("archive", "catalogue")),
        ("archive/ledger.sqlite", ("archive", "ledger")),
        ("resolver/registry.sqlite", ("resolver", "registry")),
    ],
)
def test_databases_that_are_gone_or_damaged(
    patient: Path, file: str, check: tuple[str, str]
) -> None:
    path = patient / file
    path.write_bytes(b"no database" * 1000)
    assert wrong(patient) == {check: "failure"}
    path.unlink()
    assert wrong(patient) == {check: "failure"}
    assert not path.exists()


def test_a_database_of_another_version(patient: Path) -> None:
    connection = apsw.Connection(str(patient / "resolver" / "registry.sqlite"))
    connection.execute("UPDATE resolver_version SET version_num = 's0000'")
    connection.close()
    assert wrong(patient) == {("resolver", "registry"): "warning"}


def test_settings_that_cannot_be(patient: Path) -> None:
    with (patient / "archive" / "archive.toml").open("a", encoding="utf-8") as file:
        file.write("largest_file = 0\n")
    assert wrong(patient) == {("archive", "settings"): "failure"}
    assert "largest_file = 0 cannot be" in findings(patient)["archive", "settings"]["text"]


def test_one_that_was_killed_is_said_not_to_answer(patient: Path, tmp_path: Path) -> None:
    killed = InstallationServer(tmp_path).start()
    killed.kill()
    assert wrong(patient) == {("archive", "service"): "failure", ("resolver", "service"): "failure"}


def test_another_service_at_its_address_is_not_taken_for_it(
    patient: Path, running: InstallationServer
) -> None:
    (patient / "archive" / "serving").write_text(running.archive, encoding="utf-8")
    assert wrong(patient) == {("archive", "service"): "failure"}


def test_an_archive_that_no_resolver_includes_any_more(tmp_path: Path) -> None:
    with InstallationServer(tmp_path) as installation:
        done = installation.ibi("archive", "unlink", installation.resolver)
        assert done.returncode == 0

        def is_left() -> bool:
            return installation.ibi("archive", "links").stdout == ""

        wait_until(is_left)
        found = findings(installation.data)
        assert found["archive", "link"]["verdict"] == "warning"
        assert found["resolver", "archives"]["text"] == "0 of 1 included"
        assert found["archive", "files"]["verdict"] == "ok"
        _spoil_a_file(installation, tmp_path / "a.txt")
        damaged = findings(installation.data)["archive", "files"]
        assert (damaged["verdict"], damaged["text"]) == ("failure", "damaged: 1")


def _spoil_a_file(installation: InstallationServer, file: Path) -> None:
    """Deposit a file, and let an audit find that it has changed since."""
    file.write_text("whole", encoding="utf-8")
    assert (
        installation.ibi("archive", "deposit", str(file), "--title", "A", *OPTIONS).returncode == 0
    )
    [stored] = installation.data.rglob("doc/a.txt")
    stored.write_text("spoil", encoding="utf-8")
    assert installation.ibi("archive", "audit").returncode == 1


def test_what_is_no_address_is_no_server(patient: Path) -> None:
    assert "is no address" in refusal(doctor(patient, "--server", "x"))


def test_digests_that_are_old_are_named() -> None:
    now = datetime.now(UTC)

    def archive(name: str, seconds: int, *, whole: bool = True) -> dict[str, object]:
        confirmed = (now - timedelta(seconds=seconds)).isoformat() if whole else ""
        digest = {"whole": whole, "names": 5, "confirmed": confirmed}
        return {"service_ibi": name, "state": "included", "digest": digest}

    none: dict[str, object] = {"service_ibi": "none", "state": "included"}
    part = archive("part", 0, whole=False)
    assert list(digest_findings([none, part])) == []
    [good] = digest_findings([none, part, archive("new", MAX_DIGEST_AGE_SECONDS - 600)])
    assert (good.verdict, good.text) == ("ok", "1 of 3 archives")
    [bad] = digest_findings([archive("old", MAX_DIGEST_AGE_SECONDS + 600), archive("new", 0), part])
    assert (bad.verdict, bad.text) == ("warning", "old: old")
    assert MAX_DIGEST_AGE_SECONDS * SECOND == MAX_AGE
