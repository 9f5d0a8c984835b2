"""The scheme `ibi` of idutils, by which InvenioRDM recognizes and normalizes identifiers.

idutils finds it by the entry point `idutils.custom_schemes` of this package, and calls its
functions with whatever a person typed. It need not be installed for anything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from ibi.errors import ReadingError
from ibi.identifier.cleanup import CleanUp
from ibi.identifier.label import Label, read
from ibi.identifier.legacy import LegacyLabel

_RESOLVER: Final = "urlib.net"
"""The resolver of the examples of the standard (004, Table 6.1)."""
_INTRODUCED: Final = re.compile(r"(?:ibi|upn):", re.IGNORECASE)
_WHOLE: Final = frozenset((CleanUp.IBI_PREFIX, CleanUp.RESOLVER_ADDRESS))
"""Clean-ups after which a text is a label and nothing more."""

Function: TypeAlias = Callable[[str], object] | Callable[[str, str], str]


def scheme() -> Mapping[str, Function | list[str]]:
    """Return the functions that idutils calls, and the schemes that an IBI is mistaken for."""
    return {
        "validator": is_ibi,
        "normalizer": normalized,
        "url_generator": url,
        "filter": ["handle", "url"],
    }


def is_ibi(text: str) -> bool:
    """Return whether a text is a label, alone, with `ibi:` or `upn:`, or behind a resolver.

    A label from before 2009 has so few rules that it needs an introduction.
    """
    return _label(text) is not None


def normalized(text: str) -> str:
    """Return the canonical spelling of a label; what is none stays as it is."""
    label = _label(text)
    return text if label is None else label.canonical


def url(protocol: str, label: str) -> str:
    """Return a persistent URL of a label."""
    return f"{protocol}://{_RESOLVER}/{label}"


def _label(text: str) -> Label | None:
    try:
        found = read(text)
    except ReadingError:
        return None
    if found.tail or not _WHOLE.issuperset(found.cleaned):
        return None
    is_vague = isinstance(found.label, LegacyLabel) and _INTRODUCED.match(text) is None
    return None if is_vague else found.label
