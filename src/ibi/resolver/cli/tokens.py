"""`ibi resolver token`: who may do what over HTTP."""

from __future__ import annotations

from ibi.foundation.cli.token_commands import token_group
from ibi.foundation.web.tokens import RESOLVER_SCOPES
from ibi.resolver.cli.options import RESOLVER

token = token_group(RESOLVER, RESOLVER_SCOPES, "read", "watcher")
