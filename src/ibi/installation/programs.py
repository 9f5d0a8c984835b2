"""A resolver and an archive in one folder, linked to each other.

What a first start left incomplete, because it was killed, is completed by the next.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ibi.archive.resolver_links.announcer import Announcer, CatalogueLinks
from ibi.archive.rules import scopes as archive_scopes
from ibi.archive.rules.announcement import Link, new_registration_key, resolver_address
from ibi.archive.settings import ARCHIVE_FILE, ArchiveSettings
from ibi.archive.wiring.app import archive_app as wired_archive_app
from ibi.archive.wiring.instance import Instance
from ibi.archive.wiring.people import administrator_link
from ibi.archive.wiring.restored_start import check_restored
from ibi.errors import RequestError, shown
from ibi.foundation.cli.instance_commands import local_token
from ibi.foundation.cli.instance_folder import keep, made
from ibi.foundation.processes.server import ServedApp, address_of, listening_at
from ibi.foundation.settings_file import written
from ibi.foundation.system import instance_lock
from ibi.foundation.system.private_files import close_writable
from ibi.installation.settings import InstallationRequest, archive_settings, resolver_settings
from ibi.metadata.json_record import record_from
from ibi.resolver.registry.registration_key import matches
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules import scopes as resolver_scopes
from ibi.resolver.settings import RESOLVER_FILE, ResolverSettings
from ibi.resolver.wiring.app import ResolverInstance
from ibi.resolver.wiring.app import resolver_app as wired_resolver_app
from ibi.resolver.wiring.people import administrator_link as resolver_administrator_link

_WHO: Final = "up"
"""The actor in the histories of both programs."""


@dataclass(frozen=True, slots=True)
class Installation:
    """A resolver and an archive, opened and listening; nothing is served yet."""

    folder: Path
    resolver: ServedApp
    archive: ServedApp
    settings: ArchiveSettings
    announcer: Announcer
    links: CatalogueLinks
    link: Link
    """The link of the archive to the resolver, as it was before the start."""
    administrator_links: tuple[str, ...]
    """A link for each program of which no administrator has an account."""
    made: tuple[Path, ...]
    """The folders of the instances that were just made; each has a token in it."""


@contextmanager
def opened(
    folder: Path,
    wanted: InstallationRequest,
    say: Callable[[str], None] = lambda _: None,
    *,
    original_is_gone: bool = False,
) -> Iterator[Installation]:
    """Open the installation in a folder, made if absent; InstanceHeldError if it is served.

    `say` is called with what the operator of a restored archive has to know.
    """
    _refuse_an_instance(folder)
    if folder.is_dir():
        close_writable(folder, (f"archive/{ARCHIVE_FILE}", f"resolver/{RESOLVER_FILE}"))
    places = (folder / "resolver", folder / "archive")
    with ExitStack() as stack:
        for place in places:
            with made(place, "an installation"):
                stack.enter_context(instance_lock.held(place))
        settings = resolver_settings(places[0], wanted), archive_settings(places[1], wanted)
        if (places[1] / ARCHIVE_FILE).exists():
            # Before it listens: otherwise it could be this process that does not answer yet.
            check_restored(settings[1], say, original_is_gone=original_is_gone)
        # Before anything is made or moved: a port may be in use.
        listeners = [stack.enter_context(listening_at(each.listen)) for each in settings]
        resolver = stack.enter_context(closing(ResolverInstance(settings[0])))
        archive = stack.enter_context(closing(Instance(settings[1])))
        new = (*_complete_resolver(resolver), *_complete_archive(archive))
        link = asyncio.run(_linked(resolver, archive))
        for place, listener in zip(places, listeners, strict=True):
            stack.enter_context(instance_lock.serving(place, address_of(listener)))
        resolver_app, http = wired_resolver_app(resolver)
        archive_app, announcer = wired_archive_app(archive)
        yield Installation(
            folder,
            ServedApp(resolver_app, listeners[0], http),
            ServedApp(archive_app, listeners[1]),
            settings[1],
            announcer,
            CatalogueLinks(archive.catalogue.links),
            link,
            tuple(filter(None, _administrator_links(resolver, archive))),
            new,
        )


def _administrator_links(resolver: ResolverInstance, archive: Instance) -> tuple[str, str]:
    """Return the links for first administrators; empty where there is one."""
    return (
        resolver_administrator_link(resolver.settings, resolver.store, resolver.clock, _WHO),
        administrator_link(archive, _WHO),
    )


def _refuse_an_instance(folder: Path) -> None:
    for name in (ARCHIVE_FILE, RESOLVER_FILE):
        if (folder / name).exists():
            msg = (
                f"{shown(str(folder))} is the folder of one instance, by its {name}: "
                "a resolver and an archive together lie in a folder above theirs."
            )
            raise RequestError(msg)


def _complete_resolver(resolver: ResolverInstance) -> list[Path]:
    """Make what is missing of a resolver; return its folder if it is new."""
    folder = resolver.settings.folder
    new = not (folder / RESOLVER_FILE).exists()
    if new:
        local_token(folder, resolver.store.tokens, resolver.clock, resolver_scopes.SCOPES)
    _keep(folder / RESOLVER_FILE, written(resolver.settings))
    return [folder] if new else []


def _complete_archive(archive: Instance) -> list[Path]:
    """Make what is missing of an archive; return its folder if it is new."""
    folder, settings = archive.settings.folder, archive.settings
    new = not (folder / ARCHIVE_FILE).exists()
    if new:
        record = record_from({"titles": [settings.name], "types": ["Service"]})
        archive.archive.create_service(record, settings.administrator)
        local_token(folder, archive.catalogue.tokens, archive.clock, archive_scopes.SCOPES)
    _keep(folder / ARCHIVE_FILE, written(settings))
    return [folder] if new else []


def _keep(path: Path, text: str) -> None:
    """Write settings that changed, after everything else: a folder with settings is an instance."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        keep(path, text)


async def _linked(resolver: ResolverInstance, archive: Instance) -> Link:
    """Register and link the archive, unless it is; the link follows the resolver's address."""
    links = CatalogueLinks(archive.catalogue.links)
    registry = Registry(resolver.store.archives, resolver.store.feed, resolver.clock)
    await registry.open()
    try:
        link = await _link(registry, links, resolver.settings, archive)
    finally:
        await registry.close()
    return link


async def _link(
    registry: Registry,
    links: CatalogueLinks,
    settings: ResolverSettings,
    archive: Instance,
) -> Link:
    address = resolver_address(settings.address)
    service = archive.service().label
    registered = registry.find_service(service)
    is_registered = registered is not None and registered.confirmed != 0
    own = [link for link in links.all() if link.resolver == address]
    key = own[0].key if own else new_registration_key(secrets.randbelow)
    # A key that the operator revoked must not be restored silently.
    if registered is not None and registered.confirmed and registered.key:
        own = [link for link in links.all() if matches(link.key, registered.key)]
        key = own[0].key if own else await registry.rotate(registered.id, _WHO)
    link = Link(address, key, settings.service_label, since=archive.clock.wall())
    # The archive's side first: a registration that is still missing is made by the next start.
    kept = [(old.resolver, old.key, old.resolver_service) for old in own]
    if (address, key, link.resolver_service) not in kept:  # a full disk could not keep it again
        links.save(link)
    for old in own:
        if old.resolver != address:
            links.remove(old.resolver)
    if not is_registered:
        administrator = archive.settings.administrator
        await registry.register(service, key, administrator, (), "operator", _WHO)
    return link
