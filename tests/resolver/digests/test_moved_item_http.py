"""An item that has moved, and of which its former holder keeps a copy, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ibi.wire.digest import DigestPage, encode, fingerprint
from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.attacked_resolver import label, metric, requests_for, service_of
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

ITEM = label(7)


class ListingArchive(ArchiveDouble):
    """An archive whose log lists its service, and then items as they come or change."""

    def __init__(self, service: str) -> None:
        """Publish a digest that grows."""
        super().__init__(service)
        self.publish()
        self.log = [service]
        self.digest = self._changes

    def _changes(self, query: dict[str, str]) -> bytes:
        after, end = int(query.get("after", "0")), len(self.log)
        held = tuple(sorted({fingerprint(each) for each in self.log[after:]}))
        return encode(DigestPage("5a" * 16, after, end, more=False, held=held, notifies=True))


@pytest.fixture
def resolver(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[ResolverServer]:
    made = ResolverServer(tmp_path)
    made.wanted_workers = ""  # the process that fetches digests drops what they make wrong
    made.set(digest_seconds=3600, hot_seconds=request.param)
    with made:
        yield made


@pytest.fixture
def archives(resolver: ResolverServer) -> Iterator[tuple[ListingArchive, ListingArchive]]:
    with ListingArchive(service_of(1)) as former, ListingArchive(service_of(2)) as new:
        for each in (former, new):
            resolver.include(each)
        wait_until(lambda: metric(resolver, "logs_followed") == 2)
        yield former, new


def _notify(resolver: ResolverServer, archive: ListingArchive) -> None:
    """Have an archive say that it has changed, until the resolver takes a further notice of it."""
    path = f"archives/{archive.service}/changes"
    wait_until(lambda: resolver.api("POST", path, token="").status == 204)


def _lists(resolver: ResolverServer, archive: ListingArchive) -> None:
    """Have an archive list the item, and wait until the resolver has read that."""
    archive.log.append(ITEM)
    _notify(resolver, archive)
    wait_until(lambda: resolver.archives()[archive.service]["digest"]["names"] == 2)


def _leads_to(resolver: ResolverServer) -> str:
    """Return where a reader is led whose access counts for nothing, so that it costs no message."""
    return resolver.ask("HEAD", f"/{ITEM}", token="").headers.get("location", "")


@pytest.mark.parametrize("resolver", [60], indirect=True)
def test_the_copy_of_the_former_holder_is_not_given_again_once_another_archive_lists_the_item(
    resolver: ResolverServer, archives: tuple[ListingArchive, ListingArchive]
) -> None:
    former, new = archives
    copy, original = f"http://{former.address}/copy", f"http://{new.address}/original"
    former.hold(ITEM, state="Copy", url=copy)
    _lists(resolver, former)
    assert _leads_to(resolver) == copy  # the digest of the other archive says that it has nothing
    asked = len(requests_for(former))
    assert _leads_to(resolver) == copy
    assert len(requests_for(former)) == asked
    new.hold(ITEM, url=original)
    _lists(resolver, new)
    assert _leads_to(resolver) == original


# The redirect to the Original is given until its time is over.
@pytest.mark.parametrize("resolver", [4], indirect=True)
def test_the_owner_that_has_a_copy_only_is_asked_again_once_another_archive_lists_the_item(
    resolver: ResolverServer, archives: tuple[ListingArchive, ListingArchive]
) -> None:
    former, new = archives
    copy, original = f"http://{former.address}/copy", f"http://{new.address}/original"
    former.hold(ITEM)
    _lists(resolver, former)
    assert _leads_to(resolver) == former.items[ITEM]["url"]
    former.hold(ITEM, state="Copy", url=copy)
    former.log.append(ITEM)
    _notify(resolver, former)
    wait_until(lambda: _leads_to(resolver) == copy)
    new.hold(ITEM, url=original)
    _lists(resolver, new)
    asked = len(requests_for(former))
    _leads_to(resolver)  # the reader whose search finds out that the owner is another one
    assert len(requests_for(former)) > asked
    wait_until(lambda: _leads_to(resolver) == original)
