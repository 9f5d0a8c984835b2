"""What a running archive has open, and must close."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ibi.archive.settings import ArchiveSettings
from ibi.archive.wiring.stores import open_catalogue, open_store
from ibi.errors import ArchiveRequestError
from ibi.foundation.system.clock import SystemClock
from ibi.minting.minter import Minter
from ibi.minting.wiring import minter_of
from ibi.model.label_pair import Forms

if TYPE_CHECKING:
    from ibi.archive.ports.catalogue import Catalogue


class Instance:
    """A running archive: what must be closed when it stops, in order."""

    def __init__(
        self,
        settings: ArchiveSettings,
        *,
        on_move: Callable[[], None] = lambda: None,
        on_link: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Open everything; what was decided before the last stop is finished here.

        `on_move` is called when the files are elsewhere, as the settings say by then. `on_link` is
        told which resolver includes the archive, an empty text if none does.
        """
        from ibi.archive.archive import Archive

        self.settings = settings
        self.on_move = on_move
        self.on_link = on_link
        self.clock = SystemClock()
        self.catalogue = open_catalogue(settings)
        self.minter: Minter | None = None
        try:
            self.minter = minter_of(settings.minter)
            self.store = open_store(settings)
            self.archive = Archive(self.catalogue, self.store, self._mint, self.clock)
        except BaseException:
            self.close()
            raise

    def _mint(self, count: int) -> list[Forms]:
        assert self.minter is not None  # noqa: S101  # it is made before the archive
        return [Forms.of(label.rep, label.ibip) for label in self.minter.mint_many(count)]

    def service(self) -> Forms:
        """Return the labels of the archive service, of a catalogue that is whole."""
        return service_of(self.catalogue, self.settings)

    def close(self) -> None:
        """Let go of minter and catalogue."""
        if self.minter is not None:
            self.minter.close()
        self.catalogue.close()


def service_of(catalogue: Catalogue, settings: ArchiveSettings) -> Forms:
    """Return the labels of the archive service, of a catalogue that is whole."""
    from ibi.archive.storage.catalogue.rebuild import REBUILDING

    if catalogue.settings.get(REBUILDING):
        msg = (
            f"The catalogue of the archive in {settings.folder} is half rebuilt: "
            "'ibi archive rebuild' completes it."
        )
        raise ArchiveRequestError(msg)
    for held in catalogue.items.page(0, 1, "service"):
        return held.item.forms
    msg = (
        f"The catalogue of the archive in {settings.folder} has no archive service: "
        "'ibi archive rebuild' brings back what lies in the folder."
    )
    raise ArchiveRequestError(msg)
