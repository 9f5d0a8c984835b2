"""The settings of a resolver and an archive that run together: created once, changed on request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from ibi.archive.settings import (
    ARCHIVE_FILE,
    LOCAL_HOST,
    ArchiveSettings,
    checked,
    label_host,
    read_archive,
)
from ibi.errors import RequestError, shown
from ibi.foundation.settings_file import is_address, place_to_listen
from ibi.foundation.system.host_checks import addresses_of
from ibi.resolver.settings import RESOLVER_FILE, ResolverSettings, checked_resolver, read_resolver

ProgramName: TypeAlias = Literal["archive", "resolver"]
"""A program of an installation that has settings and a folder of its own."""

LOCAL_IP: Final = "127.0.0.1"
_ADMINISTRATOR: Final = "admin@localhost"
_DEMO_CONTACT: Final = "library@example.org"
_DEMO_IMPRINT: Final = """Example Library
1 Example Street, Exampletown

This is a demonstration: its items, people and places are invented."""
"""The imprint of both sites of a demonstration, which shows where an imprint stands."""
_LOOPBACK: Final = ("127.0.0.0/8", "::1/128")
"""All ports of this machine, which earlier versions allowed: any local program could be reached."""
_FRESH: Final = 1.0
"""Seconds that redirects are cached in a new installation: changes are visible at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationRequest:
    """The options of `ibi up`; empty for the default."""

    port: int
    listen: str = ""
    resolver_address: str = ""
    archive_address: str = ""
    ip: str = ""
    demo: bool = False

    def __post_init__(self) -> None:
        """Check the addresses, of which more is used than the settings check."""
        for address in (self.resolver_address, self.archive_address):
            if address and not is_address(address.lower().rstrip("/")):
                msg = f"{shown(address)} is no address: expected http://host[:port]."
                raise RequestError(msg)

    @property
    def resolver_listen(self) -> str:
        """The address and port on which the resolver listens."""
        return f"{_bracketed(self.listen or LOCAL_IP)}:{self.port}"

    @property
    def archive_listen(self) -> str:
        """The address and port on which the archive listens."""
        return f"{_bracketed(self.listen or LOCAL_IP)}:{self.port + 1}"

    @property
    def reached_at(self) -> str:
        """The address by which this machine reaches itself."""
        return LOCAL_IP if self.listen in {"", "0.0.0.0", "::"} else self.listen  # noqa: S104


def resolver_settings(folder: Path, wanted: InstallationRequest) -> ResolverSettings:
    """Return the settings of the resolver in a folder, with the request applied."""
    local = f"http://{_bracketed(wanted.reached_at)}:{wanted.port}"
    if not (folder / RESOLVER_FILE).exists():
        found = ResolverSettings(
            folder=folder,
            name="An IBI resolver",
            address=local,
            hot_seconds=_FRESH,
            absent_seconds=_FRESH,
            contact=_DEMO_CONTACT if wanted.demo else "",
            imprint=_DEMO_IMPRINT if wanted.demo else "",
        )
    else:
        found = read_resolver(folder)
    return checked_resolver(
        replace(
            found,
            address=_address(found.address, wanted.resolver_address, local),
            listen=wanted.resolver_listen,
            allowed_networks=_networks(found, wanted.reached_at, wanted.port, +1),
        )
    )


def archive_settings(folder: Path, wanted: InstallationRequest) -> ArchiveSettings:
    """Return the settings of the archive in a folder, with the request applied."""
    local = f"http://{_bracketed(wanted.reached_at)}:{wanted.port + 1}"
    if (folder / ARCHIVE_FILE).exists():
        found = read_archive(folder)
        _refuse_another_host(found, wanted.archive_address)
    elif wanted.archive_address:
        found = _public(folder, wanted)
    else:
        found = _local(folder, local)
    if wanted.demo and not (folder / ARCHIVE_FILE).exists():
        found = replace(found, contact=_DEMO_CONTACT, imprint=_DEMO_IMPRINT)
    if found.host == LOCAL_HOST and not found.ip:
        found = replace(found, ip=LOCAL_IP, allow_private=True)
    return checked(
        replace(
            found,
            address=_address(found.address, wanted.archive_address, local),
            listen=wanted.archive_listen,
            administrator=found.administrator or _ADMINISTRATOR,
            allowed_networks=_networks(found, wanted.reached_at, wanted.port + 1, -1),
        )
    )


def is_local(settings: ArchiveSettings) -> bool:
    """Return whether an archive mints labels that are not valid outside this machine."""
    return settings.host == LOCAL_HOST


def _local(folder: Path, address: str) -> ArchiveSettings:
    """Return the settings of an archive without a domain name.

    Its labels have the address and the port at which it is reached (003, Algorithm 1), which no
    other program of the machine has while it runs.
    """
    parts = urlsplit(address.lower())
    host, port = parts.hostname or "", parts.port or _usual_port(parts.scheme)
    return ArchiveSettings(
        folder=folder,
        name="An IBI archive",
        address=address,
        host=LOCAL_HOST,
        port=port,
        ip=host if _is_ip(host) else LOCAL_IP,
        ip_port=port,
        allow_private=True,
    )


def _public(folder: Path, wanted: InstallationRequest) -> ArchiveSettings:
    parts = urlsplit(wanted.archive_address.lower())
    host = _minting_host(wanted.archive_address)
    if host == LOCAL_HOST:
        return _local(folder, wanted.archive_address)
    return ArchiveSettings(
        folder=folder,
        name="An IBI archive",
        address=wanted.archive_address,
        host=host,
        port=parts.port or _usual_port(parts.scheme),
        ip=wanted.ip or _public_ip(host),
        administrator=f"admin@{host}",
    )


def _minting_host(address: str) -> str:
    return label_host(urlsplit(address.lower()).hostname or "")


def _public_ip(host: str) -> str:
    """Return the public IP address of a host, under which short labels are minted."""
    for each in addresses_of(host):
        if ip_address(each).is_global:
            return each
    msg = (
        f"{shown(host)} has no public IP address that could be looked up, and short labels are "
        "minted under it: name it with --ip."
    )
    raise RequestError(msg)


def _refuse_another_host(found: ArchiveSettings, address: str) -> None:
    """Raise if the host of the labels would change: it is permanent."""
    host = _minting_host(address) if address else found.host
    if host not in {found.host, LOCAL_HOST}:
        msg = (
            f"The archive in {found.folder} mints labels under {found.host}, not {host}: start "
            f"another one with --data, or change `host` and `ip` in {ARCHIVE_FILE} on purpose."
        )
        raise RequestError(msg)


def _address(found: str, wanted: str, local: str) -> str:
    """Return the address of an instance: an address on this machine follows the port."""
    if wanted:
        return wanted
    host = urlsplit(found).hostname or ""
    return local if _is_loopback(host) or host.endswith("localhost") else found


def _networks(
    found: ArchiveSettings | ResolverSettings, reached_at: str, port: int, step: int
) -> list[str]:
    """Return the destinations that are not public, with those of the other program.

    Its port is `step` after the port of the program itself; it may have been another one before.
    """
    before = _own(reached_at, place_to_listen(found.listen)[1] + step)
    own = _own(reached_at, port + step)
    kept = [each for each in found.allowed_networks if each not in {*before, *own}]
    if set(_LOOPBACK) <= set(kept):
        kept = [each for each in kept if each not in _LOOPBACK]
    return [*kept, *own]


def _own(reached_at: str, port: int) -> list[str]:
    own = [f"127.0.0.0/8:{port}", f"[::1]:{port}"]
    for address in addresses_of(reached_at):
        own += [] if _is_loopback(address) else [f"{_bracketed(address)}:{port}"]
    return own


def _usual_port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _is_ip(text: str) -> bool:
    try:
        return bool(ip_address(text))
    except ValueError:
        return False


def _is_loopback(text: str) -> bool:
    return _is_ip(text) and ip_address(text).is_loopback


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address
