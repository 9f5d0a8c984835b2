"""A catalogue on each database that there is, and an archive without a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.storage.migrations import ARCHIVE_MIGRATIONS
from ibi.foundation.sql.postgres import Postgres
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.sql.upgrade import upgrade
from tests.support.scenes.catalogue import CatalogueDatabase, schema
from tests.support.scenes.small_archive import SmallArchive


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CatalogueDatabase]:
    if request.param == "sqlite":
        path = str(tmp_path / "catalogue.sqlite")
        place = CatalogueDatabase(path, lambda: Sqlite(path), postgresql=False)
    else:
        url = schema(request.getfixturevalue("postgres"))
        place = CatalogueDatabase(url, lambda: Postgres(url), postgresql=True)
    upgrade(place.place, ARCHIVE_MIGRATIONS, postgresql=place.postgresql)
    with ExitStack() as stack:
        yield place
        for catalogue in place.opened:
            stack.callback(catalogue.close)


@pytest.fixture
def catalogue(place: CatalogueDatabase) -> Catalogue:
    return place()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[SmallArchive]:
    archive = SmallArchive(tmp_path)
    yield archive
    archive.close()
