"""Audits of an archive, whether it runs or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ibi.ports import Damage

if TYPE_CHECKING:
    from ibi.archive.auditing import Auditing
    from ibi.wiring.archive import Instance


def auditing_of(instance: Instance, observe: Callable[[Damage], None] = lambda _: None) -> Auditing:
    """Return who audits an archive; `observe` is told of what is newly found damaged."""
    from ibi.adapters.catalogue_links import CatalogueLinks
    from ibi.adapters.other_archives import OtherArchives
    from ibi.adapters.outbound_guard import OutboundGuard
    from ibi.archive.auditing import Auditing
    from ibi.archive.damages import Damages

    settings, catalogue = instance.settings, instance.catalogue
    elsewhere = OtherArchives(
        CatalogueLinks(catalogue), OutboundGuard(settings.allowed_networks), settings.address
    )
    return Auditing(instance.archive, Damages(catalogue, observe), elsewhere)


def log_damage(damage: Damage) -> None:
    """Say in the log of a service that something is damaged."""
    import structlog

    structlog.get_logger().warning(
        "damaged", label=damage.label, path=damage.path, what=damage.what
    )
