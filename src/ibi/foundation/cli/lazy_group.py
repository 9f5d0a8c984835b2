"""Commands whose modules are loaded when they are called: a web server takes long to load."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class ModuleGroup(click.Group):
    """Finds its commands in modules, which add them to it by `add_to`."""

    def __init__(self, *args: Any, modules: Mapping[str, tuple[str, ...]], **rest: Any) -> None:  # noqa: ANN401  # as click has them
        """Take the names of the commands by the module of `ibi.cli` that has them."""
        super().__init__(*args, **rest)
        self._module_of = {name: module for module, names in modules.items() for name in names}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted({*super().list_commands(ctx), *self._module_of})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, and load its module if need be."""
        if cmd_name not in self.commands and cmd_name in self._module_of:
            import_module(self._module_of[cmd_name]).add_to(self)
        return super().get_command(ctx, cmd_name)
