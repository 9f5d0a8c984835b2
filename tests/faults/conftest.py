"""Shared by all tests of faults."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.sites import SiteFactory, site_factory
from tests.support.servers.postgres import PostgresServer


@pytest.fixture(scope="module")
def sites(postgres: PostgresServer) -> Iterator[SiteFactory]:
    with site_factory(postgres) as lent:
        yield lent
