"""`ibi resolver token`: the tokens of the HTTP API."""

from __future__ import annotations

from ibi.foundation.cli.token_commands import token_group
from ibi.resolver.cli.options import RESOLVER
from ibi.resolver.rules.scopes import SCOPES

token = token_group(RESOLVER, SCOPES.names, "read", "watcher")
