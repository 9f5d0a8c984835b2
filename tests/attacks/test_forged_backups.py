"""A forged or damaged backup (threats, row 31): it is refused and named, and copies nothing in.

Each forgery is made in a copy of the backup of a real archive that has a replaced file and a
reserved label. Some forgers compute the checksums again, so that the backup agrees with itself:
then only what no backup has, or the checksum that was kept elsewhere, gives them away.
`IBI_ATTACKS=full` tries 100 of them, the other runs one of each kind.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Final

import pytest
from click.testing import CliRunner, Result

from ibi.cli import ibi
from ibi.errors import IbiError
from ibi.foundation.pages.identity import LARGEST_LOGO
from ibi.installation.backup import record, restore
from tests.support.failures.disk_damage import flip
from tests.support.hostile.forged_backups import change_record, reseal
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked import FULL

SECRET: Final = b"root:x:0:0 a file of the host"
SVG: Final = b'<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>'
SEED: Final = 31
NO_ROWS: Final = {"rows": 0, "sha256": ""}
FOREIGN_ROW: Final = '{"name": "forged", "digest": "00", "scope": "administer", "created": 0}\n'
"""A row for a program that may share the database into which an archive is restored."""
ROUNDS: Final = 5 if FULL else 1
"""How often each kind of forgery is made, each time of other files: at least 100 in all."""


class Scene:
    """A backup, and a file of the host that does not belong in it."""

    def __init__(self, folder: Path) -> None:
        """Make an archive, and back it up."""
        server = ArchiveServer(folder)
        (server.data / "mark.svg").write_bytes(SVG)
        server.set(logo="mark.svg")
        with server:
            item = server.deposit({"a.txt": b"first", "dir/b.txt": b"b"}, target="a.txt")
            done = server.ibi("reserve")
            assert done.returncode == 0, done
            new = folder / "new"
            new.mkdir()
            (new / "a.txt").write_bytes(b"second")
            done = server.ibi("revise", item["rep"], str(new / "a.txt"))
            assert done.returncode == 0, done
            assert server.stop() == 0
        self.host = folder / "passwd"
        self.host.write_bytes(SECRET)
        result = run("backup", folder / "backups", "--data", server.data)
        assert result.exit_code == 0, result.output
        made = json.loads(result.stdout)
        self.backup, self.checksum = Path(made["backup"]), made["checksum"]


def run(*arguments: object) -> Result:
    """Run a command, for programs."""
    return CliRunner().invoke(ibi, [*map(str, arguments), "--json"])


def told(result: Result) -> str:
    """Return the error texts of a command; an error of ours that it raised is written by `ibi`."""
    raised = str(result.exception) if isinstance(result.exception, IbiError) else ""
    return result.stderr + raised


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Return a backup to forge copies of."""
    return Scene(tmp_path_factory.mktemp("scene"))


def files(backup: Path) -> list[Path]:
    """Return all files but the two that describe the backup."""
    own = {backup / "backup.json", backup / "SHA256SUMS"}
    return sorted(path for path in backup.rglob("*") if path.is_file() and path not in own)


def named(part: str) -> Callable[[Path, Random], Path]:
    """Return what chooses a file by a part of its path."""
    return lambda backup, random: random.choice(
        [path for path in files(backup) if part in path.relative_to(backup).as_posix()]
    )


def flipped(choose: Callable[[Path, Random], Path]) -> Callable[[Path, Path, Random], str]:
    def forge(backup: Path, _: Path, random: Random) -> str:
        path = choose(backup, random)
        flip(path, random)
        return path.name

    return forge


def linked(choose: Callable[[Path, Random], Path]) -> Callable[[Path, Path, Random], str]:
    def forge(backup: Path, host: Path, random: Random) -> str:
        path = choose(backup, random)
        path.unlink()
        path.symlink_to(host)
        return path.name

    return forge


def removed(choose: Callable[[Path, Random], Path]) -> Callable[[Path, Path, Random], str]:
    def forge(backup: Path, _: Path, random: Random) -> str:
        path = choose(backup, random)
        path.unlink()
        return path.name

    return forge


def added(name: str, *, link: bool = False) -> Callable[[Path, Path, Random], str]:
    def forge(backup: Path, host: Path, random: Random) -> str:
        [manifest, *_] = sorted(backup.rglob("ibi.json"))
        path = backup / name.format(item=manifest.parent.relative_to(backup).as_posix())
        path = path.with_name(f"{path.name}{random.randrange(1000)}")
        path.parent.mkdir(parents=True, exist_ok=True)
        if link:
            path.symlink_to(host)
        else:
            path.write_bytes(SECRET)
        return path.name

    return forge


def added_table(name: str, row: str) -> Callable[[Path, Path, Random], str]:
    """Return a forgery that puts a table of another program into the catalogue."""

    def forge(backup: Path, _: Path, __: Random) -> str:
        (backup / "archive" / "catalogue" / f"{name}.jsonl").write_text(row, encoding="utf-8")
        change_record(backup, lambda tables: tables["catalogue"].update({name: NO_ROWS}))
        return name

    return forge


def without_ledger_tables(backup: Path, _: Path, __: Random) -> str:
    for path in (backup / "archive" / "ledger").iterdir():
        path.unlink()
    change_record(backup, lambda tables: tables["ledger"].clear())
    return "ibi_ledger"


def of_the_future(backup: Path, _: Path, __: Random) -> str:
    path = backup / "backup.json"
    record = json.loads(path.read_bytes())
    record["taken"] += 3600 * 10**9
    path.write_text(json.dumps(record), encoding="utf-8")
    return "s from now"


def nested_record(backup: Path, _: Path, __: Random) -> str:
    (backup / "backup.json").write_text('{"more": ' + "[" * 100_000, encoding="utf-8")
    return "backup.json"


def no_image(backup: Path, _: Path, __: Random) -> str:
    (backup / "archive" / "logo").write_bytes(SECRET)
    return "archive/logo: it is no logo"


def large_image(backup: Path, _: Path, __: Random) -> str:
    (backup / "archive" / "logo").write_bytes(SVG + b" " * LARGEST_LOGO)
    return "archive/logo: it is no logo"


def set_logo(backup: Path, path: str) -> None:
    settings = backup / "archive" / "archive.toml"
    lines = settings.read_text("utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith("logo = ")]
    settings.write_text("".join([*kept, f"logo = {json.dumps(path)}\n"]), "utf-8")


def unnamed_logo(backup: Path, _: Path, __: Random) -> str:
    set_logo(backup, "")
    return "archive/logo: no backup has such a file"


def piped(backup: Path, _: Path, random: Random) -> str:
    path = random.choice(files(backup))
    path.unlink()
    os.mkfifo(path)
    return path.name


def linked_folder(backup: Path, host: Path, _: Random) -> str:
    place = host.with_name(f"elsewhere-{backup.parent.name}")
    (backup / "archive" / "col").rename(place)
    (backup / "archive" / "col").symlink_to(place)
    return "col"


def without_list(backup: Path, _: Path, __: Random) -> str:
    (backup / "SHA256SUMS").unlink()
    return "SHA256SUMS"


def resealed(
    forge: Callable[[Path, Path, Random], str],
) -> Callable[[Path, Path, Random], str]:
    """Return a forgery whose forger computes the checksums again."""

    def again(backup: Path, host: Path, random: Random) -> str:
        name = forge(backup, host, random)
        reseal(backup)
        return name

    return again


Forgery = Callable[[Path, Path, Random], str]
"""Changes a backup; returns a name that the refusal must contain."""
FORGERIES: Final[dict[str, Forgery]] = {
    "a byte of a file": flipped(named("/doc/")),
    "a byte of a replaced file": flipped(named("/old/")),
    "a byte of the reserved labels": flipped(named("reserved.json")),
    "a byte of the settings": flipped(named("archive.toml")),
    "a byte of the token": flipped(named("archive/token")),
    "a byte of a manifest": flipped(named("ibi.json")),
    "a byte of a table": flipped(named("archive_item.jsonl")),
    "a byte of the ledger": flipped(named("ibi_ledger.jsonl")),
    "a byte of the logo": flipped(named("archive/logo")),
    "no list of checksums": without_list,
    "no file": removed(named("/doc/")),
    "no replaced file": removed(named("/old/")),
    "no settings": removed(named("archive.toml")),
    "a link for a file": linked(named("/doc/")),
    "a link for a replaced file": linked(named("/old/")),
    "a link for the token": linked(named("archive/token")),
    "a link for the logo": linked(named("archive/logo")),
    "a link for a folder": linked_folder,
    "a pipe": piped,
    "a further file": added("{item}/doc/more"),
    "a further replaced file": added("{item}/old/more"),
    "a further link": added("{item}/old/more", link=True),
    "a file beside": added("archive/more"),
    "a listed file of no item": resealed(added("archive/col/nowhere/doc/more")),
    "a listed file of an item": resealed(added("{item}/doc/more")),
    "a listed file beside": resealed(added("resolver/more")),
    "a listed logo that is no image": resealed(no_image),
    "a listed logo that is too large": resealed(large_image),
    "a listed logo that no setting names": resealed(unnamed_logo),
    "a table of another program": resealed(added_table("resolver_token", FOREIGN_ROW)),
    "no table of the ledger": resealed(without_ledger_tables),
    "a record without end": nested_record,
    "a time that has not come": resealed(of_the_future),
}
CONSISTENT: Final[dict[str, Forgery]] = {
    "settings": resealed(flipped(named("archive.toml"))),
    "token": resealed(flipped(named("archive/token"))),
    "reserved labels": resealed(flipped(named("reserved.json"))),
    "a replaced file": resealed(flipped(named("/old/"))),
    "a further replaced file": resealed(added("{item}/old/more")),
}
"""Forgeries that agree with themselves, and look like another backup of the same archive."""


def copies(scene: Scene, folder: Path) -> Iterator[tuple[Path, Random]]:
    """Yield copies of the backup to forge."""
    for number in range(ROUNDS):
        copy = folder / str(number) / scene.backup.name
        shutil.copytree(scene.backup, copy, symlinks=True)
        yield copy, Random(SEED + number)  # noqa: S311


def content(folder: Path) -> bytes:
    """Return all bytes beneath a folder."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("kind", FORGERIES)
def test_a_forged_backup_is_refused_and_named(scene: Scene, tmp_path: Path, kind: str) -> None:
    for backup, random in copies(scene, tmp_path):
        name = FORGERIES[kind](backup, scene.host, random)
        target = backup.parent / "restored"
        result = run("restore", backup, "--data", target, "--yes")
        assert result.exit_code == 1, result.output
        assert name in told(result)
        assert not target.exists()
        borne = run("restore", backup, "--data", target, "--yes", "--without-damaged")
        assert borne.exit_code == 1, borne.output
        assert SECRET not in content(target)


@pytest.mark.parametrize("kind", CONSISTENT)
def test_a_consistent_forgery_has_another_checksum(scene: Scene, tmp_path: Path, kind: str) -> None:
    for backup, random in copies(scene, tmp_path):
        CONSISTENT[kind](backup, scene.host, random)
        target = backup.parent / "restored"
        given = ("restore", backup, "--data", target, "--yes", "--checksum", scene.checksum)
        result = run(*given)
        assert result.exit_code == 1, result.output
        assert "backup.json: it is not the record with that checksum" in result.stderr
        assert not target.exists()


def test_the_backup_itself_is_restored(scene: Scene, tmp_path: Path) -> None:
    target = tmp_path / "restored"
    result = run("restore", scene.backup, "--data", target, "--yes", "--checksum", scene.checksum)
    assert result.exit_code == 0, result.output
    kept = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}
    assert any("/old/" in path for path in kept)
    assert "reserved/reserved.json" in kept
    assert (target / "mark.svg").read_bytes() == SVG


@pytest.mark.parametrize("path", ["../evil.svg", "token", "archive.toml", "/evil.svg", "a/b.svg"])
def test_a_logo_is_restored_into_the_folder_alone(scene: Scene, tmp_path: Path, path: str) -> None:
    [(backup, _), *_] = copies(scene, tmp_path)
    set_logo(backup, path)
    reseal(backup)
    place = tmp_path / "place"
    place.mkdir()
    target = place / "restored"
    result = run("restore", backup, "--data", target, "--yes")
    assert result.exit_code == 0, result.output
    assert [each.name for each in place.iterdir()] == ["restored"]
    assert (target / "logo").read_bytes() == SVG
    assert 'logo = "logo"' in (target / "archive.toml").read_text("utf-8")
    assert (target / "token").read_bytes() == (backup / "archive" / "token").read_bytes()


@pytest.mark.parametrize("kind", ["a byte of the token", "a link for the token", "a further file"])
def test_the_attack_bites(
    scene: Scene, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the verification, damage and a file of the host are restored without a word."""
    monkeypatch.setattr(restore, "faults_of", lambda *_: iter(()))
    [(backup, random), *_] = copies(scene, tmp_path)
    FORGERIES[kind](backup, scene.host, random)
    target = tmp_path / "restored"
    result = run("restore", backup, "--data", target, "--yes")
    assert result.exit_code == 0, result.output
    token = (target / "token").read_bytes().strip()
    if kind == "a link for the token":
        assert token == SECRET
    elif kind == "a byte of the token":
        assert token != (scene.backup / "archive" / "token").read_bytes().strip()


def test_a_forged_record_bites(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the check of the tables, an archive is restored whose ledger knows no label."""
    monkeypatch.setattr(record, "check_tables", lambda *_: None)
    # The text for people names the prefixes of the ledger.
    monkeypatch.setattr("ibi.cli.restore.prefixes_in", lambda _: [])
    [(backup, random), *_] = copies(scene, tmp_path)
    FORGERIES["no table of the ledger"](backup, scene.host, random)
    result = run("restore", backup, "--data", tmp_path / "restored", "--yes")
    assert result.exit_code == 0, result.output
