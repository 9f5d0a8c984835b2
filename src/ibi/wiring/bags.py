"""What leaves an archive in bags, and what comes in them, put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ibi.archive.deposits import Deposits
    from ibi.model.forms import Forms
    from ibi.web.archive_app import Api
    from ibi.web.archive_door import ArchiveDoor
    from ibi.wiring.archive import Instance


def signing_key_of(instance: Instance) -> str:
    """Return the public key of an archive, which is made if it has none yet."""
    from ibi.adapters.signatures import SigningKey

    return SigningKey(instance.catalogue).public()


def bags_of(instance: Instance, service: Forms, deposits: Deposits, door: ArchiveDoor) -> list[Api]:
    """Return the parts of the API."""
    from ibi.adapters.archive_key import ask_key
    from ibi.adapters.outbound_guard import OutboundGuard
    from ibi.adapters.signatures import SigningKey, is_signed
    from ibi.archive.handing_over import HandingOver
    from ibi.archive.importing import Importing
    from ibi.web.exports_api import ExportsApi
    from ibi.web.imports_api import ImportsApi

    archive, settings = instance.archive, instance.settings
    sign = SigningKey(instance.catalogue).sign
    guard = OutboundGuard(settings.allowed_networks)
    return [
        ExportsApi(
            archive,
            door,
            settings.address,
            settings.administrator,
            HandingOver(archive, service, settings.address, sign),
        ),
        ImportsApi(
            Importing(archive, deposits, service, is_signed),
            door,
            lambda address: ask_key(address, guard),
        ),
    ]
