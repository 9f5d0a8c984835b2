"""What an operator sets, read once and passed in."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final

import msgspec

from ibi.errors import ArchiveRequestError, printable, shown
from ibi.identifier import ibip, repository_name
from ibi.minting.granularity import AUTO
from ibi.minting.reservation import Limits

POSTGRESQL: Final = ("postgresql://", "postgres://")


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
    """Of the API, by one token or address; bursts of five times that."""

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
        return msgspec.convert({**read, "folder": folder}, ArchiveSettings, dec_hook=_as_is)
    except FileNotFoundError:
        msg = f"There is no archive in {shown(str(folder))}: make one with 'ibi archive init'."
        raise ArchiveRequestError(msg) from None
    except (OSError, ValueError) as fault:
        msg = f"{path} cannot be read: {printable(str(fault))}."
        raise ArchiveRequestError(msg) from None


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
