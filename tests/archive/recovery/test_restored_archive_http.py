"""An archive that was restored from a backup gives no Original away before it is reconciled."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ibi.archive.ports.restoration import UNRECONCILED
from ibi.archive.settings import ARCHIVE_FILE, read_archive
from ibi.archive.wiring.stores import open_catalogue
from ibi.cli import ibi
from ibi.installation.backup import restore as restoring
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.federation import linked_archives
from tests.support.servers.program import refused
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

FILES = {"a.txt": b"the file"}


def run(*arguments: object) -> Result:
    """Run a command here: the libraries that make tables take long to load."""
    return CliRunner().invoke(ibi, [str(each) for each in arguments])


def back_up(archive: ArchiveServer, folder: Path) -> Path:
    done = run("backup", folder / "backups", "--data", archive.data, "--json")
    assert done.exit_code == 0, done.output
    return Path(json.loads(done.stdout)["backup"])


def go_back(archive: ArchiveServer, backup: Path, folder: Path) -> None:
    """Stop an archive, and put what was restored in its place; it does not run yet."""
    assert archive.stop() == 0
    done = run("restore", backup, "--data", folder / "again", "--yes")
    assert done.exit_code == 0, done.output
    archive.data = folder / "again"


def transfer(source: ArchiveServer, to: ArchiveServer, label: str) -> dict[str, str]:
    """Begin to transfer; return what the API says of the transfer."""
    token = to.add_token(f"for-{label.rpartition('/')[2].replace('.', '-')}", "receive")
    body = {"items": [label], "to": to.address, "token": token}
    answer = source.api("POST", "transfers", body)
    assert answer.status == 202, answer.body
    begun: dict[str, str] = answer.json()["transfers"][0]
    return begun


def state(archive: ArchiveServer, label: str) -> str:
    answer = archive.api("GET", f"items/{label}")
    return str(answer.json()["state"]) if answer.status == 200 else ""


def unreconciled(archive: ArchiveServer) -> str:
    with closing(open_catalogue(read_archive(archive.data))) as catalogue:
        return catalogue.settings.get(UNRECONCILED)


Three = tuple[ResolverServer, ArchiveServer, ArchiveServer, ArchiveServer]


@contextmanager
def three(folder: Path) -> Iterator[Three]:
    with linked_archives(folder, 3) as (resolver, (giver, second, third)):
        yield resolver, giver, second, third


def test_what_was_given_away_since_the_backup_is_not_given_to_a_third_archive(
    tmp_path: Path,
) -> None:
    with three(tmp_path) as (resolver, giver, second, third):
        moved, stayed = (giver.deposit(FILES)["rep"] for _ in range(2))
        backup = back_up(giver, tmp_path)
        transfer(giver, second, moved)
        wait_until(lambda: (state(giver, moved), state(second, moved)) == ("Copy", "Original"))
        assert resolver.get(f"/{moved}").status == 302
        go_back(giver, backup, tmp_path)
        giver.start()
        for label in (moved, stayed):
            check_refused(giver, third, label, tmp_path)
        found = run("doctor", "--data", giver.data)
        assert "archive restore: from a backup of" in found.stdout
        assert giver.stop() == 0
        done = run("archive", "concede", "--data", giver.data, "--yes")
        assert (done.exit_code, done.stdout) == (0, f"{moved}\t{second.address}\n"), done.output
        assert "archive restore" not in run("doctor", "--data", giver.data).stdout
        giver.start()
        assert (state(giver, moved), state(third, moved)) == ("Copy", "")
        transfer(giver, third, stayed)
        wait_until(lambda: (state(giver, stayed), state(third, stayed)) == ("Copy", "Original"))


def check_refused(giver: ArchiveServer, to: ArchiveServer, label: str, folder: Path) -> None:
    """Try all ways by which an Original leaves an archive."""
    told = "run 'ibi archive concede'"
    token = to.add_token(f"try-{label.rpartition('/')[2].replace('.', '-')}", "receive")
    offer = {"items": [label], "to": to.address, "token": token}
    refused(giver.api("POST", "transfers", offer), 409, "state", told)
    document = {"items": [label], "recipient": to.service}
    refused(giver.api("POST", "hand-overs/check", document), 409, "state", told)
    refused(giver.api("POST", "hand-overs", document), 409, "state", told)
    bag = folder / "bag"
    given = ("archive", "export", label, bag, "--hand-over-to", to.service, "--yes")
    exported = run(*given, "--data", giver.data)
    assert told in str(exported.exception)
    assert not bag.exists()
    assert state(giver, label) == "Original"


def test_an_offer_that_was_open_in_the_backup_is_not_repeated(tmp_path: Path) -> None:
    """The offer was undone before the other archive ever got it, and a third one got the item."""
    with three(tmp_path) as (_, giver, second, third):
        moved = giver.deposit(FILES)["rep"]
        token = second.add_token("friends", "receive")
        assert second.stop() == 0
        offer = {"items": [moved], "to": second.address, "token": token}
        id_ = giver.api("POST", "transfers", offer).json()["transfers"][0]["id"]
        backup = back_up(giver, tmp_path)
        assert giver.api("DELETE", f"transfers/{id_}").status == 202
        transfer(giver, third, moved)
        wait_until(lambda: (state(giver, moved), state(third, moved)) == ("Copy", "Original"))
        go_back(giver, backup, tmp_path)
        second.start()
        giver.start()

        def fault() -> str:
            return str(giver.api("GET", f"transfers/{id_}").json().get("fault", ""))

        wait_until(lambda: "run 'ibi archive concede'" in fault())
        assert (state(giver, moved), state(second, moved)) == ("Original", "")
        assert giver.stop() == 0
        done = run("archive", "concede", "--data", giver.data, "--yes", "--claimed")
        assert done.exit_code == 0, done.output
        assert done.stdout.startswith(f"{moved}\t{third.address}")
        giver.start()
        wait_until(lambda: giver.api("GET", f"transfers/{id_}").json()["state"] == "undone")
        states = [state(each, moved) for each in (giver, second, third)]
        assert states == ["Copy", "", "Original"]


def test_an_archive_that_does_not_answer_may_have_the_original(tmp_path: Path) -> None:
    with three(tmp_path) as (resolver, giver, second, third):
        moved = giver.deposit(FILES)["rep"]
        backup = back_up(giver, tmp_path)
        transfer(giver, second, moved)
        wait_until(lambda: (state(giver, moved), state(second, moved)) == ("Copy", "Original"))
        go_back(giver, backup, tmp_path)
        second.kill()
        done = run("archive", "concede", "--data", giver.data, "--yes")
        assert (done.exit_code, done.stdout) == (1, ""), done.output
        assert f"{second.address} does not answer" in done.stderr
        assert third.address not in done.stderr
        assert "--none" in done.stderr
        assert unreconciled(giver)
        second.start()
        wait_until(lambda: resolver.archives()[second.service]["state"] == "included")
        done = run("archive", "concede", "--data", giver.data, "--yes", "--claimed")
        assert done.exit_code == 0, done.output
        assert not unreconciled(giver)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> ArchiveServer:
    """An archive that does not run and is linked to no resolver, with one Original."""
    made = ArchiveServer(tmp_path_factory.mktemp("archive"))
    with made:
        made.deposit(FILES)
        assert made.stop() == 0
    return made


def test_the_administrator_may_state_that_nothing_was_given_away(
    archive: ArchiveServer, tmp_path: Path
) -> None:
    backup, again = back_up(archive, tmp_path), tmp_path / "again"
    assert run("restore", backup, "--data", again, "--yes").exit_code == 0
    settings = read_archive(again)

    def mark() -> str:
        with closing(open_catalogue(settings)) as catalogue:
            return catalogue.settings.get(UNRECONCILED)

    concede = ("archive", "concede", "--data", again)
    alone = run(*concede, "--yes")
    assert "--none" in str(alone.exception)
    assert run(*concede, "--none").exit_code == 2
    assert run(*concede, "--none", "--claimed", "--yes").exit_code == 2
    assert mark()
    done = run(*concede, "--none", "--yes")
    assert done.exit_code == 0, done.output
    assert not mark()
    assert "nothing to state" in run(*concede, "--none", "--yes").stderr
    with closing(open_catalogue(settings)) as catalogue:
        acts = [entry.act for entry in catalogue.history.entries(0, 100)]
    assert acts[-2:] == ["restore", "reconcile"]


def test_the_mark_is_there_before_the_folder_is_an_archive(
    archive: ArchiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup, again = back_up(archive, tmp_path), tmp_path / "again"

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(restoring, "rename_durably", killed)
    assert run("restore", backup, "--data", again, "--yes").exit_code != 0
    assert not (again / ARCHIVE_FILE).exists()
    (again / f"{ARCHIVE_FILE}.new").rename(again / ARCHIVE_FILE)
    with closing(open_catalogue(read_archive(again))) as catalogue:
        assert catalogue.settings.get(UNRECONCILED)


def test_an_archive_without_originals_has_nothing_to_concede(tmp_path: Path) -> None:
    empty = ArchiveServer(tmp_path)
    backup = back_up(empty, tmp_path)
    assert run("restore", backup, "--data", tmp_path / "again", "--yes").exit_code == 0
    empty.data = tmp_path / "again"
    assert not unreconciled(empty)


def test_a_backup_of_a_restored_archive_keeps_the_earlier_time(
    archive: ArchiveServer, tmp_path: Path
) -> None:
    backup = back_up(archive, tmp_path)
    assert run("restore", backup, "--data", tmp_path / "again", "--yes").exit_code == 0
    once = ArchiveServer.__new__(ArchiveServer)
    once.data = tmp_path / "again"
    first = unreconciled(once)
    second = back_up(once, tmp_path / "later")
    assert run("restore", second, "--data", tmp_path / "third", "--yes").exit_code == 0
    once.data = tmp_path / "third"
    assert unreconciled(once) == first != ""
