"""`ibi resolver token`: who may do what over HTTP."""

from __future__ import annotations

from ibi.foundation.cli.token_commands import token_group
from ibi.resolver.cli.options import RESOLVER
from ibi.resolver.rules.scopes import SCOPES

token = token_group(RESOLVER, SCOPES.names, "read", "watcher")
