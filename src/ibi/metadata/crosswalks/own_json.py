"""The archive's own JSON: the whole record with the labels of the item, and nothing lost.

The elements are those of the API; readers of descriptions take the document as it is.
"""

from __future__ import annotations

import json
from typing import Any, Final

from ibi.identifier.persistent_url import PersistentUrl
from ibi.metadata.json_record import record_as_dict
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord

MEDIA_TYPE: Final = "application/json"
ITEM: Final = "item"
"""The name of the part that identifies the item, beside the elements of its record."""


def write(record: MetadataRecord, forms: Forms, base: str) -> bytes:
    """Return the record of the item with these labels; `base` begins persistent URLs."""
    item: dict[str, Any] = {
        "ibi": [label.spelling for label in forms],
        "persistent_url": PersistentUrl(forms.short).at(base),
    }
    document = {ITEM: item, **record_as_dict(record)}
    # Surrogates, which no checked record has, stay escaped.
    return json.dumps(document, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace")
