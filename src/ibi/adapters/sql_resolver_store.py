"""The database of a resolver, the same for every database behind it."""

from __future__ import annotations

from ibi.adapters.sql_acknowledgments import SqlAcknowledgments
from ibi.adapters.sql_conflicts import SqlConflicts
from ibi.adapters.sql_locations import SqlLocations
from ibi.adapters.sql_processes import SqlProcesses
from ibi.adapters.sql_registry import SqlRegistry


class SqlResolverStore(SqlRegistry, SqlConflicts, SqlAcknowledgments, SqlProcesses, SqlLocations):
    """What a resolver keeps, on a database that has its newest tables."""

    token_table = "resolver_token"  # noqa: S105  # the name of a table
