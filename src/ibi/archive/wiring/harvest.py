"""What harvesters fetch whole: made by the process that changes the archive, offered by all."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from ibi.archive.harvest import Harvest, Withdrawals
from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.settings import ArchiveSettings
from ibi.archive.storage.harvest_folder import HarvestFolder
from ibi.archive.web.discovery.harvest_files import HarvestEndpoint
from ibi.archive.web.signposting.signposts import Signposts
from ibi.archive.web.urls import ArchiveUrls
from ibi.archive.wiring.capabilities import Capability
from ibi.archive.wiring.instance import Instance
from ibi.errors import StorageError

_FOLDER: Final = "dumps"


def build_harvest(
    settings: ArchiveSettings, catalogue: Catalogue, urls: ArchiveUrls
) -> HarvestEndpoint:
    """Return what answers harvesters, in a process that may only read."""
    files = HarvestFolder(settings.folder / _FOLDER)
    return HarvestEndpoint(settings.name, urls, files, Withdrawals(catalogue).none_since)


def harvest_capability(instance: Instance, urls: ArchiveUrls) -> Capability:
    """Build what makes the files of harvesters."""
    files = HarvestFolder(instance.settings.folder / _FOLDER)
    with suppress(StorageError):  # the archive serves also from a full disk
        files.make()
    making = Harvest(
        instance.archive,
        files,
        f"{urls.base}/",
        lambda: urls.persistent_base,
        Signposts(urls).page_of,
    )
    return Capability(services=(making,))
