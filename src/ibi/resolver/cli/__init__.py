"""`ibi resolver`: make a resolver, run it, and manage its registered archives."""

from __future__ import annotations

from typing import Final

import click

from ibi.foundation.cli.lazy_group import LazyGroup

_MODULES: Final = {
    "ibi.resolver.cli.instance": ("init", "serve"),
    "ibi.resolver.cli.archives": (
        "register", "archives", "confirm", "rotate", "revoke", "exclude", "remove", "hosts", "mail",
        "history",
    ),
    "ibi.resolver.cli.conflicts": ("conflicts", "settle"),
    "ibi.resolver.cli.program": ("token", "account"),
}  # fmt: skip

_EXAMPLES: Final = """\b
Examples:
  ibi resolver init --name "Resolver of X" --address http://resolver.example.org
  ibi resolver serve
  ibi resolver register example.org/archive/2026/11.15.12.00 --administrator admin@example.org
"""


@click.group(cls=LazyGroup, modules=_MODULES, epilog=_EXAMPLES)
def resolver() -> None:
    """Make a resolver, run it, and manage its registered archives."""
