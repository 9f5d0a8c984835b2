"""Command groups that load the modules of their commands when they are called.

A web server takes long to load.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """Finds each of its commands by its name in the module that defines it."""

    def __init__(self, *args: Any, modules: Mapping[str, tuple[str, ...]], **rest: Any) -> None:  # noqa: ANN401  # as click has them
        """Take the names of the commands by the module that defines them."""
        super().__init__(*args, **rest)
        self._module_of = {name: module for module, names in modules.items() for name in names}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        del ctx
        return sorted(self._module_of)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, and load its module if it is not loaded yet."""
        del ctx
        if cmd_name not in self._module_of:
            return None
        defined = vars(import_module(self._module_of[cmd_name])).values()
        commands = (each for each in defined if isinstance(each, click.Command))
        return next(each for each in commands if each.name == cmd_name)
