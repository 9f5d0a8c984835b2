"""An archive and its resolvers over real sockets: included, refused, cut off, moved, left."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Condition
from threading import enumerate as enumerate_threads

import pytest

from ibi.archive.peers.resolver_client import LARGEST_ANSWER, LONGEST_REASON, HttpResolverClient
from ibi.archive.resolver_links import announcer as announcer_module
from ibi.archive.resolver_links.announcer import Announcer
from ibi.archive.rules.announcement import (
    AGAIN,
    LONGEST_RETRY,
    LONGEST_RETRY_REFUSED,
    Excluded,
    Included,
    Link,
    LinkRequest,
    LinkState,
    Outcome,
    Refused,
    Unreachable,
)
from ibi.errors import ArchiveError, StorageError, UnknownError
from ibi.identifier.repository_name import RepositoryName
from ibi.model.archive_record import ArchiveRecord, RegistrationKey
from ibi.wire.requests import ExclusionRequest, InclusionRequest
from tests.support.doubles.minting_machine import FakeClock
from tests.support.doubles.resolver import BEHAVIOURS, ResolverDouble
from tests.support.servers.port_reservation import reserved_port
from tests.support.servers.threaded import QuietHandler, QuietHttpServer, ThreadedServer
from tests.support.servers.tls import client_tls, server_tls
from tests.support.waiting import PATIENCE

SERVICE = "sid.inpe.br/mtc-m21/2012/06.05.15.34.39"
KEY = "271828182845904523536028747135266249775"
RECORD = ArchiveRecord(
    address="127.0.0.1:1",
    service=RepositoryName.parse(SERVICE),
    ip="150.163.34.239",
    platform_version="2014:11.09.02.16.15",
    administrator="banon@dpi.inpe.br",
)
REGISTERED = {SERVICE: KEY}


def link_to(resolver: ResolverDouble) -> Link:
    return Link(resolver.address, RegistrationKey(KEY))


def inclusion(record: ArchiveRecord = RECORD) -> InclusionRequest:
    return InclusionRequest(record, RegistrationKey(KEY))


def exclusion() -> ExclusionRequest:
    return ExclusionRequest(RECORD, RegistrationKey(KEY))


class _Archive(QuietHandler):
    def do_GET(self) -> None:  # a name of the library
        """Confirm, as Algorithm 1 has it."""
        good = self.path == f"/{SERVICE}?servicesubject=inclusionConfirmationRequest"
        self.send_response(200 if good else 404)
        self.end_headers()
        self.wfile.write(b"confirmation yes" if good else b"")


@contextmanager
def archive() -> Iterator[ArchiveRecord]:
    """Yield what an archive says of itself that answers while the block runs."""
    with ThreadedServer(QuietHttpServer(("127.0.0.1", 0), _Archive)) as server:
        yield replace(RECORD, address=f"127.0.0.1:{server.port}")


# The client


def test_an_archive_is_included_and_excluded() -> None:
    with ResolverDouble(REGISTERED) as resolver, archive() as record:
        client = HttpResolverClient()
        assert client.ask(link_to(resolver), inclusion(record)) == Included(confirmed=True)
        assert resolver.included == {SERVICE: record.address}
        assert client.ask(link_to(resolver), exclusion()) == Excluded()
        assert resolver.included == {}
    # Examples 5.2 and 5.3.
    assert resolver.queries[1] == {
        "servicesubject": "exclusionRequest",
        "archiveaddress": "127.0.0.1:1",
        "archiveserviceibi": "sid.inpe.br/mtc-m21/2012/06.05.15.34.39",
        "archiveip": "150.163.34.239",
        "archiveprotocol": "HTTP",
        "archiveplatformversion": "2014:11.09.02.16.15",
        "archiveadmemailaddress": "banon@dpi.inpe.br",
        "registrationkey": KEY,
    }


def test_an_archive_that_cannot_be_reached_is_included_without_confirmation() -> None:
    with ResolverDouble(REGISTERED) as resolver:
        outcome = HttpResolverClient().ask(link_to(resolver), inclusion())
    assert outcome == Included(confirmed=False)


def test_a_key_that_nobody_registered_is_refused() -> None:
    with ResolverDouble({SERVICE: "1234567890"}) as resolver:
        outcome = HttpResolverClient().ask(link_to(resolver), inclusion())
    assert outcome == Refused("unknown-key", "This archive is not registered")


LATE = "it did not answer in time"
BROKEN = "it broke off, or does not speak HTTP"
NONSENSE = "its answer makes no sense"
WORSE = {
    "hang": LATE,
    "drip headers": LATE,
    "drip a body": LATE,
    "reset": BROKEN,
    "hang up": BROKEN,
    "no HTTP": BROKEN,
    "bad headers": NONSENSE,
    "error": "it answered 500",
    "busy": "Try again later",
    "out of order": "The database is away",
    "not found": "it answered 404, and not in plain text",
    "redirect": "it answered with a redirection (302)",
    "garbage": NONSENSE,
    "nothing": NONSENSE,
    "half": NONSENSE,
    "confirmation": NONSENSE,
    "excluded": NONSENSE,
    "a page": "it answered 200, and not in plain text",
    "compressed": "its answer is compressed, which nobody asked for",
    "cut": "its answer broke off",
    "a megabyte": f"its answer is longer than {LARGEST_ANSWER} bytes",
}


def patience(behaviour: str) -> float:
    return 0.5 if WORSE.get(behaviour) == LATE else PATIENCE


@pytest.mark.parametrize("behaviour", WORSE)
def test_what_is_no_resolver_is_told_in_a_sentence(behaviour: str) -> None:
    with ResolverDouble(REGISTERED) as resolver:
        resolver.behaviour = behaviour
        outcome = HttpResolverClient().ask(link_to(resolver), inclusion(), patience(behaviour))
        resolver.asked(lambda: bool(resolver.queries))
    assert outcome == Unreachable(WORSE[behaviour])
    assert resolver.subjects == ["inclusionRequest"]


def test_nothing_at_an_address_is_told_in_a_sentence() -> None:
    nowhere = f"http://127.0.0.1:{reserved_port()}"
    for address in (nowhere, "http://0.0.0.0:1"):
        outcome = HttpResolverClient().ask(Link(address, RegistrationKey(KEY)), inclusion())
        assert outcome == Unreachable("there is no connection to it")
    for address in ("http://no-such-name.invalid", f"http://{'a' * 64}.invalid"):
        outcome = HttpResolverClient().ask(Link(address, RegistrationKey(KEY)), inclusion(), 60)
        assert outcome in {
            Unreachable("its name is not known"),
            Unreachable("its address cannot be used"),
        }


def test_no_time_is_no_answer() -> None:
    with ResolverDouble(REGISTERED) as resolver:
        for seconds in (0.0, -1.0):
            outcome = HttpResolverClient().ask(link_to(resolver), inclusion(), seconds)
            assert outcome == Unreachable(LATE)


@pytest.mark.parametrize("behaviour", ["resolver", *BEHAVIOURS])
@pytest.mark.parametrize("request_", [inclusion(), exclusion()], ids=["inclusion", "exclusion"])
def test_the_key_is_in_no_message_and_no_log(
    behaviour: str, request_: LinkRequest, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with ResolverDouble({SERVICE: "1234567890"}) as resolver:
        resolver.behaviour = behaviour
        outcome = HttpResolverClient().ask(link_to(resolver), request_, patience(behaviour))
        resolver.asked(lambda: bool(resolver.queries))
    assert resolver.queries[0]["registrationkey"] == KEY
    assert not isinstance(outcome, Included)
    assert KEY not in f"{outcome!r} {link_to(resolver)!r} {request_!r} {caplog.text}"


def test_what_a_resolver_says_cannot_write_to_a_terminal_or_fill_a_log() -> None:
    with ResolverDouble(REGISTERED) as resolver:
        resolver.behaviour = "a terminal"
        outcome = HttpResolverClient().ask(link_to(resolver), inclusion())
    assert isinstance(outcome, Refused)
    assert (outcome.code + outcome.reason).isprintable()
    assert len(outcome.reason) < 2 * LONGEST_REASON


def test_a_secure_connection_is_to_whom_it_should_be(tmp_path: Path) -> None:
    trusting = client_tls()
    with ResolverDouble(REGISTERED, tls=server_tls(tmp_path)) as resolver:
        link = link_to(resolver)
        outcome = HttpResolverClient().ask(link, inclusion())
        assert outcome == Unreachable("its certificate is not good")
        assert resolver.queries == []
        outcome = HttpResolverClient(trusting).ask(link, inclusion())
        assert outcome == Included(confirmed=False)
        resolver.behaviour = "drip headers"
        assert HttpResolverClient(trusting).ask(link, inclusion(), 0.5) == Unreachable(LATE)
    with ResolverDouble(REGISTERED) as resolver:
        insecure = replace(link_to(resolver), resolver=resolver.address.replace("http", "https"))
        outcome = HttpResolverClient().ask(insecure, inclusion())
        assert outcome == Unreachable("there is no secure connection to it")


# The announcer


class MemoryLinks:
    """Links in memory; whoever waits for one is told of every change."""

    def __init__(self, *links: Link) -> None:
        """Begin with some."""
        self._links = {link.resolver: link for link in links}
        self._changed = Condition()
        self.fault: ArchiveError | None = None
        self.saves = 0

    def all(self) -> list[Link]:
        """Return all links."""
        with self._changed:
            return list(self._links.values())

    def save(self, link: Link) -> None:
        """Keep a link, or fail."""
        with self._changed:
            self.saves += 1
            self._changed.notify_all()
            if self.fault:
                raise self.fault
            self._links[link.resolver] = link

    def remove(self, resolver: str) -> None:
        """Forget a link."""
        with self._changed:
            del self._links[resolver]
            self._changed.notify_all()

    def wait(self, is_reached: Callable[[], bool]) -> None:
        """Wait until something holds."""
        with self._changed:
            assert self._changed.wait_for(is_reached, PATIENCE), self._links

    def become(self, resolver: ResolverDouble, state: LinkState) -> Link:
        """Wait until a link has a state, and return it."""
        self.wait(lambda: self._links[resolver.address].state == state)
        return self._links[resolver.address]

    def forget(self, resolver: ResolverDouble) -> None:
        """Wait until a link is forgotten."""
        self.wait(lambda: resolver.address not in self._links)


class Site:
    """An archive's announcer, its links, its record and its clock."""

    def __init__(self, *links: Link, record: ArchiveRecord = RECORD) -> None:
        """Get ready."""
        self.links = MemoryLinks(*links)
        self.record = record
        self.clock = FakeClock()
        self.observed: list[Link] = []
        self.client: announcer_module.ResolverClient = HttpResolverClient()
        self.announcer = Announcer(
            self.links,
            self,
            lambda: self.record,
            self.clock,
            observe=self.observed.append,
            jitter=lambda: 1.0,
        )

    def ask(self, link: Link, request: LinkRequest, seconds: float) -> Outcome:
        """Ask by way of whatever client there is now."""
        return self.client.ask(link, request, seconds)

    def later(self, nanoseconds: int) -> None:
        """Let time pass."""
        self.clock.true += nanoseconds
        self.announcer.wake()


@contextmanager
def running(*links: Link, record: ArchiveRecord = RECORD) -> Iterator[Site]:
    site = Site(*links, record=record)
    site.announcer.start()
    try:
        yield site
    finally:
        site.announcer.stop()


def test_an_archive_is_included_when_it_starts_and_excluded_when_it_stops() -> None:
    with ResolverDouble(REGISTERED) as resolver, archive() as record:
        with running(link_to(resolver), record=record) as site:
            link = site.links.become(resolver, "included")
            assert link.since == site.clock.wall()
            assert resolver.included == {SERVICE: record.address}
        assert resolver.included == {}
        assert resolver.subjects == ["inclusionRequest", "exclusionRequest"]
        assert [link.state for link in site.observed] == ["included", "excluded"]
        with running(*site.links.all(), record=record) as again:
            again.links.become(resolver, "included")


def test_it_is_said_again_every_hour() -> None:
    with ResolverDouble(REGISTERED) as resolver, archive() as record:
        with running(link_to(resolver), record=record) as site:
            site.links.become(resolver, "included")
            for times in (2, 3):
                resolver.included.clear()
                site.later(AGAIN)
                site.links.wait(lambda: site.links.saves == times)  # noqa: B023  # at once
                assert resolver.included == {SERVICE: record.address}
        assert resolver.subjects == ["inclusionRequest"] * 3 + ["exclusionRequest"]


def test_a_key_is_tried_until_the_operator_has_registered_it() -> None:
    with (
        ResolverDouble() as resolver,
        archive() as record,
        running(link_to(resolver), record=record) as site,
    ):
        link = site.links.become(resolver, "refused")
        assert link.reason == "This archive is not registered"
        resolver.registrations = REGISTERED
        site.later(LONGEST_RETRY_REFUSED)
        assert site.links.become(resolver, "included").reason == ""
    assert resolver.included == {}


def test_a_resolver_that_is_down_is_found_when_it_is_up() -> None:
    with ResolverDouble() as gone:
        pass
    with running(link_to(gone)) as site:
        link = site.links.become(gone, "unreachable")
        assert link.reason == "there is no connection to it"
        with ResolverDouble(REGISTERED, gone.port) as resolver:
            site.later(LONGEST_RETRY)
            link = site.links.become(resolver, "unconfirmed")
            assert (link.failures, link.reason) == (
                2,
                "it could not reach this archive at its address",
            )


def test_a_change_of_address_is_said_at_once() -> None:
    with ResolverDouble(REGISTERED) as resolver, archive() as first, archive() as second:
        with running(link_to(resolver), record=first) as site:
            site.links.become(resolver, "included")
            site.record = second
            site.announcer.wake()
            site.links.wait(lambda: site.links.saves == 2)
            assert resolver.included == {SERVICE: second.address}
        assert resolver.queries[-1]["archiveaddress"] == second.address


def test_resolvers_that_hang_keep_nobody_waiting() -> None:
    with (
        ResolverDouble(REGISTERED) as first,
        ResolverDouble(REGISTERED) as second,
        ResolverDouble(REGISTERED) as good,
        archive() as record,
    ):
        first.behaviour, second.behaviour = "hang", "drip headers"
        links = [link_to(each) for each in (first, second, good)]
        with running(*links, record=record) as site:
            site.links.become(good, "included")
            site.later(AGAIN)
            site.links.wait(lambda: site.links.saves == 2)
            assert [link.state for link in site.links.all()] == ["pending", "pending", "included"]
            first.asked(lambda: first.subjects == ["inclusionRequest"])
            first.released.set()
            second.released.set()


def test_stopping_does_not_wait_for_a_resolver_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcer_module, "LONGEST_STOP", 2.0)
    with ResolverDouble(REGISTERED) as hanging, ResolverDouble(REGISTERED) as good:
        with running(link_to(hanging), link_to(good)) as site:
            site.links.become(good, "unconfirmed")
            site.links.become(hanging, "unconfirmed")
            hanging.behaviour = "hang"
        assert good.included == {}
        assert hanging.subjects == ["inclusionRequest", "exclusionRequest"]
        # What comes afterwards is not written any more: the catalogue may be closed.
        hanging.released.set()
        for thread in enumerate_threads():
            if thread.name == "announcement":
                thread.join(PATIENCE)
        assert [link.state for link in site.links.all()] == ["unconfirmed", "excluded"]


def test_one_that_never_started_stops() -> None:
    site = Site()
    site.announcer.stop()


def test_a_link_is_made_and_left_while_it_runs() -> None:
    with (
        ResolverDouble(REGISTERED) as resolver,
        archive() as record,
        running(record=record) as site,
    ):
        site.announcer.link(link_to(resolver))
        site.links.become(resolver, "included")
        site.announcer.unlink(resolver.address)
        site.links.forget(resolver)
        assert resolver.included == {}
        with pytest.raises(UnknownError, match="no link to the resolver"):
            site.announcer.unlink(resolver.address)
    assert resolver.subjects == ["inclusionRequest", "exclusionRequest"]


def test_a_resolver_that_is_down_is_left_when_it_is_up() -> None:
    with ResolverDouble(REGISTERED) as before, running(link_to(before)) as site:
        site.links.become(before, "unconfirmed")
        before.behaviour = "reset"
        site.announcer.unlink(before.address)
        site.links.wait(lambda: site.links.saves == 3)
        assert site.links.become(before, "leaving").reason == BROKEN
        before.behaviour = "resolver"
        site.later(LONGEST_RETRY)
        site.links.forget(before)
        assert before.included == {}


def test_what_is_changed_while_a_resolver_is_asked_stands() -> None:
    with ResolverDouble(REGISTERED) as resolver, running(link_to(resolver)) as site:
        resolver.behaviour = "hang"
        site.announcer.wake()
        resolver.asked(lambda: len(resolver.queries) == 1)
        site.announcer.unlink(resolver.address)
        resolver.behaviour = "resolver"
        resolver.released.set()
        site.links.forget(resolver)
    assert resolver.subjects == ["inclusionRequest", "exclusionRequest"]


def test_a_link_that_cannot_be_kept_is_not_said_again_without_a_pause() -> None:
    with (
        ResolverDouble(REGISTERED) as resolver,
        ResolverDouble(REGISTERED) as other,
        running(link_to(resolver)) as site,
    ):
        site.links.become(resolver, "unconfirmed")
        site.links.fault = StorageError("catalogue", "the disk is full")
        site.later(AGAIN)
        site.links.wait(lambda: site.links.saves == 2)
        with pytest.raises(StorageError):
            site.announcer.link(link_to(other))
        site.links.fault = None
        # While the one rests, another is seen to.
        site.announcer.link(link_to(other))
        site.links.become(other, "unconfirmed")
        assert resolver.subjects == ["inclusionRequest"] * 2


def test_a_catalogue_that_cannot_be_read_is_read_again() -> None:
    class Away(MemoryLinks):
        reads = 0

        def all(self) -> list[Link]:
            self.reads += 1
            if self.reads == 1:
                raise StorageError("catalogue", "it is away")
            return super().all()

    with ResolverDouble(REGISTERED) as resolver:
        site = Site()
        links = Away(link_to(resolver))
        announcer = Announcer(
            links,
            HttpResolverClient(),
            lambda: RECORD,
            site.clock,
            observe=site.observed.append,
            jitter=lambda: 0.0,
        )
        announcer.start()
        announcer.wake()
        links.become(resolver, "unconfirmed")
        announcer.stop()
    assert resolver.included == {}


def test_a_fault_of_ours_is_one_more_failure() -> None:
    class Broken:
        def ask(self, link: Link, request: LinkRequest, seconds: float) -> Outcome:
            raise KeyError(link, request, seconds)

    with ResolverDouble(REGISTERED) as resolver:
        site = Site(link_to(resolver))
        site.client = Broken()
        site.announcer.start()
        link = site.links.become(resolver, "unreachable")
        assert link.reason == "something unforeseen happened (KeyError)"
        assert link.next_try > site.clock.wall()
        site.client = HttpResolverClient()
        site.later(LONGEST_RETRY)
        site.links.become(resolver, "unconfirmed")
        site.announcer.stop()
