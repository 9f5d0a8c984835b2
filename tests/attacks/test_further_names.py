"""An archive gives an item of its own the labels of others as further names, to get their readers.

Its own check refuses them with the name of the holder. Where that is switched off, the names are
claims like any other: a resolver records a conflict, and sends no reader to the rogue, whether the
victim answers or not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.attacks.test_adoption import COUNT, Scene, scene
from tests.support.clients.http import Answer
from tests.support.servers.attacked_resolver import WITHOUT_TRUST, conflicts, metric
from tests.support.waiting import wait_until

WITHOUT_CHECK: Final = """
from ibi.archive.holder_check import HolderCheck

HolderCheck.check_name = lambda self, label: None
"""
EVERYBODY: Final = {"victim": 2 * COUNT}


def take_over(all_of_it: Scene) -> Answer:
    """Give one item of the rogue all labels of the victim's items."""
    names = [label for item in all_of_it.items for label in (item["rep"], item["ibip"])]
    mine = all_of_it.rogue.deposit({"a.txt": b"false"})
    return all_of_it.rogue.api("PATCH", f"items/{mine['rep']}", {"further_names": names})


def test_a_label_of_another_archive_is_no_further_name(tmp_path: Path) -> None:
    (tmp_path / "resolver").mkdir()
    with scene(tmp_path) as all_of_it:
        refused = take_over(all_of_it)
        assert refused.status == 409
        victim = all_of_it.victim
        said = f"Original at {victim.address} (archive {victim.service})"
        assert said in refused.json()["detail"]
        assert all_of_it.readers() == EVERYBODY
        assert conflicts(all_of_it.resolver) == []


def test_no_reader_follows_a_further_name_to_a_rogue(tmp_path: Path) -> None:
    """The twin of the check; and the second guard, behind it."""
    (tmp_path / "resolver").mkdir()
    with scene(tmp_path, unchecked=WITHOUT_CHECK) as all_of_it:
        assert take_over(all_of_it).status == 200
        assert all_of_it.readers() == EVERYBODY
        # The resolver meets the rival claims once it has read the digest of the rogue.
        wait_until(
            lambda: all_of_it.readers() == EVERYBODY and len(conflicts(all_of_it.resolver)) >= COUNT
        )
        wait_until(lambda: metric(all_of_it.resolver, "searches_under_way") == 0)
        all_of_it.victim.kill()
        assert all_of_it.readers() == {"503": 2 * COUNT}


def test_the_further_names_bite(tmp_path: Path) -> None:
    """The twin: a resolver that believes the first answer sends readers to the rogue."""
    (tmp_path / "resolver").mkdir()
    with scene(tmp_path, unchecked=WITHOUT_CHECK, untrusting=WITHOUT_TRUST) as all_of_it:
        assert take_over(all_of_it).status == 200
        all_of_it.victim.kill()
        assert all_of_it.readers() == {"rogue": 2 * COUNT}
