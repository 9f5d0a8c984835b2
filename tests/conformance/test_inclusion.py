"""004, section 5.2, as a resolver carries it out: archives included, confirmed and excluded.

How the messages are written is in test_protocol; here is what becomes of them (Figure 5.1).
"""

from __future__ import annotations

import asyncio
from typing import Final

import pytest

from ibi.errors import RegistrationKeyError
from ibi.identifier.label import parse
from ibi.model.archive_record import RegistrationKey
from ibi.model.registration import ArchiveState, Inclusion, RegisteredArchive
from ibi.resolver.registry.inclusion import InclusionService
from ibi.resolver.registry.registration_key import KeyGuessLimit
from ibi.resolver.registry.registry import Registry
from ibi.wire import requests, responses
from ibi.wire.requests import ExclusionRequest, InclusionRequest
from tests.conformance.standard import covers
from tests.support.doubles.minting_machine import FakeClock
from tests.support.doubles.resolver_store import FakeArchives, MemoryResolverStore

MTC_M21: Final = "mtc-m21.sid.inpe.br"
SERVICE: Final = "sid.inpe.br/mtc-m21/2012/06.05.15.34.39"
ANNOUNCED: Final = (
    f"&archiveaddress={MTC_M21}"
    f"&archiveserviceibi={SERVICE}"
    "&archiveip=150.163.34.239"
    "&archiveprotocol=HTTP"
    "&archiveplatformversion=2014:11.09.02.16.15"
    "&archiveadmemailaddress=banon@dpi.inpe.br"
    "&registrationkey=1234567890"
)
INCLUDE: Final = f"servicesubject=inclusionRequest{ANNOUNCED}"
EXCLUDE: Final = f"servicesubject=exclusionRequest{ANNOUNCED}"
CONFIRM: Final = f"http://{MTC_M21}/{SERVICE}?servicesubject=inclusionConfirmationRequest"
SUCCESSFUL: Final = "status.archive included status.confirmation successful"
UNSUCCESSFUL: Final = "status.archive included status.confirmation unsuccessful"


class Outcome:
    """What a resolver, with which the archive of the examples is registered, made of messages."""

    def __init__(self, *queries: str, there: tuple[str, ...] = (MTC_M21,)) -> None:
        """Send the messages, one after the other; archives are there at some addresses."""
        self.statuses: list[str] = []
        self.archives = FakeArchives(*there)
        self.archive: RegisteredArchive = asyncio.run(self._run(queries))

    async def _run(self, queries: tuple[str, ...]) -> RegisteredArchive:
        clock = FakeClock()
        shelf = MemoryResolverStore()
        registry = Registry(shelf, shelf, clock)
        service = InclusionService(registry, self.archives, KeyGuessLimit(), clock)
        await registry.open()
        label, key = parse(SERVICE), RegistrationKey("1234567890")
        await registry.register(label, key, "", [], "operator", "operator")
        for query in queries:
            request = requests.decode(query)
            assert isinstance(request, InclusionRequest | ExclusionRequest)
            try:
                status = await service.serve(request, "150.163.34.239")
            except RegistrationKeyError:
                self.statuses.append("refused")
            else:
                # The rule espaco lets pairs be divided by a blank or by a line end.
                self.statuses.append(responses.encode(status).replace("\r\n", " "))
        await registry.close()
        found = registry.find_service(label)
        assert found is not None
        return found


@covers("004", "Example 5.2")
@covers("004", "Table 5.2")
def test_example_5_2_includes_the_archive() -> None:
    after = Outcome(INCLUDE)
    assert after.statuses == [SUCCESSFUL]
    assert after.archive.state is ArchiveState.INCLUDED
    inclusion = after.archive.inclusion
    assert inclusion is not None
    assert inclusion == Inclusion(
        address=MTC_M21,
        ip="150.163.34.239",
        platform_version="2014:11.09.02.16.15",
        administrator="banon@dpi.inpe.br",
        since=inclusion.since,
        seen=inclusion.seen,
        confirmed=True,
    )


@covers("004", "Example 5.3")
def test_example_5_3_excludes_the_archive_and_keeps_its_registration() -> None:
    after = Outcome(INCLUDE, EXCLUDE)
    assert after.statuses == [SUCCESSFUL, "status.archive excluded"]
    assert after.archive.state is ArchiveState.EXCLUDED
    again = Outcome(INCLUDE, EXCLUDE, INCLUDE)
    assert again.statuses[-1] == SUCCESSFUL
    assert again.archive.state is ArchiveState.INCLUDED


@covers("004", "Example 5.4")
@pytest.mark.parametrize(("there", "status"), [(True, SUCCESSFUL), (False, UNSUCCESSFUL)])
def test_example_5_4_is_sent_and_the_archive_included_whether_it_confirms_or_not(
    there: bool,  # noqa: FBT001  # a column
    status: str,
) -> None:
    """Our Decision: an archive that confirms is asked at its IP address too, for its IBIps."""
    after = Outcome(INCLUDE, there=(MTC_M21,) if there else ())
    at_its_ip = CONFIRM.replace(MTC_M21, "150.163.34.239:80", 1)
    assert after.archives.asked == ([CONFIRM, at_its_ip] if there else [CONFIRM])
    assert after.statuses == [status]
    assert after.archive.state is ArchiveState.INCLUDED


@covers("004", "Example 5.3")
def test_example_5_3_asks_for_no_confirmation() -> None:
    assert Outcome(EXCLUDE).archives.asked == []


@covers("004", "Table 5.2")
def test_table_5_2_an_archive_may_come_back_with_another_address() -> None:
    address = "archive.example.org:8801"
    after = Outcome(INCLUDE, EXCLUDE, INCLUDE.replace(MTC_M21, address, 1), there=(address,))
    assert after.statuses == [UNSUCCESSFUL, "status.archive excluded", SUCCESSFUL]
    assert after.archive.address == address


@covers("004", "Table 5.2")
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("registrationkey=1234567890", "registrationkey=1234567891"),
        ("registrationkey=1234567890", "registrationkey=1234567890-1234567890"),
        (SERVICE, "dpi.inpe.br/banon/1999/01.09.22.14"),
    ],
)
def test_table_5_2_without_the_key_of_the_registration_nothing_happens(
    right: str, wrong: str
) -> None:
    """Our Decision: the confirmation is asked for only after the key was looked at."""
    after = Outcome(INCLUDE.replace(right, wrong))
    assert after.statuses == ["refused"]
    assert after.archives.asked == []
    assert after.archive.state is ArchiveState.EXCLUDED
    still = Outcome(INCLUDE, EXCLUDE.replace(right, wrong))
    assert still.statuses == [SUCCESSFUL, "refused"]
    assert still.archive.state is ArchiveState.INCLUDED
