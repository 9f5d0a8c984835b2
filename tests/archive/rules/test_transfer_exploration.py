"""Everything that can happen to a transfer, explored: never two Originals, never a dead end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ibi.archive.rules import transfer as rules
from ibi.archive.rules.transfer import Step
from ibi.archive.rules.transfer_messages import TransferReply
from ibi.model.item import Item, State
from tests.support.scenes.transfer_states import Model, Rules, World


def states(model: Model, world: World) -> list[State]:
    return [local.item.state for local in model.locals(world) if local.item is not None]


def fault_of(model: Model, world: World) -> str:
    """Say what must never be, and is."""
    found = states(model, world)
    handed = any(
        local.item is not None and local.item.transfer and local.item.transfer.phase == "handed"
        for local in model.locals(world)
    )
    if found.count(State.ORIGINAL) > 1:
        return "two Originals"
    if not found:
        return "nobody has the item"
    if State.ORIGINAL not in found and not handed:
        return "no Original, and nobody waits for one"
    return ""


def explored(model: Model) -> set[World]:
    """Explore; return the worlds, letters left out."""
    count = 0
    found: set[World] = set()
    for world in model.explore():
        count += 1
        assert not fault_of(model, world), model.locals(world)
        if model.is_ended(world):
            assert states(model, world).count(State.ORIGINAL) == 1
        found.add((world[0], 0, world[2], world[3]))
    print(f"{count} worlds, {len(found)} without their letters")  # noqa: T201  # a figure
    assert count >= len(found) > 100
    return found


def check_ends(model: Model) -> None:
    """From wherever the archives may be, all can be ended, though all letters were lost."""
    known: set[World] = set()
    for world in explored(model):
        assert model.path_to_end(world, "undo", known), model.locals(world)


ONE = Model(2, 1, most_ready=3)
COPIED = Model(2, 1, copies=frozenset({1}), most_ready=3)
BACK = Model(2, 2)
ONWARD = Model(3, 2, most_ready=1)


@pytest.mark.parametrize(
    "model", [ONE, COPIED, BACK, ONWARD], ids=["one", "to a copy", "and back", "onward"]
)
def test_at_most_one_original_always_somebody_has_it_and_it_can_be_ended(model: Model) -> None:
    check_ends(model)


@pytest.mark.long
@pytest.mark.parametrize(
    "model",
    [
        Model(3, 2),
        Model(3, 2, copies=frozenset({1, 2}), most_ready=1),
        Model(2, 3, most_ready=1),
        Model(
            3, 3, most_ready=1, routes=frozenset({(0, 1), (1, 2), (2, 0), (1, 0)}), rebuilds=False
        ),
    ],
    ids=["three archives", "three with copies", "three transfers", "around"],
)
def test_so_it_is_in_larger_worlds(model: Model) -> None:
    check_ends(model)


@pytest.mark.parametrize("copies", [frozenset[int](), frozenset({1})])
def test_unless_a_catalogue_or_a_token_is_lost_all_ends_without_anybody_asking_for_it(
    copies: frozenset[int],
) -> None:
    model = Model(2, 2, copies=copies, rebuilds=False, refusals=False, tickets=True)
    known: set[World] = set()
    for world in explored(model):
        assert model.path_to_end(world, "none", known), model.locals(world)


# --- twins: each rule that is broken is missed ----------------------------------------------------


def without_receipts(item: Item | None, id_: str, receipt: str) -> TransferReply:
    standing = rules.standing(item, id_)
    return rules.answer_to_commit(item, id_, standing.receipt if standing else receipt)


def forgetful(item: Item, id_: str) -> Item:
    return replace(rules.accepted(item, id_), custody=())


def forgetful_later(item: Item, id_: str, receipt: str, now: int) -> Item:
    return replace(rules.handed(item, id_, receipt, now), custody=())


def credulous(item: Item | None, id_: str, answer: TransferReply, is_whole: bool) -> Step:  # noqa: FBT001
    receipt = item.transfer.receipt if item is not None and item.transfer is not None else ""
    if answer.state in {"refused", "undone"}:
        answer = replace(answer, receipt=receipt)
    return rules.step(item, id_, answer, is_whole)


def careless(item: Item) -> None:
    rules.check_droppable(replace(item, custody=()))


def anybody(_item: Item | None, _id: str) -> None:
    pass


TWINS = {
    "accepts by any receipt": (2, 1, Rules(answer_to_commit=without_receipts)),
    "is ready by one receipt": (2, 1, Rules(one_receipt=True)),
    "takes back without asking": (2, 1, Rules(selfish=True)),
    "forgets that it accepted": (2, 1, Rules(accepted=forgetful)),
    "forgets it when it hands on": (3, 2, Rules(handed=forgetful_later)),
    "lets go of what proves it": (3, 2, Rules(check_droppable=careless)),
    "commits before it has handed over": (2, 1, Rules(hasty=True)),
    "believes any refusal": (2, 1, Rules(step=credulous)),
    "receives what it has": (2, 2, Rules(check_receivable=anybody)),
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_broken_rule_is_found(twin: str) -> None:
    archives, transfers, broken = TWINS[twin]
    model = Model(archives, transfers, rules=broken)
    assert next(filter(None, (fault_of(model, world) for world in model.explore())), "")
