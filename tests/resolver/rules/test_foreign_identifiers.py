"""Gateways: identifiers of other systems go on to theirs, and nothing else does."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.errors import ResolverRequestError
from ibi.resolver.rules.foreign_identifiers import onward
from ibi.resolver.settings import ResolverSettings

GATEWAYS = ResolverSettings(folder=Path(), name="x", address="http://x").gateways


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("/doi/10.1000/182", "https://doi.org/10.1000/182"),
        ("/doi:10.1000/182", "https://doi.org/10.1000/182"),
        ("/DOI:10.1000/182", "https://doi.org/10.1000/182"),
        ("/doi%3A10.1000%2F182", "https://doi.org/10.1000%2F182"),
        ("/doi/10.1000.10/1", "https://doi.org/10.1000.10/1"),
        ("/hdl/20.1000/100", "https://hdl.handle.net/20.1000/100"),
        ("/hdl:4263537/4000?noredirect", "https://hdl.handle.net/4263537/4000?noredirect"),
        ("/ark:/12148/btv1b8449691v", "https://n2t.net/ark:12148/btv1b8449691v"),
        ("/ark:12148/btv1b8449691v", "https://n2t.net/ark:12148/btv1b8449691v"),
        ("/Ark:/12148/x??", "https://n2t.net/ark:12148/x??"),
        (
            "/urn:nbn:de:101:1-201102033592",
            "https://nbn-resolving.org/urn:nbn:de:101:1-201102033592",
        ),
        ("/URN:NBN:de:1", "https://nbn-resolving.org/urn:NBN:de:1"),
    ],
)
def test_each_goes_to_its_own(path: str, url: str) -> None:
    assert onward(path, GATEWAYS) == url


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/doi",
        "/doix/10.1000/182",
        "//doi/10.1000/182",
        "doi/10.1000/182",
        "/x/doi/10.1000/182",
        "/isbn:9780000000000",
        "/LK47B6W/362SFKH",
        "/doi.inpe.br/banon/1999/01.09.22.14",
    ],
)
def test_what_is_none_of_these_is_not_for_a_gateway(path: str) -> None:
    assert onward(path, GATEWAYS) is None


def test_a_closed_gateway_sends_nobody_on() -> None:
    assert onward("/doi/10.1000/182", GATEWAYS | {"doi": ""}) is None
    assert onward("/doi/rubbish", GATEWAYS | {"doi": ""}) is None
    assert onward("/doi/10.1000/182", {}) is None


@pytest.mark.parametrize(
    ("path", "right"),
    [
        ("/doi/", "begins with 10"),
        ("/doi:", "begins with 10"),
        ("/doi/11.1000/182", "begins with 10"),
        ("/doi/10.1000", "begins with 10"),
        ("/doi/10.1000/", "begins with 10"),
        ("/doi/10.1000/?x", "begins with 10"),
        ("/doi/doi:10.1000/182", "begins with 10"),
        ("/hdl/", "a prefix and a suffix"),
        ("/hdl/20.1000", "a prefix and a suffix"),
        ("/ark:/", "the number of its authority"),
        ("/ark:/121/x", "the number of its authority"),
        ("/urn:", "a namespace and a name"),
        ("/urn:nbn", "a namespace and a name"),
        ("/urn:nbn:", "a namespace and a name"),
        ("/doi/10.1000/" + "1" * 8192, "begins with 10"),
    ],
)
def test_what_has_not_the_shape_is_refused_with_what_would_be_right(path: str, right: str) -> None:
    with pytest.raises(ResolverRequestError, match=right):
        onward(path, GATEWAYS)


@pytest.mark.parametrize(
    "bad", ["\r\n", "\n", "\x00", "\x7f", "\x85", "%0d%0a", "%0A", "%00", "%1f", "%7F", "\ud800"]
)
def test_control_characters_go_nowhere(bad: str) -> None:
    with pytest.raises(ResolverRequestError):
        onward(f"/doi/10.1000/1{bad}Set-Cookie:x", GATEWAYS)


@pytest.mark.parametrize(
    ("rest", "sent"),
    [
        ("10.1000/a b", "10.1000/a%20b"),
        ("10.1000/a%20b", "10.1000/a%20b"),
        ("10.1000/100%", "10.1000/100%25"),
        ("10.1000/a#b", "10.1000/a%23b"),
        ("10.1000/a\\b", "10.1000/a%5Cb"),
        ('10.1000/<"é">', "10.1000/%3C%22%C3%A9%22%3E"),
        ("///10.1000/a", "10.1000/a"),
        ("10.1000/a?b=c&d=//e", "10.1000/a?b=c&d=//e"),
    ],
)
def test_the_rest_is_percent_encoded(rest: str, sent: str) -> None:
    assert onward(f"/doi/{rest}", GATEWAYS) == f"https://doi.org/{sent}"


def test_an_upstream_without_a_path_keeps_its_host() -> None:
    upstream = {"doi": "https://doi.example.org"}
    assert onward("/doi/10.1000/182", upstream) == "https://doi.example.org/10.1000/182"
    # Else the rest would be a part of the name of the host.
    upstream = {"hdl": "https://hdl.example.org"}
    assert onward("/hdl/evil.org/1", upstream) == ("https://hdl.example.org/evil.org/1")


@given(
    st.sampled_from(["doi", "hdl", "ark", "urn"]),
    st.sampled_from(["", "/", "//", "10.1000/", "20.1/", "12148/", "nbn:", "@evil.org/", "\\"]),
    st.text(max_size=40) | st.text("/\\@:.%0aAdD?#\r\n evil", max_size=40),
)
def test_nobody_is_sent_to_another_host(system: str, begin: str, rest: str) -> None:
    try:
        url = onward(f"/{system}:{begin}{rest}", GATEWAYS)
    except ResolverRequestError:
        return
    assert url is not None
    assert url.startswith(GATEWAYS[system])
    assert urlsplit(url).netloc == urlsplit(GATEWAYS[system]).netloc
    assert url.isascii()
    assert url.isprintable()
    assert " " not in url
