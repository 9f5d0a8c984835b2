"""Transfers of Originals, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ibi.archive.transferring import Transfers
    from ibi.wiring.archive import Instance


def transfers_of(instance: Instance) -> Transfers:
    """Return the transfers of an archive; none goes on before they are started."""
    from ibi.adapters.archive_source import HttpArchiveSource
    from ibi.adapters.outbound_guard import OutboundGuard
    from ibi.adapters.transfer_peer import HttpTransferPeer
    from ibi.archive.transferring import Transfers

    settings = instance.settings
    guard = OutboundGuard(settings.allowed_networks)
    return Transfers(
        instance.archive,
        settings.address,
        instance.service(),
        lambda address, token: HttpTransferPeer(address, token, guard),
        lambda address, ticket: HttpArchiveSource(address, guard, ticket),
    )
