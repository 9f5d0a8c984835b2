"""What is written is read back, for every form."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address

from hypothesis import example, given
from hypothesis import strategies as st

from ibi import Ibip, Instant, LegacyLabel, PersistentUrl, RepositoryName, describe, parse
from ibi.identifier.cleanup import clean
from ibi.identifier.instant import EPOCH
from ibi.identifier.language import Language
from ibi.identifier.numerals import IBIP, IPV4, IPV6, Numerals
from ibi.identifier.verbs import COMPOSITIONS, GetLastEdition, GetMetadata, GetTranslation, Verb

YEAR_100_000 = 3_093_527_980_800

words = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
last_words = st.from_regex(r"[a-z]([a-z0-9-]{0,5}[a-z0-9])?", fullmatch=True)
hosts = st.builds(
    lambda words, last: ".".join([*words, last]),
    st.lists(words, min_size=1, max_size=4),
    last_words,
)
ports = st.integers(1, 65535)


@st.composite
def instants(draw: st.DrawFn) -> Instant:
    seconds = draw(st.integers(EPOCH.seconds, YEAR_100_000))
    places = draw(st.integers(-1, 9))
    if places < 0:
        return Instant(seconds // 60 * 60)
    fraction = f"{draw(st.integers(0, 10**places - 1)):0{places}}" if places else ""
    return Instant(seconds, fraction.rstrip("0"))


@st.composite
def ipv6(draw: st.DrawFn) -> IPv6Address:
    """All shapes of RFC 5952: runs of zero pieces anywhere, leading zeros in pieces."""
    pieces = [draw(st.sampled_from([0, 0, 0, 1, 0xF, 0xFF, 0xFFF, 0xFFFF])) for _ in range(8)]
    return IPv6Address(sum(piece << 16 * place for place, piece in enumerate(pieces)))


addresses = st.one_of(
    st.ip_addresses(v=4),
    st.ip_addresses(v=6),
    ipv6(),
    st.integers(0, 2**24).map(IPv4Address),
    st.integers(0, 2**32).map(lambda low: IPv6Address(0xFFFF_0000_0000 + low % 2**32)),
)


@given(hosts, ports, instants())
def test_repository_names(host: str, port: int, instant: Instant) -> None:
    name = RepositoryName.mount(host, port, instant)
    assert (name.host, name.port, name.instant) == (host, port, instant)
    assert name.canonical == name.spelling
    assert parse(name.spelling, strict=True) == name
    assert parse(name.spelling.upper(), strict=True) == name


@given(addresses, ports, instants())
@example(IPv4Address("0.0.0.0"), 800, EPOCH)  # an address like any other here
@example(IPv6Address("::"), 800, EPOCH)
@example(IPv6Address("0:1::2"), 1, EPOCH)
def test_ibips(address: IPv4Address | IPv6Address, port: int, instant: Instant) -> None:
    label = Ibip.mount(str(address), port, instant)
    assert ip_address(label.ip) == address
    assert (label.port, label.instant) == (port, instant)
    assert label.canonical == label.spelling
    assert parse(label.spelling, strict=True) == label
    assert parse(label.spelling.lower(), strict=True) == label


@given(st.lists(st.tuples(addresses, ports, instants()), min_size=2, max_size=2, unique=True))
def test_different_facts_make_different_ibips(
    facts: list[tuple[IPv4Address | IPv6Address, int, Instant]],
) -> None:
    one, other = (Ibip.mount(str(ip), port, instant).spelling for ip, port, instant in facts)
    assert one != other


def test_every_port() -> None:
    for port in range(1, 65536):
        assert RepositoryName.mount("a.br", port, EPOCH).port == port
        assert Ibip.mount("8.8.8.8", port, EPOCH).port == port


@given(st.integers(EPOCH.seconds, 253_402_300_799))
def test_dates_agree_with_the_standard_library(seconds: int) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    assert Instant(seconds).iso8601 == f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    suffix = f"{moment:%Y/%m.%d.%H.%M.%S}"
    assert RepositoryName.parse(f"a.br/b/{suffix}").instant == Instant(seconds)


@given(instants(), instants())
def test_instants_are_in_the_order_of_time(one: Instant, other: Instant) -> None:
    def nanoseconds(instant: Instant) -> int:
        return instant.seconds * 10**9 + int(f"{instant.fraction:0<9}")

    assert (one < other) == (nanoseconds(one) < nanoseconds(other))


@given(st.sampled_from([IPV4, IPV6, IBIP]), st.integers(0, 2**200))
def test_numerals(numerals: Numerals, number: int) -> None:
    assert numerals.to_decimal(numerals.from_decimal(number)) == number


@given(st.text("23456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUV", min_size=1, max_size=12))
def test_legacy_labels_are_carried_as_they_are(word: str) -> None:
    label = LegacyLabel.parse(f"6qtXQZ{word}/{word}")
    assert str(label) == f"6qtXQZ{word}/{word}"
    assert describe(str(label)).as_dict()["canonical"] == str(label)


def _verbs(symbols: str, language: Language | None, oai_dc: bool) -> tuple[Verb, ...]:  # noqa: FBT001
    made: dict[str, Verb] = {
        "!": GetLastEdition(),
        "+": GetTranslation(language),
        ":": GetMetadata("oai_dc" if oai_dc else ""),
    }
    return tuple(made[symbol] for symbol in symbols)


verbs = st.builds(
    _verbs,
    st.sampled_from(["", *COMPOSITIONS]),
    st.sampled_from([None, Language("pt"), Language("pt", "BR"), Language("en")]),
    st.booleans(),
)
labels = st.one_of(
    st.builds(RepositoryName.mount, hosts, ports, instants()),
    st.builds(lambda ip, port, at: Ibip.mount(str(ip), port, at), addresses, ports, instants()),
    st.sampled_from([LegacyLabel.parse("6qtX3pFwXQZGivnK2Y/SskcB")]),
)
paths = st.one_of(
    st.sampled_from(["", "/2009/09.09.22.01", "/2009/09.09.22.01/x", "/2009/09.09.22.01.pdf"]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).map(
        lambda text: f"/{text}"
    ),
)


@given(
    st.builds(
        PersistentUrl,
        labels,
        verbs,
        st.booleans(),
        paths,
        st.booleans(),
        st.sampled_from([None, Language("fr")]),
        st.lists(st.from_regex(r"[a-z]{1,5}=[a-z0-9%/]{0,5}", fullmatch=True), max_size=3).map(
            tuple
        ),
    )
)
def test_persistent_urls(url: PersistentUrl) -> None:
    written = url.at("http://resolver.example")
    assert written.isascii()
    assert written.isprintable()
    assert PersistentUrl.parse(written) == url


@given(labels, st.text(" \t\r\n\u00a0\u200b\ufeff", max_size=5), st.data())
def test_blanks_anywhere_change_nothing(label: Ibip, blank: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(label.spelling)))
    text = label.spelling[:at] + blank + label.spelling[at:]
    assert parse(text) == label
    cleaned = clean(text)
    assert "".join(text[position] for position in cleaned.positions) == cleaned.text
