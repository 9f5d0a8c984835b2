"""Command groups that load the modules of their commands when they are called.

A web server takes long to load.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click
from click.exceptions import NoSuchCommand
from click.shell_completion import CompletionItem


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

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the names of commands and options that begin so.

        Commands have no descriptions here: a shell would wait until all their modules are loaded.
        """
        names = (each for each in self.list_commands(ctx) if each.startswith(incomplete))
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*map(CompletionItem, names), *options]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named command; the error for an unknown name suggests others."""
        try:
            return super().resolve_command(ctx, args)
        except NoSuchCommand as unknown:
            name = unknown.command_name
            groups = self._groups_with(ctx, name)
            if not groups:
                raise NoSuchCommand(name, possibilities=self._module_of, ctx=ctx) from None
            names = " or ".join(f"'{ctx.command_path} {group} {name}'" for group in groups)
            raise NoSuchCommand(name, f"{unknown.message} Did you mean {names}?", ctx=ctx) from None

    def _groups_with(self, ctx: click.Context, name: str) -> list[str]:
        """Return the names of the groups in this one that have a command."""
        found = ((each, self.get_command(ctx, each)) for each in self.list_commands(ctx))
        groups = ((each, group) for each, group in found if isinstance(group, click.Group))
        return [each for each, group in groups if name in group.list_commands(ctx)]
