"""Running services for tests of the standard; the page of conformance goes by their names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.report_archives import ReportFederation, report_federation
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.minting import MintingServer
from tests.support.servers.resolver import ResolverServer
from tests.support.tools.tcl import Tcl


@pytest.fixture(scope="session")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReportFederation]:
    """A resolver and three archives; whoever follows a persistent URL asks here."""
    with report_federation(tmp_path_factory.mktemp("report")) as started:
        yield started


@pytest.fixture(scope="session")
def archive(federation: ReportFederation) -> ArchiveServer:
    """The archive mtc-m16d alone, asked as a resolver asks it."""
    return federation.m16d


@pytest.fixture(scope="session")
def mtc_m16c(federation: ReportFederation) -> ArchiveServer:
    """The archive mtc-m16c alone."""
    return federation.m16c


@pytest.fixture(scope="session")
def resolver_service(federation: ReportFederation) -> ResolverServer:
    """The resolver alone, asked as an archive asks it."""
    return federation.resolver


@pytest.fixture(scope="session")
def minting_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MintingServer]:
    """A minting service on the host and the address of Examples 1 and 2 of 003."""
    folder = tmp_path_factory.mktemp("minting")
    ip = ("--ip", "150.163.34.243")
    with MintingServer(folder, *ip, host="mtc-m18.sid.inpe.br") as started:
        yield started


@pytest.fixture(scope="session")
def tcl() -> Iterator[Tcl]:
    """Real Tcl, in which the lists of 004 are written."""
    with Tcl() as running:
        yield running
