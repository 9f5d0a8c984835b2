"""Options of those commands that act on a resolver: which one, and by what token."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from ibi.client.resolver import RemoteResolver
from ibi.errors import InstanceHeldError
from ibi.foundation.cli.instance_folder import inner_folder, usual
from ibi.foundation.cli.options import data_option, typed_options
from ibi.foundation.system.instance_lock import serving_at, token_of
from ibi.resolver.settings import RESOLVER_FILE

F = TypeVar("F", bound=Callable[..., Any])
folder_option = data_option("resolver")


def usual_folder() -> Path:
    """Return where a resolver lies if nobody says otherwise."""
    return usual("resolver")


def folder_of(given: Path | None) -> Path:
    """Return the folder of the resolver that is meant."""
    return inner_folder(given or usual_folder(), "resolver", RESOLVER_FILE)


def address_option(command: F) -> F:
    """Add --resolver."""
    return click.option(
        "--resolver", "address", envvar="IBI_RESOLVER", help="Its address, if elsewhere."
    )(command)


def resolver_options(command: F) -> F:
    """Add --data, --resolver and --token, and hand over a resolver that can be asked."""

    @folder_option
    @address_option
    @click.option("--token", envvar="IBI_TOKEN", help="A token for it.")
    @wraps(command)
    def with_resolver(
        *args: object,
        folder: Path | None,
        address: str | None,
        token: str | None,
        **options: object,
    ) -> object:
        return command(_resolver(folder, address, token), *args, **options)

    return with_resolver  # type: ignore[return-value]  # click calls it by keyword


def _resolver(folder: Path | None, address: str | None, token: str | None) -> RemoteResolver:
    if is_elsewhere(folder, address):
        return RemoteResolver(address or "", token or "")
    place = folder_of(folder)
    found = serving_at(place)
    if not found:
        msg = (
            f"No resolver is running on {place}: start it with 'ibi resolver serve --data {place}'."
        )
        raise InstanceHeldError(msg)
    # A token of the environment may be for a resolver elsewhere.
    own = "" if typed_options("token") else token_of(place)
    return RemoteResolver(found, own or token or "")


def is_elsewhere(folder: Path | None, address: str | None) -> bool:
    """Tell whether an address is meant: what was typed goes before what the environment says."""
    typed = typed_options("folder", "address")
    if typed == {"folder", "address"}:
        raise click.UsageError("A resolver is named by --data or by --resolver, not by both.")
    return bool(address) and ("address" in typed or folder is None)
