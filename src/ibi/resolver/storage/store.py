"""The database of a resolver: one handle, and a part for each kind of record."""

from __future__ import annotations

from ibi.foundation.accounts.store import SqlAccounts
from ibi.foundation.figures.store import SqlFigures
from ibi.foundation.settings_file import POSTGRESQL
from ibi.foundation.sql.database import Database
from ibi.foundation.sql.database_url import open_newest
from ibi.foundation.sql.store import SqlHandle, SqlTokens
from ibi.resolver.storage.acknowledgments import SqlAcknowledgments
from ibi.resolver.storage.archives import SqlArchives, SqlChallenges
from ibi.resolver.storage.conflicts import SqlConflicts, SqlOwners
from ibi.resolver.storage.locations import SqlLocations
from ibi.resolver.storage.migrations import RESOLVER_MIGRATIONS
from ibi.resolver.storage.workers import SqlChangeFeed, SqlFollowedLogs, SqlProcesses


class SqlResolverStore:
    """The stores of a resolver, in a database with the newest tables.

    A write is durable when its method returns. Every method raises StorageError when the database
    does not answer.
    """

    def __init__(self, database: Database, *, quick: bool) -> None:
        """Use a database; `quick` if a point read may be made in the event loop's thread."""
        self.quick = quick
        self._handle = handle = SqlHandle(database)
        self.archives = SqlArchives(handle)
        self.challenges = SqlChallenges(handle)
        self.feed = SqlChangeFeed(handle)
        self.conflicts = SqlConflicts(handle)
        self.owners = SqlOwners(handle)
        self.acknowledgments = SqlAcknowledgments(handle)
        self.processes = SqlProcesses(handle)
        self.locations = SqlLocations(handle)
        self.followed_logs = SqlFollowedLogs(handle)
        self.tokens = SqlTokens(handle, "resolver_token")
        self.figures = SqlFigures(handle, "resolver_figure")
        self.accounts = SqlAccounts(handle, "resolver")

    @classmethod
    def open(cls, place: str) -> SqlResolverStore:
        """Open the database at a place, and migrate it to the newest version."""
        database = open_newest(place, RESOLVER_MIGRATIONS)
        return cls(database, quick=not place.startswith(POSTGRESQL))

    def close(self) -> None:
        """Close the database."""
        self._handle.close()
