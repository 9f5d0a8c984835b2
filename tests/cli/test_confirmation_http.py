"""What cannot be undone needs a yes: typed at a terminal, or `--yes` where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from ibi.archive.resolver_links.announcer import CatalogueLinks
from ibi.archive.rules.announcement import Link, new_registration_key
from ibi.archive.settings import read_archive
from ibi.archive.wiring.stores import open_catalogue
from tests.support.doubles.archive import ArchiveDouble
from tests.support.processes.shell import Shell, refusal
from tests.support.processes.terminal import at_a_terminal
from tests.support.servers.archive import ArchiveServer, neighbour
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

ITEM: Final = "8JMKD3MGP7W/3EPGUE5"
RIVAL: Final = "LK47B6W/362SFKP"


@dataclass(frozen=True)
class Act:
    """A command that cannot be undone."""

    arguments: tuple[str, ...]
    question: str
    is_done: Callable[[], bool]


@dataclass(frozen=True)
class Place:
    """Services that run, and a folder in which commands are given."""

    folder: Path
    archive: ArchiveServer
    taker: ArchiveServer
    resolver: ResolverServer


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("place")
    archive, taker = (neighbour(folder, number) for number in (1, 2))
    with archive, taker, ResolverServer(folder) as resolver:
        yield Place(folder, archive, taker, resolver)


def _state(archive: ArchiveServer, label: str) -> str:
    return str(archive.item(label)["state"])


def delete(place: Place, folder: Path) -> Act:
    del folder
    label = place.archive.deposit({"a.txt": b"a"})["rep"]
    arguments = ("delete", label, "--reason", "Twice")
    return _on(place.archive, arguments, f"Delete {label}", "Deleted", label)


def hand_over(place: Place, folder: Path) -> Act:
    label = place.archive.deposit({"a.txt": b"a"})["rep"]
    recipient = place.taker.service
    arguments = ("export", label, str(folder / "bag"), "--hand-over-to", recipient)
    return _on(place.archive, arguments, "Give 1 Original up", "Copy", label)


def transfer(place: Place, folder: Path) -> Act:
    label = place.archive.deposit({"a.txt": b"a"})["rep"]
    token = place.taker.add_token(folder.name, "receive")
    arguments = ("transfer", label, "--to", place.taker.address, "--to-token", token)
    return _on(place.archive, arguments, f"Transfer the Original of {label}", "Copy", label)


def _on(
    archive: ArchiveServer, arguments: tuple[str, ...], question: str, state: str, label: str
) -> Act:
    given = ("archive", *arguments, "--data", str(archive.data))
    return Act(given, question, lambda: _state(archive, label) == state)


def revoke(place: Place, folder: Path) -> Act:
    service = f"example.org/{folder.name.replace('_', '-')}/2026/01.01.00.00"
    place.resolver.register(service)
    return Act(
        ("resolver", "revoke", service, "--data", str(place.resolver.data)),
        f"Revoke the key of {service}",
        lambda: place.resolver.archives()[service].get("key") == "revoked",
    )


def remove(place: Place, folder: Path) -> Act:
    service = f"example.org/{folder.name.replace('_', '-')}/2026/01.01.00.00"
    place.resolver.register(service)
    return Act(
        ("resolver", "remove", service, "--data", str(place.resolver.data)),
        f"Remove {service}",
        lambda: service not in place.resolver.archives(),
    )


def restore(place: Place, folder: Path) -> Act:
    Shell(place.folder).said("backup", str(folder / "backups"), "--data", str(place.archive.data))
    new = folder / "restored"
    return Act(
        ("restore", str(folder / "backups"), "--data", str(new)),
        "must not run any more, here or elsewhere: both would give out the same labels under",
        new.exists,
    )


def check_act(act: Act, folder: Path) -> None:
    """Check that the act is done after a yes that a person gave, and only then."""
    for stdin in ("", "n\n", "y\n"):
        refused = Shell(folder).run(*act.arguments, stdin=stdin)
        assert refused.returncode == 2
        assert "--yes" in refusal(refused)
        assert not act.is_done()
    for typed, code in ((b"n\n", 130), (b"y\n", 0)):
        ended, shown = at_a_terminal(folder, *act.arguments, typed=typed)
        assert act.question in " ".join(shown.split())
        assert ended == code, shown
        if code == 0:
            wait_until(act.is_done)  # another worker may not know it yet
        else:
            assert not act.is_done()


@pytest.mark.parametrize("make", [delete, hand_over, transfer, revoke, remove, restore])
def test_an_act_is_confirmed_at_a_terminal_or_by_an_option(
    place: Place, tmp_path: Path, make: Callable[[Place, Path], Act]
) -> None:
    check_act(make(place, tmp_path), place.folder)


def test_a_question_that_is_not_seen_is_not_asked(place: Place, tmp_path: Path) -> None:
    """Standard input is a terminal, but the question would go to a file."""
    act = delete(place, tmp_path)
    log = tmp_path / "log"
    ended, _ = at_a_terminal(place.folder, *act.arguments, typed=b"y\n", stderr=log)
    assert ended == 2
    assert "--yes" in log.read_text()
    assert not act.is_done()


def test_settling_a_conflict_is_confirmed(place: Place) -> None:
    resolver = place.resolver
    with ArchiveDouble("8JMKD3MGP8W/34PHP46") as first, ArchiveDouble(RIVAL) as rival:
        for archive in (first, rival):
            resolver.include(archive)
            archive.hold(ITEM)
        resolver.get(f"/{ITEM}?ibiurl.requireditemstatus=Original")
        wait_until(lambda: bool(_conflicts(resolver)))
        act = Act(
            ("resolver", "settle", ITEM, "--owner", RIVAL, "--data", str(resolver.data)),
            f"Send the readers of {ITEM} to {RIVAL} alone?",
            lambda: not _conflicts(resolver),
        )
        check_act(act, place.folder)


def _conflicts(resolver: ResolverServer) -> list[object]:
    found: list[object] = resolver.api("GET", "conflicts").json()["conflicts"]
    return found


def test_conceding_is_confirmed(place: Place, tmp_path: Path) -> None:
    with ArchiveServer(tmp_path) as archive, ArchiveDouble() as other:
        item = archive.deposit({"a.txt": b"a"})
        other.hold(item["rep"], ibi=f"rep {item['rep']} ibip {item['ibip']}")
        place.resolver.include(other)
        assert archive.stop() == 0
        settings = read_archive(archive.data)
        with closing(open_catalogue(settings)) as catalogue:
            key = new_registration_key(lambda _: 5)
            CatalogueLinks(catalogue.links).save(Link(place.resolver.address, key))

        def is_done() -> bool:
            with closing(open_catalogue(settings)) as catalogue:
                [held] = catalogue.items.page(0, 9, "data")
            return held.item.state == "Copy"

        arguments = ("archive", "concede", "--data", str(archive.data))
        question = "Make Copies of these 1 Originals, for good?"
        check_act(Act(arguments, question, is_done), tmp_path)
