"""Whatever is sent: what one side writes, the other reads; and Tcl reads as we do."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from urllib.parse import quote, unquote_to_bytes

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ibi import Language, parse
from ibi.archive.rules.answer import Identity, answer, filtered, relations_of, url_list
from ibi.errors import IbiError, MessageError, PairListError
from ibi.identifier.verbs import COMPOSITIONS, GetMetadata, GetTranslation, Verb, read_modifiers
from ibi.model.archive_record import ArchiveRecord, RegistrationKey, UrlKey
from ibi.model.item import ContentType, Item, State
from ibi.model.label_pair import Forms
from ibi.wire import pairlist, requests, responses
from ibi.wire.requests import (
    Acknowledgment,
    ExclusionRequest,
    InclusionConfirmationRequest,
    InclusionRequest,
    UrlRequest,
)
from tests.support.doubles.answer_source import MemoryAnswerSource, issue_key
from tests.support.extent import tried
from tests.support.tools.tcl import NotAListError, Tcl

LISTS = 1_000
"""Here; `make fuzz` puts 100,000 before Tcl."""

# What Tcl reads in a way of its own, and letters that make more of a backslash.
TROUBLE = 'ab{}{}""\\\\\\ \n\t\r\v\f;$[]#xuUuU01478Dfn\0%'
VALUES = f"{TROUBLE}  éß€\U0001f600\x1b\x7f~|^"


def random_text(rng: random.Random, alphabet: str) -> str:
    return "".join(rng.choices(alphabet, k=rng.randint(0, 20)))


def whole(elements: Iterable[str]) -> list[str]:
    """Return elements with U+FFFD for half characters, which we do not keep and Tcl does."""
    return ["".join(map(_whole, each)) for each in elements]


def _whole(character: str) -> str:
    if "\ud800" <= character <= "\udfff":
        return "\ufffd"
    return "\ufffd\ufffd" if character > "\uffff" else character  # two halves, to Tcl 8.6


def judge_text(tcl: Tcl, text: str) -> None:
    """Whatever Tcl reads as pairs of one mind, we read so; all else we refuse."""
    expected: dict[str, str] | None = None
    try:
        elements = whole(tcl.read(text))
    except NotAListError:
        elements = [""]
    if len(elements) % 2 == 0 and len(set(elements[::2])) == len(elements) // 2:
        expected = dict(zip(elements[::2], elements[1::2], strict=True))
    found: dict[str, str] | None
    try:
        found = pairlist.decode(text)
    except PairListError as fault:
        assert 0 <= fault.position <= len(text)  # noqa: PT017  # either way is good
        found = None
    assert found == expected, repr(text)


def judge_list(tcl: Tcl, elements: list[str]) -> None:
    """What Tcl writes, we read."""
    pairs = dict(zip(elements[::2], elements[1::2], strict=True))
    text = tcl.write([text for pair in pairs.items() for text in pair]) if pairs else ""
    assert pairlist.decode(text) == pairs, repr(text)


def judge_pairs(tcl: Tcl, pairs: dict[str, str]) -> None:
    """What we write, Tcl and we read."""
    try:
        text = pairlist.encode(pairs)
    except PairListError:
        names = [pairlist.escaped(name).replace(" ", "%20") for name in pairs]
        assert "" in names or len(set(names)) < len(names)
        return
    elements = tcl.read(text)
    theirs = dict(zip(elements[::2], elements[1::2], strict=True))
    ours = {pairlist.escaped(name).replace(" ", "%20"): pairs[name] for name in pairs}
    assert theirs == {name: pairlist.escaped(value) for name, value in ours.items()}
    assert pairlist.decode(text) == theirs
    assert pairlist.encode(theirs) == text


def judge_lists(seed: int, count: int) -> None:
    """Put random texts, lists and pairs before Tcl and before us."""
    rng = random.Random(seed)  # noqa: S311  # repeatable, not secret
    with Tcl() as tcl:
        for _ in range(count):
            judge_text(tcl, random_text(rng, TROUBLE))
            # Names that differ, or the list would be refused for another reason.
            words = [random_text(rng, TROUBLE) for _ in range(4)]
            judge_list(tcl, [f"1{words[0]}", words[1], f"2{words[2]}", words[3]])
            values = [random_text(rng, VALUES) for _ in range(4)]
            judge_pairs(tcl, dict(zip(values[::2], values[1::2], strict=True)))


def test_tcl_reads_as_we_do() -> None:
    judge_lists(seed=1, count=LISTS)


def test_the_texts_are_good_and_bad() -> None:
    """A judge that only ever sees bad texts proves nothing."""
    rng = random.Random(1)  # noqa: S311  # as above
    read = 0
    for _ in range(LISTS):
        try:
            read += bool(pairlist.decode(random_text(rng, TROUBLE)))
        except PairListError:
            continue
    assert LISTS // 10 < read < LISTS - LISTS // 10


# Requests.

LABELS = [
    parse(text)
    for text in (
        "8JMKD3MGP8W/35MME4E",
        "LK47B6W/362SFKH",
        "sid.inpe.br/mtc-m18@80/2009/07.21.13.23",
        "iconet.com.br/banon/2009/09.09.22.01",
        "6qtX3pFwXQZGivnK2Y/SskcB",
    )
]
LANGUAGES = [Language("en"), Language("pt"), Language("pt", "BR"), Language("pt", "PT")]
CLIENTS = st.lists(st.ip_addresses(v=4).map(str), min_size=1, max_size=3).map(tuple)
PLAIN = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=30)


@st.composite
def verb_lists(draw: st.DrawFn) -> tuple[Verb, ...]:
    verbs: list[Verb] = []
    for verb in read_modifiers(draw(st.sampled_from(["", *COMPOSITIONS])))[0]:
        if isinstance(verb, GetTranslation):
            verbs.append(GetTranslation(draw(st.sampled_from([None, *LANGUAGES]))))
        elif isinstance(verb, GetMetadata):
            verbs.append(GetMetadata(draw(st.sampled_from(["", "oai_dc", "bibtex"]))))
        else:
            verbs.append(verb)
    return tuple(verbs)


def as_received(url: str) -> str:
    """Which of its escapes were there first cannot be told of a URL that was sent as a value."""
    return quote(unquote_to_bytes(url), safe=":/?#[]@!$&'()*+,;=")


URLS = PLAIN.map(lambda tail: as_received(f"http://mtc-m16d.sid.inpe.br/col/{tail}"))
RECORDS = st.builds(
    ArchiveRecord,
    address=st.sampled_from(["mtc-m21.sid.inpe.br", "localhost:8801", "[2001:db8::1]:80"]),
    service=st.sampled_from(LABELS),
    ip=st.sampled_from(["150.163.34.239", "2001:db8::1"]),
    platform_version=PLAIN,
    administrator=st.sampled_from(["banon@dpi.inpe.br", "a+b&c=d%20@é.example"]),
)
REQUESTS = st.one_of(
    st.builds(InclusionRequest, RECORDS, st.just(RegistrationKey("1234567890"))),
    st.builds(ExclusionRequest, RECORDS, st.just(RegistrationKey("1234567890"))),
    st.just(InclusionConfirmationRequest()),
    st.builds(
        UrlRequest, CLIENTS, st.sampled_from(LABELS), verb_lists(), file_list=st.booleans(),
        path=PLAIN,
    ),
    st.builds(
        Acknowledgment,
        CLIENTS,
        st.sampled_from(ContentType),
        URLS,
        URLS,
        st.just(UrlKey("1426387214-9164566186556927")),
        st.sampled_from([None, *map(Forms.of, LABELS), Forms.of(LABELS[2], LABELS[0])]),
        st.sampled_from([None, State.ORIGINAL, State.COPY]),
    ),
)  # fmt: skip


@pytest.mark.many
@settings(max_examples=tried(500))
@given(REQUESTS, st.randoms(use_true_random=False))
def test_a_request_is_read_as_it_was_written_in_any_order(
    request: requests.Request, rng: random.Random
) -> None:
    query = requests.encode(request)
    assert query.isascii()
    assert query.isprintable()
    assert not set(query) & set(' ?#"<>')
    assert requests.decode(query) == request
    pairs = [*query.split("&"), "unknown=1", "unknown=2"]
    rng.shuffle(pairs)
    assert requests.decode("&".join(pairs).encode("ascii")) == request


@pytest.mark.many
@settings(max_examples=tried(300))
@given(REQUESTS, st.data())
def test_a_pair_that_is_there_twice_is_refused(
    request: requests.Request, data: st.DataObject
) -> None:
    pairs = requests.encode(request).split("&")
    twice = [*pairs, data.draw(st.sampled_from(pairs))]
    with pytest.raises(MessageError) as refused:
        requests.decode("&".join(twice))
    assert refused.value.code == "repeated-pair"


READERS = [requests.decode, responses.decode, pairlist.decode]
NAMES = [
    *("servicesubject=", "urlRequest", "acknowledgment", "inclusionRequest", "&", "=", "+", "%"),
    *("clientinformation.ipaddress=", "1.2.3.4", "::1", "fe80::1%eth0", "parsedibiurl.ibi="),
    *("LK47B6W/362SFKH", "parsedibiurl.verblist=", "GetMetadata", "GetFileList", "(", ")", "%00"),
    *("parsedibiurl.filepath=", "%ff", "%C3", "\udc80", "é", "urlkey=", "1234567890", "state="),
    *("archiveaddress", " ", "ibi.archiveservice", "{", "}", "rep a.br/b/2020/01.01.00.00", "\\"),
    *("url", ".translation(pt)", ".metadata", "http://a/", '"', "\n", "state Deleted", "timestamp"),
]


@given(st.one_of(st.binary(max_size=300), st.text(st.characters(), max_size=300)))
def test_any_bytes_and_any_text_are_read_or_refused(sent: bytes | str) -> None:
    read_or_refuse(sent)


@pytest.mark.many
@settings(max_examples=tried(2_000))
@given(st.lists(st.sampled_from(NAMES), max_size=12).map("".join))
@example("servicesubject=urlRequest&clientinformation.ipaddress=&parsedibiurl.ibi=")
def test_pieces_in_any_order_are_read_or_refused(sent: str) -> None:
    read_or_refuse(sent)


def read_or_refuse(sent: bytes | str) -> None:
    for reader in READERS:
        message = ""
        try:
            reader(sent)
        except IbiError as error:
            message = str(error)
        assert message.isprintable()


# Answers.

IDENTITY = Identity("http://archive.example:8801", Forms.of(LABELS[3]), formats=("oai_dc", "ris"))
FORMS = [Forms.of(f"arq.br/item/2020/01.01.00.{number:02}") for number in range(8)]
ELSEWHERE = Forms.of("other.br/item/2020/01.01.00.00")


@st.composite
def shelves(draw: st.DrawFn) -> MemoryAnswerSource:
    others = st.sampled_from([None, *FORMS, ELSEWHERE])
    items = [
        Item(
            forms=forms,
            state=draw(st.sampled_from([State.ORIGINAL, State.COPY, State.DELETED])),
            kind=draw(st.sampled_from(["data", "metadata"])),
            language=draw(st.sampled_from([None, *LANGUAGES])),
            target=draw(st.sampled_from(["", "a b.pdf"])),
            metadata=draw(others),
            next_edition=draw(others),
            translations=tuple(
                draw(st.dictionaries(st.sampled_from(LANGUAGES), st.sampled_from(FORMS))).items()
            ),
        )
        for forms in FORMS[:6]
    ]
    return MemoryAnswerSource(*items)


@pytest.mark.many
@settings(max_examples=tried(500))
@given(
    shelf=shelves(),
    verbs=verb_lists(),
    path=st.sampled_from(["", "/a b.pdf", "/other"]),
    file_list=st.booleans(),
)
def test_an_answer_is_the_whole_list_filtered_and_survives_the_way(
    *, shelf: MemoryAnswerSource, verbs: tuple[Verb, ...], path: str, file_list: bool
) -> None:
    request = UrlRequest(("10.0.0.1",), FORMS[0].label, verbs, file_list, path)
    whole_list = url_list(shelf, IDENTITY, request, issue_key)
    answered = answer(shelf, IDENTITY, request, issue_key)
    assert whole_list is not None
    assert answered is not None
    assert answered == filtered(whole_list, verbs)
    assert set(answered.related) <= set(_relations(shelf, verbs))
    assert responses.decode(responses.encode(answered)) == answered
    # The whole list is only the judge here: nobody sends it, and it may be longer than any answer.
    if len(written := responses.encode(whole_list)) <= pairlist.MAX_LIST:
        assert responses.decode(written) == whole_list


def _relations(shelf: MemoryAnswerSource, verbs: tuple[Verb, ...]) -> Iterator[object]:
    item = shelf.find(FORMS[0].label)
    assert item is not None
    yield from relations_of(shelf, IDENTITY, item, verbs)
