"""Options of the commands that act on a resolver: its address or folder, and the token."""

from __future__ import annotations

from typing import Final

from ibi.client.resolver import RemoteResolver
from ibi.foundation.cli.program import Program
from ibi.resolver.settings import RESOLVER_FILE

RESOLVER: Final = Program("resolver", RESOLVER_FILE, RemoteResolver, has_epilogs=True)
resolver_options = RESOLVER.options
