"""A resolver on each database that there is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.servers.postgres import DATABASES, database_options
from tests.support.servers.resolver import ResolverServer


@pytest.fixture(scope="module", params=DATABASES)
def resolver(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ResolverServer]:
    options = database_options(request, "--database")
    with ResolverServer(tmp_path_factory.mktemp(request.param), *options) as started:
        yield started
