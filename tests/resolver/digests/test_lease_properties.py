"""No answer is given for longer than the bound after the log of its archive said otherwise.

Readers, changes at an archive, readings of its log and whatever goes wrong with them come in any
order; memory, leases, vigil and warm answers are the real ones, and time is that of the test.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final, TypeAlias

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from ibi.resolver.digests import log_follower
from tests.simulation.world.virtual_time import VirtualLoop
from tests.support.scenes.redirect_leases import ARCHIVE, LABELS, ROWS, Scene

Act: TypeAlias = tuple[str, str, float, float]
_TIMES = st.sampled_from([0.0, 0.05, 0.2, 1.0, 3.0, 3.4, 9.0, 10.0])
_ACTS: Final = st.tuples(
    st.sampled_from(
        [
            *(*["read"] * 8, *["change"] * 6, *["look"] * 6, *["well"] * 3, "slow to send"),
            *("fetch", "fetch elsewhere", "forget", "version", "anew"),
            *("unpublish", "publish", "hangs", "fails", "publishes none"),
        ]
    ),
    st.sampled_from(LABELS),
    _TIMES,
    _TIMES,
)


async def _play(scene: Scene, acts: list[tuple[float, Act]]) -> None:
    for pause, act in acts:
        await asyncio.sleep(pause)
        scene.do(*act)
        scene.look_at_all()
    await asyncio.gather(*scene.readers)
    for _ in range(30):
        await asyncio.sleep(1.1)
        scene.look_at_all()
    scene.known = [label for label in LABELS if scene.look(label) is not None]
    await scene.log_follower.close()


def _run(acts: list[tuple[float, Act]]) -> Scene:
    loop = VirtualLoop(lambda: 0.5)
    try:
        scene = Scene(loop)
        loop.run_until_complete(_play(scene, acts))
        return scene
    finally:
        loop.close()


def _do(what: str, label: str = LABELS[0], one: float = 0.1, other: float = 0.1) -> Act:
    return what, label, one, other


# The first answer is what lets the log be read; those that follow last.
WARMED: Final = [
    (0.0, _do("read", LABELS[2])),
    (1.0, _do("read", LABELS[0])),
    (0.0, _do("read", LABELS[1])),
    (20.0, _do("look")),
]
# An answer is on its way while its item changes, and the log is read meanwhile.
OVERTAKEN: Final = [(0.0, _do("read", LABELS[2], 0.0, 9.0)), (0.05, _do("change", LABELS[2]))]
# The same, but the log is read from behind the change on.
BEGUN_LATE: Final = [
    (0.0, _do("read", LABELS[0], 0.05, 3.0)),
    (0.2, _do("change", LABELS[0])),
    (0.0, _do("fetch elsewhere")),
    (0.0, _do("read", LABELS[1], 0.0, 0.0)),
]
# The same, but who lets the log be read asked before.
BEGUN_LATER: Final = [
    (0.0, _do("read", LABELS[1], 0.0, 1.0)),
    (0.05, _do("read", LABELS[0], 0.05, 3.0)),
    (0.2, _do("change", LABELS[0])),
    (0.0, _do("fetch elsewhere")),
]
# A page is read, and the next one, where it stands, is not.
HALF_READ: Final = [
    (0.0, _do("well", one=1.0)),
    *[(0.0, _do("change", LABELS[2]))] * ROWS,
    (0.0, _do("change", LABELS[0])),
    (3.0, _do("fails")),
]
# A page is long on its way, and what changes meanwhile does not stand in it.
LATE: Final = [
    (0.0, _do("slow to send", one=3.0)),
    (3.0, _do("change", LABELS[0])),
    (0.0, _do("fails")),
]
# What changed last stands in no log any more.
WRITTEN_ANEW: Final = [(0.0, _do("change", LABELS[0])), (0.0, _do("anew"))]
LONG: Final = [(30.0, _do("look"))] * 4


@given(
    before=st.sampled_from([WARMED, []]),
    acts=st.lists(st.tuples(_TIMES, _ACTS), min_size=4, max_size=25),
)
@example(before=WARMED, acts=OVERTAKEN)
@example(before=[], acts=BEGUN_LATE)
@example(before=[], acts=BEGUN_LATER)
@example(before=WARMED, acts=HALF_READ)
@example(before=WARMED, acts=LATE)
@example(before=WARMED, acts=WRITTEN_ANEW)
@example(before=WARMED, acts=LONG)
@settings(max_examples=150)
def test_no_answer_is_older_than_the_bound(
    before: list[tuple[float, Act]], acts: list[tuple[float, Act]]
) -> None:
    scene = _run([*before, *acts])
    event(f"answers that lasted: {min(scene.lasted, 3)}")


def test_an_answer_lasts_while_the_log_says_nothing_of_its_item() -> None:
    scene = _run([*WARMED, (30.0, _do("look"))])
    assert scene.lasted > 30
    assert scene.known == [*LABELS[:2]]
    assert len(scene.asked) == 3


def test_what_the_log_speaks_of_is_forgotten_and_nothing_else() -> None:
    assert _run([*WARMED, (0.0, _do("change", LABELS[1]))]).known == [LABELS[0]]


def test_news_from_elsewhere_are_heeded() -> None:
    """Of an archive that says that it holds the item too."""
    acts = [*WARMED, (0.0, _do("change", LABELS[1])), (0.0, _do("fails")), (0.0, _do("fetch"))]
    scene = _run([*acts, (1.0, _do("well"))])
    assert scene.known == [LABELS[0]]


@pytest.mark.parametrize(
    "what", ["hangs", "fails", "publishes none", "unpublish", "anew", "version"]
)
def test_nothing_is_known_when_the_log_cannot_be_followed(what: str) -> None:
    scene = _run([*WARMED, (0.0, _do(what))])
    assert scene.lasted
    assert not scene.known


@pytest.mark.parametrize("what", ["hangs", "fails"])
def test_what_lasted_is_known_again_when_the_log_is_read_on(what: str) -> None:
    acts = [(0.0, _do(what)), (20.0, _do("change")), (0.0, _do("well"))]
    assert _run([*WARMED, *acts]).known == [LABELS[1]]


def test_after_another_log_began_answers_last_again() -> None:
    acts = [(0.0, _do("anew")), (10.0, _do("fetch elsewhere")), (9.0, _do("read"))]
    assert _run([*WARMED, *acts, (5.0, _do("read", LABELS[1]))]).known == [LABELS[1]]


def test_nothing_lasts_beyond_its_longest_time() -> None:
    scene = _run([*WARMED, *LONG])
    assert scene.lasted
    assert not scene.known


def test_of_too_many_the_first_in_are_the_first_out() -> None:
    assert _run([*WARMED, (0.0, _do("read", LABELS[2]))]).known == [*LABELS[1:]]


def test_who_is_asked_more_takes_the_place_of_who_is_asked_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_follower, "MAX_LOGS", 1)

    async def run(scene: Scene) -> None:
        def lasts(name: str) -> bool:
            now = scene.loop.time()
            return scene.log_follower.lease(name, now, now) is not None

        names = (ARCHIVE.id, "another")
        monkeypatch.setattr(scene, "publishes", lambda name: name in names)
        monkeypatch.setattr(scene, "find", lambda name: replace(ARCHIVE) if name in names else None)
        monkeypatch.setattr(scene, "digest", lambda _: scene.fetched)
        assert not lasts(names[0])
        await asyncio.sleep(1)
        assert lasts(names[0])
        assert not lasts(names[1])
        await asyncio.sleep(1)
        assert lasts(names[0])
        assert not any(lasts(names[1]) for _ in range(3))
        await asyncio.sleep(1)
        assert lasts(names[1])
        assert len(scene.log_follower) == 1
        await scene.log_follower.close()

    loop = VirtualLoop(lambda: 0.5)
    loop.run_until_complete(run(Scene(loop)))
    loop.close()
