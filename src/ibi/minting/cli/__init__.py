"""The commands `ibi mint` and `ibi minter`."""

from __future__ import annotations

from typing import Final

import click

from ibi.foundation.cli.lazy_group import LazyGroup

_MODULES: Final = {
    "ibi.minting.cli.service": ("bind", "confirm", "serve", "status", "token", "unbound"),
}


@click.group(cls=LazyGroup, modules=_MODULES)
def minter() -> None:
    """Run a minting service, and manage its ledger.

    Example: ibi minter serve --host archive.example.org
    """
