"""The construction of minters, and of the minting service."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ibi.errors import MintingRequestError, shown
from ibi.foundation.settings_file import POSTGRESQL, refuse_other_url
from ibi.foundation.sql.database_url import open_database
from ibi.foundation.sql.sqlite import tables_of
from ibi.foundation.system.clock import SystemClock
from ibi.identifier import ibip, repository_name
from ibi.minting.minter import Minter
from ibi.minting.pool import Member, Pool
from ibi.minting.rules.granularity import AUTO, parse_granularity
from ibi.minting.rules.reservation import ReservationLimits
from ibi.minting.rules.subsystem import Subsystem
from ibi.minting.settings import MinterSettings
from ibi.minting.storage.ledger import LEDGER_TABLE, SqlLedger
from ibi.minting.storage.machine_folder import MachineFolder

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from ibi.minting.web.service import MintingService

_OTHER_DATABASES: Final = {
    "archive": "the catalogue of an archive",
    "resolver": "the registry of a resolver",
}
"""Databases that somebody may take for a ledger, by the beginning of the names of their tables."""


def subsystem_of(settings: MinterSettings) -> Subsystem:
    """Return the subsystem of the settings; MintingRequestError if they are not valid."""
    return Subsystem(
        settings.host, settings.port, settings.ip, settings.ip_port, settings.allow_private
    )


def minter_of(
    settings: MinterSettings,
    observe: Callable[[float], None] = lambda _: None,
    *,
    existing: bool = False,
) -> Minter:
    """Open the minter that the settings describe; if `existing`, its ledger must exist already."""
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
    limits: ReservationLimits | None = None,
) -> Minter:
    """Open a minter for a host, an IP address or both; use it in a `with` statement."""
    return minter_of(
        MinterSettings(
            host,
            port,
            ip,
            ip_port,
            str(ledger),
            granularity,
            allow_private,
            limits or ReservationLimits(),
        )
    )


def remote_pool(addresses: Sequence[str], token: str) -> Pool:
    """Return a pool of the minters at these addresses."""
    from ibi.minting.remote_minter import RemoteMinter

    return Pool([RemoteMinter(address, token) for address in addresses], SystemClock())


def open_pool(members: Sequence[Member]) -> Pool:
    """Return a pool of minters, local or remote."""
    return Pool(members, SystemClock())


def minting_service(settings: MinterSettings) -> tuple[MintingService, Starlette]:
    """Return a minting service and its application."""
    from ibi.minting.web.app import minting_app
    from ibi.minting.web.metrics import MintingMetrics
    from ibi.minting.web.service import MintingService

    metrics = MintingMetrics()
    minter = minter_of(settings, metrics.observe)
    service = MintingService(minter, SystemClock(), metrics)
    return service, minting_app(service, SystemClock(), metrics, metadata.version("ibi"))


def open_ledger(place: str, *, existing: bool = False) -> SqlLedger:
    """Open the ledger at a path or a postgresql:// URL; create it, unless it must exist."""
    refuse_other_url(place)
    if not place.startswith(POSTGRESQL) and existing and not Path(place).exists():
        msg = f"There is no ledger at {shown(place)}: name the one that the minter uses."
        raise MintingRequestError(msg)
    if not place.startswith(POSTGRESQL):
        _refuse_other_database(place)
    return SqlLedger(open_database(place))


def _refuse_other_database(path: str) -> None:
    """Raise if a file is the database of another program, before anything is written to it."""
    tables = tables_of(Path(path))
    if not tables or LEDGER_TABLE in tables:
        return
    table = min(tables)
    other = f"a database of another program, with the table {shown(table)}"
    what = _OTHER_DATABASES.get(table.partition("_")[0], other)
    raise MintingRequestError(f"{shown(path)} is no ledger: it is {what}. Name another file.")
