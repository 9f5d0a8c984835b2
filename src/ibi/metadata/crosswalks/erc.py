"""ERC, the Electronic Resource Citation by which ARKs answer `?info` (draft-kunze-erc).

A record is in ANVL: lines of a name and a value. A value of several parts has semicolons between
them, so that these, and the percent sign that escapes, are percent-encoded in a part; line breaks
become spaces. What a record lacks is said to be unknown, by a code of the draft.
"""

from __future__ import annotations

import re
from typing import Final

from ibi.metadata.cited_work import Person, cited_work
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord

MEDIA_TYPE: Final = "text/plain; charset=utf-8"
_UNKNOWN: Final = "(:unkn) unknown"
_NOT_OF_A_LINE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]+")
_SPECIAL: Final = re.compile("[%;|]")


def write(record: MetadataRecord, forms: Forms, base: str) -> bytes:
    """Return the record of the item with these labels; `base` begins persistent URLs."""
    work = cited_work(record, forms, base)
    lines = (
        ("who", "; ".join(_part(_name(each)) for each in work.authors)),
        ("what", _part(work.title)),
        # The date is written without the hyphens of ISO 8601, as TEMPER has it.
        ("when", work.date.text[:10].replace("-", "") if work.date else ""),
        ("where", work.url),
    )
    written = "".join(f"{name}: {value or _UNKNOWN}\n" for name, value in lines)
    return f"erc:\n{written}".encode()


def _name(author: Person | str) -> str:
    if isinstance(author, str):
        return author
    given = f"{author.given} {author.particle}".strip()
    return f"{author.family}, {given}" if given else author.family


def _part(text: str) -> str:
    line = _NOT_OF_A_LINE.sub(" ", text).strip()
    encoded = _SPECIAL.sub(lambda found: f"%{ord(found[0]):02X}", line)
    # A comma at the beginning would tell how to sort the value; "(:" begins a code.
    return f"%{ord(encoded[0]):02X}{encoded[1:]}" if encoded.startswith((",", "(:")) else encoded
