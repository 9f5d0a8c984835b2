"""The open resources of an archive, in the process that may change it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ibi.archive.settings import ArchiveSettings
from ibi.archive.wiring.stores import open_catalogue, open_store
from ibi.errors import ArchiveRequestError
from ibi.foundation.system.clock import SystemClock
from ibi.identifier.label import Label
from ibi.minting.label_binding import LabelBindings
from ibi.minting.minter import Minter
from ibi.minting.stretch_allocator import MinterHealth
from ibi.minting.wiring import minter_of
from ibi.model.label_pair import Forms

if TYPE_CHECKING:
    from ibi.archive.ports.catalogue import Catalogue


class Instance:
    """An open archive: its catalogue, store and minter, which `close` closes in order."""

    def __init__(
        self,
        settings: ArchiveSettings,
        *,
        on_move: Callable[[], None] = lambda: None,
        on_link: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Open everything, and finish the changes that were decided before the last stop.

        `on_move` is called after the files were moved and the settings rewritten. `on_link` is
        called with the address of a resolver that includes the archive, empty if none does.
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
        assert self.minter is not None  # noqa: S101  # it is opened before the archive
        return [Forms.of(label.rep, label.ibip) for label in self.minter.mint_many(count)]

    def adopt(self, label: Label, target: str) -> None:
        """Enter a label that an item brings along in the ledger, which then never issues it."""
        assert self.minter is not None  # noqa: S101  # it is opened before the archive
        LabelBindings(self.minter).adopt(label, target)

    def identity(self) -> str:
        """Return the random identity of the ledger."""
        assert self.minter is not None  # noqa: S101  # it is opened before the archive
        return self.minter.ledger.identity()

    def minting(self) -> MinterHealth:
        """Return the state of the minter."""
        assert self.minter is not None  # noqa: S101  # it is opened before the archive
        return self.minter.health()

    def service(self) -> Forms:
        """Return the labels of the archive service; raise if the catalogue is not complete."""
        return service_of(self.catalogue, self.settings)

    def close(self) -> None:
        """Close the minter and the catalogue."""
        if self.minter is not None:
            self.minter.close()
        self.catalogue.close()


def service_of(catalogue: Catalogue, settings: ArchiveSettings) -> Forms:
    """Return the labels of the archive service; raise if the catalogue is not complete."""
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
