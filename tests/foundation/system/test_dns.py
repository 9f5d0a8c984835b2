"""Texts of the domain name system, from a name server that speaks DNS."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from ibi.errors import ProofError
from ibi.foundation.system.dns import DnsTexts
from tests.support.servers.dns import FAILS, SILENT, DnsServer, Texts
from tests.support.servers.port_reservation import reserved_port

NAME = "_ibi-registration.archive.example.org"


def texts(records: Mapping[str, Texts | str], name: str = NAME, seconds: float = 60) -> list[str]:
    with DnsServer(records) as server:
        return asyncio.run(DnsTexts(["127.0.0.1"], server.port).texts(name, seconds))


def test_texts_come_as_they_are() -> None:
    records = {NAME: [[b"ibi-registration=x"], [b"v=spf1 -all"]]}
    assert sorted(texts(records)) == ["ibi-registration=x", "v=spf1 -all"]


def test_pieces_of_one_text_belong_together() -> None:
    assert texts({NAME: [[b"ibi-", b"registration=", b"x"]]}) == ["ibi-registration=x"]


def test_what_is_no_text_does_no_harm() -> None:
    assert texts({NAME: [[b"\xff\x00"]]}) == ["\ufffd\x00"]


@pytest.mark.parametrize("records", [{}, {NAME: []}])
def test_a_name_that_is_not_there_or_has_no_texts_has_none(records: dict[str, Texts]) -> None:
    assert texts(records) == []


def test_the_name_is_asked_for_as_it_is() -> None:
    """No domain of this machine is put behind it."""
    with DnsServer({}) as server:
        asyncio.run(DnsTexts(["127.0.0.1"], server.port).texts("one", 60))
        assert set(server.asked) == {"one"}


def test_a_name_server_that_fails_proves_nothing() -> None:
    with pytest.raises(ProofError, match=rf"do not return the TXT records of {NAME}\."):
        texts({NAME: FAILS})


def test_a_name_server_that_is_silent_is_not_waited_for() -> None:
    with pytest.raises(ProofError, match=rf"did not return the TXT records of {NAME} in time\."):
        texts({NAME: SILENT}, seconds=0.5)


def test_no_name_server_at_all() -> None:
    with pytest.raises(ProofError):
        asyncio.run(DnsTexts(["127.0.0.1"], reserved_port()).texts(NAME, 0.5))


@pytest.mark.parametrize("name", ["a..b", "a" * 64 + ".org", "a." * 200])
def test_what_is_no_name_is_not_asked_for(name: str) -> None:
    with DnsServer({}) as server:
        with pytest.raises(ProofError):
            asyncio.run(DnsTexts(["127.0.0.1"], server.port).texts(name, 60))
        assert server.asked == []


def test_a_name_server_without_an_address_proves_nothing() -> None:
    with pytest.raises(ProofError):
        asyncio.run(DnsTexts(["no address"]).texts(NAME, 1))
