"""Statements on PostgreSQL that take too long: the server ends them, not only the client."""

from __future__ import annotations

from contextlib import closing

import pytest

from ibi.foundation.sql.postgres import Postgres
from tests.support.servers.postgres import PostgresServer
from tests.support.waiting import wait_until

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
RUNNING = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
    "AND state = 'active' AND query LIKE 'WITH RECURSIVE n%'"
)


def test_a_statement_that_takes_too_long_ends_on_the_server(postgres: PostgresServer) -> None:
    with closing(Postgres(postgres.database())) as database:
        with pytest.raises(TimeoutError):
            database.read_within(0.05, ENDLESS)
        wait_until(lambda: database.read(RUNNING) == [(0,)])
