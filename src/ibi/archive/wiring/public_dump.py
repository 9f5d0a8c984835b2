"""What harvesters fetch whole: made by the process that changes the archive, offered by all."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.public_dump import PublicDump, Withdrawals
from ibi.archive.settings import ArchiveSettings
from ibi.archive.storage.dump_folder import DumpFolder
from ibi.archive.web.discovery.dump_files import DumpEndpoint
from ibi.archive.web.signposting.signposts import Signposts
from ibi.archive.web.urls import ArchiveUrls
from ibi.archive.wiring.capabilities import Capability
from ibi.archive.wiring.instance import Instance
from ibi.errors import StorageError

_FOLDER: Final = "dumps"


def build_dump(settings: ArchiveSettings, catalogue: Catalogue, urls: ArchiveUrls) -> DumpEndpoint:
    """Return what answers harvesters, in a process that may only read."""
    files = DumpFolder(settings.folder / _FOLDER)
    return DumpEndpoint(settings.name, urls, files, Withdrawals(catalogue).none_since)


def dump_capability(instance: Instance, urls: ArchiveUrls) -> Capability:
    """Build what makes the files of harvesters."""
    files = DumpFolder(instance.settings.folder / _FOLDER)
    with suppress(StorageError):  # the archive serves also from a full disk
        files.make()
    making = PublicDump(
        instance.archive,
        files,
        f"{urls.base}/",
        lambda: urls.persistent_base,
        Signposts(urls).page_of,
    )
    return Capability(services=(making,))
