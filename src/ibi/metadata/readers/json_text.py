"""JSON of other programs, within limits."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ibi.errors import MetadataError, Sentence
from ibi.metadata.readers.reading import DEEPEST, text_of


def json_in(content: bytes) -> object:
    """Return the value of a JSON file; MetadataError if it is not one, or nested too deep."""
    text = text_of(content)
    depth = 0
    # No string can hide a bracket from this count, only add to it: the limit is far beyond need.
    for sign in text:
        depth += (sign in "[{") - (sign in "]}")
        if depth > 10 * DEEPEST:
            raise MetadataError(Sentence("The file is nested too deep."))
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        raise MetadataError(Sentence("The file cannot be read as JSON.")) from None


def object_in(content: bytes) -> Mapping[str, object]:
    """Return the object of a JSON file, or the first of a list of objects."""
    value = json_in(content)
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, Mapping):
        raise MetadataError(Sentence("The file has no object of JSON that describes a work."))
    return value
