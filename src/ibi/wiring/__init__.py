"""The only place that knows all parts: settings in, working objects out.

What a quick command does not need, a web server above all, is imported where it is used.
"""

from ibi.wiring.archive import Instance, archive_app
from ibi.wiring.auditing import auditing_of
from ibi.wiring.databases import open_catalogue, open_ledger, open_resolver_store
from ibi.wiring.minting import (
    minter_of,
    minting_service,
    open_minter,
    open_pool,
    remote_pool,
    subsystem_of,
)
from ibi.wiring.resolver import ResolverInstance, resolver_app

__all__ = [
    "Instance",
    "ResolverInstance",
    "archive_app",
    "auditing_of",
    "minter_of",
    "minting_service",
    "open_catalogue",
    "open_ledger",
    "open_minter",
    "open_pool",
    "open_resolver_store",
    "remote_pool",
    "resolver_app",
    "subsystem_of",
]
