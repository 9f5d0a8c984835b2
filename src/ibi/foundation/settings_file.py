"""The settings of an instance: a TOML file in its folder, which is checked when it is read."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import msgspec

from ibi.errors import RequestError, printable, shown
from ibi.identifier.limits import MAX_PORT

POSTGRESQL: Final = ("postgresql://", "postgres://")
"""The schemes of the URLs of a PostgreSQL database."""

# The forms of an address and of an e-mail address that resolvers accept (`wire.requests`).
_ADDRESS: Final = re.compile(
    r"https?://(?:[a-z0-9][a-z0-9._-]{0,252}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?"
)
_MAIL_ADDRESS: Final = re.compile(r"[^\s<>,;@]{1,64}@[^\s<>,;@]{1,255}")

T = TypeVar("T")

MAX_WORKERS: Final = 64
"""The largest number of worker processes of a service."""
NETWORKS: Final = "a list of networks, as 10.0.0.0/8"
"""The expected value of a list of networks, in error texts."""
DESTINATIONS: Final = "a list of networks, as 10.0.0.0/8 or, for one port, 127.0.0.1:8801"
"""The expected value of a list of destinations, in error texts."""
_DESTINATION: Final = re.compile(r"(?:\[([0-9a-fA-F:./]+)\]|([0-9./]+)):([0-9]{1,5})")


def data_home() -> Path:
    """Return the folder for data of the user's programs (XDG base directories)."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")


def usual_place(name: str) -> Path:
    """Return the default place of a program's data."""
    return data_home() / "ibi" / name


@contextmanager
def raising(kind: type[RequestError]) -> Iterator[None]:
    """Convert a RequestError into the error of a program, with the same message."""
    try:
        yield
    except RequestError as fault:
        raise kind(str(fault)) from None


def read(path: Path, kind: type[T], check: Callable[[T], T], nothing: str) -> T:
    """Read the settings in a file; raise RequestError if they are not valid.

    `nothing` is the message if there is no file.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        _refuse_unknown(found, kind)
        settings = msgspec.convert({**found, "folder": path.parent}, kind, dec_hook=_as_is)
        return check(settings)
    except RequestError as fault:
        msg = f"{path}: {fault}"
        raise RequestError(msg) from None
    except FileNotFoundError:
        where = "" if path.parent.is_dir() else " That folder does not exist."
        raise RequestError(nothing + where) from None
    except (OSError, ValueError, RecursionError) as fault:  # the last one by thousands of brackets
        msg = f"{path} cannot be read: {printable(str(fault))}."
        raise RequestError(msg) from None


def _refuse_unknown(found: dict[str, Any], kind: type) -> None:
    known = {each.name for each in fields(kind)} - {"folder"}
    unknown = sorted(found.keys() - known)
    if unknown:
        from difflib import get_close_matches  # noqa: PLC0415  # seldom needed
        from importlib.metadata import version  # noqa: PLC0415

        names = ", ".join(map(shown, unknown))
        things = "setting" if len(unknown) == 1 else "settings"
        near = get_close_matches(unknown[0], sorted(known), 1)
        advice = f" Did you mean {near[0]}?" if near and len(unknown) == 1 else ""
        msg = (
            f"This version of ibi ({version('ibi')}) has no {things} {names}: the name is wrong, "
            f"or a newer version wrote the file.{advice}"
        )
        raise RequestError(msg)


def _as_is(kind: type, value: object) -> object:
    del kind
    return value


def written(settings: Any) -> str:  # noqa: ANN401  # any dataclass of settings
    """Return settings as TOML, without those that have their default values."""
    lines = []
    for each in fields(settings):
        value = getattr(settings, each.name)
        usual = each.default_factory() if callable(each.default_factory) else each.default
        if each.name != "folder" and value != usual:
            lines.append(f"{each.name} = {_toml(value)}\n")
    return "".join(lines)


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml(each)}" for name, each in value.items()) + " }"
    # For strings, numbers and lists of them, JSON is valid TOML.
    return msgspec.json.encode(value).decode()


def refuse_bad(settings: object, checks: Iterable[tuple[str, object, str]]) -> None:
    """Raise for the first check that fails: a setting's name, the result, what is expected."""
    for name, good, expected in checks:
        if not good:
            given = getattr(settings, name)
            text = shown(given) if isinstance(given, str) else given
            msg = f"{name} = {text} cannot be: expected {expected}."
            raise RequestError(msg)


def is_address(address: str) -> bool:
    """Return whether a text is http://host[:port]."""
    try:
        port = urlsplit(address).port
    except ValueError:
        return False
    return _ADDRESS.fullmatch(address) is not None and port != 0


def is_mail_address(text: str) -> bool:
    """Return whether a text is an e-mail address."""
    return _MAIL_ADDRESS.fullmatch(text) is not None


def place_to_listen(listen: str) -> tuple[str, int]:
    """Parse ADDRESS:PORT; raise RequestError if it is not valid."""
    host, _, port = listen.rpartition(":")
    digits = port.isascii() and port.isdigit() and len(port) <= len(str(MAX_PORT))
    if not host or not digits or int(port) > MAX_PORT:
        msg = f"{shown(listen)} is not where one can listen: expected ADDRESS:PORT."
        raise RequestError(msg)
    return (host[1:-1] if host[0] + host[-1] == "[]" else host), int(port)


def is_place(text: str) -> bool:
    """Return whether a text is HOST:PORT."""
    try:
        return bool(place_to_listen(text))
    except RequestError:
        return False


def place_of(folder: Path, given: str) -> str:
    """Return the place of a database: a URL unchanged, a path relative to the instance's folder."""
    refuse_other_url(given)
    return given if given.startswith(POSTGRESQL) else str(folder / given)


def refuse_other_url(given: str) -> None:
    """Raise if the place of a database is a URL, and not one of PostgreSQL.

    As a path it would be made as folders, whose names would contain a password. The message has
    nothing of what follows the scheme.
    """
    scheme, colon, _ = given.partition("/")[0].partition(":")
    if colon and "/" in given and not given.startswith(POSTGRESQL):
        expected = "expected a file, or a postgresql:// URL"
        msg = f"{scheme}:... is no place of a database: {expected}."
        raise RequestError(msg)


def are_networks(texts: list[str]) -> bool:
    """Return whether all texts are networks, each written as its first address and its bits."""
    try:
        return all(ip_network(text) for text in texts)
    except ValueError:
        return False


def destination(text: str) -> tuple[IPv4Network | IPv6Network, int | None]:
    """Parse NETWORK or NETWORK:PORT, with [...] around a network of IPv6 that has a port.

    Returns the network, and the port or None for all ports; raises ValueError if it is neither.
    """
    match = _DESTINATION.fullmatch(text)
    if match is None:
        return ip_network(text), None
    port = int(match[3])
    if not 1 <= port <= MAX_PORT:
        msg = f"{shown(text)} has no valid port."
        raise ValueError(msg)
    return ip_network(match[1] or match[2]), port


def are_destinations(texts: list[str]) -> bool:
    """Return whether all texts are networks, each for all ports or for one."""
    try:
        return all(destination(text) for text in texts)
    except ValueError:
        return False
