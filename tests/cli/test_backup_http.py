"""`ibi backup` and `ibi restore`, of what runs meanwhile; `ibi archive concede` afterwards."""

from __future__ import annotations

import json
import re
import shutil
import threading
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import pytest
from click.testing import CliRunner, Result

from ibi.archive.resolver_links.announcer import CatalogueLinks
from ibi.archive.rules.announcement import Link, new_registration_key
from ibi.archive.settings import read_archive
from ibi.archive.wiring.stores import open_catalogue
from ibi.cli import ibi
from ibi.foundation.system.instance_lock import token_of
from tests.support.clients.http import Client
from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.federation import linked_archives
from tests.support.servers.installation import InstallationServer
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until


def run(*arguments: object) -> Result:
    """Run a command here: the libraries that make tables take long to load."""
    return CliRunner().invoke(ibi, [str(each) for each in arguments])


def done(*arguments: object) -> Any:  # noqa: ANN401  # JSON
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


class Depositor:
    """Deposits, revises and deletes over HTTP, until it is told to stop."""

    def __init__(self, address: str, token: str) -> None:
        """Know where."""
        self._client = Client(address, token)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self.labels: list[str] = []
        self.deleted: set[str] = set()
        self.failure: BaseException | None = None

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        self._stopping.set()
        self._thread.join()
        self._client.close()
        assert self.failure is None, self.failure

    def wait(self) -> None:
        """Wait until it has made one more item, whole."""
        seen = len(self.labels)
        wait_until(lambda: len(self.labels) > seen + 1)

    def _work(self) -> None:
        try:
            while not self._stopping.is_set():
                self.turn()
        except BaseException as failure:  # noqa: BLE001  # told to the test
            self.failure = failure

    def turn(self) -> None:
        """Make an item, revise it, and delete every third."""
        label = self._sent({"metadata": {"titles": ["A title"]}}, b"one")
        self._sent({"item": label}, b"two")
        self.labels.append(label)
        if not len(self.labels) % 3:
            self._ask("POST", f"items/{label}/deletion", {"reason": "wrong"})
            self.deleted.add(label)

    def _sent(self, wanted: dict[str, Any], content: bytes) -> str:
        id_ = self._ask("POST", "deposits", wanted)["id"]
        self._ask("PUT", f"deposits/{id_}/files/a.txt", content)
        return str(self._ask("POST", f"deposits/{id_}/completion")["rep"])

    def _ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401
        answer = self._client.ask(method, f"/api/v1/{path}", body)
        assert answer.status in {200, 201}, answer.body
        return answer.json()


@pytest.mark.long
def test_an_installation_is_backed_up_while_it_works_and_comes_back(tmp_path: Path) -> None:
    target = tmp_path / "backups"
    folders = [tmp_path / name for name in ("before", "after")]
    for folder in folders:
        folder.mkdir()
    with InstallationServer(folders[0]) as up:
        with Depositor(up.archive, token_of(up.data / "archive")) as depositor:
            made = []
            for _ in range(2):
                depositor.wait()
                made.append(done("backup", target, "--data", up.data))
        assert [each["parts"] for each in made] == [["archive", "resolver"]] * 2
        assert made[0]["items"] < made[1]["items"]
        for each in made:
            assert done("restore", each["backup"], "--verify")["faults"] == []
        before = list(depositor.labels)
        last = done("backup", target, "--data", up.data)
        assert last["items"] == 2 + 2 * len(before)
        with Depositor(up.archive, token_of(up.data / "archive")) as later:
            later.wait()  # of these the backup knows nothing
        assert up.stop() == 0
    again = InstallationServer(folders[1])
    restored = run("restore", target, "--data", again.data, "--verify", "--json", "--yes")
    assert restored.exit_code == 0, restored.output
    assert json.loads(restored.stdout)["items"] == last["items"]
    assert "must not run any more" in restored.stderr
    assert "Originals may have been transferred" in restored.stderr
    with again:
        token = token_of(again.data / "archive")
        with closing(Client(again.archive, token)) as client:
            for label in before:
                item = client.ask("GET", f"/api/v1/items/{label}").json()
                is_deleted = label in depositor.deleted
                assert item["state"] == ("Deleted" if is_deleted else "Original")
                if not is_deleted:
                    answer = again.follow(f"{again.resolver}/{label}")
                    assert (answer.status, answer.body) == (200, b"two")
        with Depositor(again.archive, token) as newest:
            newest.wait()
        given = [*before, *later.labels, *newest.labels]
        assert len(set(given)) == len(given)
        assert again.stop() == 0


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> ArchiveServer:
    """An archive that does not run, with one item."""
    made = ArchiveServer(tmp_path_factory.mktemp("archive"))
    with made:
        made.deposit({"a.txt": b"a"})
        assert made.stop() == 0
    return made


def test_a_damaged_backup_is_told_and_not_restored(archive: ArchiveServer, tmp_path: Path) -> None:
    made = done("backup", tmp_path / "backups", "--data", archive.data)
    [file] = Path(made["backup"]).rglob("a.txt")
    file.write_bytes(b"b")
    for more in ([], ["--data", tmp_path / "again", "--yes"]):
        result = run("restore", made["backup"], "--verify", *more)
        assert result.exit_code == 1
        assert file.relative_to(made["backup"]).as_posix() in result.stderr
        assert not (tmp_path / "again").exists()
    result = run("restore", made["backup"], "--data", tmp_path / "again", "--yes")
    assert result.exit_code == 1
    assert not (tmp_path / "again").exists()
    given = ("--data", tmp_path / "again", "--without-damaged", "--yes")
    partly = run("restore", made["backup"], *given)
    assert partly.exit_code == 1
    assert "a.txt: it is damaged" in partly.stderr
    assert (tmp_path / "again" / "archive.toml").exists()


PNG = b"\x89PNG\r\n\x1a\n" + b"a picture"


@pytest.mark.parametrize(("path", "restored"), [("mark.png", "mark.png"), ("art/mark.png", "logo")])
def test_a_restored_archive_shows_its_logo(tmp_path: Path, path: str, restored: str) -> None:
    server = ArchiveServer(tmp_path)
    logo = server.data / path
    logo.parent.mkdir(exist_ok=True)
    logo.write_bytes(PNG)
    server.set(logo=path)
    made = done("backup", tmp_path / "backups", "--data", server.data)
    shutil.rmtree(server.data)
    result = run("restore", made["backup"], "--data", server.data, "--yes")
    assert result.exit_code == 0, result.output
    with server:
        page = server.get("/", accept="text/html").body.decode()
        [source] = [each for each in re.findall(r' src="([^"]*)"', page) if "/static/logo" in each]
        shown = server.get(source.removeprefix(server.address))
        assert (shown.status, shown.body) == (200, PNG)
    assert (server.data / restored).read_bytes() == PNG


def test_a_restored_resolver_shows_its_logo(tmp_path: Path) -> None:
    server = ResolverServer(tmp_path)
    (server.data / "mark.png").write_bytes(PNG)
    server.set(logo="mark.png")
    made = done("backup", tmp_path / "backups", "--data", server.data)
    shutil.rmtree(server.data)
    result = run("restore", made["backup"], "--data", server.data, "--yes")
    assert result.exit_code == 0, result.output
    with server:
        assert server.get("/static/logo").body == PNG


def test_an_archive_without_the_file_of_its_logo_is_backed_up(tmp_path: Path) -> None:
    server = ArchiveServer(tmp_path)
    server.set(logo="lost.png")
    result = run("backup", tmp_path / "backups", "--data", server.data)
    assert result.exit_code == 0
    assert result.stderr == "archive: logo = 'lost.png' is not there. It is not in the backup.\n"
    made = done("backup", tmp_path / "backups", "--data", server.data)
    assert made["warnings"] == [result.stderr.rstrip()]
    shutil.rmtree(server.data)
    result = run("restore", made["backup"], "--data", server.data, "--yes")
    assert result.exit_code == 0, result.output
    assert 'logo = "lost.png"' in (server.data / "archive.toml").read_text("utf-8")


def test_a_logo_that_cannot_be_read_is_named_by_the_backup(tmp_path: Path) -> None:
    server = ResolverServer(tmp_path)
    (server.data / "mark.png").mkdir()  # as unreadable as a file of another user
    server.set(logo="mark.png")
    result = run("backup", tmp_path / "backups", "--data", server.data)
    assert result.exit_code == 0
    assert "resolver: logo = 'mark.png' cannot be read: Is a directory." in result.stderr
    (server.data / "mark.png").rmdir()
    (server.data / "mark.png").write_bytes(b"no picture")
    result = run("backup", tmp_path / "backups", "--data", server.data)
    assert "resolver: logo = 'mark.png' is no image: expected SVG" in result.stderr
    (server.data / "mark.png").write_bytes(PNG)
    assert done("backup", tmp_path / "backups", "--data", server.data)["warnings"] == []


def test_a_damaged_file_is_named_by_the_backup(tmp_path: Path) -> None:
    server = ArchiveServer(tmp_path)
    with server:
        server.deposit({"a.txt": b"a"})
        assert server.stop() == 0
    [file] = (server.data / "col").rglob("a.txt")
    file.write_bytes(b"b")
    result = run("backup", tmp_path / "backups", "--data", server.data)
    assert result.exit_code == 1
    assert "1 files" in result.stdout
    assert f"{file.relative_to(server.data)}: it is damaged" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("backup", "{tmp}/b", "--data", "{tmp}/none"), "There is no folder"),
        (("backup", "{tmp}/b", "--data", "{tmp}/here"), "neither an archive nor a resolver"),
        (("restore", "{tmp}"), "--data"),
        (("restore", "{tmp}", "--data", "{tmp}/new", "--yes"), "no backup"),
        (("restore", "{tmp}/missing", "--verify"), "does not exist"),
        (("restore", "{backup}", "--data", "{archive}", "--yes"), "not empty"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    archive: ArchiveServer, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    backup = done("backup", tmp_path / "here" / "backups", "--data", archive.data)["backup"]
    places = {"tmp": tmp_path, "backup": backup, "archive": archive.data}
    result = run(*(each.format(**places) for each in arguments))
    assert result.exit_code != 0
    assert sentence in f"{result.output}{result.exception}"


def test_a_ledger_alone(archive: ArchiveServer, tmp_path: Path) -> None:
    ledger = archive.data / "ledger.sqlite"
    made = done("backup", tmp_path / "backups", "--ledger", ledger)
    assert (made["parts"], made["items"]) == (["minter"], 0)
    result = run(
        "restore", tmp_path / "backups", "--verify", "--ledger", tmp_path / "again", "--yes"
    )
    assert result.exit_code == 0, result.output
    assert "labels go on after 20" in result.stdout
    assert (tmp_path / "again").exists()


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_both_help_with_an_example(command: str) -> None:
    assert f"Examples:\n    ibi {command} " in run(command, "--help").output


def test_what_was_transferred_since_is_conceded_before_the_archive_serves(tmp_path: Path) -> None:
    """The resolver leads to whoever has the Original while this archive is silent."""
    server = ArchiveServer(tmp_path)
    with server:
        # A mark at the time of the backup says nothing of later: it may have been lifted.
        moved, stayed = (server.deposit({"a.txt": b"a"}, transferable=False) for _ in range(2))
        assert server.stop() == 0
    made = done("backup", tmp_path / "backups", "--data", server.data)
    again = tmp_path / "again"
    assert run("restore", made["backup"], "--data", again, "--yes").exit_code == 0
    settings = read_archive(again)
    refused = run("archive", "concede", "--data", again, "--yes")
    assert "No resolver" in str(refused.exception)
    with ResolverServer(tmp_path) as resolver, ArchiveDouble() as other:
        other.hold(moved["rep"], ibi=f"rep {moved['rep']} ibip {moved['ibip']}")
        resolver.include(other)
        with closing(open_catalogue(settings)) as catalogue:
            key = new_registration_key(lambda _: 5)
            CatalogueLinks(catalogue.links).save(Link(resolver.address, key))
        said = f"{moved['rep']}\thttp://{other.address}\n"
        for options, after in ((["--dry-run"], "Original"), (["--yes"], "Copy")):
            result = run("archive", "concede", "--data", again, *options)
            assert (result.exit_code, result.stdout) == (0, said), result.output
            with closing(open_catalogue(settings)) as catalogue:
                items = {
                    str(held.item.forms.label): held.item
                    for held in catalogue.items.page(0, 9, "data")
                }
            assert items[moved["rep"]].state == after
            assert items[stayed["rep"]].state == "Original"
        assert items[moved["rep"]].origin == f"http://{other.address}"
        assert run("archive", "concede", "--data", again, "--yes").stdout == ""


def test_what_was_handed_over_unknown_to_the_resolver_is_named_and_conceded_on_request(
    tmp_path: Path,
) -> None:
    """The resolver has the silent archive on record, and trusts no claim against it."""
    with linked_archives(tmp_path, 2) as (resolver, (giver, taker)):
        moved, stayed = (giver.deposit({"a.txt": b"a"}) for _ in range(2))
        for item in (moved, stayed):
            assert resolver.get(f"/{item['rep']}").status == 302
        made = done("backup", tmp_path / "backups", "--data", giver.data)
        bag, key = tmp_path / "bag", run("archive", "key", "--data", giver.data).stdout.strip()
        given = (moved["rep"], bag, "--hand-over-to", taker.service, "--yes")
        assert run("archive", "export", *given, "--data", giver.data).exit_code == 0
        assert giver.stop() == 0
        taken = run("archive", "import", bag, "--signed-by", key, "--data", taker.data)
        assert taken.exit_code == 0, taken.output
        again = tmp_path / "again"
        assert run("restore", made["backup"], "--data", again, "--yes").exit_code == 0
        said = f"{moved['rep']}\t{taker.address}\tclaimed\n"
        for options, code, after in (
            (["--dry-run"], 1, "Original"),
            (["--yes"], 1, "Original"),
            (["--yes", "--claimed"], 0, "Copy"),
        ):
            result = run("archive", "concede", "--data", again, *options)
            assert (result.exit_code, result.stdout) == (code, said), result.output
            assert ("use --claimed" in result.stderr) == (code == 1)
            with closing(open_catalogue(read_archive(again))) as catalogue:
                states = {
                    str(held.item.forms.label): held.item.state
                    for held in catalogue.items.page(0, 9, "data")
                }
            assert (states[moved["rep"]], states[stayed["rep"]]) == (after, "Original")
        assert run("archive", "concede", "--data", again, "--yes").stdout == ""
