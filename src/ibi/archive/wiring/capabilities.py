"""The capabilities of a running archive, one builder each.

A builder returns the handlers of a capability in the table of operations, its background services,
and its hourly functions. Nothing runs before the application starts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import structlog

from ibi.archive.collections import Collections
from ibi.archive.copies.copies import Copies
from ibi.archive.copies.holder_reports import HolderReports
from ibi.archive.copies.tasks import CopyTasks
from ibi.archive.deposits.adoption import Adoptions
from ibi.archive.deposits.deposits import Deposits
from ibi.archive.exchange.bag_import import BagImporter
from ibi.archive.exchange.handover import HandoverIssuer
from ibi.archive.fixity.audit_schedule import AuditSchedule
from ibi.archive.fixity.damage_log import DamageLog
from ibi.archive.holder_check import HolderCheck
from ibi.archive.housekeeping import UsedKeyCleanup
from ibi.archive.item_rights import ItemRights
from ibi.archive.peers.archive_client import HttpPeerArchive
from ibi.archive.peers.copy_report import CopyReporter
from ibi.archive.peers.directory import OriginalFinder, PeerDirectory
from ibi.archive.peers.holder_finder import LinkedResolvers
from ibi.archive.peers.included_archives import IncludedArchives
from ibi.archive.peers.resolver_client import HttpResolverClient
from ibi.archive.peers.signing_key import SigningKey, ask_key
from ibi.archive.peers.transfer_peer import HttpTransferPeer
from ibi.archive.ports.maintenance import Damage
from ibi.archive.repeating_thread import RepeatingThread
from ibi.archive.resolver_links.announcer import CatalogueLinks
from ibi.archive.resolver_links.change_notifier import ChangeNotifier
from ibi.archive.resolver_links.digest_log import DigestBackfill, DigestLog
from ibi.archive.rules.adoption import AdoptablePrefixes
from ibi.archive.search.full_text import FullTextExtraction, FullTextRemoval
from ibi.archive.search.search import SearchBackfill
from ibi.archive.storage.extraction.extractor import ProcessExtractor
from ibi.archive.tasks import Tasks
from ibi.archive.transfers.transfers import Transfers
from ibi.archive.web.api.audits import AuditsApi
from ibi.archive.web.api.citations import CitationsApi
from ibi.archive.web.api.collections import CollectionsApi
from ibi.archive.web.api.copies import CopiesApi
from ibi.archive.web.api.deposits import DepositsApi
from ibi.archive.web.api.exports import ExportsApi
from ibi.archive.web.api.history import HistoryApi
from ibi.archive.web.api.holdings import HoldingsApi
from ibi.archive.web.api.imports import ImportsApi
from ibi.archive.web.api.items import ItemsApi
from ibi.archive.web.api.readings import ReadingsApi
from ibi.archive.web.api.search import SearchApi, SearchQueue
from ibi.archive.web.api.statistics import StatisticsApi
from ibi.archive.web.api.storage import StorageApi
from ibi.archive.web.api.tasks import TasksApi
from ibi.archive.web.api.transfers import TransfersApi
from ibi.archive.web.app import BackgroundService
from ibi.archive.web.citations import Citations
from ibi.archive.web.delivery.media_types import bare, media_type_of
from ibi.archive.web.digest import DigestEndpoint
from ibi.archive.web.metrics import ArchiveMetrics
from ibi.archive.web.urls import ArchiveUrls
from ibi.archive.wiring.instance import Instance
from ibi.archive.wiring.store_migration import StoreMove
from ibi.foundation.http_client.ssrf_guard import OutboundGuard
from ibi.foundation.system.signatures import is_signed
from ibi.minting.wiring import subsystem_of
from ibi.model.label_pair import Forms

_BREATH: Final = 0.02
"""Seconds between two steps of a backfill, in which other work goes on."""


@dataclass(frozen=True, slots=True)
class Capability:
    """The parts of one capability of a running archive."""

    apis: tuple[object, ...] = ()
    """Objects with the handlers of its operations."""
    services: tuple[BackgroundService, ...] = ()
    """Background services, started and stopped in this order."""
    rounds: tuple[Callable[[], None], ...] = field(default=())
    """Functions that are called at the start and then every hour."""


def build_holders(instance: Instance, service: Forms) -> HolderCheck:
    """Return the checks of labels against what other archives have."""
    guard = OutboundGuard(instance.settings.allowed_networks)
    finder = LinkedResolvers(
        partial(_resolvers, instance), service, lambda address: HttpPeerArchive(address, guard)
    )
    return HolderCheck(instance.catalogue.items, finder, instance.clock)


def build_adoptions(instance: Instance, service: Forms, holders: HolderCheck) -> Adoptions:
    """Return the adoption of items under their own labels."""
    settings = instance.settings
    return Adoptions(
        instance.catalogue,
        holders,
        instance.clock,
        AdoptablePrefixes(subsystem_of(settings.minter).prefixes, settings.adopts),
        partial(instance.adopt, target=service.label.spelling),
    )


def _resolvers(instance: Instance) -> list[str]:
    """Return the addresses of the resolvers that the archive is linked to."""
    links = CatalogueLinks(instance.catalogue.links)
    return [link.resolver for link in links.all() if link.state != "leaving"]


def items_capability(
    instance: Instance,
    urls: ArchiveUrls,
    holders: HolderCheck,
    citations: Citations,
    searches: SearchQueue,
) -> Capability:
    """Build the API of items, citations, history and statistics."""
    archive = instance.archive
    counts = RepeatingThread(
        "ibi-statistics",
        archive.catalogue.statistics.fill,
        pause=_BREATH,
        failure="the statistics cannot be filled",
    )
    used_keys = UsedKeyCleanup(archive.catalogue.statistics, archive.clock)
    return Capability(
        apis=(
            ItemsApi(archive, urls, holders, instance.settings.published_by, searches),
            CitationsApi(archive, urls, citations),
            ReadingsApi(archive, holders),
            HoldingsApi(archive),
            HistoryApi(archive),
            StatisticsApi(archive),
        ),
        services=(counts,),
        rounds=(used_keys.forget,),
    )


def deposits_capability(instance: Instance, deposits: Deposits, urls: ArchiveUrls) -> Capability:
    """Build the API of deposits, and the removal of abandoned ones."""
    api = DepositsApi(deposits, ItemRights(instance.archive), urls, instance.settings.largest_file)
    return Capability(apis=(api,), rounds=(deposits.sweep,))


def exchange_capability(instance: Instance, deposits: Deposits, service: Forms) -> Capability:
    """Build the export and import of bags, and the hand-over of Originals."""
    archive, settings = instance.archive, instance.settings
    sign = SigningKey(instance.catalogue.settings).sign
    guard = OutboundGuard(settings.allowed_networks)
    handing_over = HandoverIssuer(archive, service, settings.address, sign)
    importing = BagImporter(archive, deposits, service, is_signed)
    return Capability(
        apis=(
            ExportsApi(archive, settings.address, settings.administrator, handing_over),
            ImportsApi(importing, lambda address: ask_key(address, guard)),
        )
    )


def digest_capability(instance: Instance, service: Forms) -> Capability:
    """Build the digest, published if the settings say so, and the notifications of resolvers."""
    is_published = instance.settings.digest
    catalogue = instance.catalogue
    notifier = ChangeNotifier(
        catalogue.digest,
        service.label,
        CatalogueLinks(catalogue.links).all,
        HttpResolverClient(),
        instance.clock,
    )
    return Capability(
        apis=(DigestEndpoint(DigestLog(catalogue.digest), published=is_published),),
        services=(DigestBackfill(catalogue.digest), notifier) if is_published else (),
    )


def search_capability(
    instance: Instance, searches: SearchQueue, urls: ArchiveUrls, metrics: ArchiveMetrics
) -> Capability:
    """Build the search, the collections that it lists, its index, and the texts of files."""
    collections = Collections(instance.archive)
    index, rights = instance.catalogue.search, ItemRights(instance.archive)
    return Capability(
        apis=(
            SearchApi(searches, urls),
            CollectionsApi(collections, rights, index, searches, urls),
        ),
        services=(SearchBackfill(instance.archive), _full_text(instance, metrics)),
        rounds=(collections.release_members,),
    )


def _full_text(instance: Instance, metrics: ArchiveMetrics) -> BackgroundService:
    """Build the extraction of the texts of files, or their removal if the settings say so."""
    if not instance.settings.full_text:
        return FullTextRemoval(instance.catalogue.full_text)
    extraction = FullTextExtraction(
        instance.archive,
        ProcessExtractor(),
        lambda file: bare(media_type_of(file.path, file.media_type)),
    )
    metrics.watch_full_text(extraction)
    return extraction


def build_tasks(
    instance: Instance, auditing: AuditSchedule, copy_work: CopyTasks
) -> tuple[Tasks, Capability]:
    """Build the tasks of an archive of all kinds, and the move of its files."""
    moves = StoreMove(instance)
    works = {
        **auditing.works,
        "copy": copy_work.copy,
        "refresh": copy_work.refresh,
        moves.kind: moves.work,
    }
    tasks = Tasks(instance.catalogue.tasks, instance.clock, works, instance.archive.note)
    apis = (TasksApi(tasks), StorageApi(moves, tasks))
    return tasks, Capability(apis=apis, services=(tasks,))


def fixity_capability(instance: Instance, auditing: AuditSchedule, tasks: Tasks) -> Capability:
    """Build the audits, on demand and as scheduled by the settings."""
    days, rate = instance.settings.audit_days, instance.settings.audit_megabytes_a_second
    return Capability(
        apis=(AuditsApi(instance.archive, auditing, tasks),),
        rounds=(auditing.damages.load, partial(auditing.begin_if_due, tasks, days, rate)),
    )


def copies_capability(
    instance: Instance, copies: Copies, work: CopyTasks, tasks: Tasks
) -> Capability:
    """Build the copies, their comparison as scheduled, and the reports of other archives."""
    settings = instance.settings
    guard = OutboundGuard(settings.allowed_networks)
    reports = HolderReports(
        instance.archive,
        IncludedArchives(partial(_resolvers, instance), guard, instance.clock),
        lambda address: HttpPeerArchive(address, guard),
        settings.address,
    )
    due = partial(work.begin_if_due, tasks, settings.copies_hours)
    return Capability(apis=(CopiesApi(copies, tasks, reports),), services=(reports,), rounds=(due,))


def transfers_capability(transfers: Transfers) -> Capability:
    """Build the transfers of Originals."""
    return Capability(apis=(TransfersApi(transfers),), services=(transfers,))


def build_audits(
    instance: Instance, observe: Callable[[Damage], None] = lambda _: None
) -> AuditSchedule:
    """Return the audits of an archive; `observe` is called with newly found damage."""
    settings, catalogue = instance.settings, instance.catalogue
    elsewhere = PeerDirectory(
        CatalogueLinks(catalogue.links), OutboundGuard(settings.allowed_networks), settings.address
    )
    return AuditSchedule(instance.archive, DamageLog(catalogue.damages, observe), elsewhere)


def log_damage(damage: Damage) -> None:
    """Log the damage of a file."""
    structlog.get_logger().warning(
        "damaged", label=damage.label, path=damage.path, what=damage.what
    )


def build_copies(instance: Instance) -> tuple[Copies, CopyTasks]:
    """Return the copies of an archive, and the tasks that work on them."""
    settings = instance.settings
    guard = OutboundGuard(settings.allowed_networks)

    def connected(address: str) -> HttpPeerArchive:
        return HttpPeerArchive(address, guard)

    copies = Copies(
        instance.archive,
        OriginalFinder(partial(_resolvers, instance)),
        settings.address,
        CopyReporter(settings.address, guard),
    )
    return copies, CopyTasks(copies, connected, connected)


def build_transfers(instance: Instance, service: Forms) -> Transfers:
    """Return the transfers of an archive; they continue once they are started."""
    settings = instance.settings
    guard = OutboundGuard(settings.allowed_networks)
    return Transfers(
        instance.archive,
        settings.address,
        service,
        lambda address, token: HttpTransferPeer(address, token, guard),
        lambda address, ticket: HttpPeerArchive(address, guard, ticket),
    )
