"""Minters, and the service that mints for others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from ibi.adapters.clock import SystemClock
from ibi.adapters.machine import MachineFolder
from ibi.identifier import ibip, repository_name
from ibi.minting.granularity import AUTO, parse_granularity
from ibi.minting.minter import Minter
from ibi.minting.pool import Member, Pool
from ibi.minting.reservation import Limits
from ibi.minting.subsystem import Subsystem
from ibi.settings import MinterSettings
from ibi.wiring.databases import open_ledger

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from ibi.web.minting_app import MintingService


def subsystem_of(settings: MinterSettings) -> Subsystem:
    """Return the subsystem that the settings describe, if it can be one."""
    return Subsystem(
        settings.host, settings.port, settings.ip, settings.ip_port, settings.allow_private
    )


def minter_of(
    settings: MinterSettings,
    observe: Callable[[float], None] = lambda _: None,
    *,
    existing: bool = False,
) -> Minter:
    """Open the minter that the settings describe; `existing` wants its ledger to be there."""
    # Checked before anything is touched: a bad host leaves no ledger behind.
    parse_granularity(settings.granularity)
    subsystem = subsystem_of(settings)
    ledger = open_ledger(settings.place, existing=existing)
    try:
        return Minter(
            subsystem,
            ledger,
            SystemClock(),
            MachineFolder(),
            granularity=settings.granularity,
            limits=settings.limits,
            observe=observe,
        )
    except BaseException:
        ledger.close()
        raise


def open_minter(  # noqa: PLR0913  # what a developer may choose, all by name
    *,
    host: str | None = None,
    port: int = repository_name.DEFAULT_PORT,
    ip: str | None = None,
    ip_port: int = ibip.DEFAULT_PORT,
    ledger: str | Path = "",
    granularity: str = AUTO,
    allow_private: bool = False,
    limits: Limits | None = None,
) -> Minter:
    """Open a minter for a host, an IP address or both; use it in a `with` statement."""
    return minter_of(
        MinterSettings(
            host, port, ip, ip_port, str(ledger), granularity, allow_private, limits or Limits()
        )
    )


def remote_pool(addresses: Sequence[str], token: str) -> Pool:
    """Return the minters at these addresses as one."""
    from ibi.adapters.remote_minter import RemoteMinter

    return Pool([RemoteMinter(address, token) for address in addresses], SystemClock())


def open_pool(members: Sequence[Member]) -> Pool:
    """Return minters, here or elsewhere, as one."""
    return Pool(members, SystemClock())


def minting_service(settings: MinterSettings) -> tuple[MintingService, Starlette]:
    """Return a minting service and its application."""
    from ibi.web.minting_app import MintingService, minting_app
    from ibi.web.minting_metrics import MintingMetrics

    metrics = MintingMetrics()
    minter = minter_of(settings, metrics.observe)
    service = MintingService(minter, SystemClock(), metrics, metadata.version("ibi"))
    return service, minting_app(service)
