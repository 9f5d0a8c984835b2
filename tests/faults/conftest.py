"""Shared by all tests of faults."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.sites import Grounds, grounds
from tests.support.servers.postgres import PostgresServer


@pytest.fixture(scope="module")
def ground(postgres: PostgresServer) -> Iterator[Grounds]:
    with grounds(postgres) as lent:
        yield lent
