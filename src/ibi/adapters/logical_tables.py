"""The tables of a database as a backup has them: the same whichever database they were in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import sqlalchemy as sa

from ibi.adapters import archive_schema, resolver_schema
from ibi.adapters.schema_version import NEWEST, version_table

Store: TypeAlias = Literal["catalogue", "ledger", "registry"]
"""The databases that an installation may have."""

LEDGER_VERSION: Final = "1"


@dataclass(frozen=True, slots=True)
class LogicalTable:
    """A table, and in which order its rows are written."""

    name: str
    columns: tuple[str, ...]
    order: str
    flags: tuple[str, ...] = ()
    """Columns that are true or false, which SQLite has as numbers."""
    numbered: str = ""
    """The column whose values the database makes up."""

    @property
    def select(self) -> str:
        """The statement that reads all of it."""
        return f"SELECT {', '.join(self.columns)} FROM {self.name} ORDER BY {self.order}"  # noqa: S608  # our own names


def tables_of(store: Store) -> tuple[LogicalTable, ...]:
    """Return the tables of a database, those of the newest version."""
    if store == "ledger":
        return _LEDGER
    schema = archive_schema.SCHEMA if store == "catalogue" else resolver_schema.SCHEMA
    return tuple(_table(table) for table in schema.sorted_tables if table.name not in _DERIVED)


def version_of(store: Store) -> tuple[str, str]:
    """Return the statement that tells the version of a database, and the newest there is."""
    if store == "ledger":
        return "SELECT version FROM ibi_ledger", LEDGER_VERSION
    part: Literal["archive", "resolver"] = "archive" if store == "catalogue" else "resolver"
    return f"SELECT version_num FROM {version_table(part)}", NEWEST[part]  # noqa: S608


# What follows from other tables, or from other machines, and is made anew: a digest that came back
# with a backup would be that of an earlier day.
_DERIVED: Final = frozenset(
    {"archive_digest", "archive_epoch", "resolver_digest", "resolver_holding"}
)

# With those of an item side by side, in the order of the items: whoever reads a backup goes
# through these tables together, and has one item at a time in mind.
_ORDERS: Final = {"archive_name": "coalesce(item, 0), name"}


def _table(table: sa.Table) -> LogicalTable:
    key = ", ".join(column.name for column in table.primary_key)
    return LogicalTable(
        table.name,
        tuple(column.name for column in table.columns),
        _ORDERS.get(table.name, key),
        tuple(column.name for column in table.columns if isinstance(column.type, sa.Boolean)),
        next((column.name for column in table.columns if column.identity is not None), ""),
    )


# The ledger's tables are made by hand (docs/adr/0009).
_LEDGER: Final = (
    LogicalTable("ibi_ledger", ("version", "identity"), "version"),
    LogicalTable("ibi_prefix", ("prefix", "mark", "generation", "history"), "prefix"),
    LogicalTable("ibi_sighting", ("prefix", "boot", "wall", "uptime"), "prefix, boot"),
    LogicalTable("ibi_issue", ("prefix", "key", "request", "instants", "prefixes"), "prefix, key"),
    LogicalTable(
        "ibi_label", ("prefix", "instant", "prefixes", "recorded", "target"), "prefix, instant"
    ),
    LogicalTable("ibi_token", ("name", "digest", "scope", "created"), "name"),
)
