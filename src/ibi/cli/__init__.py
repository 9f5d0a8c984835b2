"""The command line: one module a command."""

from __future__ import annotations

import sys

import click

from ibi.cli.describe import describe


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ibi", message="ibi %(version)s")
def ibi() -> None:
    """Internet Based Identifiers: persistent identifiers without a registrar.

    Example: ibi describe 8JMKD3MGP7W/3EPGUE5
    """


ibi.add_command(describe)


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr, never a traceback."""
    try:
        sys.exit(ibi.main(prog_name="ibi", standalone_mode=False))
    except click.exceptions.NoArgsIsHelpError as help_wanted:
        help_wanted.show()
        sys.exit(help_wanted.exit_code)
    except click.ClickException as mistake:
        context = getattr(mistake, "ctx", None)
        command = context.command_path if context else "ibi"
        click.echo(f"ibi: {mistake.format_message()} See '{command} --help'.", err=True)
        sys.exit(mistake.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("ibi: stopped.", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read our output has read enough. What is still buffered must not be written at
        # exit either, or the interpreter would complain.
        sys.stdout = None
        sys.exit(1)
