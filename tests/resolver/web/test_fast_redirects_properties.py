"""Whatever bytes come, in whatever pieces: the warm path answers what the usual way would.

The whole of what is written is compared, the date with it, and what is noted of readers.
"""

from __future__ import annotations

import asyncio
from typing import Final, TypeAlias

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from ibi.foundation.web.client_address import ClientAddresses
from ibi.identifier.label import parse
from ibi.model.item import ContentType, State
from ibi.resolver.rules.redirect_entry import CachedRedirect, Terms
from ibi.resolver.rules.redirect_lease import Lease
from ibi.resolver.web.fast_redirects import LONGEST_TARGET, FastRedirects
from tests.simulation.world.virtual_time import VirtualLoop
from tests.support.scenes.fast_redirects import (
    HOT,
    HOT_ONLY,
    LABELS,
    LASTING,
    NOWHERE,
    PERSONAL,
    Pair,
    Side,
)

Act: TypeAlias = tuple[str, bytes, float]
"""What happens, with which bytes if any, and how long nothing happens before it."""
PROXY: Final = ("127.0.0.0/8", "10.0.0.0/8")

_TAILS: Final = [
    "",
    "",
    "",
    "",
    "!",
    "+",
    "/a.txt",
    "?",
    "?a=b",
    "?ibiurl.language=pt",
    "#x",
    "%20",
]
_TARGETS: Final = st.builds(
    lambda start, label, tail, fold: f"{start}{fold(label)}{tail}",
    st.sampled_from(["/", "/", "/", "/ibi/", "http://resolver.example/"]),
    st.sampled_from([LASTING, LASTING, *LABELS]),
    st.sampled_from(_TAILS),
    st.sampled_from([str, str, str.lower]),
) | st.sampled_from(["/healthz", "/x", "*", "/" + "y" * 1100, f"/{LASTING}/{'z' * 1000}"])
_LINES: Final = st.sampled_from(
    [
        *("Connection: keep-alive", "connection: Keep-Alive", "Connection:keep-alive"),
        *("Connection: close", "Connection: upgrade", "Connection: keep-alive, close"),
        *("Proxy-Connection: close", "Upgrade: h2c", "Expect: 100-continue", "Keep-Alive: 1"),
        *("Content-Length: 0", "Content-Length: 5", "content-length: 70", "Content-Length: -1"),
        *("Transfer-Encoding: chunked", "Transfer-Encoding: gzip", "Transfer-Encoding : chunked"),
        *("X-Forwarded-For: 192.0.2.7", "X-Forwarded-For: 198.51.100.9, 10.0.0.3"),
        *("x-forwarded-for:2001:db8::1", "X-Forwarded-For: unknown", "X-Forwarded-For:"),
        *(
            "Accept-Language: pt",
            "Range: bytes=0-1",
            "If-None-Match: *",
            "Origin: http://x.example",
        ),
        *(
            " folded",
            "X\x0b: y",
            "NoColon",
            ": nameless",
            "X: \x7f",
            "X: \xe9",
            "X: a\rb",
            "X: \x00",
        ),
        *("Cookie: " + "c" * 3000, "X: " + "l" * 70_000),
    ]
)
_REQUESTS: Final = st.builds(
    lambda method, target, version, lines, end, body: (
        "\r\n".join([f"{method} {target} HTTP/{version}", *lines, end]).encode("iso-8859-1") + body
    ),
    st.sampled_from(["GET", "GET", "GET", "GET", "HEAD", "POST", "get", "G"]),
    _TARGETS,
    st.sampled_from(["1.1", "1.1", "1.1", "1.1", "1.0", "2.0"]),
    st.lists(_LINES, max_size=3).map(lambda lines: ["Host: resolver.example", *lines])
    | st.lists(_LINES, max_size=1),
    st.sampled_from(["\r\n", "\r\n", "\r\n", "\r\n", "", "\n"]),
    st.sampled_from([b"", b"", b"", b"hello", b"0\r\n\r\n", b"\r\n"]),
)


def plain(label: str = LASTING, *lines: str) -> bytes:
    return "\r\n".join([f"GET /{label} HTTP/1.1", "Host: a", *lines, "", ""]).encode()


_PLAIN: Final = st.builds(
    plain,
    st.sampled_from([LASTING, LASTING, *LABELS]),
    st.sampled_from(["Accept: */*", "X-Forwarded-For: 192.0.2.7", "X-Forwarded-For: 203.0.113.9"]),
)
_BYTES: Final = st.lists(st.one_of(_PLAIN, _PLAIN, _REQUESTS), min_size=1, max_size=3).map(b"".join)
_TIMES: Final = st.sampled_from([0.0, 0.0, 0.005, 0.05, 0.05, 0.05, 1.0, 3.0, 4.5, 7.0, HOT + 1])


@st.composite
def _acts(draw: st.DrawFn) -> list[Act]:
    acts: list[Act] = []
    for _ in range(draw(st.integers(2, 10))):
        what = draw(
            st.sampled_from([*["send"] * 8, "cut", "forget", "version", "change", "connect"])
        )
        data = draw(_BYTES)
        if what == "cut":  # one message in two pieces
            place = draw(st.integers(1, len(data)))
            acts += [("send", data[:place], draw(_TIMES)), ("send", data[place:], draw(_TIMES))]
        else:
            acts.append((what, data, draw(_TIMES)))
    return acts


def _do(side: Side, what: str, data: bytes) -> None:
    if what == "send":
        side.send(data)
    elif what == "forget":
        for label in LABELS:
            side.memory.forget(parse(label).canonical)
    elif what == "version":
        side.version += 1
    elif what == "change":
        side.edition += 1
    elif what == "part":
        side.protocol.part()
    elif what == "stop":
        side.protocol.shutdown()
    elif what in {"pause", "resume"}:
        getattr(side.protocol, f"{what}_writing")()
    else:
        side.connect("127.0.0.1" if what == "connect" else what)


async def _play(pair: Pair, acts: list[Act]) -> None:
    for what, data, pause in acts:
        await asyncio.sleep(pause)
        pair.tick()
        pair.each(lambda side, what=what, data=data: _do(side, what, data))  # type: ignore[misc]
        await asyncio.sleep(0.003)
        pair.compare()
    await asyncio.sleep(1)
    pair.compare()
    await asyncio.sleep(100)
    pair.compare()
    assert pair.warm.wire.is_closed


def run(acts: list[Act], proxies: tuple[str, ...] = PROXY, reveal: str = "network") -> Side:
    """Play, and return the side that has a warm path."""
    loop = VirtualLoop(lambda: 0.5)
    loop.now = 1.0

    async def work() -> Side:
        pair = Pair(loop, proxies, reveal)
        await _play(pair, acts)
        return pair.warm

    try:
        return loop.run_until_complete(work())
    finally:
        loop.close()


def sent(*data: bytes, pause: float = 0.05) -> list[Act]:
    return [("send", each, pause) for each in data]


WARMED: Final = sent(*(plain(label, "Accept: */*") for label in LABELS))
HIDDEN: Final = plain(LASTING, "X: hidden")
# Requests that stand in the body, or in a header line, of another.
SMUGGLED: Final = [
    sent(f"POST / HTTP/1.1\r\nContent-Length: {len(HIDDEN)}\r\n\r\n".encode(), HIDDEN),
    sent(plain(LASTING, f"Content-Length: {len(HIDDEN)}"), HIDDEN),
    sent(plain(LASTING, "Transfer-Encoding: chunked"), HIDDEN),
    sent(plain("x", "X: ")[:-4], HIDDEN),
    sent(plain(LASTING, "Transfer-Encoding : chunked"), b"0\r\n\r\n" + HIDDEN),
    sent(plain(LASTING, "Content-Length: 0", "Content-Length: 9"), HIDDEN),
    sent(plain() + HIDDEN),
    sent(plain() + HIDDEN[:20], HIDDEN[20:]),
    sent(b"GET", HIDDEN[3:]),
    sent(b"\r\n", HIDDEN),
    sent(b"\r", HIDDEN),
]


@settings(max_examples=120)
@given(
    acts=_acts(),
    warmed=st.booleans(),
    proxies=st.sampled_from([PROXY, ()]),
    reveal=st.sampled_from(["network", "full", "none"]),
)
def test_the_warm_path_says_what_the_usual_way_says(
    *, acts: list[Act], warmed: bool, proxies: tuple[str, ...], reveal: str
) -> None:
    side = run([*(WARMED if warmed else ()), *acts], proxies, reveal)
    event(f"warm answers: {min(side.warm.given, 3)}")


@pytest.mark.parametrize("number", range(len(SMUGGLED)))
def test_what_stands_within_another_request_is_answered_by_nobody(number: int) -> None:
    run([*WARMED, *SMUGGLED[number], *sent(plain())])


def test_what_is_known_is_given_at_once_and_nothing_else() -> None:
    side = run([*WARMED, *sent(*(plain(label, "Accept: */*") for label in LABELS))])
    assert (side.warm.given, side.searches) == (2, 4)
    counted = {path: count for (_, path, _), count in side.noted.items()}
    assert counted == {f"/{LASTING}": 2, f"/{HOT_ONLY}": 2, f"/{PERSONAL}": 2}
    assert f"/{NOWHERE}" not in counted


def test_the_date_is_that_of_the_answer() -> None:
    side = run([*WARMED, *sent(plain(), plain(), plain(), pause=1.5)])
    assert side.warm.given == 3
    assert side.wire.written.count(b"date: second ") == 7
    assert len({*side.wire.written.split(b"date: second ")}) > 4


def test_who_is_told_of_is_who_the_last_head_says() -> None:
    """One connection of a proxy has the requests of many readers."""
    heads = [
        plain(LASTING, f"X-Forwarded-For: {reader}") for reader in ("192.0.2.7", "203.0.113.9")
    ]
    side = run([*WARMED, *sent(heads[0], heads[0], heads[1], heads[0], plain())])
    assert side.warm.given == 5
    told = {clients: count for (_, path, clients), count in side.noted.items() if "EPGUE5" in path}
    assert told == {
        ("192.0.2.0", "127.0.0.0"): 3,
        ("203.0.113.0", "127.0.0.0"): 1,
        ("127.0.0.0",): 2,
    }


@pytest.mark.parametrize(
    "lines",
    [
        ("Connection: close",),
        ("Connection: keep-alive", "connection: close"),
        ("Connection:keep-alive",),
        ("Proxy-Connection: close",),
        ("Upgrade: h2c",),
        ("EXPECT: 100-continue",),
        ("content-length: 0",),
        ("Transfer-Encoding: chunked", "X: y"),
        (" folded",),
        ("X : y",),
        ("X: \x7f",),
    ],
)
def test_a_line_that_may_decide_something_is_left_to_the_parser(lines: tuple[str, ...]) -> None:
    assert not run([*WARMED, *sent(plain(LASTING, *lines))]).warm.given


def test_a_head_is_judged_again_after_one_that_was_not_plain() -> None:
    odd = plain(LASTING, "Connection: close")
    side = run([*WARMED, *sent(plain(), odd)])
    assert side.warm.given == 1
    assert b"connection: close" in side.wire.written


@pytest.mark.parametrize("what", ["part", "stop"])
def test_who_takes_leave_says_so_by_the_usual_way(what: str) -> None:
    side = run([*WARMED, *sent(plain()), (what, b"", 0.05), *sent(plain())])
    assert side.warm.given == 1
    assert side.wire.written.count(b"connection: close\r\n") == (what == "part")


def test_nothing_is_written_to_who_does_not_take_it() -> None:
    acts = [("pause", b"", 0.05), *sent(plain()), ("resume", b"", 1.0), *sent(plain())]
    assert run([*WARMED, *acts]).warm.given == 1


def test_an_answer_that_is_being_given_is_not_cut_into() -> None:
    """While a file is searched for, an item that is known is asked for on the same connection."""
    acts = [*WARMED, *sent(plain(f"{HOT_ONLY}/a.txt")), *sent(plain(), pause=0.0), *sent(plain())]
    assert run(acts).warm.given == 1


@pytest.mark.parametrize("idle", [4.5, 5.5])
def test_who_is_idle_is_hung_up_on_at_the_same_moment(idle: float) -> None:
    side = run([*WARMED, *sent(plain(), plain(), pause=3.0), *sent(plain(), pause=idle)])
    assert side.warm.given == (3 if idle < 5 else 2)


def test_a_warm_connection_has_as_long_as_any_for_the_rest_of_a_head() -> None:
    """Neither the timer of the warm path nor that of the first head is left behind."""
    rest = plain()
    run([*WARMED, *sent(rest), ("send", rest[:20], 4.0), ("send", rest[20:], 6.0)])
    run([*WARMED, *sent(rest), ("send", rest[:20], 4.0), ("send", rest[20:], 16.0)])
    assert run([*WARMED, ("connect", b"", 0.0), *[("send", rest, 4.0)] * 6]).warm.given == 6


@pytest.mark.parametrize("what", ["forget", "version"])
def test_what_does_not_hold_any_more_is_asked_for_anew(what: str) -> None:
    acts = [
        *WARMED,
        ("change", b"", 0.0),
        *sent(plain()),
        (what, b"", 0.05),
        *sent(plain(), plain()),
    ]
    side = run(acts)
    assert side.warm.given == 2
    assert b"/1/0\r\n" in side.wire.written


def test_what_is_hot_ends() -> None:
    acts = [("connect", b"", HOT), *sent(plain(HOT_ONLY), plain())]
    assert run([*WARMED, *acts]).warm.given == 1


def test_a_spelling_that_held_no_more_is_warm_again() -> None:
    """Whoever asks first by another spelling takes the warm path from nobody."""
    odd = plain(LASTING.lower())
    acts = [*sent(plain(), odd, odd), ("forget", b"", 0.05), *sent(odd, plain(), plain(), odd)]
    assert run(acts).warm.given == 3


def test_what_anybody_can_think_of_keeps_nothing_else_from_being_warm() -> None:
    paths = [plain(f"{LASTING}/{number}") for number in range(10)]
    spellings = [plain(f"ibi/{LASTING}?&{'&' * number}") for number in range(10)]
    side = run([*WARMED, *sent(*paths, *spellings), *sent(plain())])
    assert side.warm.given == 1
    assert len(side.warm) == 2


def test_of_too_many_targets_the_first_are_cold() -> None:
    others = [f"8JMKD3MGP7W/3EPGUE{letter}" for letter in "2346"]
    acts = [*WARMED, *sent(*(plain(each) for each in (*others, *others[1:])))]
    side = run(acts)
    assert side.warm.given == 3
    assert len(side.warm) == 3


def test_what_is_not_written_like_all_others_is_not_kept() -> None:
    terms = Terms("http://r.example", "archive", ContentType.DATA, State.ORIGINAL)
    known = CachedRedirect(Lease(9.0), terms, b"/a", b"http://a.example/", None)
    fields = [(b"location", known.url), (b"link", b"<http://r.example/a>")]
    answers = FastRedirects(lambda: None, lambda *_: None, ClientAddresses([], "none"), most=9)
    longest = b"/" + b"x" * (LONGEST_TARGET - 1)
    for target in (b"/a", longest):
        answers.keep(target, fields, known, b"")
        assert answers.find(target, 1.0) is known
    for target, said in (
        (longest + b"x", fields),
        (b"/b", [*fields, (b"vary", b"Accept-Language")]),
        (b"/b", [(b"location", b"http://b.example/"), fields[1]]),
        (b"/b", [fields[0], (b"link", b"<http://r.example/b>")]),
    ):
        answers.keep(target, said, known, b"")
        assert answers.find(target, 1.0) is None


@pytest.mark.parametrize(
    "request_",
    [
        plain(PERSONAL),
        plain(f"{LASTING}+"),
        plain(f"{LASTING}?a=b"),
        b"PUT" + plain()[3:],
    ],
)
def test_what_is_never_warm_is_not_so_if_it_comes_first_either(request_: bytes) -> None:
    assert not run(sent(request_, request_, request_)).warm.given
    assert not run([*WARMED, *sent(request_, request_)]).warm.given


def test_all_lines_on_who_asks_are_read_together() -> None:
    lines = ("X-Forwarded-For: 203.0.113.9", "X-Forwarded-For: 10.0.0.3")
    assert run([*WARMED, *sent(plain(LASTING, *lines), plain(LASTING, *lines))]).warm.given == 2


def test_what_is_left_of_a_while_may_be_too_little_to_be_added_to_the_time() -> None:
    run([("send", plain(LASTING, "Accept: */*"), pause) for pause in (0.0, 3.0, 0.005)])
