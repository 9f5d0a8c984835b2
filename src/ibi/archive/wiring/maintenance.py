"""What makes an archive last, put together: each part its API, its long work and its schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ibi.archive.ports.maintenance import Damage

if TYPE_CHECKING:
    from ibi.archive.copies.copies import Copies
    from ibi.archive.copies.tasks import CopyTasks
    from ibi.archive.deposits.deposits import Deposits
    from ibi.archive.fixity.audit_schedule import AuditSchedule
    from ibi.archive.fixity.damage_log import DamageLog
    from ibi.archive.tasks import Tasks, Work
    from ibi.archive.transfers.transfers import Transfers
    from ibi.archive.web.app import BackgroundService, RouteGroup
    from ibi.archive.web.authorization import ArchiveAuthorizer
    from ibi.archive.wiring.instance import Instance
    from ibi.model.label_pair import Forms


def build_audits(
    instance: Instance, observe: Callable[[Damage], None] = lambda _: None
) -> AuditSchedule:
    """Return who audits an archive; `observe` is told of what is newly found damaged."""
    from ibi.archive.fixity.audit_schedule import AuditSchedule
    from ibi.archive.fixity.damage_log import DamageLog
    from ibi.archive.links.announcer import CatalogueLinks
    from ibi.archive.peers.directory import PeerDirectory
    from ibi.foundation.http_client.ssrf_guard import OutboundGuard

    settings, catalogue = instance.settings, instance.catalogue
    elsewhere = PeerDirectory(
        CatalogueLinks(catalogue.links), OutboundGuard(settings.allowed_networks), settings.address
    )
    return AuditSchedule(instance.archive, DamageLog(catalogue.damages, observe), elsewhere)


def log_damage(damage: Damage) -> None:
    """Say in the log of a service that something is damaged."""
    import structlog

    structlog.get_logger().warning(
        "damaged", label=damage.label, path=damage.path, what=damage.what
    )


def signing_key_of(instance: Instance) -> str:
    """Return the public key of an archive, which is made if it has none yet."""
    from ibi.archive.peers.signing_key import SigningKey

    return SigningKey(instance.catalogue.settings).public()


def build_exchange(
    instance: Instance, service: Forms, deposits: Deposits, door: ArchiveAuthorizer
) -> list[RouteGroup]:
    """Return the parts of the API."""
    from ibi.archive.exchange.bag_import import BagImporter
    from ibi.archive.exchange.handover import HandoverIssuer
    from ibi.archive.peers.signing_key import SigningKey, ask_key, is_signed
    from ibi.archive.web.api.exports import ExportsApi
    from ibi.archive.web.api.imports import ImportsApi
    from ibi.foundation.http_client.ssrf_guard import OutboundGuard

    archive, settings = instance.archive, instance.settings
    sign = SigningKey(instance.catalogue.settings).sign
    guard = OutboundGuard(settings.allowed_networks)
    return [
        ExportsApi(
            archive,
            door,
            settings.address,
            settings.administrator,
            HandoverIssuer(archive, service, settings.address, sign),
        ),
        ImportsApi(
            BagImporter(archive, deposits, service, is_signed),
            door,
            lambda address: ask_key(address, guard),
        ),
    ]


def build_copies(instance: Instance) -> tuple[Copies, CopyTasks]:
    """Return the copies of an archive, and who works on them."""
    from ibi.archive.copies.copies import Copies
    from ibi.archive.copies.tasks import CopyTasks
    from ibi.archive.links.announcer import CatalogueLinks
    from ibi.archive.peers.archive_client import HttpPeerArchive
    from ibi.archive.peers.directory import OriginalFinder
    from ibi.foundation.http_client.ssrf_guard import OutboundGuard

    settings = instance.settings
    links = CatalogueLinks(instance.catalogue.links)
    guard = OutboundGuard(settings.allowed_networks)

    def resolvers() -> list[str]:
        return [link.resolver for link in links.all() if link.state != "leaving"]

    def connected(address: str) -> HttpPeerArchive:
        return HttpPeerArchive(address, guard)

    copies = Copies(instance.archive, OriginalFinder(resolvers), settings.address)
    return copies, CopyTasks(copies, connected, connected)


def build_transfers(instance: Instance) -> Transfers:
    """Return the transfers of an archive; none goes on before they are started."""
    from ibi.archive.peers.archive_client import HttpPeerArchive
    from ibi.archive.peers.transfer_peer import HttpTransferPeer
    from ibi.archive.transfers.transfers import Transfers
    from ibi.foundation.http_client.ssrf_guard import OutboundGuard

    settings = instance.settings
    guard = OutboundGuard(settings.allowed_networks)
    return Transfers(
        instance.archive,
        settings.address,
        instance.service(),
        lambda address, token: HttpTransferPeer(address, token, guard),
        lambda address, ticket: HttpPeerArchive(address, guard, ticket),
    )


@dataclass(slots=True)
class Maintenance:
    """Its parts."""

    tasks: Tasks
    damages: DamageLog
    copies: Copies
    transfers: Transfers
    apis: list[RouteGroup] = field(default_factory=list)
    rounds: list[Callable[[], None]] = field(default_factory=list)
    """What is looked after now and again."""
    services: list[BackgroundService] = field(default_factory=list)
    """What goes on by itself, from the start to the end."""


def build_maintenance(instance: Instance, door: ArchiveAuthorizer) -> Maintenance:
    """Return the upkeep of an archive; nothing of it runs yet."""
    from ibi.archive.links.digest_log import DigestBackfill, DigestLog
    from ibi.archive.tasks import Tasks
    from ibi.archive.web.api.audits import AuditsApi
    from ibi.archive.web.api.copies import CopiesApi
    from ibi.archive.web.api.holdings import HoldingsApi
    from ibi.archive.web.api.storage import StorageApi
    from ibi.archive.web.api.tasks import TasksApi
    from ibi.archive.web.api.transfers import TransfersApi
    from ibi.archive.web.digest import DigestEndpoint
    from ibi.archive.wiring.store_migration import StoreMove

    archive, clock = instance.archive, instance.clock
    works: dict[str, Work] = {}
    tasks = Tasks(archive.catalogue.tasks, clock, works)
    auditing = build_audits(instance, log_damage)
    works |= auditing.works
    copies, copy_work = build_copies(instance)
    works |= {"copy": copy_work.copy, "refresh": copy_work.refresh}
    transfers = build_transfers(instance)
    upkeep = Maintenance(tasks, auditing.damages, copies, transfers)
    upkeep.services += [tasks, transfers]
    upkeep.apis.append(TasksApi(tasks, door))
    moves = StoreMove(instance)
    works[moves.kind] = moves.work
    upkeep.apis.append(StorageApi(moves, tasks, door))
    upkeep.apis.append(AuditsApi(archive, auditing, tasks, door))
    upkeep.apis.append(CopiesApi(copies, tasks, door))
    upkeep.apis.append(TransfersApi(transfers, door))
    upkeep.apis.append(HoldingsApi(archive))
    is_published = instance.settings.digest
    upkeep.apis.append(DigestEndpoint(DigestLog(archive.catalogue.digest), published=is_published))
    if is_published:
        upkeep.services.append(DigestBackfill(archive.catalogue.digest))
    upkeep.rounds.append(auditing.damages.load)
    days, rate = instance.settings.audit_days, instance.settings.audit_megabytes_a_second
    upkeep.rounds.append(partial(auditing.begin_if_due, tasks, days, rate))
    hours = instance.settings.copies_hours
    upkeep.rounds.append(partial(copy_work.begin_if_due, tasks, hours))
    return upkeep
