"""The Copy of `ibi up --demo`: an item whose Original is in another archive, as a bag has it."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ibi.adapters.checksums import Checksums
from ibi.archive import acts
from ibi.archive.manifest import manifest
from ibi.metadata.plain_record import record_from
from ibi.model.forms import Forms
from ibi.model.item import File, Item

# Labels of 004, Example 7.1: an archive of INPE gave them out.
FORMS: Final = Forms.of("sid.inpe.br/mtc-m19/2013/09.04.12.27.57", "8JMKD3MGP7W/3EPGUE5")
_METADATA: Final = Forms.of("sid.inpe.br/mtc-m19/2013/09.04.12.27.58")
_MINTED: Final = 1_378_297_677_000_000_000
_PATH: Final = "report.txt"
_TEXT: Final = (
    b"This is a Copy. Its Original is in another archive, under the same label.\n"
    b"Whoever has the label finds one of them, as long as there is one.\n"
)
_RECORD: Final = {
    "titles": [{"value": "A report that another archive has", "language": "en"}],
    "creators": [{"family": "Example", "given": "Ana"}],
    "dates": ["2013"],
    "types": ["Text"],
    "languages": ["en"],
}


def brought() -> dict[str, Any]:
    """Return the item as it is brought to an archive."""
    sums = Checksums()
    sums.update(_TEXT)
    facts = (sums.size, sums.sha256.hexdigest(), sums.sha512.hexdigest())
    item = Item(forms=FORMS, metadata=_METADATA, target=_PATH, created=_MINTED, updated=_MINTED)
    described = acts.describing(item, _METADATA, record_from(_RECORD), _MINTED)
    return {
        "label": FORMS.label.spelling,
        "item": msgspec.Raw(manifest(item, [File(_PATH, *facts, _MINTED)])),
        "metadata": msgspec.Raw(manifest(described, ())),
    }


def files() -> dict[str, bytes]:
    """Return its files."""
    return {_PATH: _TEXT}
