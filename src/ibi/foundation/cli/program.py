"""A program from the view of its commands: how its instances are named, found and called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from http import HTTPStatus
from pathlib import Path
from typing import Any, Generic, TypeVar

import click

from ibi.errors import (
    ArchiveRefusedError,
    InstanceHeldError,
    RequestError,
    ResolverRefusedError,
    printable,
)
from ibi.foundation.cli.options import data_option, typed_options, workers_option
from ibi.foundation.http_client.api_client import RemoteApi
from ibi.foundation.settings_file import usual_place
from ibi.foundation.system import instance_lock

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R", bound=RemoteApi)


@dataclass(frozen=True, slots=True)
class Program(Generic[R]):
    """An archive or a resolver."""

    name: str
    """The name of its command and option, and of the folder of an instance."""
    settings_file: str
    """The settings file: a folder that contains it is an instance."""
    remote: type[R]
    """The client of a running instance, over HTTP."""
    has_epilogs: bool = False
    """Whether examples follow the options of a command, instead of its description."""

    def usual_folder(self) -> Path:
        """Return the folder of an instance if none is given."""
        return usual_place(self.name)

    def folder_of(self, given: Path | None) -> Path:
        """Return the folder with the settings of the instance.

        Services that run together are in one folder, each in a subfolder of its own.
        """
        place = given or self.usual_folder()
        inner = place / self.name
        is_within = (
            not (place / self.settings_file).exists() and (inner / self.settings_file).exists()
        )
        return inner if is_within else place

    def existing_folder(self, given: Path | None) -> Path:
        """Return the same; raise RequestError if a folder is given and does not exist."""
        if given is not None and not given.is_dir():
            raise RequestError(f"There is no folder {printable(str(given))}.")
        return self.folder_of(given)

    def folder_option(self, command: F) -> F:
        """Add --data."""
        return data_option(f"the {self.name}", f"/{self.name}")(command)

    def address_option(self, command: F) -> F:
        """Add --archive or --resolver."""
        return click.option(
            f"--{self.name}",
            "address",
            envvar=f"IBI_{self.name.upper()}",
            help="Its address, if elsewhere.",
        )(command)

    def options(self, command: F) -> F:
        """Add --data, --token and the address; the command is called with the remote instance."""
        return self.options_for(self.connect, command)

    def options_for(
        self, choose: Callable[[Path | None, str | None, str | None], object], command: F
    ) -> F:
        """Add the same options; the command is called with the result of `choose`."""

        @self.folder_option
        @self.address_option
        @click.option("--token", envvar="IBI_TOKEN", help="A token for it.")
        @wraps(command)
        def with_instance(
            *args: object,
            folder: Path | None,
            address: str | None,
            token: str | None,
            **options: object,
        ) -> object:
            try:
                return command(choose(folder, address, token), *args, **options)
            except (ArchiveRefusedError, ResolverRefusedError) as refusal:
                if refusal.status != HTTPStatus.UNAUTHORIZED:
                    raise
                raise type(refusal)(refusal.status, _token_advice(self.name, token)) from None

        return with_instance  # type: ignore[return-value]  # click calls it by keyword

    def is_elsewhere(self, folder: Path | None, address: str | None) -> bool:
        """Return whether to use an address; typed options take precedence over the environment."""
        typed = typed_options("folder", "address")
        if typed == {"folder", "address"}:
            phrase = self.remote.service.capitalize()
            raise click.UsageError(f"{phrase} is named by --data or by --{self.name}, not by both.")
        return bool(address) and ("address" in typed or folder is None)

    def connect(self, folder: Path | None, address: str | None, token: str | None) -> R:
        """Return the running instance that the options name."""
        if self.is_elsewhere(folder, address):
            return self.remote(address or "", token or "")
        place = self.existing_folder(folder)
        found = instance_lock.serving_at(place)
        if not found:
            msg = (
                f"No {self.name} is running on {place}: "
                f"start it with 'ibi {self.name} serve --data {place}'."
            )
            raise InstanceHeldError(msg)
        # A token of the environment may be for an instance elsewhere.
        own = "" if typed_options("token") else instance_lock.token_of(place)
        return self.remote(found, own or token or "")

    def texts(self, summary: str, *examples: str) -> tuple[str, str | None]:
        """Return the help and the epilog of a command, with its examples where they belong."""
        if not self.has_epilogs:
            return f"{summary}\n\nExample: {examples[0]}", None
        if len(examples) == 1:
            return summary, f"Example: {examples[0]}"
        return summary, "\b\nExamples:\n" + "".join(f"  {each}\n" for each in examples)

    def serve_options(self, command: F) -> F:
        """Add --data, --listen and --workers."""
        listen = click.option(
            "--listen", default="", help="Where to serve HTTP.  [default: as in the settings]"
        )
        return self.folder_option(listen(workers_option(command)))


def _token_advice(name: str, token: str | None) -> str:
    if token:
        return f"The {name} does not know this token: give another by --token or IBI_TOKEN."
    return f"The {name} needs a token: give it by --token, or in the environment by IBI_TOKEN."
