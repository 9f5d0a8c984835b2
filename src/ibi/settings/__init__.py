"""What an operator sets, read once and passed in."""

from ibi.settings.archive import (
    ARCHIVE_FILE,
    ArchiveSettings,
    checked,
    missing_for_linking,
    read_archive,
)
from ibi.settings.file import MOST_WORKERS, POSTGRESQL, place_to_listen, written
from ibi.settings.minter import MinterSettings, usual_ledger
from ibi.settings.resolver import (
    RESOLVER_FILE,
    ResolverSettings,
    checked_resolver,
    read_resolver,
)

__all__ = [
    "ARCHIVE_FILE",
    "MOST_WORKERS",
    "POSTGRESQL",
    "RESOLVER_FILE",
    "ArchiveSettings",
    "MinterSettings",
    "ResolverSettings",
    "checked",
    "checked_resolver",
    "missing_for_linking",
    "place_to_listen",
    "read_archive",
    "read_resolver",
    "usual_ledger",
    "written",
]
