"""What an operator sets, read once and passed in."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from ibi.errors import (
    ArchiveRequestError,
    RequestError,
    printable,
    shown,
)
from ibi.identifier import ibip, repository_name
from ibi.identifier.limits import MAX_PORT
from ibi.minting.granularity import AUTO, parse_granularity
from ibi.minting.reservation import Limits
from ibi.minting.subsystem import Subsystem

POSTGRESQL: Final = ("postgresql://", "postgres://")

# What resolvers take for the address of an archive, and for one of mail (`wire.requests`).
_ADDRESS: Final = re.compile(
    r"https?://(?:[a-z0-9][a-z0-9._-]{0,252}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?"
)
_MAIL_ADDRESS: Final = re.compile(r"[^\s<>,;@]{1,64}@[^\s<>,;@]{1,255}")


@dataclass(frozen=True, slots=True)
class MinterSettings:
    """A subsystem and where it keeps its ledger."""

    host: str | None = None
    port: int = repository_name.DEFAULT_PORT
    ip: str | None = None
    ip_port: int = ibip.DEFAULT_PORT
    ledger: str = ""
    """The path of a file, or a postgresql:// URL; empty for the usual file."""
    granularity: str = AUTO
    allow_private: bool = False
    limits: Limits = field(default_factory=Limits)

    @property
    def place(self) -> str:
        """Where the ledger lies."""
        return self.ledger or str(usual_ledger())


def usual_ledger() -> Path:
    """Return where a ledger lies if nobody says otherwise (XDG base directories)."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "ibi" / "ledger.sqlite"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSettings:
    """An archive, as its administrator set it up: the file `archive.toml` in its folder."""

    folder: Path
    name: str
    address: str
    """Where readers find it: http://archive.example.org"""
    host: str
    port: int
    ip: str = ""
    ip_port: int = ibip.DEFAULT_PORT
    administrator: str = ""
    """An e-mail address."""
    listen: str = "127.0.0.1:8801"
    storage: str = ""
    """Where `col/` lies; empty for the folder itself."""
    catalogue: str = "catalogue.sqlite"
    """The path of a file, or a postgresql:// URL."""
    ledger: str = "ledger.sqlite"
    granularity: str = AUTO
    allow_private: bool = False
    keep_replaced: bool = True
    """Whether the bytes of a file that is replaced or removed are kept."""
    largest_file: int = 1 << 40
    requests_a_second: int = 100
    """Of the API, for one token; bursts of five times that."""

    @property
    def root(self) -> Path:
        """The folder in which the files lie."""
        return self.folder / self.storage if self.storage else self.folder

    def place(self, given: str) -> str:
        """Return a database's place: a URL as it is, a path from the folder of the archive."""
        return given if given.startswith(POSTGRESQL) else str(self.folder / given)

    @property
    def minter(self) -> MinterSettings:
        """The subsystem that mints for it."""
        return MinterSettings(
            self.host,
            self.port,
            self.ip or None,
            self.ip_port,
            self.place(self.ledger),
            self.granularity,
            self.allow_private,
        )


ARCHIVE_FILE: Final = "archive.toml"


def read_archive(folder: Path) -> ArchiveSettings:
    """Read the settings of the archive in a folder."""
    path = folder / ARCHIVE_FILE
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
        known = {each.name for each in fields(ArchiveSettings)} - {"folder"}
        for name in sorted(read.keys() - known):
            msg = f"There is no setting {shown(name)}."
            raise ArchiveRequestError(msg)
        settings = msgspec.convert({**read, "folder": folder}, ArchiveSettings, dec_hook=_as_is)
        return checked(settings)
    except RequestError as fault:
        msg = f"{path}: {fault}"
        raise ArchiveRequestError(msg) from None
    except FileNotFoundError:
        msg = f"There is no archive in {shown(str(folder))}: make one with 'ibi archive init'."
        raise ArchiveRequestError(msg) from None
    except (OSError, ValueError) as fault:
        msg = f"{path} cannot be read: {printable(str(fault))}."
        raise ArchiveRequestError(msg) from None


def checked(settings: ArchiveSettings) -> ArchiveSettings:
    """Return settings that an archive can run with, the address as resolvers write it.

    What it cannot run with is told in one sentence, by the name of the setting.
    """
    settings = replace(settings, address=settings.address.lower().rstrip("/"))
    for name, good, expected in (
        ("name", settings.name.strip() and settings.name.isprintable(), "one line, for people"),
        ("address", _is_address(settings.address), "http://host[:port]"),
        ("port", 1 <= settings.port <= MAX_PORT, f"a port from 1 to {MAX_PORT}"),
        ("ip_port", 1 <= settings.ip_port <= MAX_PORT, f"a port from 1 to {MAX_PORT}"),
        ("administrator", _is_administrator(settings.administrator), "an e-mail address"),
        ("catalogue", settings.catalogue, "a file, or a postgresql:// URL"),
        ("ledger", settings.ledger, "a file, or a postgresql:// URL"),
        ("largest_file", settings.largest_file >= 1, "1 byte or more"),
        ("requests_a_second", settings.requests_a_second >= 1, "1 or more"),
    ):
        if not good:
            given = getattr(settings, name)
            text = shown(given) if isinstance(given, str) else given
            msg = f"{name} = {text} cannot be: expected {expected}."
            raise ArchiveRequestError(msg)
    _check_parts(settings)
    return settings


def _is_address(address: str) -> bool:
    try:
        port = urlsplit(address).port
    except ValueError:
        return False
    return _ADDRESS.fullmatch(address) is not None and port != 0


def _is_administrator(text: str) -> bool:
    return not text or _MAIL_ADDRESS.fullmatch(text) is not None


def _check_parts(settings: ArchiveSettings) -> None:
    """Check what other parts of the program know best: how labels are minted, where to listen."""
    minter = settings.minter
    for name, check in (
        ("host", lambda: Subsystem(minter.host, minter.port)),
        ("ip", lambda: minter.ip and Subsystem(None, 1, minter.ip, 1, minter.allow_private)),
        ("granularity", lambda: parse_granularity(minter.granularity)),
        ("listen", lambda: place_to_listen(settings.listen)),
    ):
        try:
            check()
        except RequestError as fault:
            msg = f"{name}: {fault}"
            raise ArchiveRequestError(msg) from None


def place_to_listen(listen: str) -> tuple[str, int]:
    """Read ADDRESS:PORT."""
    host, _, port = listen.rpartition(":")
    digits = port.isascii() and port.isdigit() and len(port) <= len(str(MAX_PORT))
    if not host or not digits or int(port) > MAX_PORT:
        msg = f"{shown(listen)} is not where one can listen: expected ADDRESS:PORT."
        raise RequestError(msg)
    return (host[1:-1] if host[0] + host[-1] == "[]" else host), int(port)


def missing_for_linking(settings: ArchiveSettings) -> str:
    """Say what resolvers must be told of an archive and its settings lack; empty if nothing.

    Both are mandatory when it announces itself (004, Table 5.2).
    """
    missing = [name for name in ("ip", "administrator") if not getattr(settings, name)]
    if not missing:
        return ""
    names = " and ".join(f"`{name}`" for name in missing)
    return (
        f"Resolvers want to know more of this archive: set {names} in {ARCHIVE_FILE}, restart it."
    )


def _as_is(kind: type, value: object) -> object:
    del kind
    return value


def write_archive(settings: ArchiveSettings) -> str:
    """Write settings as TOML, all but those that are as usual."""
    lines = []
    for each in fields(settings):
        value = getattr(settings, each.name)
        if each.name != "folder" and value != each.default:
            # What JSON writes for a string, a number or a list of them, TOML reads the same.
            text = msgspec.json.encode(value).decode()
            lines.append(f"{each.name} = {text}\n")
    return "".join(lines)
