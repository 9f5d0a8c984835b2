"""The command `ibi up`."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

import click

from ibi.archive.cli.options import original_option
from ibi.client.archive import RemoteArchive
from ibi.errors import StorageFullError
from ibi.foundation.accounts.first_administrator import NO_ADMINISTRATOR
from ibi.foundation.cli.options import data_option, refuse_closed_output
from ibi.foundation.processes.server import address_of, interrupt_on_sigterm, run_together
from ibi.foundation.settings_file import usual_place
from ibi.foundation.system.disk import check_room
from ibi.foundation.system.instance_lock import TOKEN_FILE, token_of
from ibi.identifier.limits import MAX_PORT
from ibi.installation.demo import Demo
from ibi.installation.programs import Installation, opened
from ibi.installation.settings import InstallationRequest, is_local

_SOON: Final = 0.02
"""Seconds between two checks whether the resolver includes the archive."""
_INCLUDED: Final = frozenset({"included", "unconfirmed"})

_EXAMPLES: Final = """\b
Examples:
  ibi up
  ibi up --demo
  ibi up --data /srv/ibi --archive-address http://archive.example.org
"""


@click.command(epilog=_EXAMPLES)
@data_option("both")
@click.option(
    "--port",
    type=click.IntRange(1, MAX_PORT - 1),
    default=8800,
    show_default=True,
    help="The port of the resolver; the archive has the next one.",
)
@click.option("--demo", is_flag=True, help="Add a few items, once, that show what it does.")
@click.option("--resolver-address", default="", metavar="URL", help="Its public address.")
@click.option(
    "--archive-address",
    default="",
    metavar="URL",
    help="Its public address; labels are minted under its host.",
)
@click.option("--ip", default="", help="The public IP address of that host.  [default: by DNS]")
@click.option(
    "--listen", default="", metavar="ADDRESS", help="Where to serve HTTP.  [default: 127.0.0.1]"
)
@original_option
@click.option("--verbose", is_flag=True, help="Log requests to standard error.")
def up(
    folder: Path | None,
    *,
    demo: bool,
    original_is_gone: bool,
    verbose: bool,
    **wanted: str | int,
) -> None:
    """Run a resolver and an archive that is linked to it, until SIGINT or SIGTERM.

    The first start creates both. Every other command finds them in their folder. An archive that
    was restored from a backup does not start while another instance of it answers.
    """
    refuse_closed_output()
    interrupt_on_sigterm()
    place = (folder or usual_place("archive").parent).absolute()
    request = InstallationRequest(**wanted, demo=demo)  # type: ignore[arg-type]  # by click
    with opened(place, request, _say, original_is_gone=original_is_gone) as installation:
        start = _Start(installation, is_usual=folder is None, wants_demo=demo)
        services = (installation.resolver, installation.archive)
        run_together(services, start.run, installation.announcer.stop, verbose=verbose)


class _Start:
    """The steps after both programs answer."""

    def __init__(self, installation: Installation, *, is_usual: bool, wants_demo: bool) -> None:
        self._installation = installation
        self._is_usual = is_usual
        self._wants_demo = wants_demo
        self._resolver = address_of(installation.resolver.listener)
        self._archive = address_of(installation.archive.listener)

    async def run(self) -> None:
        """Wait until the resolver includes the archive, add the demo items, and print messages."""
        self._installation.announcer.start()
        await self._inclusion()
        demo = Demo(
            RemoteArchive(self._archive, token_of(self._installation.settings.folder)),
            self._installation.settings.folder,
        )
        if self._wants_demo:
            await demo.fill()
        settings = self._installation.settings
        if is_local(settings):
            _say(
                f"Labels are minted under {settings.host}, port {settings.port}, and "
                f"{settings.ip}, port {settings.ip_port}: good for a try only, because every "
                "machine can mint the same."
            )
        if self._installation.made:
            self._welcome()
        if self._installation.administrator_links:
            _say(NO_ADMINISTRATOR)
            for link in self._installation.administrator_links:
                _say(f"  {link}")
        if self._wants_demo:
            _say("\nOpen in a browser:")
            addresses = self._installation.link.resolver, self._installation.settings.address
            for line in demo.tour(*addresses):
                _say(f"  {line}")
        # Last: a program that waits for this line finds everything else done.
        click.echo(f"ready resolver={self._resolver} archive={self._archive}")
        sys.stdout.flush()

    async def _inclusion(self) -> None:
        said = ""
        while self._has_room():
            links = await asyncio.to_thread(self._installation.links.all)
            for link in links:
                if link.resolver != self._installation.link.resolver:
                    continue
                if link.reason and link.reason != said:
                    said = link.reason
                    _say(f"The resolver answers, but {said}.")
                if link.state in _INCLUDED:
                    return
            await asyncio.sleep(_SOON)

    def _has_room(self) -> bool:
        """Return whether links can be stored; otherwise tell that readers alone are served."""
        try:
            check_room(self._installation.folder)
        except StorageFullError:
            _say("The disk is full: items can be read, and nothing can be changed until it is not.")
            return False
        return True

    def _welcome(self) -> None:
        """Print, once, what was created and what to try."""
        command = _command()
        data = "" if self._is_usual else f" --data {shlex.quote(str(self._installation.folder))}"
        # Not the tokens: standard error is often a log, which others read and which is kept.
        _say(f"\nMade in {self._installation.folder}. Tokens that may do everything are in:")
        for folder in self._installation.made:
            _say(f"  {folder / TOKEN_FILE}")
        _say(f"\nPages: {self._resolver}/ and {self._archive}/. In another terminal, try:")
        _say(
            f"  echo 'Hello, world.' > hello.txt; {command} archive deposit hello.txt "
            f"--title Greetings --language en{data} | tee label"
        )
        _say(f"  {command} resolve $(cut -f2 label){data}")
        _say(f"  {command} resolve $(cut -f2 label) --explain{data}")


def _command() -> str:
    """Return the command that starts this program from another terminal."""
    called = Path(sys.argv[0]).absolute()
    found = shutil.which("ibi")
    is_found = found is not None and Path(found).resolve() == called.resolve()
    return "ibi" if is_found or called.name != "ibi" else shlex.quote(str(called))


def _say(text: str) -> None:
    click.echo(text, err=True)
