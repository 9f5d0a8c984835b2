"""004, chapter 5, on a resolver that runs: the printed messages, sent over HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.standard import covers
from tests.conformance.test_inclusion import EXCLUDE, INCLUDE, MTC_M21, SERVICE
from tests.conformance.test_registration import PRINTED, SENDER, SUBJECT
from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.resolver import SERVICE as RESOLVER_SERVICE
from tests.support.servers.resolver import ResolverServer
from tests.support.tools.tcl import Tcl
from tests.support.waiting import wait_until


@pytest.fixture
def mtc_m21(resolver_service: ResolverServer) -> Iterator[ArchiveDouble]:
    """An archive with the service label of the examples, which is registered with their key."""
    with ArchiveDouble(SERVICE) as double:
        registered = resolver_service.ibi("register", SERVICE, "--key", "1234567890")
        assert registered.returncode == 0, registered.stderr
        yield double
        removed = resolver_service.ibi("remove", SERVICE, "--yes")
        assert removed.returncode == 0, removed.stderr


def told(resolver: ResolverServer, tcl: Tcl, query: str) -> dict[str, str]:
    """Send a message to the resolver service; return the pairs of its answer."""
    answer = resolver.get(f"/{RESOLVER_SERVICE}?{query}")
    assert answer.headers["content-type"] == "text/plain"
    words = tcl.read(answer.body.decode("ascii"))
    return dict(zip(words[::2], words[1::2], strict=True))


@covers("004", "Figure 5.1")
@covers("004", "Table 5.2")
@covers("004", "Example 5.2")
@covers("004", "Example 5.3")
@covers("004", "Example 5.4")
def test_figure_5_1_an_archive_is_included_confirmed_and_excluded(
    resolver_service: ResolverServer, mtc_m21: ArchiveDouble, tcl: Tcl
) -> None:
    include, exclude = (
        each.replace(MTC_M21, mtc_m21.address, 1).replace("150.163.34.239", "127.0.0.1")
        for each in (INCLUDE, EXCLUDE)
    )
    assert told(resolver_service, tcl, include) == {
        "status.archive": "included",
        "status.confirmation": "successful",
    }
    confirmation = {"servicesubject": "inclusionConfirmationRequest"}
    # An archive that confirms is asked at its IP address too, which is the same one here.
    asked = list(mtc_m21.queries)
    assert asked[0] == confirmation
    assert asked[1:] in ([], [confirmation])
    known = resolver_service.archives()[SERVICE]
    assert (known["state"], known["address"]) == ("included", mtc_m21.address)
    assert told(resolver_service, tcl, exclude) == {"status.archive": "excluded"}
    assert mtc_m21.queries == asked


@covers("004", "Table 5.1")
def test_table_5_1_another_key_changes_nothing(
    resolver_service: ResolverServer, mtc_m21: ArchiveDouble, tcl: Tcl
) -> None:
    include = INCLUDE.replace(MTC_M21, mtc_m21.address, 1)
    for key in ("1234567891", "1234567890-1234567890", "123"):
        pairs = told(resolver_service, tcl, include.replace("=1234567890", f"={key}"))
        assert "status.error" in pairs
    assert mtc_m21.queries == []


@covers("004", "Example 5.1")
def test_example_5_1_registers_the_archive(resolver_service: ResolverServer) -> None:
    mail = resolver_service.folder / "mail.eml"
    head = f"From: {SENDER}\nSubject: {SUBJECT}\nContent-Type: text/plain; charset=utf-8\n"
    mail.write_text(f"{head}\n{PRINTED}", "utf-8")
    taken = resolver_service.ibi("mail", str(mail))
    assert taken.returncode == 0, taken.stderr
    service = "dpi.inpe.br/banon/1999/01.09.22.14"

    def state() -> str:
        return str(resolver_service.archives().get(service, {}).get("state"))

    wait_until(lambda: state() == "pending")  # of several workers, the one that answers knows it
    confirmed = resolver_service.ibi("confirm", service)
    assert confirmed.returncode == 0, confirmed.stderr
    wait_until(lambda: state() == "excluded")
    removed = resolver_service.ibi("remove", service, "--yes")
    assert removed.returncode == 0, removed.stderr
