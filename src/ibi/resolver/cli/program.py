"""A resolver as the commands see it: its folder or address, its options, and its tokens."""

from __future__ import annotations

from typing import Final

from ibi.client.resolver import RemoteResolver
from ibi.foundation.cli.account_commands import account_group
from ibi.foundation.cli.program import Program
from ibi.foundation.cli.token_commands import token_group
from ibi.resolver.rules.scopes import ROLE_SCOPES, SCOPES
from ibi.resolver.settings import RESOLVER_FILE

RESOLVER: Final = Program("resolver", RESOLVER_FILE, RemoteResolver, has_epilogs=True)
resolver_options = RESOLVER.options
token = token_group(RESOLVER, SCOPES.names, "read", "watcher")
account = account_group(RESOLVER, tuple(ROLE_SCOPES))
